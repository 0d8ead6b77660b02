# bin/leat from tools/, bin/<name> from examples/<name>/: they see the public headers only.
function(leat_program name)
  add_executable(${name} ${ARGN})
  target_link_libraries(${name} PRIVATE leat_flags leat)
  set_target_properties(${name} PROPERTIES
    BUILD_RPATH "\$ORIGIN/../lib" INSTALL_RPATH "\$ORIGIN/../${CMAKE_INSTALL_LIBDIR}")
endfunction()

leat_glob(sources tools/*.c)
list(FILTER sources EXCLUDE REGEX "_test\\.c$")
if(sources)
  leat_program(leat_tool ${sources})
  target_include_directories(leat_tool PRIVATE ${CMAKE_SOURCE_DIR}/tools)
  set_target_properties(leat_tool PROPERTIES OUTPUT_NAME leat)
endif()

# The data sets of the examples come gzipped.
find_package(ZLIB REQUIRED)
file(GLOB folders CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/examples/*)
foreach(folder ${folders})
  get_filename_component(name ${folder} NAME)
  leat_glob(sources examples/${name}/*.c)
  if(sources)
    leat_program(${name} ${sources})
    target_link_libraries(${name} PRIVATE ZLIB::ZLIB)
  endif()
endforeach()
