// The ops of resource variables: their shapes, gradients and registration. A handle is a value that
// names a cell of a container; reading and updating the cell are ops of their own, ordered by
// control edges. That is what sets them apart from reference variables (variable.c), where every
// consumer of the reference reads whatever the value is when it runs.
//
// The shape of the value is known where the handle can be traced to its VarHandleOp. The gradient
// with respect to a handle stands for the gradient with respect to the variable, so that
// ReadVariableOp passes it through.
#include "base/checked.h"
#include "graph/gradient.h"
#include "graph/inference/inference.h"
#include "ops/op_rows.h"

// Finds the variable's declared shape where its handle comes from a VarHandleOp, and checks that
// the declared type is that of the node.
static leat_status_t declared_shape(leat_inference_t* c, leat_partial_shape_t* out_shape) {
  int declared, dtype = c->node->attrs[c->node->op->dtype_attr].value.type;
  if (!leat_inference_input_handle(c, 0, &declared, out_shape) || declared == dtype) {
    return leat_ok_status();
  }
  return leat_make_status(LEAT_INVALID_ARGUMENT, "dtype is %s, must be the variable's, %s",
                          leat_dtype_name(dtype), leat_dtype_name(declared));
}

static leat_status_t read_shape(leat_inference_t* c) {
  leat_partial_shape_t shape;
  LEAT_RETURN_IF_ERROR(declared_shape(c, &shape));
  leat_inference_set_output(c, 0, shape);
  return leat_ok_status();
}

static leat_status_t update_shape(leat_inference_t* c) {
  leat_partial_shape_t shape, merged;
  LEAT_RETURN_IF_ERROR(declared_shape(c, &shape));
  return leat_inference_merge(c, shape, leat_inference_input(c, 1), &merged);
}

static leat_status_t variable_shape_shape(leat_inference_t* c) {
  leat_partial_shape_t output;
  LEAT_RETURN_IF_ERROR(leat_inference_unknown_of_rank(c, 1, &output));
  leat_inference_set_output(c, 0, output);
  return leat_ok_status();
}

static leat_status_t read_gradient(leat_gradient_t* g) {
  leat_gradient_value_t dy = leat_gradient_value_of_output(g, 0);
  g->input_gradients[0] = dy;
  return leat_ok_status();
}

#define UPDATE_OP(op_name, words)                              \
  {.name = op_name,                                            \
   .inputs = "resource: resource; value: dtype",               \
   .attrs = "dtype: type",                                     \
   .flags = LEAT_OP_STATEFUL,                                  \
   .shape = update_shape,                                      \
   .gradient = leat_gradient_none,                             \
   .doc = words}

// The handle is a scalar. The shape of the variable must be one that a value can have.
static leat_status_t var_handle_shape(leat_inference_t* c) {
  const leat_partial_shape_t shape = c->node->attrs[c->node->op->shape_attr].value.shape;
  int64_t count = 1;
  bool fits = true;
  for (int d = 0; d < shape.rank; ++d) fits &= leat_checked_multiply(count, shape.dims[d], &count);
  if (leat_partial_shape_is_full(shape) && !fits) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "shape is %s, must have fewer than 2^63 elements",
                            LEAT_PARTIAL_SHAPE_TEXT(shape));
  }
  return leat_shape_scalar_output(c);
}

const leat_op_row_t leat_resource_variable_ops[] = {
    {.name = "VarHandleOp",
     .outputs = "resource: resource",
     .attrs = "container: string = ''; shared_name: string = ''; debug_name: string = ''; "
              "dtype: type; shape: shape; allowed_devices: list(string) = []",
     .flags = LEAT_OP_STATEFUL | LEAT_OP_VARIABLE,
     .shape = var_handle_shape,
     .gradient = leat_gradient_none,
     .doc = "A handle to a variable, which lives in a container across steps."},
    {.name = "ReadVariableOp",
     .inputs = "resource: resource",
     .outputs = "value: dtype",
     .attrs = "dtype: type",
     .flags = LEAT_OP_STATEFUL,
     .shape = read_shape,
     .gradient = read_gradient,
     .doc = "The value of a variable now."},
    {.name = "AssignVariableOp",
     .inputs = "resource: resource; value: dtype",
     .attrs = "dtype: type; validate_shape: bool = false",
     .flags = LEAT_OP_STATEFUL,
     .shape = update_shape,
     .gradient = leat_gradient_none,
     .doc = "Gives a variable a value."},
    UPDATE_OP("AssignAddVariableOp", "Adds to a variable in place."),
    UPDATE_OP("AssignSubVariableOp", "Subtracts from a variable in place."),
    {.name = "VarIsInitializedOp",
     .inputs = "resource: resource",
     .outputs = "is_initialized: bool",
     .flags = LEAT_OP_STATEFUL,
     .shape = leat_shape_scalar_output,
     .gradient = leat_gradient_none,
     .doc = "Whether the variable has a value."},
    {.name = "VariableShape",
     .inputs = "input: resource",
     .outputs = "output: out_type",
     .attrs = "out_type: {int32, int64} = int32",
     .flags = LEAT_OP_STATEFUL | LEAT_OP_DESCRIBES,
     .shape = variable_shape_shape,
     .gradient = leat_gradient_none,
     .doc = "The shape of a variable's value."},
    {.name = "DestroyResourceOp",
     .inputs = "resource: resource",
     .attrs = "ignore_lookup_error: bool = true",
     .flags = LEAT_OP_STATEFUL,
     .shape = leat_shape_none,
     .gradient = leat_gradient_none,
     .doc = "Forgets a resource; who still uses it may finish."},
    {.name = "DisableCopyOnRead",
     .inputs = "resource: resource",
     .flags = LEAT_OP_STATEFUL,
     .shape = leat_shape_none,
     .doc = "Ends a variable's mode of copying at every read, which Leat has no need of."},
    LEAT_OP_ROWS_END,
};
