# The C++ front end: headers only (include/leat/leat.hpp, include/leat/cpp/), and the wrappers of
# ops, which cpp/make_ops.cc writes of the registry of the library that was built, to
# build/cpp/include/leat/. The library itself is C: without a C++ compiler this file, its examples
# and its tests are left out.
#   examples/cpp/<name>.cc      -> bin/cpp_<name>, and one CTest test (--smoke)
#   tests/cpp/<name>_test.cc    -> one CTest test; no_exceptions*_test.cc without exceptions
# Both are built for `make test`, or by name: `make` alone makes the wrappers only, because each
# program takes a compiler some seconds.
option(LEAT_CPP "Build the C++ front end (needs a C++17 compiler)" ON)
if(LEAT_FUZZ)
  set(LEAT_CPP OFF)
endif()
if(LEAT_CPP AND NOT CMAKE_CXX_COMPILER)
  message(STATUS "Leat: no C++ compiler, so the C++ front end is left out (apt: g++)")
  set(LEAT_CPP OFF)
endif()
if(NOT LEAT_CPP)
  return()
endif()
# Tests and examples: the work is in the library. Under sanitizers to optimize them would take
# longer than they run.
set(CMAKE_CXX_FLAGS_RELWITHDEBINFO "-O1 -g1")
if(LEAT_SANITIZE)
  set(CMAKE_CXX_FLAGS_RELWITHDEBINFO "-O0 -g1")
endif()
set(LEAT_CPP_INCLUDE ${CMAKE_BINARY_DIR}/cpp/include)

# Installed, it is Leat::leat_cpp: the shared library, and C++17 for whoever links it.
add_library(leat_cpp INTERFACE)
target_compile_features(leat_cpp INTERFACE cxx_std_17)
target_link_libraries(leat_cpp INTERFACE leat)

# What every program of this tree is compiled with.
add_library(leat_cpp_program INTERFACE)
target_compile_features(leat_cpp_program INTERFACE cxx_std_17)
target_include_directories(leat_cpp_program INTERFACE
  ${CMAKE_SOURCE_DIR}/include ${LEAT_CPP_INCLUDE})
target_compile_options(leat_cpp_program INTERFACE
  -Wall -Wextra -Wpedantic $<$<BOOL:${LEAT_WERROR}>:-Werror>)
if(LEAT_SANITIZE)
  target_compile_options(leat_cpp_program INTERFACE
    -fsanitize=${LEAT_SANITIZE} -fno-omit-frame-pointer)
  target_link_libraries(leat_cpp_program INTERFACE ${LEAT_INTERNALS})
else()
  target_link_libraries(leat_cpp_program INTERFACE leat_cpp Threads::Threads)
endif()

# The list of all families of ops is one of the library's internals.
add_library(leat_cpp_families STATIC cpp/families.c)
target_link_libraries(leat_cpp_families PRIVATE leat_flags)
target_include_directories(leat_cpp_families PRIVATE
  ${CMAKE_SOURCE_DIR}/include ${CMAKE_SOURCE_DIR}/src)
add_executable(leat_make_ops cpp/make_ops.cc)
target_compile_features(leat_make_ops PRIVATE cxx_std_17)
target_link_libraries(leat_make_ops PRIVATE leat_cpp_families ${LEAT_INTERNALS})
set_target_properties(leat_make_ops PROPERTIES OUTPUT_NAME make_ops
  RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/cpp)
file(MAKE_DIRECTORY ${LEAT_CPP_INCLUDE}/leat/ops)
# It leaves a file alone whose text is the same, so that programs are not compiled again: the stamp
# says when it ran.
add_custom_command(OUTPUT ${CMAKE_BINARY_DIR}/cpp/made
  BYPRODUCTS ${LEAT_CPP_INCLUDE}/leat/ops.hpp
  COMMAND leat_make_ops ${LEAT_CPP_INCLUDE}/leat
  COMMAND ${CMAKE_COMMAND} -E touch ${CMAKE_BINARY_DIR}/cpp/made
  DEPENDS leat_make_ops COMMENT "Making the C++ wrappers of ops" VERBATIM)
add_custom_target(leat_cpp_ops ALL DEPENDS ${CMAKE_BINARY_DIR}/cpp/made)

function(leat_cpp_program name source)
  add_executable(${name} ${source})
  target_link_libraries(${name} PRIVATE leat_cpp_program ZLIB::ZLIB)
  add_dependencies(${name} leat_cpp_ops)
endfunction()

leat_glob(sources examples/cpp/*.cc)
foreach(source ${sources})
  get_filename_component(name ${source} NAME_WE)
  leat_cpp_program(cpp_${name} ${source})
  set_target_properties(cpp_${name} PROPERTIES EXCLUDE_FROM_ALL ON BUILD_RPATH "\$ORIGIN/../lib")
  add_dependencies(leat_tests cpp_${name})
  add_test(NAME examples.cpp.${name} COMMAND cpp_${name} --smoke)
  set_tests_properties(examples.cpp.${name} PROPERTIES TIMEOUT ${LEAT_TEST_SECONDS}
    ENVIRONMENT "${LEAT_TEST_ENVIRONMENT}" SKIP_RETURN_CODE 77)
endforeach()

leat_glob(sources tests/cpp/*_test.cc)
foreach(source ${sources})
  get_filename_component(base ${source} NAME_WE)
  set(name tests.cpp.${base})
  leat_cpp_program(${name} ${source})
  set_target_properties(${name} PROPERTIES EXCLUDE_FROM_ALL ON
    RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  if(base MATCHES "^no_exceptions")
    target_compile_options(${name} PRIVATE -fno-exceptions -fno-rtti)
  endif()
  add_dependencies(leat_tests ${name})
  add_test(NAME ${name} COMMAND ${name})
  set_tests_properties(${name} PROPERTIES TIMEOUT ${LEAT_TEST_SECONDS}
    ENVIRONMENT "${LEAT_TEST_ENVIRONMENT}" SKIP_RETURN_CODE 77)
endforeach()
if(NOT LEAT_SANITIZE)
  foreach(name headers snippets)
    add_test(NAME tests.cpp.${name} COMMAND ${CMAKE_SOURCE_DIR}/tests/cpp/${name})
    set_tests_properties(tests.cpp.${name} PROPERTIES TIMEOUT ${LEAT_TEST_SECONDS}
      ENVIRONMENT "${LEAT_TEST_ENVIRONMENT}")
  endforeach()
endif()
