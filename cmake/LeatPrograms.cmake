# bin/leat from tools/, bin/<name> from examples/<name>/: they see the public headers only.
function(leat_program name)
  add_executable(${name} ${ARGN})
  target_link_libraries(${name} PRIVATE leat_flags leat)
  target_link_options(${name} PRIVATE ${LEAT_BIND_NOW})
  set_target_properties(${name} PROPERTIES POSITION_INDEPENDENT_CODE ON
    BUILD_RPATH "\$ORIGIN/../lib" INSTALL_RPATH "\$ORIGIN/../${CMAKE_INSTALL_LIBDIR}")
endfunction()

# The data sets of the examples come gzipped, and the board's answers may go so.
find_package(ZLIB REQUIRED)

# The board: a static library for bin/leat and the tests of board/. It uses rooms of the library
# that the shared one does not export, hence it brings its own copy of what it needs of them; the
# two copies share no state and exchange no objects. Without libmicrohttpd the command says so.
find_path(LEAT_MICROHTTPD_INCLUDE microhttpd.h)
find_library(LEAT_MICROHTTPD_LIBRARY microhttpd)
if(LEAT_MICROHTTPD_INCLUDE AND LEAT_MICROHTTPD_LIBRARY)
  leat_glob(board_sources board/*.c)
  list(FILTER board_sources EXCLUDE REGEX "_test\\.c$")
  set(page ${CMAKE_SOURCE_DIR}/board/page)
  set(script ${page}/built/page.js)
  if(LEAT_BOARD STREQUAL "source")
    set(script ${CMAKE_BINARY_DIR}/page/page.js)
    file(GLOB page_sources CONFIGURE_DEPENDS ${page}/*.ts)
    add_custom_command(OUTPUT ${script} VERBATIM
      COMMAND ${CMAKE_SOURCE_DIR}/dev/board-page --out ${script}
      DEPENDS ${page_sources} ${page}/package.json ${CMAKE_SOURCE_DIR}/dev/board-page)
  endif()
  set(assets ${page}/page.html ${page}/page.css ${script})
  add_custom_command(OUTPUT ${CMAKE_BINARY_DIR}/board_assets.c VERBATIM
    COMMAND ${CMAKE_COMMAND} -DOUT=${CMAKE_BINARY_DIR}/board_assets.c "-DFILES=${assets}"
            -P ${CMAKE_SOURCE_DIR}/cmake/LeatEmbed.cmake
    DEPENDS ${assets} ${CMAKE_SOURCE_DIR}/cmake/LeatEmbed.cmake)
  add_library(leat_board STATIC ${board_sources} ${CMAKE_BINARY_DIR}/board_assets.c)
  target_link_libraries(leat_board PRIVATE leat_flags
    PUBLIC ${LEAT_INTERNALS} ${LEAT_MICROHTTPD_LIBRARY} ZLIB::ZLIB)
  target_include_directories(leat_board PRIVATE ${LEAT_MICROHTTPD_INCLUDE}
    PUBLIC ${CMAKE_SOURCE_DIR} ${CMAKE_SOURCE_DIR}/src ${CMAKE_SOURCE_DIR}/include)
  set_target_properties(leat_board PROPERTIES POSITION_INDEPENDENT_CODE ON)
else()
  message(STATUS "Leat: no board: libmicrohttpd is absent (apt: libmicrohttpd-dev)")
endif()

# How many recorded cases each op passes, which `leat ops` tells.
set(counts ${CMAKE_SOURCE_DIR}/tests/conformance/op_counts.txt)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${counts})
file(STRINGS ${counts} rows REGEX "^[^#]")
list(TRANSFORM rows REPLACE "^([^ ]+) ([0-9]+) ([0-9]+)$" "{\"\\1\", \\2, \\3},\n")
list(LENGTH rows count)
string(CONCAT rows ${rows})
file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/op_cases.c @ONLY CONTENT "\
// Made by cmake/LeatPrograms.cmake.
#include \"op_cases.h\"

const op_cases_t op_cases_list[] = {
${rows}};
const size_t op_cases_count = ${count};
")

leat_glob(sources tools/*.c)
list(FILTER sources EXCLUDE REGEX "_test\\.c$")
list(APPEND sources ${CMAKE_BINARY_DIR}/op_cases.c)
if(sources)
  leat_program(leat_tool ${sources})
  target_include_directories(leat_tool PRIVATE ${CMAKE_SOURCE_DIR}/tools)
  set_target_properties(leat_tool PROPERTIES OUTPUT_NAME leat)
  target_link_libraries(leat_tool PRIVATE ZLIB::ZLIB m)  # archives of arrays (tools/recording.c)
  if(TARGET leat_board)
    target_compile_definitions(leat_tool PRIVATE LEAT_HAVE_BOARD=1)
    target_include_directories(leat_tool PRIVATE ${CMAKE_SOURCE_DIR})
    target_link_libraries(leat_tool PRIVATE leat_board)
  endif()
endif()

# ninja -C build leat_image: bin/leat_image, the program in one static file with gRPC in it, for an
# image of a container that holds nothing else. It has no board, whose libmicrohttpd needs GnuTLS.
# libgrpc.a registers xDS, a way to configure clients from outside, by one of its objects; the
# archive without TLS has the same object for programs without xDS, and that one is linked here.
# No plug-in of gRPC that we use is registered by it, and 2.4 MB are never pulled in.
find_package(PkgConfig)
if(sources AND TARGET leat_module_grpc AND PKG_CONFIG_FOUND)
  pkg_check_modules(LEAT_GRPC QUIET grpc)
  find_library(LEAT_GRPC_UNSECURE_ARCHIVE libgrpc_unsecure.a)
  leat_glob(module_sources src/modules/grpc/*.c)
  if(LEAT_GRPC_UNSECURE_ARCHIVE)
    set(without_xds grpc_plugin_registry_noextra.cc.o)
    add_custom_command(OUTPUT ${without_xds}
      COMMAND ${CMAKE_AR} x ${LEAT_GRPC_UNSECURE_ARCHIVE} ${without_xds}
      DEPENDS ${LEAT_GRPC_UNSECURE_ARCHIVE} WORKING_DIRECTORY ${CMAKE_BINARY_DIR} VERBATIM)
    list(APPEND module_sources ${CMAKE_BINARY_DIR}/${without_xds})
  endif()
  add_executable(leat_image EXCLUDE_FROM_ALL ${sources} ${module_sources} deploy/image/main.c)
  set_source_files_properties(tools/main.c TARGET_DIRECTORY leat_image PROPERTIES
    COMPILE_DEFINITIONS "$<$<STREQUAL:$<TARGET_PROPERTY:NAME>,leat_image>:main=leat_main>")
  target_include_directories(leat_image PRIVATE ${CMAKE_SOURCE_DIR}/tools
    ${CMAKE_SOURCE_DIR}/include ${CMAKE_SOURCE_DIR}/src ${LEAT_grpc_INCLUDE})
  target_compile_definitions(leat_image PRIVATE LEAT_MODULE=1)
  target_link_libraries(leat_image PRIVATE leat_flags leat_static -Wl,--start-group
    ${LEAT_GRPC_STATIC_LIBRARIES} ssl crypto cares z -Wl,--end-group m pthread dl)
  target_link_options(leat_image PRIVATE -static -Wl,--gc-sections -s)
  set_target_properties(leat_image PROPERTIES LINKER_LANGUAGE CXX)
endif()

# <x>_plugin.c of the examples and tests -> lib/<x>_plugin.so: what a program loads, linked against
# nothing. Those of several sources (examples/plugins/) are LeatPlugins.cmake's.
leat_glob(plugins examples/*_plugin.c tests/*_plugin.c)
list(FILTER plugins EXCLUDE REGEX "^${CMAKE_SOURCE_DIR}/examples/plugins/")
foreach(plugin ${plugins})
  get_filename_component(plugin_name ${plugin} NAME_WE)
  add_library(${plugin_name} MODULE ${plugin})
  target_link_libraries(${plugin_name} PRIVATE leat_flags)
  target_include_directories(${plugin_name} PRIVATE ${CMAKE_SOURCE_DIR}/include)
  set_target_properties(${plugin_name} PROPERTIES PREFIX "")
  set_property(GLOBAL APPEND PROPERTY LEAT_PLUGIN_TARGETS ${plugin_name})
endforeach()

file(GLOB folders CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/examples/*)
list(REMOVE_ITEM folders ${CMAKE_SOURCE_DIR}/examples/plugins)
foreach(folder ${folders})
  get_filename_component(name ${folder} NAME)
  leat_glob(sources examples/${name}/*.c)
  list(FILTER sources EXCLUDE REGEX "_plugin\\.c$")
  if(sources)
    leat_program(${name} ${sources})
    target_link_libraries(${name} PRIVATE ZLIB::ZLIB)
  endif()
endforeach()
