// The ops CheckNumerics and CheckNumericsV2, which pass the input on and fail where it holds an
// infinity or a NaN. They are stateful, so that the optimizer keeps the check.
#include "graph/gradient.h"
#include "graph/inference/inference.h"
#include "ops/op_rows.h"

// The gradient is checked by the same op, with a message that says it was the gradient.
static leat_status_t check_numerics_gradient(leat_gradient_t* g) {
  leat_string_view_t message = leat_node_attr_string(leat_gradient_node(g), "message");
  leat_string_view_t text;
  LEAT_RETURN_IF_ERROR(leat_arena_print(
      leat_graph_arena(g->builder.graph), &text,
      "Not a number (NaN) or infinity (Inf) values detected in gradient. %.*s",
      LEAT_SV_ARG(message)));
  const char* op = leat_gradient_node(g)->op->row->name;
  leat_gradient_set_input(g, 0,
                          leat_build(&g->builder, op, LEAT_INPUTS(leat_gradient_of_output(g, 0)),
                                     LEAT_ATTRS(LEAT_STRING("message", text))));
  return leat_ok_status();
}

const leat_op_row_t leat_numerics_ops[] = {
    {.name = "CheckNumerics",
     .inputs = "tensor: T",
     .outputs = "output: T",
     .attrs = "T: {bfloat16, half, float, double}; message: string",
     .flags = LEAT_OP_STATEFUL,
     .shape = leat_shape_unchanged,
     .gradient = check_numerics_gradient,
     .doc = "The input, or an error where it holds infinity or NaN."},
    {.name = "CheckNumericsV2",
     .inputs = "tensor: T",
     .outputs = "output: T",
     .attrs = "T: {bfloat16, half, float, double}; message: string",
     .flags = LEAT_OP_STATEFUL,
     .shape = leat_shape_unchanged,
     .gradient = check_numerics_gradient,
     .doc = "The input, or an error that tells -infinity, +infinity and NaN apart."},
    LEAT_OP_ROWS_END,
};
