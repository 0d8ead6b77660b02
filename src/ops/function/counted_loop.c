// The op For: it calls a function on the function's own results, once for each number of a range.
#include "graph/inference/inference.h"
#include "ops/op_rows.h"

const leat_op_row_t leat_counted_loop_ops[] = {
    {.name = "For",
     .inputs = "start: int32; limit: int32; delta: int32; input: T",
     .outputs = "output: T",
     .attrs = "T: list(type) >= 0; body: func",
     .flags = LEAT_OP_CALLS | LEAT_OP_NEVER_FOLD,
     .shape = leat_shape_unknown,
     .doc = "Calls a function on a number and its own results, number after number."},
    LEAT_OP_ROWS_END,
};
