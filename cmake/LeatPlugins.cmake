# Plug-ins of several sources: examples/plugins/<name>/plugin.cmake makes lib/<name>_plugin.so, and
# perhaps a program that loads it. Like those of LeatPrograms.cmake they are linked against nothing
# of ours: the program that loads them has the functions. The global property LEAT_PLUGIN_TESTS has
# the tests that load one.
if(LEAT_FUZZ)
  return()
endif()

# leat_cpp_plugin(NAME {HEADER LIBRARY PACKAGE}...): a plug-in of the .cc files of its folder, which
# needs foreign libraries. Where one is absent the plug-in is left out.
function(leat_cpp_plugin name)
  set(libraries "")
  set(includes "")
  set(wanted ${ARGN})
  if(NOT CMAKE_CXX_COMPILER)
    message(STATUS "Leat: plug-in ${name} is left out: no C++ compiler (apt: g++)")
    return()
  endif()
  while(wanted)
    list(POP_FRONT wanted header library package)
    find_path(LEAT_${library}_INCLUDE ${header})
    find_library(LEAT_${library}_LIBRARY ${library})
    if(NOT LEAT_${library}_INCLUDE OR NOT LEAT_${library}_LIBRARY)
      message(STATUS "Leat: plug-in ${name} is left out: lib${library} is absent (apt: ${package})")
      return()
    endif()
    list(APPEND libraries ${LEAT_${library}_LIBRARY})
    list(APPEND includes ${LEAT_${library}_INCLUDE})
  endwhile()
  leat_glob(sources examples/plugins/${name}/*.cc)
  add_library(${name}_plugin MODULE ${sources})
  target_compile_features(${name}_plugin PRIVATE cxx_std_17)
  target_compile_options(${name}_plugin PRIVATE -fvisibility=hidden -Wall -Wextra -Wpedantic
    $<$<BOOL:${LEAT_WERROR}>:-Werror>)
  if(LEAT_SANITIZE)
    target_compile_options(${name}_plugin PRIVATE
      -fsanitize=${LEAT_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
    target_link_options(${name}_plugin PRIVATE -fsanitize=${LEAT_SANITIZE})
  endif()
  target_include_directories(${name}_plugin PRIVATE ${CMAKE_SOURCE_DIR}/include)
  target_include_directories(${name}_plugin SYSTEM PRIVATE ${includes})
  target_link_libraries(${name}_plugin PRIVATE ${libraries})
  set_target_properties(${name}_plugin PROPERTIES PREFIX "")
  set_property(GLOBAL APPEND PROPERTY LEAT_PLUGIN_TARGETS ${name}_plugin)
endfunction()

file(GLOB plugin_files CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/examples/plugins/*/plugin.cmake)
foreach(plugin_file ${plugin_files})
  include(${plugin_file})
endforeach()
