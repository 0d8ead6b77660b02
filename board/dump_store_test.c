// Dumps of debuggers as the graph page tells them: which directories are dumps, which files belong
// to which output, and what their bytes say. Files are written by hand in both forms, numpy's and
// TensorFlow's, for each type once. A damaged file (cut short, with a shape that is larger than the
// file, with a header that is none) is counted as unread and does no other harm, and no path leads
// out of the log directory.
#include "board/dump_store.h"

#include <math.h>
#include <stdlib.h>
#include <unistd.h>

#include "board/test_scene.h"
#include "formats/generated/graph.h"
#include "formats/generated/tensor.h"
#include "tensor/dtype.h"

// Writes |size| bytes behind a header of numpy's.
static void write_npy(const char* path, const char* type, const char* shape, const void* data,
                      size_t size) {
  char bytes[4096] = "\x93NUMPY\x01";
  int length = snprintf(bytes + 10, 512, "{'descr': '%s', 'fortran_order': False, 'shape': %s, }\n",
                        type, shape);
  bytes[7] = 0;
  bytes[8] = (char)(length & 255);
  bytes[9] = (char)(length >> 8);
  memcpy(bytes + 10 + length, data, size);
  test_write_file(path, bytes, 10 + (size_t)length + size);
}

// Writes |count| elements as TensorFlow's debugger does.
static void write_event(const char* path, int dtype, int64_t count, const void* data,
                        size_t size) {
  leat_pb_tensor_shape_proto_dim_t dim = {.size = count};
  leat_pb_tensor_shape_proto_t shape = {.dim = {&dim, 1}};
  leat_pb_tensor_proto_t tensor = {.dtype = dtype, .tensor_shape = &shape,
                                   .tensor_content = leat_string_view_make(data, size)};
  leat_pb_summary_value_t value = {.tag = LEAT_SV("n:0:DebugIdentity"), .tensor = &tensor,
                                   .value_case = 8};
  leat_pb_summary_t summary = {.value = {&value, 1}};
  leat_pb_event_t event = {.wall_time = 1, .summary = &summary, .what_case = 5};
  leat_string_builder_t bytes;
  leat_string_builder_initialize(leat_allocator_system(), &bytes);
  LEAT_EXPECT_OK(leat_message_encode(&leat_pb_event_descriptor, &event, &bytes));
  test_write_file(path, bytes.data, bytes.size);
  leat_string_builder_deinitialize(&bytes);
}

static void make_directory(const char* name) {
  LEAT_EXPECT_OK(leat_file_make_directories(leat_file_system_posix(), test_path(name)));
}

static board_dump_tensor_t read_file(const char* path) {
  board_dump_tensor_t tensor;
  board_dump_name_t name;
  assert_true(board_dump_parse_name(leat_string_view_from(path), &name));
  LEAT_EXPECT_OK(board_dump_read(test_path(path), &name, &tensor));
  return tensor;
}

// ---- Names --------------------------------------------------------------------------------------

static void paths_tell_the_output(void** state) {
  board_dump_name_t name;
  assert_true(board_dump_parse_name(LEAT_SV("a/b_1_12.npy"), &name));
  assert_true(leat_string_view_equals(name.node, "a/b_1"));
  assert_int_equal(name.slot, 12);
  assert_int_equal(name.time_us, 0);
  assert_true(board_dump_parse_name(LEAT_SV("a/b_1_0_DebugIdentity_1795921761541453"), &name));
  assert_true(leat_string_view_equals(name.node, "a/b_1"));
  assert_int_equal(name.slot, 0);
  assert_int_equal(name.time_us, 1795921761541453);
  assert_false(name.is_summary);
  assert_true(board_dump_parse_name(LEAT_SV("x_2_DebugNumericSummary_7"), &name));
  assert_true(name.is_summary);
  const char* const others[] = {"",      ".npy", "_0.npy",     "a.npy", "a_0", "a_x_0.npy_",
                                "a_0_DebugNanCount_7", "_0_DebugIdentity_7",
                                "a_0_DebugIdentity_99999999999999999999",
                                "_tfdbg_graph_hash_5_6", "events.out.tfevents.1.host"};
  for (size_t i = 0; i < sizeof others / sizeof *others; ++i) {
    assert_false(board_dump_parse_name(leat_string_view_from(others[i]), &name));
  }
}

// ---- Elements -----------------------------------------------------------------------------------

static void elements_are_counted(void** state) {
  const float values[] = {1, -3, NAN, INFINITY, -INFINITY, -INFINITY, 0, 10};
  write_npy("x_0.npy", "<f4", "(2, 4)", values, sizeof values);
  write_event("x_0_DebugIdentity_5", LEAT_DTYPE_FLOAT, 8, values, sizeof values);
  for (int form = 0; form < 2; ++form) {
    const board_dump_tensor_t t = read_file(form ? "x_0_DebugIdentity_5" : "x_0.npy");
    assert_int_equal(t.dtype, LEAT_DTYPE_FLOAT);
    assert_int_equal(t.rank, form ? 1 : 2);
    assert_int_equal(t.dims[0], form ? 8 : 2);
    assert_int_equal(t.count, 8);
    assert_true(t.is_counted && t.has_buckets);
    assert_int_equal(t.nan, 1);
    assert_int_equal(t.positive_infinity, 1);
    assert_int_equal(t.negative_infinity, 2);
    assert_true(t.least == -3 && t.most == 10 && fabs(t.mean - 2) < 1e-12);
    // The deviations from 2 are 1, 5, 2 and 8.
    assert_true(fabs(t.deviation - sqrt((1 + 25 + 4 + 64) / 4.0)) < 1e-12);
    uint64_t sum = 0;
    for (int b = 0; b < BOARD_DUMP_BUCKETS; ++b) sum += t.buckets[b];
    assert_int_equal(sum, 4);
    assert_int_equal(t.buckets[0], 1);
    assert_int_equal(t.buckets[BOARD_DUMP_BUCKETS - 1], 1);
    assert_int_equal(t.buckets[3 * BOARD_DUMP_BUCKETS / 13], 1);  // 0
  }
}

// Each type's elements 0, 1 and 2 (of bool 0, 1 and 1).
static void types_are_read(void** state) {
  static const struct {
    const char* name;
    int dtype;
    const char bytes[33];
    size_t size;
  } kTypes[] = {
      {"|i1", LEAT_DTYPE_INT8, "\0\1\2", 1},
      {"|u1", LEAT_DTYPE_UINT8, "\0\1\2", 1},
      {"<i2", LEAT_DTYPE_INT16, "\0\0\1\0\2\0", 2},
      {"<u2", LEAT_DTYPE_UINT16, "\0\0\1\0\2\0", 2},
      {"<i4", LEAT_DTYPE_INT32, "\0\0\0\0\1\0\0\0\2\0\0\0", 4},
      {"<u4", LEAT_DTYPE_UINT32, "\0\0\0\0\1\0\0\0\2\0\0\0", 4},
      {"<i8", LEAT_DTYPE_INT64, "\0\0\0\0\0\0\0\0\1\0\0\0\0\0\0\0\2\0\0\0\0\0\0\0", 8},
      {"<u8", LEAT_DTYPE_UINT64, "\0\0\0\0\0\0\0\0\1\0\0\0\0\0\0\0\2\0\0\0\0\0\0\0", 8},
      {"<f2", LEAT_DTYPE_HALF, "\0\0\0\x3c\0\x40", 2},
      {"<f8", LEAT_DTYPE_DOUBLE, "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\xf0\x3f\0\0\0\0\0\0\0\x40", 8},
      {"<c8", LEAT_DTYPE_COMPLEX64,
       "\0\0\0\0\0\0\0\0\0\0\x80\x3f\0\0\0\0\0\0\0\0\0\0\0\x40", 8},
  };
  for (size_t i = 0; i < sizeof kTypes / sizeof *kTypes; ++i) {
    write_npy("x_0.npy", kTypes[i].name, "(3,)", kTypes[i].bytes, 3 * kTypes[i].size);
    const board_dump_tensor_t t = read_file("x_0.npy");
    assert_int_equal(t.dtype, kTypes[i].dtype);
    if (t.most != 2) print_error("%s\n", kTypes[i].name);
    assert_true(t.least == 0 && t.mean == 1 && t.most == 2);
  }
  write_event("x_0_DebugIdentity_5", LEAT_DTYPE_BFLOAT16, 3, "\0\0\x80\x3f\0\x40", 6);
  assert_true(read_file("x_0_DebugIdentity_5").most == 2);
  write_npy("x_0.npy", "|b1", "(3,)", "\0\1\1", 3);
  assert_true(read_file("x_0.npy").most == 1);
  write_npy("x_0.npy", "|S2", "(1,)", "ab", 2);
  assert_false(read_file("x_0.npy").is_counted);
  // Without elements, and without one that is finite.
  write_npy("x_0.npy", "<f4", "(0,)", "", 0);
  assert_true(read_file("x_0.npy").is_counted);
  write_npy("x_0.npy", "<f4", "()", "\0\0\xc0\x7f", 4);
  const board_dump_tensor_t t = read_file("x_0.npy");
  assert_true(t.nan == 1 && t.count == 1 && !t.has_buckets && t.most == 0);
  // The range of the greatest doubles is no infinity.
  const double huge[] = {-1.7e308, 1.7e308};
  write_npy("x_0.npy", "<f8", "(2,)", huge, sizeof huge);
  assert_int_equal(read_file("x_0.npy").buckets[BOARD_DUMP_BUCKETS - 1], 1);
}

static void a_summary_is_read(void** state) {
  const double numbers[] = {1, 6, 1, 2, 0, 1, 1, 1, -1, 4, 1.5, 6.25, LEAT_DTYPE_FLOAT, 2, 2, 3};
  write_event("x_0_DebugNumericSummary_5", LEAT_DTYPE_DOUBLE, 16, numbers, sizeof numbers);
  const board_dump_tensor_t t = read_file("x_0_DebugNumericSummary_5");
  assert_true(t.count == 6 && t.nan == 1 && t.negative_infinity == 2 && t.positive_infinity == 1);
  assert_true(t.least == -1 && t.most == 4 && t.mean == 1.5 && t.deviation == 2.5);
  assert_true(t.dtype == LEAT_DTYPE_FLOAT && t.rank == 2 && t.dims[1] == 3 && !t.has_buckets);
}

static void expect_refused(const char* path) {
  board_dump_tensor_t tensor;
  board_dump_name_t name;
  assert_true(board_dump_parse_name(leat_string_view_from(path), &name));
  LEAT_EXPECT_CODE(LEAT_INVALID_ARGUMENT, board_dump_read(test_path(path), &name, &tensor));
}

static void damaged_files_are_refused(void** state) {
  const float one = 1;
  static const char* const shapes[] = {"(2,)", "(-1,)", "2", "(a)", "",
                                      "(4611686018427387904, 4)", "(4611686018427387904,)"};
  for (size_t i = 0; i < sizeof shapes / sizeof *shapes; ++i) {
    write_npy("x_0.npy", "<f4", shapes[i], &one, sizeof one);
    expect_refused("x_0.npy");
  }
  static const char* const heads[] = {"", "\x93NUMPY", "\x93NUMPY\1\0\xff\xff{", "no array at all"};
  for (size_t i = 0; i < sizeof heads / sizeof *heads; ++i) {
    test_write_file("x_0.npy", heads[i], strlen(heads[i]));
    expect_refused("x_0.npy");
  }
  test_write_file("x_0_DebugIdentity_5", "\xff\xff\xff", 3);
  expect_refused("x_0_DebugIdentity_5");
  write_event("x_0_DebugIdentity_5", LEAT_DTYPE_FLOAT, 1 << 30, &one, sizeof one);
  expect_refused("x_0_DebugIdentity_5");
  const double few[] = {1, 2, 3};
  write_event("x_0_DebugNumericSummary_5", LEAT_DTYPE_DOUBLE, 3, few, sizeof few);
  expect_refused("x_0_DebugNumericSummary_5");
  const double wrong[14] = {1, -5};
  write_event("x_0_DebugNumericSummary_5", LEAT_DTYPE_DOUBLE, 14, wrong, sizeof wrong);
  expect_refused("x_0_DebugNumericSummary_5");
}

// ---- Answers ------------------------------------------------------------------------------------

#define DEVICE "tf/_tfdbg_device_,job_localhost,replica_0,task_0,device_CPU_0"

static int start(void** state) {
  leat_pb_node_def_t nodes[2] = {{.name = LEAT_SV("layer/x"), .op = LEAT_SV("Log")},
                                 {.name = LEAT_SV("y"), .op = LEAT_SV("Neg")}};
  leat_pb_graph_def_t graph = {.node = {nodes, 2}};
  leat_string_builder_t bytes;
  test_directory_make(state);
  leat_string_builder_initialize(leat_allocator_system(), &bytes);
  LEAT_EXPECT_OK(leat_message_encode(&leat_pb_graph_def_descriptor, &graph, &bytes));
  leat_pb_event_t event = {.wall_time = 1, .graph_def = leat_string_builder_view(&bytes),
                           .what_case = 4};
  scene_write(".", &event, 1);
  leat_string_builder_deinitialize(&bytes);
  const float good[] = {1, -7}, bad[] = {NAN, 2};
  make_directory("debug/run_1/layer");
  make_directory("run_of_events");
  make_directory(DEVICE "/layer");
  test_write_file("run_of_events/events.out.tfevents.1.host", "", 0);
  write_npy("debug/run_1/layer/x_0.npy", "<f4", "(2,)", bad, sizeof bad);
  write_npy("debug/run_1/layer/x_1.npy", "<f4", "(2,)", good, sizeof good);
  write_npy("debug/run_1/y_0.npy", "<f4", "(2,)", good, sizeof good);
  test_write_file("debug/run_1/z_0.npy", "?", 1);
  // A loop: the time in which there was a NaN is told, though it is not the last.
  write_event(DEVICE "/layer/x_0_DebugIdentity_1", LEAT_DTYPE_FLOAT, 2, good, sizeof good);
  write_event(DEVICE "/layer/x_0_DebugIdentity_2", LEAT_DTYPE_FLOAT, 2, bad, sizeof bad);
  write_event(DEVICE "/layer/x_0_DebugIdentity_3", LEAT_DTYPE_FLOAT, 2, good, sizeof good);
  scene_start();
  return 0;
}

static int stop(void** state) {
  char command[400];
  scene_stop();
  snprintf(command, sizeof command, "rm -r '%s'", test_directory);
  return system(command);
}

#define DUMPS "/data/leat/graph/dumps"

static void dumps_are_found(void** state) {
  assert_int_equal(scene_ask(DUMPS, ""), 200);
  scene_expect("{\"dumps\":[\"debug/run_1\",\"tf\"]}");
  assert_int_equal(scene_ask(DUMPS, "dump=debug/run_1"), 200);
  scene_expect("{\"values\":3,\"unread\":1,\"bad\":[[\"layer/x\",0,1,0]]}");
  const char* const others[] = {"dump=run_of_events", "dump=..", "dump=/etc", "dump=",
                                "dump=debug/../debug/run_1", "dump=debug"};
  for (size_t i = 0; i < sizeof others / sizeof *others; ++i) {
    assert_int_equal(scene_ask(DUMPS, others[i]), 404);
  }
}

static void values_are_on_boxes_and_nodes(void** state) {
  const char* levels = "/data/leat/graph/levels";
  assert_int_equal(scene_ask(levels, "run=.&values=debug/run_1&open=1"), 200);
  scene_expect("\"layer\",\"\",0,0,0,[2,1,7.0]]");
  scene_expect("\"x\",\"Log\",0,0,0,[2,1,7.0]]");
  scene_expect("\"y\",\"Neg\",0,0,0,[1,0,7.0]]");
  assert_int_equal(scene_ask(levels, "run=.&values=none"), 404);
  assert_int_equal(scene_ask("/data/leat/graph/item", "run=.&name=layer/x&values=tf"), 200);
  scene_expect("\"values\":[{\"slot\":0,\"dtype\":\"float\",\"shape\":[2],\"count\":2,\"times\":3,"
               "\"counted\":true,\"nan\":1,\"low\":0,\"high\":0,\"least\":2.0,\"most\":2.0,"
               "\"mean\":2.0,\"deviation\":0.0,\"buckets\":[1,");
}

// A file that is written anew counts.
static void changes_are_seen(void** state) {
  const float values[] = {5, 6, 7};
  assert_int_equal(scene_ask(DUMPS, "dump=debug/run_1"), 200);
  write_npy("debug/run_1/z_0.npy", "<f4", "(3,)", values, sizeof values);
  assert_int_equal(scene_ask(DUMPS, "dump=debug/run_1"), 200);
  scene_expect("{\"values\":4,\"unread\":0,");
}

int main(void) {
  const struct CMUnitTest tests[] = {
#define FILES(name) \
  cmocka_unit_test_setup_teardown(name, test_directory_make, test_directory_remove)
      cmocka_unit_test(paths_tell_the_output),
      FILES(elements_are_counted),
      FILES(types_are_read),
      FILES(a_summary_is_read),
      FILES(damaged_files_are_refused),
      cmocka_unit_test_setup_teardown(dumps_are_found, start, stop),
      cmocka_unit_test_setup_teardown(values_are_on_boxes_and_nodes, start, stop),
      cmocka_unit_test_setup_teardown(changes_are_seen, start, stop),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
