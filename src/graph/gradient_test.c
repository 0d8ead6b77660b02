// The helpers that all gradient functions call: making rows dense, giving zeros where no gradient
// came, and undoing a broadcast. The graph is one addition of the toy ops (toy_graph/toy_ops.h),
// because this room must not see the real ops, and the tests look at the nodes that the helpers
// add. What matters is how much is known while building: equal shapes need no node, known axes
// become one Sum with constant axes, and unknown ones are computed by the step itself. Two unknown
// sizes are not known to be equal, even if both are written as -1.
#include "graph/gradient.h"

#include "toy_graph/toy_ops.h"

typedef struct case_s {
  toy_t toy;
  leat_gradient_t gradient;
  leat_gradient_value_t outputs[1], inputs[2];
  size_t before;
} case_t;

// x + y, of shapes that may be partial; the gradient of the sum is a placeholder.
static void open_case(case_t* c, int x_rank, const int64_t* x_dims, int y_rank,
                      const int64_t* y_dims) {
  const leat_gradient_value_t none = {LEAT_OUTPUT_NONE, LEAT_OUTPUT_NONE, LEAT_OUTPUT_NONE};
  toy_open(&c->toy);
  leat_output_t x = toy_placeholder(&c->toy, "x", LEAT_DTYPE_FLOAT, x_rank, x_dims);
  leat_output_t y = toy_placeholder(&c->toy, "y", LEAT_DTYPE_FLOAT, y_rank, y_dims);
  int32_t sum = toy_add(&c->toy, "Add", "sum", LEAT_INPUTS(x, y), LEAT_NO_ATTRS);
  c->outputs[0] = c->inputs[0] = c->inputs[1] = none;
  c->outputs[0].dense = toy_placeholder(&c->toy, "g", LEAT_DTYPE_FLOAT, -1, NULL);
  c->gradient = (leat_gradient_t){.builder = {.graph = c->toy.graph},
                                  .node = sum,
                                  .output_gradients = c->outputs,
                                  .input_gradients = c->inputs};
  c->before = c->toy.graph->node_count;
}

static const leat_node_t* made_by(const case_t* c, leat_output_t output, const char* op) {
  const leat_node_t* node = leat_graph_node(c->toy.graph, output.node);
  assert_true(leat_string_view_equals(node->op->name, op));
  return node;
}

static void spread(case_t* c) {
  leat_output_t g = leat_gradient_of_output(&c->gradient, 0);
  leat_gradient_set_broadcast_inputs(&c->gradient, g, g);
  toy_ok(c->gradient.builder.status);
}

static void equal_shapes_add_nothing(void** state) {
  (void)state;
  static const int64_t dims[][2] = {{3, 4}, {3, -1}};
  for (int i = 0; i < 2; ++i) {
    case_t c;
    // Of one unknown size it is not known that it is equal to another.
    open_case(&c, 2, dims[i], 2, i == 0 ? dims[0] : dims[1]);
    spread(&c);
    if (i == 0) {
      assert_int_equal(c.toy.graph->node_count, c.before);
      assert_int_equal(c.inputs[0].dense.node, c.outputs[0].dense.node);
    } else {
      made_by(&c, c.inputs[0].dense, "Reshape");
    }
    toy_close(&c.toy);
  }
}

static void known_axes_are_summed(void** state) {
  (void)state;
  case_t c;
  open_case(&c, 2, (const int64_t[]){3, 4}, 1, (const int64_t[]){1});
  spread(&c);
  assert_int_equal(c.inputs[0].dense.node, c.outputs[0].dense.node);
  const leat_node_t* reshape = made_by(&c, c.inputs[1].dense, "Reshape");
  const leat_node_t* sum = made_by(&c, reshape->inputs[0], "Sum");
  assert_true(leat_node_attr_bool(sum, "keep_dims", false));
  const leat_node_t* axes = made_by(&c, sum->inputs[1], "Const");
  const leat_tensor_t* values = leat_node_attr(axes, LEAT_SV("value"))->tensor;
  assert_int_equal(values->shape.element_count, 2);
  assert_int_equal(leat_tensor_index_at(values, 0), 0);
  assert_int_equal(leat_tensor_index_at(values, 1), 1);
  made_by(&c, reshape->inputs[1], "Const");  // the shape is known too
  toy_close(&c.toy);
}

static void unknown_axes_are_found_at_run_time(void** state) {
  (void)state;
  case_t c;
  open_case(&c, -1, NULL, 1, (const int64_t[]){5});
  spread(&c);
  const leat_node_t* reshape = made_by(&c, c.inputs[1].dense, "Reshape");
  const leat_node_t* sum = made_by(&c, reshape->inputs[0], "Sum");
  assert_int_equal(sum->inputs[1].index, 1);
  const leat_node_t* axes = made_by(&c, sum->inputs[1], "BroadcastGradientArgs");
  made_by(&c, axes->inputs[0], "Shape");
  made_by(&c, axes->inputs[1], "Const");
  toy_close(&c.toy);
}

static void rows_become_dense_and_nothing_becomes_zeros(void** state) {
  (void)state;
  case_t c;
  open_case(&c, 0, NULL, 0, NULL);
  c.outputs[0].indices = toy_placeholder(&c.toy, "i", LEAT_DTYPE_INT64, -1, NULL);
  c.outputs[0].dense_shape = toy_placeholder(&c.toy, "d", LEAT_DTYPE_INT64, 1,
                                             (const int64_t[]){2});
  const leat_node_t* dense = made_by(&c, leat_gradient_of_output(&c.gradient, 0),
                                     "UnsortedSegmentSum");
  assert_int_equal(leat_node_attr_type(dense, "Tnumsegments"), LEAT_DTYPE_INT64);
  const leat_node_t* count = made_by(&c, dense->inputs[2], "StridedSlice");
  assert_int_equal(leat_node_attr_int(count, "shrink_axis_mask", 0), 1);
  c.outputs[0].dense = LEAT_OUTPUT_NONE;
  assert_false(leat_gradient_has_output(&c.gradient, 0));
  made_by(&c, leat_gradient_of_output(&c.gradient, 0), "ZerosLike");
  leat_partial_shape_t shape = leat_partial_shape_scalar();
  c.gradient.node = toy_add(&c.toy, "VarHandleOp", "v", LEAT_NO_INPUTS,
                            LEAT_ATTRS(LEAT_TYPE("dtype", LEAT_DTYPE_DOUBLE),
                                       LEAT_SHAPE("shape", shape)));
  const leat_node_t* zeros = made_by(&c, leat_gradient_of_output(&c.gradient, 0), "Fill");
  made_by(&c, zeros->inputs[0], "VariableShape");
  assert_int_equal(zeros->output_types[0], LEAT_DTYPE_DOUBLE);
  toy_ok(leat_gradient_none(&c.gradient));
  toy_ok(c.gradient.builder.status);
  toy_close(&c.toy);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(equal_shapes_add_nothing),
      cmocka_unit_test(known_axes_are_summed),
      cmocka_unit_test(unknown_axes_are_found_at_run_time),
      cmocka_unit_test(rows_become_dense_and_nothing_becomes_zeros),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
