# The library, compiled once into position independent objects, as libleat.so and libleat.a. Each
# function has a section, so that what nobody calls is left out by the linker.
# Symbols are hidden unless declared for export (LEAT_EXPORT, TF_CAPI_EXPORT), and carry no version.
leat_glob(sources src/*.c)
list(FILTER sources EXCLUDE REGEX "_test\\.c$")
list(FILTER sources EXCLUDE REGEX "^${CMAKE_SOURCE_DIR}/src/modules/")
set(isa_sources ${sources})
list(FILTER isa_sources INCLUDE REGEX "_isa(_avx2)?\\.c$")
list(FILTER sources EXCLUDE REGEX "_isa(_avx2)?\\.c$")
if(NOT sources)
  file(WRITE ${CMAKE_BINARY_DIR}/empty.c "typedef int leat_no_source_yet_t;\n")
  set(sources ${CMAKE_BINARY_DIR}/empty.c)
endif()

# Kernels, and all that a step, an import or a call of the C API goes through, are compiled with the
# build's own -O2. What runs only while a graph is being made or changed is compiled for size, and
# its place says so: it lies in one of the folders below, or it is the source of an op family that
# defines ops (<noun>.c), where kernels are <noun>_cpu.c. Elsewhere single functions are LEAT_COLD.
set(cold ${sources})
list(FILTER cold INCLUDE REGEX
  "/src/(client|cluster|device/simulated|function|gradient|ops|optimize|trace)/")
list(FILTER cold EXCLUDE REGEX
  "/src/(ops/.*_(cpu|amx)|trace/(timeline|packet_batches|event_template|lane)[a-z_]*)\\.c$")
set(hot ${sources})
list(REMOVE_ITEM hot ${cold})
set(objects "")
foreach(part hot cold)
  add_library(leat_${part} OBJECT ${${part}})
  target_link_libraries(leat_${part} PRIVATE leat_flags)
  target_include_directories(leat_${part} PRIVATE
    ${CMAKE_SOURCE_DIR}/include ${CMAKE_SOURCE_DIR}/src)
  target_compile_definitions(leat_${part} PRIVATE LEAT_BUILDING_LIBRARY=1)
  target_compile_options(leat_${part} PRIVATE -ffunction-sections -fdata-sections)
  set_target_properties(leat_${part} PROPERTIES
    POSITION_INDEPENDENT_CODE ON UNITY_BUILD ${LEAT_UNITY} UNITY_BUILD_MODE GROUP)
  if(LEAT_UNITY)
    leat_unite(${${part}})
  endif()
  list(APPEND objects $<TARGET_OBJECTS:leat_${part}>)
endforeach()
if(NOT LEAT_SANITIZE)
  target_compile_options(leat_cold PRIVATE -Os -Wno-maybe-uninitialized)
endif()
leat_isa_objects(isa_objects ${isa_sources})
set(amx_sources ${sources})
list(FILTER amx_sources INCLUDE REGEX "_amx\\.c$")
leat_amx_sources(${amx_sources})

add_library(leat SHARED ${objects} ${isa_objects})
add_library(leat_static STATIC ${objects} ${isa_objects})
add_library(Leat::leat ALIAS leat)
set_target_properties(leat PROPERTIES
  VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR} LINKER_LANGUAGE C)
set_target_properties(leat_static PROPERTIES OUTPUT_NAME leat LINKER_LANGUAGE C)
foreach(target leat leat_static)
  target_include_directories(${target} INTERFACE
    $<BUILD_INTERFACE:${CMAKE_SOURCE_DIR}/include> $<INSTALL_INTERFACE:include>)
endforeach()
target_link_libraries(leat PRIVATE $<BUILD_INTERFACE:leat_flags>)
target_link_libraries(leat_static PUBLIC Threads::Threads m ${CMAKE_DL_LIBS})
if(LEAT_SANITIZE)
  target_link_options(leat_static PUBLIC -fsanitize=${LEAT_SANITIZE})
  if(LEAT_INTERNALS STREQUAL "leat")
    target_link_options(leat PUBLIC -fsanitize=${LEAT_SANITIZE})
    target_link_libraries(leat PUBLIC Threads::Threads m ${CMAKE_DL_LIBS})
  endif()
else()
  # symbolic: another library with TensorFlow's C API in the process must not catch our own calls.
  target_link_options(leat PRIVATE -Wl,-z,defs -Wl,-z,now -Wl,--gc-sections -Wl,-Bsymbolic
    -Wl,-z,nodelete)
  # A tenth of the library are the addresses in ops' rows; packed they take a thirtieth of that.
  include(CheckLinkerFlag)
  check_linker_flag(C -Wl,-z,pack-relative-relocs LEAT_PACKS_RELOCATIONS)
  if(LEAT_PACKS_RELOCATIONS)
    target_link_options(leat PRIVATE -Wl,-z,pack-relative-relocs)
  endif()
endif()

# Programs built against TensorFlow ask for these names. They are one file under several names,
# which the loader recognises: a program that needs two of them gets one copy, and each name
# exports every function. The last is that of TensorFlow's Python package, which plug-ins need that
# are made for it.
set(LEAT_LINK_NAMES "")
if(LEAT_TENSORFLOW_NAMES)
  set(LEAT_LINK_NAMES libtensorflow.so.2 libtensorflow_cc.so.2 libtensorflow_framework.so.2
      libtensorflow.so libtensorflow_framework.so _pywrap_tensorflow_internal.so)
  foreach(name ${LEAT_LINK_NAMES})
    add_custom_command(TARGET leat POST_BUILD VERBATIM COMMAND ${CMAKE_COMMAND} -E create_symlink
      libleat.so.${PROJECT_VERSION_MAJOR} ${CMAKE_BINARY_DIR}/lib/${name})
  endforeach()
endif()
file(MAKE_DIRECTORY ${CMAKE_SOURCE_DIR}/include)
file(CREATE_LINK ${CMAKE_SOURCE_DIR}/include ${CMAKE_BINARY_DIR}/include SYMBOLIC)
