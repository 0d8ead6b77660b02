# examples/plugins/<name>/plugin.cmake: each makes the library lib/<name>_plugin.so out of the
# sources beside it, its program, and what its tests need beyond that of others.
file(GLOB plugin_files CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/examples/plugins/*/plugin.cmake)
foreach(plugin_file ${plugin_files})
  include(${plugin_file})
endforeach()
