// Assert: ends the step when a condition does not hold.
#include "graph/gradient.h"
#include "graph/inference/inference.h"
#include "ops/op_rows.h"

const leat_op_row_t leat_assert_ops[] = {
    {.name = "Assert",
     .inputs = "condition: bool; data: T",
     .attrs = "T: list(type) >= 1; summarize: int = 3",
     .flags = LEAT_OP_STATEFUL,
     .shape = leat_shape_none,
     .gradient = leat_gradient_none,
     .doc = "Fails with the data in words unless the condition is true."},
    LEAT_OP_ROWS_END,
};
