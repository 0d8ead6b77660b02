// Cases of MatrixSolveLs.
#include "op_harness/op_harness.h"

#define TYPES LEAT_DTYPE_BIT(FLOAT) | LEAT_DTYPE_BIT(DOUBLE)
#define SLOW {LEAT_CASE_BOOL("fast", false)}
#define L2(value) LEAT_SCALAR_ITEM(DOUBLE, value)
#define TALL LEAT_ITEMS(FLOAT, LEAT_DIMS(3, 2), 1, 0, 0, 2, 0, 0)
#define TALL_RIGHT LEAT_ITEMS(FLOAT, LEAT_DIMS(3, 1), 1, 2, 9)
#define WIDE LEAT_ITEMS(FLOAT, LEAT_DIMS(1, 2), 1, 1)
#define WIDE_RIGHT LEAT_ITEMS(FLOAT, LEAT_DIMS(1, 1), 4)

static const leat_op_case_t kCases[] = {
    {.op = "MatrixSolveLs",
     .name = "more equations",
     .inputs = {TALL, TALL_RIGHT, L2(0)},
     .types = TYPES,
     .expected = {LEAT_ITEMS(FLOAT, LEAT_DIMS(2, 1), 1, 1)}},
    {.op = "MatrixSolveLs",
     .name = "regularized",
     .inputs = {TALL, TALL_RIGHT, L2(1)},
     .expected = {LEAT_ITEMS(FLOAT, LEAT_DIMS(2, 1), 0.5, 0.8)}},
    {.op = "MatrixSolveLs",
     .name = "fewer equations",
     .inputs = {WIDE, WIDE_RIGHT, L2(0)},
     .types = TYPES,
     .expected = {LEAT_ITEMS(FLOAT, LEAT_DIMS(2, 1), 2, 2)}},
    {.op = "MatrixSolveLs",
     .name = "by singular values",
     .attrs = SLOW,
     .inputs = {TALL, TALL_RIGHT, L2(0)},
     .types = TYPES,
     .expected = {LEAT_ITEMS(FLOAT, LEAT_DIMS(2, 1), 1, 1)}},
    {.op = "MatrixSolveLs",
     .name = "by singular values, fewer equations",
     .attrs = SLOW,
     .inputs = {WIDE, WIDE_RIGHT, L2(0)},
     .expected = {LEAT_ITEMS(FLOAT, LEAT_DIMS(2, 1), 2, 2)}},
    {.op = "MatrixSolveLs",
     .name = "equations that say the same",
     .attrs = SLOW,
     .inputs = {LEAT_ITEMS(FLOAT, LEAT_DIMS(2, 2), 1, 1, 1, 1),
                LEAT_ITEMS(FLOAT, LEAT_DIMS(2, 1), 4, 4), L2(0)},
     .expected = {LEAT_ITEMS(FLOAT, LEAT_DIMS(2, 1), 2, 2)}},
    {.op = "MatrixSolveLs",
     .name = "a column of zeros",
     .inputs = {LEAT_ITEMS(FLOAT, LEAT_DIMS(2, 2), 1, 0, 1, 0),
                LEAT_ITEMS(FLOAT, LEAT_DIMS(2, 1), 4, 4), L2(0)},
     .code = LEAT_INVALID_ARGUMENT,
     .message = "ill-conditioned"},
    {.op = "MatrixSolveLs",
     .name = "a negative regularizer",
     .inputs = {WIDE, WIDE_RIGHT, L2(-1)},
     .code = LEAT_INVALID_ARGUMENT},
    {.op = "MatrixSolveLs",
     .name = "no equations",
     .inputs = {LEAT_NO_ITEMS(FLOAT, LEAT_DIMS(0, 2)), LEAT_NO_ITEMS(FLOAT, LEAT_DIMS(0, 1)),
                L2(0)},
     .expected = {LEAT_ITEMS(FLOAT, LEAT_DIMS(2, 1), 0, 0)}},
};

LEAT_OP_TEST_MAIN(kCases)
