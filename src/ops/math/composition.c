// _UnaryOpsComposition: functions of one operand, one after the other. TensorFlow's remapper puts
// it in the place of a chain of such ops.
#include "graph/inference/inference.h"
#include "ops/op_rows.h"

const leat_op_row_t leat_composition_ops[] = {
    {.name = "_UnaryOpsComposition",
     .cost = LEAT_COST_FUNCTION,
     .inputs = "x: T",
     .outputs = "y: T",
     .attrs = "T: {float, half, double}; op_names: list(string)",
     .shape = leat_shape_unchanged,
     .doc = "The ops in op_names, each on the result of the one before."},
    LEAT_OP_ROWS_END,
};
