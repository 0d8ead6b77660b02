# bin/leat from tools/, bin/<name> from examples/<name>/: they see the public headers only.
function(leat_program name)
  add_executable(${name} ${ARGN})
  target_link_libraries(${name} PRIVATE leat_flags leat)
  target_link_options(${name} PRIVATE ${LEAT_BIND_NOW})
  set_target_properties(${name} PROPERTIES POSITION_INDEPENDENT_CODE ON
    BUILD_RPATH "\$ORIGIN/../lib" INSTALL_RPATH "\$ORIGIN/../${CMAKE_INSTALL_LIBDIR}")
endfunction()

leat_glob(sources tools/*.c)
list(FILTER sources EXCLUDE REGEX "_test\\.c$")
if(sources)
  leat_program(leat_tool ${sources})
  target_include_directories(leat_tool PRIVATE ${CMAKE_SOURCE_DIR}/tools)
  set_target_properties(leat_tool PROPERTIES OUTPUT_NAME leat)
endif()

# <x>_plugin.c of the examples and tests -> lib/<x>_plugin.so: what a program loads, linked against
# nothing.
leat_glob(plugins examples/*_plugin.c tests/*_plugin.c)
foreach(plugin ${plugins})
  get_filename_component(plugin_name ${plugin} NAME_WE)
  add_library(${plugin_name} MODULE ${plugin})
  target_link_libraries(${plugin_name} PRIVATE leat_flags)
  target_include_directories(${plugin_name} PRIVATE ${CMAKE_SOURCE_DIR}/include)
  set_target_properties(${plugin_name} PROPERTIES PREFIX "")
  set_property(GLOBAL APPEND PROPERTY LEAT_PLUGIN_TARGETS ${plugin_name})
endforeach()

# The data sets of the examples come gzipped.
find_package(ZLIB REQUIRED)
file(GLOB folders CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/examples/*)
foreach(folder ${folders})
  get_filename_component(name ${folder} NAME)
  leat_glob(sources examples/${name}/*.c)
  list(FILTER sources EXCLUDE REGEX "_plugin\\.c$")
  if(sources)
    leat_program(${name} ${sources})
    target_link_libraries(${name} PRIVATE ZLIB::ZLIB)
  endif()
endforeach()
