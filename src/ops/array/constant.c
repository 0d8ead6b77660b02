// Const: a tensor written into the graph. The runtime reads attribute "value" itself wherever it
// can, which the flag LEAT_OP_CONSTANT allows; the kernel serves the other nodes, such as those
// that wait for control inputs.
#include "graph/gradient.h"
#include "graph/inference/inference.h"
#include "ops/op_rows.h"

// Checks the type of the value against the node's, because whoever reads the attribute relies on
// it.
static leat_status_t constant_shape(leat_inference_t* c) {
  const leat_attr_value_t* value = leat_node_attr(c->node, LEAT_SV("value"));
  if (!value || value->kind != LEAT_ATTR_TENSOR || value->is_list) return leat_ok_status();
  if (value->tensor->dtype != c->node->output_types[0]) {
    return leat_make_status(LEAT_INVALID_ARGUMENT, "type of value is %s, must be dtype, %s",
                            leat_dtype_name(value->tensor->dtype),
                            leat_dtype_name(c->node->output_types[0]));
  }
  const leat_shape_t* shape = &value->tensor->shape;
  leat_partial_shape_t output;
  LEAT_RETURN_IF_ERROR(leat_inference_make(c, shape->rank, leat_shape_dims(shape), &output));
  leat_inference_set_output(c, 0, output);
  return leat_ok_status();
}

const leat_op_row_t leat_constant_ops[] = {
    {.name = "Const",
     .outputs = "output: dtype",
     .attrs = "value: tensor; dtype: type",
     .flags = LEAT_OP_CONSTANT,
     .shape = constant_shape,
     .gradient = leat_gradient_none,
     .doc = "A tensor of fixed value."},
    LEAT_OP_ROWS_END,
};
