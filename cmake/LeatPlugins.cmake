# examples/plugins/<name>/: ops of other projects as libraries that a program loads. Each folder has
# a plugin.cmake that makes its library lib/<name>_plugin.so, its program and its tests.
file(GLOB plugin_files CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/examples/plugins/*/plugin.cmake)
foreach(plugin_file ${plugin_files})
  include(${plugin_file})
endforeach()
