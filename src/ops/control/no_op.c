// NoOp and ControlTrigger, nodes for which others can wait by control edges.
#include "graph/gradient.h"
#include "graph/inference/inference.h"
#include "ops/op_rows.h"

const leat_op_row_t leat_no_op_ops[] = {
    {.name = "NoOp",
     .cost = LEAT_COST_NONE,
     .shape = leat_shape_none,
     .gradient = leat_gradient_none,
     .doc = "Does nothing; others may wait for it."},
    {.name = "ControlTrigger",
     .flags = LEAT_OP_CONTROL_TRIGGER,
     .shape = leat_shape_none,
     .gradient = leat_gradient_none,
     .doc = "Does nothing, and runs even when what it waits for is dead."},
    LEAT_OP_ROWS_END,
};
