// Shapes in a loop whose variable changes its shape from one iteration to the next.
#include "graph/inference/inference.h"

#include "session/flow.h"

// The variable begins with one element and is twice as long in each iteration:
//
//   Enter ─▶ Merge ─▶ ConcatV2 ─▶ NextIteration ─▶ (Merge)
//              └────▶ Shape ─▶ Fill
//
// Shapes are inferred in rounds. In the first one the variable is taken to keep the shape [1], and
// so is what Shape gives; in the last one its length is not known, and what was known of the value
// of Shape must be forgotten with it.
static void values_are_those_of_the_last_round(void** state) {
  scene_t s;
  scene_open(&s);
  leat_output_t start = scene_floats(&s, 1, (const float[]){1});
  leat_output_t x = scene_placeholder(&s, "x", LEAT_DTYPE_FLOAT);
  leat_output_t unknown = flow_enter(&s, "loop", x, false);
  leat_output_t enter = flow_enter(&s, "loop", start, false);
  leat_output_t axis = flow_enter(&s, "loop", flow_int(&s, 0), true);
  leat_output_t one = flow_enter(&s, "loop", scene_float(&s, 1), true);
  leat_output_t merge = flow_merge(&s, unknown, unknown);
  leat_output_t twice = scene_output(&s, "ConcatV2", "", "", LEAT_INPUTS(merge, merge, axis),
                                     LEAT_ATTRS(LEAT_INT("N", 2)));
  leat_output_t next = scene_unary(&s, "NextIteration", -1, twice);
  leat_output_t ones = scene_binary(&s, "Fill", -1, scene_unary(&s, "Shape", -1, merge), one);
  LEAT_EXPECT_OK(leat_graph_set_input(s.graph, merge.node, 0, enter));
  LEAT_EXPECT_OK(leat_graph_set_input(s.graph, merge.node, 1, next));
  int32_t order[32];
  assert_true(s.graph->node_count <= LEAT_ARRAY_SIZE(order));
  LEAT_EXPECT_OK(leat_graph_sort(s.graph, order));
  LEAT_EXPECT_OK(leat_graph_narrow_shapes(s.graph, order, s.graph->node_count, LEAT_OP_ENTER));
  leat_output_t grown[] = {merge, ones};
  for (int i = 0; i < 2; ++i) {
    leat_partial_shape_t shape = leat_graph_output_shape(s.graph, grown[i]);
    assert_int_equal(shape.rank, 1);
    assert_int_equal(shape.dims[0], LEAT_DIM_UNKNOWN);
  }
  scene_close(&s);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(values_are_those_of_the_last_round),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
