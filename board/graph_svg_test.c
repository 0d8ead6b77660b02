// The drawing of a graph as an SVG (board_graph_svg), for graphs of a few nodes that the tests
// encode as GraphDef. The text is searched for parts that the drawing must or must not have: which
// scopes are closed and how many nodes they hold, which are open, and which nodes are marked. One
// test reads the coordinates and checks that the level of an open box lies within it, below its
// heading of 30 pixels. Names with markup, quotes and control characters must come out as
// references or marks, since a name that is copied as it is would break the XML or run as a script
// in a browser. The expected parts are written by hand from the rules of XML and of graph_svg.h.
// Bytes that are no GraphDef must give a message, and an empty graph a drawing.
#include "board/graph_svg.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/arena.h"
#include "base/test.h"
#include "formats/generated/graph.h"
#include "formats/wire/encode.h"

static leat_arena_t arena;
static leat_pb_node_def_t nodes[16];
static size_t node_count;
static char message[200];

static int make_arena(void** state) {
  leat_arena_initialize(leat_allocator_system(), 0, &arena);
  node_count = 0;
  return 0;
}

static int free_arena(void** state) {
  leat_arena_deinitialize(&arena);
  return 0;
}

static void add(const char* name, const char* op, leat_string_view_t* input) {
  nodes[node_count++] = (leat_pb_node_def_t){.name = leat_string_view_from(name),
                                             .op = leat_string_view_from(op),
                                             .input = {input, input ? 1 : 0}};
}

static char* draw(const board_svg_options_t* options) {
  leat_pb_graph_def_t graph = {.node = {nodes, node_count}};
  leat_string_builder_t bytes;
  leat_string_builder_initialize(leat_allocator_system(), &bytes);
  LEAT_EXPECT_OK(leat_message_encode(&leat_pb_graph_def_descriptor, &graph, &bytes));
  char* svg = board_graph_svg(bytes.data ? bytes.data : "", bytes.size, options, message,
                              sizeof message);
  leat_string_builder_deinitialize(&bytes);
  return svg;
}

static void expect(char* svg, const char* part, bool is_there) {
  if (!svg) print_error("%s\n", message);
  assert_non_null(svg);
  if (!strstr(svg, part) == is_there) {
    print_error("%s %s in\n%s", part, is_there ? "is not" : "is", svg);
    fail();
  }
}

static void test_scopes(void** state) {
  leat_string_view_t to_inner = LEAT_SV("outer/inner/a"), to_x = LEAT_SV("x");
  add("x", "Placeholder", NULL);
  add("outer/inner/a", "Relu", &to_x);
  add("outer/inner/b", "Neg", &to_inner);
  add("outer/c", "Abs", &to_inner);
  char* closed = draw(&(board_svg_options_t){0});
  expect(closed, ">outer</text><text class=\"count\"", true);
  expect(closed, ">3 nodes</text>", true);
  expect(closed, ">inner</text>", false);
  free(closed);
  char* outer = draw(&(board_svg_options_t){.open = (const char*[]){"outer"}, .open_count = 1});
  expect(outer, ">inner</text><text class=\"count\"", true);
  expect(outer, "outer/c\nAbs</title>", true);
  expect(outer, ">a</text>", false);
  free(outer);
  char* all = draw(&(board_svg_options_t){.open_all = true});
  expect(all, ">a</text>", true);
  expect(all, "\"marked", false);
  free(all);
  // A node that is marked is seen: the scopes around it open.
  char* marked = draw(&(board_svg_options_t){
      .marked = (const char*[]){"no", "outer/inner/b"}, .marked_count = 2});
  expect(marked, "<g class=\"node marked\"><title>outer/inner/b\nNeg</title>", true);
  expect(marked, "<g class=\"node\"><title>outer/inner/a\n", true);
  free(marked);
}

// The level of a box that is open lies 30 below the box, in the middle of its width.
static void test_levels_lie_in_their_boxes(void** state) {
  int x = 0, y = 0, width = 0, height = 0, left = -1, top = -1;
  add("x", "Placeholder", NULL);
  add("a_scope_with_a_long_name/b", "Relu", (leat_string_view_t[]){LEAT_SV("x")});
  char* svg = draw(&(board_svg_options_t){.open_all = true});
  expect(svg, "<g class=\"scope open\">", true);
  const char* box = strstr(strstr(svg, "<g class=\"scope open\">"), "<rect");
  assert_int_equal(4, sscanf(box, "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\"", &x, &y,
                             &width, &height));
  const char* level = strstr(box, "<g transform");
  assert_non_null(level);
  assert_int_equal(2, sscanf(level, "<g transform=\"translate(%d %d)\">", &left, &top));
  assert_int_equal(top, y + 30);
  assert_true(left > x && left < x + width / 2);
  free(svg);
}

static void test_names_are_escaped(void** state) {
  add("a<script>&\"'", "O\x01p", NULL);
  add("\xc3\xa9t\xc3\xa9", "Neg", NULL);
  char* svg = draw(&(board_svg_options_t){0});
  expect(svg, "<title>a&#60;script&#62;&#38;&#34;&#39;\nO?p</title>", true);
  expect(svg, "<script", false);
  expect(svg, ">\xc3\xa9t\xc3\xa9</text>", true);
  free(svg);
}

static void test_odd_graphs(void** state) {
  char* empty = draw(&(board_svg_options_t){.open_all = true});
  expect(empty, "a graph of 0 nodes", true);
  free(empty);
  assert_null(board_graph_svg("\x0a\xff", 2, &(board_svg_options_t){0}, message, sizeof message));
  assert_true(strlen(message) > 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(test_scopes, make_arena, free_arena),
      cmocka_unit_test_setup_teardown(test_levels_lie_in_their_boxes, make_arena, free_arena),
      cmocka_unit_test_setup_teardown(test_names_are_escaped, make_arena, free_arena),
      cmocka_unit_test_setup_teardown(test_odd_graphs, make_arena, free_arena),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
