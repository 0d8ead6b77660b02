// The ops of temporary variables, which live within a step: TemporaryVariable makes one, ops that
// take a reference update it, and DestroyTemporaryVariable reads it once and ends it.
#include "graph/gradient.h"
#include "graph/inference/inference.h"
#include "ops/op_rows.h"

const leat_op_row_t leat_temporary_ops[] = {
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
