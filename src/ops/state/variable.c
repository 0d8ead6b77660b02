// Definitions of the ops of reference variables. The output of a variable names a cell of a
// container, and ops that take a reference update the cell in place and give the reference as their
// output. A TemporaryVariable is one of these that lives for one step: DestroyTemporaryVariable
// reads it once and ends it.
//
// An op that writes a whole value (Assign) may take a variable that has none yet
// (LEAT_OP_ALLOWS_UNINITIALIZED_INPUT); for all others that is an error of the step. CountUpTo and
// ResourceCountUpTo stand here, though the latter has a resource handle, since they are one op in
// two forms. The kernels are in variable_cpu.c, assign_cpu.c, counter_cpu.c and temporary_cpu.c.
#include "graph/gradient.h"
#include "graph/inference/inference.h"
#include "ops/op_rows.h"

// ---- Variables ----------------------------------------------------------------------------------

// The old op wrote a shape of rank 0 where it knew none, so that this is taken as unknown.
static leat_status_t old_variable_shape(leat_inference_t* c) {
  const leat_attr_value_t* shape = leat_node_attr(c->node, LEAT_SV("shape"));
  bool known = shape && shape->shape.rank > 0;
  leat_inference_set_output(c, 0, known ? shape->shape : leat_partial_shape_unknown());
  return leat_ok_status();
}

// ---- Assignments --------------------------------------------------------------------------------

static leat_status_t assign_shape(leat_inference_t* c) {
  leat_partial_shape_t value = leat_inference_input(c, 1);
  if (leat_node_attr_bool(c->node, "validate_shape", true)) {
    LEAT_RETURN_IF_ERROR(leat_inference_merge(c, leat_inference_input(c, 0), value, &value));
  }
  leat_inference_set_output(c, 0, value);
  return leat_ok_status();
}

#define ASSIGN_TYPES                                                                          \
  "T: {float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, qint32, "   \
  "bfloat16, qint16, quint16, uint16, complex128, half, uint32, uint64}; use_locking: bool = " \
  "false"

// ---- Counters -----------------------------------------------------------------------------------
// Each run gives the number that a variable holds and raises it by one, until the limit is reached.

static leat_status_t count_shape(leat_inference_t* c) {
  leat_partial_shape_t shape;
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank(c, leat_inference_input(c, 0), 0, &shape));
  leat_inference_set_output(c, 0, shape);
  return leat_ok_status();
}

static leat_status_t resource_count_shape(leat_inference_t* c) {
  int dtype;
  leat_partial_shape_t shape;
  if (leat_inference_input_handle(c, 0, &dtype, &shape)) {
    if (dtype != leat_node_attr_type(c->node, "T")) {
      return leat_make_status(LEAT_INVALID_ARGUMENT,
                              "Shape inference failed: T is %s, must be the variable's, %s",
                              leat_dtype_name(leat_node_attr_type(c->node, "T")),
                              leat_dtype_name(dtype));
    }
    LEAT_RETURN_IF_ERROR(leat_inference_with_rank(c, shape, 0, &shape));
  }
  leat_inference_set_output(c, 0, leat_partial_shape_scalar());
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
    {.name = "Assign",
     .inputs = "ref: Ref(T); value: T",
     .outputs = "output_ref: Ref(T)",
     .attrs = "T: type; validate_shape: bool = true; use_locking: bool = true",
     .flags = LEAT_OP_ALLOWS_UNINITIALIZED_INPUT,
     .shape = assign_shape,
     .gradient = leat_gradient_none,
     .doc = "Gives a variable a value."},
    {.name = "AssignAdd",
     .inputs = "ref: Ref(T); value: T",
     .outputs = "output_ref: Ref(T)",
     .attrs = ASSIGN_TYPES,
     .shape = leat_shape_merge_inputs,
     .gradient = leat_gradient_none,
     .doc = "Adds to a variable in place."},
    {.name = "AssignSub",
     .inputs = "ref: Ref(T); value: T",
     .outputs = "output_ref: Ref(T)",
     .attrs = ASSIGN_TYPES,
     .shape = leat_shape_merge_inputs,
     .gradient = leat_gradient_none,
     .doc = "Subtracts from a variable in place."},
    {.name = "CountUpTo",
     .inputs = "ref: Ref(T)",
     .outputs = "output: T",
     .attrs = "limit: int; T: {int32, int64}",
     .shape = count_shape,
     .gradient = leat_gradient_none,
     .doc = "The variable's value, which then grows by one; OUT_OF_RANGE at the limit."},
    {.name = "ResourceCountUpTo",
     .inputs = "resource: resource",
     .outputs = "output: T",
     .attrs = "limit: int; T: {int32, int64}",
     .flags = LEAT_OP_STATEFUL,
     .shape = resource_count_shape,
     .gradient = leat_gradient_none,
     .doc = "The variable's value, which then grows by one; OUT_OF_RANGE at the limit."},
    // Variables of one step.
    {.name = "TemporaryVariable",
     .outputs = "ref: Ref(dtype)",
     .attrs = "shape: shape; dtype: type; var_name: string = ''",
     .flags = LEAT_OP_STATEFUL | LEAT_OP_STEP_RESOURCE,
     .shape = leat_shape_from_attr,
     .gradient = leat_gradient_none,
     .doc = "A reference to a variable of this step, not initialised."},
    {.name = "DestroyTemporaryVariable",
     .inputs = "ref: Ref(T)",
     .outputs = "value: T",
     .attrs = "T: type; var_name: string",
     .flags = LEAT_OP_STEP_RESOURCE,
     .shape = leat_shape_unchanged,
     .gradient = leat_gradient_none,
     .doc = "The last value of a temporary variable, which is gone then."},
    LEAT_OP_ROWS_END,
};
