// The ops of reference variables. The output of a variable names a cell of a container; ops that
// take a reference update the cell in place.
#include "graph/gradient.h"
#include "graph/inference/inference.h"
#include "ops/op_rows.h"

// The old op wrote a shape of rank 0 where it knew none, so that this is taken as unknown.
static leat_status_t old_variable_shape(leat_inference_t* c) {
  const leat_attr_value_t* shape = leat_node_attr(c->node, LEAT_SV("shape"));
  bool known = shape && shape->shape.rank > 0;
  leat_inference_set_output(c, 0, known ? shape->shape : leat_partial_shape_unknown());
  return leat_ok_status();
}

const leat_op_row_t leat_variable_ops[] = {
    {.name = "Variable",
     .outputs = "ref: Ref(dtype)",
     .attrs = "shape: shape; dtype: type; container: string = ''; shared_name: string = ''",
     .flags = LEAT_OP_STATEFUL | LEAT_OP_VARIABLE,
     .shape = old_variable_shape,
     .gradient = leat_gradient_none,
     .doc = "A reference to a variable; use VariableV2."},
    {.name = "VariableV2",
     .outputs = "ref: Ref(dtype)",
     .attrs = "shape: shape; dtype: type; container: string = ''; shared_name: string = ''",
     .flags = LEAT_OP_STATEFUL | LEAT_OP_VARIABLE,
     .shape = leat_shape_from_attr,
     .gradient = leat_gradient_none,
     .doc = "A reference to a variable, which lives in a container across steps."},
    {.name = "IsVariableInitialized",
     .inputs = "ref: Ref(dtype)",
     .outputs = "is_initialized: bool",
     .attrs = "dtype: type",
     .flags = LEAT_OP_ALLOWS_UNINITIALIZED_INPUT,
     .shape = leat_shape_scalar_output,
     .gradient = leat_gradient_none,
     .doc = "Whether the variable has a value."},
    LEAT_OP_ROWS_END,
};
