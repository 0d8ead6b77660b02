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

// Finds the declared shape of the variable whose handle is input |index|, where the handle comes
// from a VarHandleOp, and checks that the declared type is |dtype|, which the node states.
static leat_status_t shape_behind(leat_inference_t* c, int index, int dtype,
                                  leat_partial_shape_t* out_shape) {
  int declared;
  if (!leat_inference_input_handle(c, index, &declared, out_shape) || declared == dtype) {
    return leat_ok_status();
  }
  return leat_make_status(LEAT_INVALID_ARGUMENT, "dtype is %s, must be the variable's, %s",
                          leat_dtype_name(dtype), leat_dtype_name(declared));
}
static leat_status_t declared_shape(leat_inference_t* c, leat_partial_shape_t* out_shape) {
  return shape_behind(c, 0, c->node->attrs[c->node->op->dtype_attr].value.type, out_shape);
}

static leat_status_t read_shape(leat_inference_t* c) {
  leat_partial_shape_t shape;
  LEAT_RETURN_IF_ERROR(declared_shape(c, &shape));
  leat_inference_set_output(c, 0, shape);
  return leat_ok_status();
}

static leat_status_t read_all_shape(leat_inference_t* c) {
  leat_partial_shape_t shape;
  if (c->node->input_count != c->node->output_count) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "Mismatched number of arguments to ReadVariablesOp: dtypes has %d "
                            "values, must have N, %d", c->node->output_count,
                            c->node->input_count);
  }
  for (int i = 0; i < c->node->output_count; ++i) {
    LEAT_RETURN_IF_ERROR(shape_behind(c, i, c->node->output_types[i], &shape));
    leat_inference_set_output(c, i, shape);
  }
  return leat_ok_status();
}

static leat_status_t update_shape(leat_inference_t* c) {
  leat_partial_shape_t shape, merged;
  LEAT_RETURN_IF_ERROR(declared_shape(c, &shape));
  return leat_inference_merge(c, shape, leat_inference_input(c, 1), &merged);
}

static leat_status_t variable_shape_shape(leat_inference_t* c) {
  int dtype;
  leat_partial_shape_t variable, output;
  int64_t rank = LEAT_DIM_UNKNOWN;
  if (leat_inference_input_handle(c, 0, &dtype, &variable) && variable.rank >= 0) {
    rank = variable.rank;
  }
  LEAT_RETURN_IF_ERROR(leat_inference_make(c, 1, &rank, &output));
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

// Each list has an item for each handle.
static leat_status_t var_handles_shape(leat_inference_t* c) {
  static const char* const kLists[] = {"containers", "shared_names", "dtypes", "shapes"};
  const int count = c->node->output_count;
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(kLists); ++i) {
    const leat_attr_value_t* list = leat_node_attr(c->node, leat_string_view_from(kLists[i]));
    if (!list || (int)list->count == count) continue;
    return leat_make_status(LEAT_INVALID_ARGUMENT, "Mismatched number of %s: it has %u values, "
                            "must have N, %d", kLists[i], list->count, count);
  }
  for (int i = 0; i < count; ++i) {
    leat_inference_set_output(c, i, leat_partial_shape_scalar());
  }
  return leat_ok_status();
}

// Tells inference what each handle stands for.
static leat_status_t var_handles_value(leat_inference_t* c) {
  const leat_attr_value_t* dtypes = leat_node_attr(c->node, LEAT_SV("dtypes"));
  const leat_attr_value_t* shapes = leat_node_attr(c->node, LEAT_SV("shapes"));
  for (int i = 0; i < c->node->output_count; ++i) {
    const leat_referent_t variable = {.dtype = dtypes->types[i], .shape = shapes->shapes[i]};
    LEAT_RETURN_IF_ERROR(leat_inference_set_output_referents(c, i, &variable, 1));
  }
  return leat_ok_status();
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
    // TensorFlow puts these two in the place of many VarHandleOps and ReadVariableOps of a device.
    {.name = "_VarHandlesOp",
     .outputs = "resources: N * resource",
     .attrs = "containers: list(string); shared_names: list(string); N: int >= 0; "
              "dtypes: list(type); shapes: list(shape)",
     .flags = LEAT_OP_STATEFUL,
     .shape = var_handles_shape,
     .value = var_handles_value,
     .doc = "Handles to variables."},
    {.name = "_ReadVariablesOp",
     .inputs = "resources: N * resource",
     .outputs = "values: dtypes",
     .attrs = "N: int >= 0; dtypes: list(type) >= 1",
     .flags = LEAT_OP_STATEFUL,
     .shape = read_all_shape,
     .doc = "The values of variables now."},
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
