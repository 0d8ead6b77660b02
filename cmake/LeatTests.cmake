# One program and one CTest test per *_test.c, linked so that internals are in reach
# (LEAT_INTERNALS in LeatFlags.cmake). The test of src/base/arena_test.c is `base.arena_test`, that
# of tests/paper/x_test.c `tests.paper.x_test`. Other C files below tests/ (fixtures, the op
# harness) form one library that every test may use.
include(CTest)
find_path(LEAT_CMOCKA_INCLUDE cmocka.h)
find_library(LEAT_CMOCKA_LIBRARY cmocka)
leat_glob(test_sources src/*_test.c tests/*_test.c tools/*_test.c)
if(TARGET leat_board)
  leat_glob(board_test_sources board/*_test.c)
  list(APPEND test_sources ${board_test_sources})
endif()
if(NOT TARGET leat_module_png OR NOT TARGET leat_module_jpeg OR NOT TARGET leat_module_gif OR
    NOT TARGET leat_module_webp)
  list(FILTER test_sources EXCLUDE REGEX "/client/image_file_test\\.c$")
endif()
if(NOT TARGET leat_board)  # which has the status page of a server
  list(FILTER test_sources EXCLUDE REGEX "/tools/server_command_test\\.c$")
endif()
if(NOT TARGET leat_module_png)
  list(FILTER test_sources EXCLUDE REGEX "/formats/media/png_test\\.c$")
endif()
if(NOT TARGET text_plugin)
  list(FILTER test_sources EXCLUDE REGEX "/capi/text_[a-z_]*_test\\.c$")
endif()
if(NOT TARGET leat_module_sqlite)
  list(FILTER test_sources EXCLUDE REGEX
    "/(formats/database/(sqlite|summary_database)|capi/(dataset_sql|summary_database))_test\\.c$")
endif()
set(servers server security silence operator renamed worker_by_hand client client_stages local_call
  supervisor eager_function eager_remote eager_remote_function eager_service eager_span recorder)
list(JOIN servers "|" any_server)
if(NOT TARGET leat_module_grpc)
  message(STATUS "Leat: the tests of remote procedure calls and of servers are left out")
  list(FILTER test_sources EXCLUDE REGEX
    "/(cluster/(rpc[a-z_]*|${any_server})|tools/server_command)_test\\.c$")
endif()
if(NOT TARGET leat_module_ucx OR NOT TARGET leat_module_grpc)
  list(FILTER test_sources EXCLUDE REGEX "cluster/plane(_cluster|_loan)?_test\\.c$")
endif()
leat_glob(kit_sources tests/*.c)
list(FILTER kit_sources EXCLUDE REGEX "_(test|plugin)\\.c$")
list(FILTER kit_sources EXCLUDE REGEX
  "^${CMAKE_SOURCE_DIR}/tests/(headers|install|oracle|snippets)/")
set(LEAT_TEST_ENVIRONMENT "LEAT_SOURCE_DIR=${CMAKE_SOURCE_DIR};LEAT_BUILD_DIR=${CMAKE_BINARY_DIR}"
    "LEAT_MODULE_DIR=${CMAKE_BINARY_DIR}/lib")
add_custom_target(leat_tests)
# A guard against hangs: on a busy machine a test takes ten times what it does alone.
set(LEAT_TEST_SECONDS 300)
if(LEAT_SANITIZE)
  set(LEAT_TEST_SECONDS 600)
endif()
foreach(program leat_tool figure1 mnist parallel)
  if(TARGET ${program})
    add_dependencies(leat_tests ${program})
  endif()
endforeach()

function(leat_test source)
  file(RELATIVE_PATH path ${CMAKE_SOURCE_DIR} ${source})
  string(REGEX REPLACE "\\.c$" "" name ${path})
  string(REGEX REPLACE "^src/" "" name ${name})
  string(REPLACE "/" "." name ${name})
  add_executable(${name} EXCLUDE_FROM_ALL ${source})
  target_compile_options(${name} PRIVATE -O1)  # to compile it costs more than to run it
  target_link_libraries(${name} PRIVATE leat_testkit)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  add_dependencies(leat_tests ${name})
  add_test(NAME ${name} COMMAND ${name})
  set_tests_properties(${name} PROPERTIES
    TIMEOUT ${LEAT_TEST_SECONDS} ENVIRONMENT "${LEAT_TEST_ENVIRONMENT}")
endfunction()

# The tests that run steps, a second time: between master and worker lies a transport that
# serialises, delays and reorders (src/cluster/loopback.c).
function(leat_loopback_tests)
  get_property(names DIRECTORY PROPERTY TESTS)
  list(FILTER names INCLUDE REGEX "^tests\\.(session|client|capi)\\.")
  # These measure memory: what a device holds at once, which is more where a step's parts begin at
  # different times, and what a run allocates, to which messages would add.
  list(FILTER names EXCLUDE REGEX "(session\\.(memory|fused_shapes)|capi\\.memory_growth)_test")
  # No steps in these.
  list(FILTER names EXCLUDE REGEX
    "capi\\.(abi|api_def|attr|buffer|builder|eager|eager_experimental|environment|graph|import\
|registry|status|tensor|tstring|unimplemented)_test")
  foreach(name ${names})
    add_test(NAME ${name}.loopback COMMAND ${name})
    set_tests_properties(${name}.loopback PROPERTIES TIMEOUT ${LEAT_TEST_SECONDS}
      ENVIRONMENT "${LEAT_TEST_ENVIRONMENT};LEAT_SESSION_TARGET=loopback:1,200")
  endforeach()
endfunction()

# The tests that are about threads: CTest's label "threads", and the target leat_thread_tests, which
# builds them. CI runs these under TSan, where all tests would take too long.
function(leat_label_thread_tests)
  get_property(all_names DIRECTORY PROPERTY TESTS)
  set(patterns
    "base\\.(sync|thread_pool|observer|log|span)_"
    "board\\.(board|run|logdir|api_graph|trace_.*)_"
    "(cluster|data_service|worker)\\."
    "device\\.cpu\\.(cpu_device|row_step)_"
    "graph\\.(op\\.op_parse|source_line_)"
    "kernel\\.(cancellation|cell|invoke|registry|resource)_"
    "ops\\.nn\\.convolution_cache"
    "session\\.(plans|session|signature_cache)_"
    "tensor\\.buffer_pool"
    "trace\\.(collector|timeline)_"
    "tests\\.paper\\.section_(4_[46]|5_3|7)_"
    "tests\\.session\\.(control_flow|enqueued|executors|fused_shapes|held_filter|optimizer_lock)_"
    "tests\\.session\\.(queue|random_flow|random_graph|reader|simulated|table|transfer)_"
    "tests\\.capi\\.(batch|branch|call|cancellation|concurrency|dataset|eager|function_compile)_"
    "tests\\.capi\\.(partial_run|plugin|session)_"
    "tests\\.client\\.(callable|deadline|flight|input|interrupt|queue_runners|saver|supervisor)_"
    "tests\\.client\\.trace_")
  foreach(pattern ${patterns})
    set(matching ${all_names})
    list(FILTER matching INCLUDE REGEX "^${pattern}")
    list(APPEND names ${matching})
  endforeach()
  add_custom_target(leat_thread_tests)
  foreach(name ${names})
    set_tests_properties(${name} PROPERTIES LABELS threads)
    string(REGEX REPLACE "\\.loopback$" "" program ${name})
    add_dependencies(leat_thread_tests ${program})
  endforeach()
endfunction()

leat_glob(gradient_sources src/gradient/*.c)

if(LEAT_CMOCKA_INCLUDE AND LEAT_CMOCKA_LIBRARY)
  add_library(leat_testkit_link INTERFACE)
  target_link_libraries(leat_testkit_link INTERFACE
    ${LEAT_INTERNALS} leat_flags ${LEAT_CMOCKA_LIBRARY})
  target_include_directories(leat_testkit_link INTERFACE ${CMAKE_SOURCE_DIR}/include
    ${CMAKE_SOURCE_DIR}/src ${CMAKE_SOURCE_DIR}/tests ${LEAT_CMOCKA_INCLUDE})
  # gold takes half of the time: 0.13 s of processor for one of 500 programs; bfd takes 0.24 s.
  include(CheckLinkerFlag)
  check_linker_flag(C -fuse-ld=gold LEAT_KNOWS_GOLD)
  if(LEAT_KNOWS_GOLD)
    target_link_options(leat_testkit_link INTERFACE -fuse-ld=gold)
  endif()
  if(kit_sources)
    add_library(leat_testkit STATIC EXCLUDE_FROM_ALL ${kit_sources})
    if(gradient_sources)
      target_compile_definitions(leat_testkit PRIVATE LEAT_HAVE_GRADIENTS=1)
    endif()
    target_link_libraries(leat_testkit PUBLIC leat_testkit_link)
    set_target_properties(leat_testkit PROPERTIES
      ARCHIVE_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  else()
    add_library(leat_testkit ALIAS leat_testkit_link)
  endif()
  foreach(source ${test_sources})
    leat_test(${source})
  endforeach()
  foreach(source ${board_test_sources})
    get_filename_component(name ${source} NAME_WE)
    target_link_libraries(board.${name} PRIVATE leat_board)
  endforeach()
  leat_loopback_tests()
  leat_label_thread_tests()
  # The longest under TSan, by far: one that came last would run alone.
  set_tests_properties(tests.session.random_flow_test tests.session.random_flow_test.loopback
    PROPERTIES COST 100)
  if(LEAT_MODULE_TARGETS)
    add_dependencies(leat_tests ${LEAT_MODULE_TARGETS})
    add_dependencies(leat_thread_tests ${LEAT_MODULE_TARGETS})
  endif()
  # A module that was built must load: its tests fail without it, and are left out where it is.
  foreach(name tests.capi.declared_test tests.tools.tool_test)
    add_dependencies(${name} leat_module_declared)
  endforeach()
  if(TARGET leat_module_png)
    add_dependencies(formats.media.png_test leat_module_png)
  endif()
  if(TARGET leat_module_grpc)
    list(TRANSFORM servers PREPEND tests.cluster. OUTPUT_VARIABLE server_tests)
    foreach(name cluster.rpc cluster.rpc_cancellation cluster.rpc_security ${server_tests})
      add_dependencies(${name}_test leat_module_grpc)
    endforeach()
  endif()
  if(TARGET leat_module_ucx AND TARGET leat_module_grpc)
    set(plane_tests cluster.plane_test cluster.plane_call_test cluster.plane_loan_test)
    foreach(name ${plane_tests})
      add_dependencies(${name} leat_module_ucx)
    endforeach()
    set_target_properties(cluster.plane_test PROPERTIES ENABLE_EXPORTS ON)  # its memcpy
    add_dependencies(tests.cluster.plane_cluster_test leat_module_ucx leat_module_grpc)
    # UCX watches madvise with a lock, and a thread calls it once more when TSan has let it go.
    if(LEAT_SANITIZE MATCHES thread)
      set_tests_properties(${plane_tests} tests.cluster.plane_cluster_test PROPERTIES
        ENVIRONMENT "${LEAT_TEST_ENVIRONMENT};UCX_MEM_EVENTS=no")
    endif()
  endif()
  if(TARGET leat_module_onednn)
    foreach(name device.cpu.convolution_test ops.nn.convolution_cache_test
        tests.session.held_filter_test)
      add_dependencies(${name} leat_module_onednn)
      target_compile_definitions(${name} PRIVATE LEAT_HAVE_ONEDNN=1)
    endforeach()
  endif()
  # A test that loads a plugin has the functions that the plugin calls, whether it calls them too
  # or not.
  get_property(plugins GLOBAL PROPERTY LEAT_PLUGIN_TARGETS)
  get_property(loading GLOBAL PROPERTY LEAT_PLUGIN_TESTS)
  foreach(name plugin filesystem platform pluggable_device gpu_trace kernel_op)
    list(APPEND loading tests.capi.${name}_test)
  endforeach()
  foreach(test ${loading})
    set_target_properties(${test} PROPERTIES ENABLE_EXPORTS ON)
    if(LEAT_INTERNALS STREQUAL "leat_static")
      target_link_options(${test} PRIVATE
        -Wl,--whole-archive $<TARGET_FILE:leat_static> -Wl,--no-whole-archive)
    endif()
    add_dependencies(${test} ${plugins})
  endforeach()
  add_dependencies(tests.capi.gpu_trace_test leat_module_cupti)
  # Once more, with a device whose memory the library does not keep.
  add_test(NAME tests.capi.pluggable_device_test.plain COMMAND tests.capi.pluggable_device_test)
  set_tests_properties(tests.capi.pluggable_device_test.plain PROPERTIES
    TIMEOUT ${LEAT_TEST_SECONDS} ENVIRONMENT "${LEAT_TEST_ENVIRONMENT};NPU_PLAIN=1")
  # LeakSanitizer fails over the threads that OpenMP leaves in a program with the oneDNN module.
  if(LEAT_SANITIZE)
    set_tests_properties(tests.examples.examples_test tests.capi.cost_model_test
      tests.capi.cost_model_test.loopback PROPERTIES
      ENVIRONMENT_MODIFICATION "LEAT_MODULE_DIR=set:${CMAKE_BINARY_DIR}/tests")
  endif()
elseif(test_sources)
  message(STATUS "Leat: no unit tests: cmocka is absent (apt: libcmocka-dev)")
endif()

if(TARGET custom_op)
  add_test(NAME examples.custom_op COMMAND custom_op $<TARGET_FILE:zero_out_plugin>)
  set_tests_properties(examples.custom_op PROPERTIES
    PASS_REGULAR_EXPRESSION "= \\[7, 8, 0\\]")
endif()
if(TARGET pluggable_device)
  foreach(kept "" _nothing_kept)
    add_test(NAME examples.pluggable_device${kept}
      COMMAND pluggable_device $<TARGET_FILE:npu_plugin>)
    set_tests_properties(examples.pluggable_device${kept} PROPERTIES
      PASS_REGULAR_EXPRESSION "NPU:1\nloss 1\\.[0-9]* -> 0\\.00.*saw kernels, MatMul among them")
  endforeach()
  set_tests_properties(examples.pluggable_device_nothing_kept PROPERTIES ENVIRONMENT NPU_PLAIN=1)
endif()
if(TARGET filesystem)
  add_test(NAME examples.filesystem COMMAND filesystem $<TARGET_FILE:memory_plugin>)
  set_tests_properties(examples.filesystem PROPERTIES
    PASS_REGULAR_EXPRESSION "has 13 bytes: hello, plugin")
endif()

# Checks that are scripts: <folder>/run, given the build folder by the environment.
foreach(name cluster_page headers install op_pages snippets typed_allocation)
  if(EXISTS ${CMAKE_SOURCE_DIR}/tests/${name}/run AND NOT LEAT_SANITIZE)
    add_test(NAME tests.${name} COMMAND ${CMAKE_SOURCE_DIR}/tests/${name}/run)
    set_tests_properties(tests.${name} PROPERTIES TIMEOUT ${LEAT_TEST_SECONDS}
      ENVIRONMENT "${LEAT_TEST_ENVIRONMENT}")
  endif()
endforeach()

# ninja -C build placement: bin/placement judges the greedy placer.
if(TARGET leat_testkit)
  add_executable(placement EXCLUDE_FROM_ALL ${CMAKE_SOURCE_DIR}/bench/placement.c)
  target_link_libraries(placement PRIVATE leat_testkit)
endif()

# ninja -C build trace_bench: bin/trace_bench measures what the board makes of a recording.
if(TARGET leat_board)
  add_executable(trace_bench EXCLUDE_FROM_ALL ${CMAKE_SOURCE_DIR}/bench/trace.c)
  target_link_libraries(trace_bench PRIVATE leat_board)
endif()

# ninja -C build rpc_bench: bin/rpc_bench measures remote procedure calls beside plain sockets.
if(TARGET leat_module_grpc)
  add_executable(rpc_bench EXCLUDE_FROM_ALL ${CMAKE_SOURCE_DIR}/bench/rpc.c)
  target_link_libraries(rpc_bench PRIVATE leat_static leat_flags)
  target_include_directories(rpc_bench PRIVATE ${CMAKE_SOURCE_DIR}/include ${CMAKE_SOURCE_DIR}/src)
  add_dependencies(rpc_bench leat_module_grpc)
endif()
