# lib/deepmd_plugin.so out of all sources but the program that loads it, bin/deepmd.
leat_glob(deepmd_sources examples/plugins/deepmd/*.c)
list(FILTER deepmd_sources EXCLUDE REGEX "/main\\.c$")
add_library(deepmd_plugin MODULE ${deepmd_sources})
target_link_libraries(deepmd_plugin PRIVATE leat_flags)
target_include_directories(deepmd_plugin PRIVATE ${CMAKE_SOURCE_DIR}/include)
set_target_properties(deepmd_plugin PROPERTIES PREFIX "" C_VISIBILITY_PRESET hidden)

leat_program(deepmd ${CMAKE_SOURCE_DIR}/examples/plugins/deepmd/main.c)
add_test(NAME examples.plugins.deepmd COMMAND deepmd $<TARGET_FILE:deepmd_plugin>)
set_tests_properties(examples.plugins.deepmd PROPERTIES
  PASS_REGULAR_EXPRESSION "forces are minus the slopes of the energy to [0-9.]*e-(0[6-9]|1[0-9])")

# Its tests have the functions that the plug-in calls, whether they call them too or not.
foreach(test deepmd_test deepmd_input_test deepmd_models_test)
  if(TARGET tests.plugins.${test})
    set_target_properties(tests.plugins.${test} PROPERTIES ENABLE_EXPORTS ON)
    if(LEAT_INTERNALS STREQUAL "leat_static")
      target_link_options(tests.plugins.${test} PRIVATE
        -Wl,--whole-archive $<TARGET_FILE:leat_static> -Wl,--no-whole-archive)
    endif()
    add_dependencies(tests.plugins.${test} deepmd_plugin)
  endif()
endforeach()
