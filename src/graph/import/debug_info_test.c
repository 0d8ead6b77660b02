// Lines of a program on their way through a GraphDef: what is written is read again, and so is what
// TensorFlow writes, in its two forms; names that an import changes keep their lines; lines that
// lead nowhere are left out, and malformed bytes are refused with the graph as it was.
#include "base/string_builder.h"
#include "base/test.h"
#include "formats/generated/graph_debug_info.h"
#include "formats/wire/encode.h"
#include "graph/import/export.h"
#include "graph/import/graph_file.h"
#include "graph/import/import.h"
#include "graph/source_line.h"
#include "toy_graph/toy_ops.h"

static leat_string_builder_t def;

static int set_up(void** state) {
  leat_string_builder_initialize(leat_allocator_system(), &def);
  return 0;
}

static int tear_down(void** state) {
  leat_string_builder_deinitialize(&def);
  return 0;
}

static void expect_line(const leat_graph_t* graph, const char* name, const char* file,
                        uint32_t line) {
  leat_string_view_t found_file;
  uint32_t found_line;
  assert_true(
      leat_graph_find_source_line(graph, leat_string_view_from(name), &found_file, &found_line));
  assert_true(leat_string_view_equals(found_file, file));
  assert_int_equal(found_line, line);
}

static bool has_line(const leat_graph_t* graph, const char* name) {
  leat_string_view_t file;
  uint32_t line;
  return leat_graph_find_source_line(graph, leat_string_view_from(name), &file, &line);
}

// Placeholders x, y and z, of which nobody tells a line.
static void make_graph(toy_t* toy) {
  toy_open(toy);
  toy_placeholder(toy, "x", LEAT_DTYPE_FLOAT, 0, NULL);
  toy_placeholder(toy, "y", LEAT_DTYPE_FLOAT, 0, NULL);
  toy_placeholder(toy, "z", LEAT_DTYPE_FLOAT, 0, NULL);
}

// Imports |def| into a new graph.
static leat_status_t import(toy_t* toy, const leat_import_options_t* options) {
  toy_open(toy);
  return leat_graph_import(toy->graph, leat_string_builder_view(&def), options, NULL);
}

static void lines_go_with_the_graph(void** state) {
  toy_t from, to;
  make_graph(&from);
  LEAT_EXPECT_OK(leat_graph_export(from.graph, &def));
  const size_t without = def.size;
  LEAT_EXPECT_OK(leat_graph_export_lines(from.graph, 0, &def));
  assert_int_equal(def.size, without);  // none is known
  LEAT_EXPECT_OK(leat_graph_set_source_line(from.graph, 0, LEAT_SV("a.py"), 3));
  LEAT_EXPECT_OK(leat_graph_set_source_line(from.graph, 1, LEAT_SV("b.py"), 4));
  LEAT_EXPECT_OK(leat_graph_export_lines(from.graph, 0, &def));
  toy_close(&from);
  LEAT_EXPECT_OK(import(&to, NULL));
  expect_line(to.graph, "x", "a.py", 3);
  expect_line(to.graph, "y", "b.py", 4);
  assert_false(has_line(to.graph, "z"));
  toy_close(&to);
}

// A client sends what was added since the last time.
static void only_the_lines_of_nodes_that_are_sent(void** state) {
  toy_t from, to;
  make_graph(&from);
  for (int32_t i = 0; i < 3; ++i) {
    LEAT_EXPECT_OK(leat_graph_set_source_line(from.graph, i, LEAT_SV("a.py"), 10 + (uint32_t)i));
  }
  LEAT_EXPECT_OK(leat_graph_export(from.graph, &def));
  LEAT_EXPECT_OK(leat_graph_export_lines(from.graph, 1, &def));
  toy_close(&from);
  LEAT_EXPECT_OK(import(&to, NULL));
  assert_false(has_line(to.graph, "x"));
  expect_line(to.graph, "y", "a.py", 11);
  expect_line(to.graph, "z", "a.py", 12);
  toy_close(&to);
}

static void names_that_change_keep_their_lines(void** state) {
  toy_t from, to;
  const leat_import_options_t options = {.prefix = LEAT_SV("model")};
  make_graph(&from);
  LEAT_EXPECT_OK(leat_graph_set_source_line(from.graph, 0, LEAT_SV("a.py"), 3));
  LEAT_EXPECT_OK(leat_graph_export(from.graph, &def));
  LEAT_EXPECT_OK(leat_graph_export_lines(from.graph, 0, &def));
  toy_close(&from);
  LEAT_EXPECT_OK(import(&to, &options));
  expect_line(to.graph, "model/x", "a.py", 3);
  assert_false(has_line(to.graph, "x"));
  toy_close(&to);
}

static void append_info(const leat_pb_graph_debug_info_t* info) {
  leat_string_builder_t encoded;
  leat_string_builder_initialize(leat_allocator_system(), &encoded);
  LEAT_EXPECT_OK(leat_message_encode(&leat_pb_graph_debug_info_descriptor, info, &encoded));
  leat_message_append_field(&def, LEAT_GRAPH_DEF_DEBUG_INFO, leat_string_builder_view(&encoded));
  leat_string_builder_deinitialize(&encoded);
}

// The newer form, with the calls of a trace from the outermost to the innermost. Numbers that name
// nothing, a line below 0 and a node of a function are no lines.
static void lines_of_tensorflow_are_read(void** state) {
  toy_t from, to;
  leat_string_view_t files[] = {LEAT_SV("main.py"), LEAT_SV("model.py")};
  leat_pb_graph_debug_info_file_line_col_t calls[] = {
      {.file_index = 0, .line = 7}, {.file_index = 1, .line = 8}, {.file_index = 2, .line = 9},
      {.file_index = 1, .line = -1}};
  leat_pb_graph_debug_info_frames_by_id_entry_t frames[] = {
      {1000, &calls[0]}, {2000, &calls[1]}, {3000, &calls[2]}, {4000, &calls[3]}};
  uint64_t good[] = {1000, 2000}, of_no_file[] = {3000}, below[] = {4000}, of_no_frame[] = {5000};
  leat_pb_graph_debug_info_stack_trace_t stacks[] = {{.frame_id = {good, 2}},
                                                     {.frame_id = {of_no_file, 1}},
                                                     {.frame_id = {below, 1}},
                                                     {.frame_id = {of_no_frame, 1}}};
  leat_pb_graph_debug_info_traces_by_id_entry_t traces[] = {
      {1, &stacks[0]}, {2, &stacks[1]}, {3, &stacks[2]}, {4, &stacks[3]}};
  make_graph(&from);
  LEAT_EXPECT_OK(leat_graph_export(from.graph, &def));
  toy_close(&from);
  const size_t graph_size = def.size;
  for (uint64_t wrong = 2; wrong <= 5; ++wrong) {
    leat_pb_graph_debug_info_name_to_trace_id_entry_t names[] = {
        {LEAT_SV("x"), wrong}, {LEAT_SV("y"), 1}, {LEAT_SV("z@f"), 1}, {LEAT_SV("none"), 1}};
    const leat_pb_graph_debug_info_t info = {.files = {files, 2},
                                             .frames_by_id = {frames, 4},
                                             .name_to_trace_id = {names, 4},
                                             .traces_by_id = {traces, 4}};
    def.size = graph_size;
    append_info(&info);
    LEAT_EXPECT_OK(import(&to, NULL));
    expect_line(to.graph, "y", "model.py", 8);
    assert_false(has_line(to.graph, "x"));
    assert_false(has_line(to.graph, "z"));
    toy_close(&to);
  }
}

static void malformed_lines_are_refused(void** state) {
  toy_t from, to;
  make_graph(&from);
  LEAT_EXPECT_OK(leat_graph_export(from.graph, &def));
  toy_close(&from);
  leat_message_append_field(&def, LEAT_GRAPH_DEF_DEBUG_INFO, LEAT_SV("\x0a\x7fshort"));
  LEAT_EXPECT_CODE(LEAT_INVALID_ARGUMENT, import(&to, NULL));
  assert_int_equal(to.graph->node_count, 0);
  assert_false(leat_graph_has_source_lines(to.graph));
  toy_close(&to);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
  const struct CMUnitTest tests[] = {
      TEST(lines_go_with_the_graph),
      TEST(only_the_lines_of_nodes_that_are_sent),
      TEST(names_that_change_keep_their_lines),
      TEST(lines_of_tensorflow_are_read),
      TEST(malformed_lines_are_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
