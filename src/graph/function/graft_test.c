// Copies of a graph's nodes in another graph.
#include "graph/function/graft.h"

#include "session/scene.h"

// Who is to lie beside a node of the graph that is copied lies beside the copy of that node: the
// node's own name is no name of the graph that it comes into. Other classes stay as they are.
static void colocation_names_the_copy(void** state) {
  scene_t from, into;
  scene_open(&from);
  scene_open(&into);
  leat_output_t x = scene_placeholder(&from, "x", LEAT_DTYPE_FLOAT);
  leat_output_t a = scene_output(&from, "Neg", "a", "", LEAT_INPUTS(x), LEAT_NO_ATTRS);
  leat_output_t b = scene_output(&from, "Exp", "b", "", LEAT_INPUTS(a), LEAT_NO_ATTRS);
  leat_string_view_t classes[] = {LEAT_SV("loc:@a"), LEAT_SV("other")};
  leat_attr_t attr = {LEAT_SV("_class"),
                      {.kind = LEAT_ATTR_STRING, .is_list = true, .count = 2, .strings = classes}};
  LEAT_EXPECT_OK(leat_graph_set_attr(from.graph, b.node, &attr));
  leat_output_t y = scene_placeholder(&into, "y", LEAT_DTYPE_FLOAT);
  leat_graft_t graft = {.from = from.graph, .inputs = &x, .replacements = &y, .input_count = 1,
                        .prefix = LEAT_SV("loop/"), .control = -1};
  int32_t nodes[3];
  LEAT_EXPECT_OK(leat_graft_add(into.graph, &graft, nodes));
  const leat_node_t* copy = &into.graph->nodes[nodes[b.node]];
  assert_true(leat_string_view_equals(copy->name, "loop/b"));
  assert_int_equal(copy->inputs[0].node, nodes[a.node]);
  assert_int_equal(into.graph->nodes[nodes[a.node]].inputs[0].node, y.node);
  const leat_attr_value_t* copied = leat_node_attr(copy, LEAT_SV("_class"));
  assert_int_equal(copied->count, 2);
  assert_true(leat_string_view_equals(copied->strings[0], "loc:@loop/a"));
  assert_true(leat_string_view_equals(copied->strings[1], "other"));
  scene_close(&into);
  scene_close(&from);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(colocation_names_the_copy),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
