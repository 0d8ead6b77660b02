// The ops Assign, AssignAdd and AssignSub, which update a reference variable and give the reference
// as their output: their shapes and registration.
#include "graph/gradient.h"
#include "graph/inference/inference.h"
#include "ops/op_rows.h"

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

const leat_op_row_t leat_assign_ops[] = {
    {.name = "Assign",
     .inputs = "ref: Ref(T); value: T",
     .outputs = "output_ref: Ref(T)",
     .attrs = "T: type; validate_shape: bool = true; use_locking: bool = true",
     .flags = LEAT_OP_ALLOWS_UNINITIALIZED_INPUT,
     .escaping_inputs = 2,
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
    LEAT_OP_ROWS_END,
};
