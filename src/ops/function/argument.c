// _Arg and _Retval, the ends of a function body. The executor fills _Arg from the feeds or from the
// caller's arguments; _Retval marks what the caller gets.
#include "graph/inference/inference.h"
#include "ops/op_rows.h"

const leat_op_row_t leat_argument_ops[] = {
    {.name = "_Arg",
     .outputs = "output: T",
     .attrs = "T: type; index: int >= 0",
     .flags = LEAT_OP_STATEFUL | LEAT_OP_ARGUMENT,
     .shape = leat_shape_unknown,
     .doc = "The value of a fed edge or of a function's argument."},
    {.name = "_Retval",
     .inputs = "input: T",
     .attrs = "T: type; index: int >= 0",
     .flags = LEAT_OP_STATEFUL | LEAT_OP_RETURN_VALUE,
     .shape = leat_shape_none,
     .doc = "A value that a function returns."},
    LEAT_OP_ROWS_END,
};
