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

set_property(GLOBAL APPEND PROPERTY LEAT_PLUGIN_TARGETS deepmd_plugin)
set_property(GLOBAL APPEND PROPERTY LEAT_PLUGIN_TESTS tests.plugins.deepmd_test
  tests.plugins.deepmd_input_test tests.plugins.deepmd_models_test)
