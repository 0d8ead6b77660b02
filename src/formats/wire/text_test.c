// Users write graphs and options in protobuf's text format by hand, so its parser must take every
// spelling that protobuf takes: separators or none, angle brackets, adjacent strings, octal and
// hexadecimal numbers, lists in brackets. An error has to say the line and column at which the text
// goes wrong, and the cases compare these positions. Nesting is limited to 100 levels, since the
// text may come from a stranger and the parser recurses. A printed message, with escapes,
// infinities, the shortest form of each float and an enum value without a name, is compared line
// for line and parsed back.
#include "formats/wire/text.h"

#include <math.h>
#include <string.h>

#include "base/test.h"
#include "formats/generated/graph.h"

static leat_status_t parse(leat_arena_t* arena, const leat_message_descriptor_t* descriptor,
                           const char* text, void* out_message) {
  leat_arena_initialize(leat_allocator_system(), 0, arena);
  return leat_text_parse(descriptor, leat_string_view_from(text), arena, out_message);
}

static void expect_error(const leat_message_descriptor_t* descriptor, const char* text,
                         const char* where) {
  leat_arena_t arena;
  char message[512];
  leat_status_t status = parse(&arena, descriptor, text, message);
  assert_int_equal(leat_status_code(status), LEAT_INVALID_ARGUMENT);
  if (!strstr(leat_status_message(status), where)) {
    print_error("'%s' says '%s'\n", text, leat_status_message(status));
    fail();
  }
  leat_status_free(status);
  leat_arena_deinitialize(&arena);
}

static void a_graph_is_read(void** state) {
  leat_arena_t arena;
  leat_pb_graph_def_t graph;
  LEAT_EXPECT_OK(parse(&arena, &leat_pb_graph_def_descriptor,
                       "# a comment\n"
                       "node { name: \"a\\n\" 'b' op: 'NoOp'; input: [\"x\", '^y'], input: \"z\"\n"
                       "  attr { key: \"T\" value { type: DT_FLOAT } }\n"
                       "  attr < key: \"s\" value: < shape { dim { size: -1 } } > >\n"
                       "}\n"
                       "node: [{ name: 'c' }, < name: 'd' >]  # more\n"
                       "versions { producer: 0x16 bad_consumers: [1, 010] bad_consumers: [] }",
                       &graph));
  assert_int_equal(graph.node.count, 3);
  leat_pb_node_def_t* node = &graph.node.items[0];
  assert_true(leat_string_view_equals(node->name, "a\nb"));
  assert_int_equal(node->input.count, 3);
  assert_int_equal(node->attr.items[0].value->type, 1);
  assert_int_equal(node->attr.items[1].value->shape->dim.items[0].size, -1);
  assert_true(leat_string_view_equals(graph.node.items[2].name, "d"));
  assert_int_equal(graph.versions->producer, 22);
  assert_int_equal(graph.versions->bad_consumers.items[1], 8);
  leat_arena_deinitialize(&arena);
}

static void scalars_are_read(void** state) {
  leat_arena_t arena;
  leat_pb_tensor_proto_t tensor;
  LEAT_EXPECT_OK(parse(&arena, &leat_pb_tensor_proto_descriptor,
                       "dtype: 9 tensor_content: '\\001\\xfF\\?\\u00e9' float_val: [1, -2.5e3, "
                       "inf, -nan, 1f, .5] bool_val: [true, f, 1, False] "
                       "uint64_val: 18446744073709551615 int64_val: -9223372036854775808",
                       &tensor));
  assert_int_equal(tensor.dtype, 9);
  assert_int_equal(tensor.tensor_content.size, 5);
  assert_memory_equal(tensor.tensor_content.data, "\001\xff?\xc3\xa9", 5);
  assert_int_equal(tensor.float_val.count, 6);
  assert_true(tensor.float_val.items[1] == -2500.0f);
  assert_true(isinf(tensor.float_val.items[2]) && isnan(tensor.float_val.items[3]));
  assert_true(tensor.bool_val.items[0] && !tensor.bool_val.items[1] && tensor.bool_val.items[2]);
  assert_true(tensor.uint64_val.items[0] == UINT64_MAX);
  assert_true(tensor.int64_val.items[0] == INT64_MIN);
  leat_arena_deinitialize(&arena);
}

static void errors_say_where(void** state) {
  const leat_message_descriptor_t* graph = &leat_pb_graph_def_descriptor;
  expect_error(graph, "node {\n  nam: 'x' }", "line 2, column 3");
  expect_error(graph, "node { name: 'x'", "line 1, column 17");
  expect_error(graph, "node { name: 'x\n' }", "line 1, column 16");
  expect_error(graph, "node { name: 'x' name: 'y' }", "column 23");
  expect_error(graph, "node { name: '\\q' }", "column 15");
  expect_error(graph, "node { name: '\\377' }", "UTF-8");
  expect_error(graph, "node { name 'x' }", ": must follow");
  expect_error(graph, "node [ { } ", "list of field node");
  expect_error(graph, "version: 2147483648", "in its range");
  expect_error(graph, "version: 1.5", "in its range");
  expect_error(graph, "node { attr { value { i: 1 b: true } } }", "excludes field i");
  expect_error(graph, "node { attr { value { type: DT_NONE } } }", "tensorflow.DataType");
  expect_error(graph, "}", "a field of tensorflow.GraphDef must follow");
  expect_error(graph, "node { > ", "a field of");
  expect_error(graph, "version: ", "integer");
  expect_error(graph, "[x.y/Z] { }", "a field of");
}

static void nesting_is_limited(void** state) {
  char text[16 * 1024] = "";
  for (int i = 0; i < 40; ++i) strcat(text, "attr { value { func { ");
  expect_error(&leat_pb_name_attr_list_descriptor, text, "100 deep");
}

static void printing_is_the_inverse(void** state) {
  static const char lines[] =
      "node {\n"
      "  name: \"\\303\\251\\\"\\n\"\n"
      "  attr {\n"
      "    key: \"a\"\n"
      "    value {\n"
      "      list {\n"
      "        f: 0.1\n"
      "        f: -inf\n"
      "        f: 16777216\n"
      "        type: DT_INT32\n"
      "        type: 77\n"
      "      }\n"
      "    }\n"
      "  }\n"
      "  attr {\n"
      "    key: \"b\"\n"
      "    value {\n"
      "      i: 0\n"
      "    }\n"
      "  }\n"
      "}\n";
  leat_arena_t arena, again;
  leat_pb_graph_def_t graph;
  leat_string_builder_t out;
  LEAT_EXPECT_OK(parse(&arena, &leat_pb_graph_def_descriptor, lines, &graph));
  leat_string_builder_initialize(leat_allocator_system(), &out);
  LEAT_EXPECT_OK(leat_text_print(&leat_pb_graph_def_descriptor, &graph, LEAT_TEXT_LINES, &out));
  assert_string_equal(out.data, lines);
  leat_string_builder_deinitialize(&out);
  leat_string_builder_initialize(leat_allocator_system(), &out);
  LEAT_EXPECT_OK(leat_text_print(&leat_pb_graph_def_descriptor, &graph, LEAT_TEXT_SHORT, &out));
  assert_null(strchr(out.data, '\n'));
  LEAT_EXPECT_OK(parse(&again, &leat_pb_graph_def_descriptor, out.data, &graph));
  assert_int_equal(graph.node.items[0].attr.count, 2);
  leat_string_builder_deinitialize(&out);
  leat_arena_deinitialize(&arena);
  leat_arena_deinitialize(&again);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_graph_is_read),       cmocka_unit_test(scalars_are_read),
      cmocka_unit_test(errors_say_where),      cmocka_unit_test(nesting_is_limited),
      cmocka_unit_test(printing_is_the_inverse),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
