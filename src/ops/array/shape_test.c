// Cases of Shape, ShapeN, Rank and Size.
#include "op_harness/op_harness.h"

static const leat_op_case_t kCases[] = {
    {.op = "Shape",
     .inputs = {LEAT_RANDOM(FLOAT, LEAT_DIMS(2, 0, 3), -1, 1)},
     .types = LEAT_DTYPES_NUMBER | LEAT_DTYPE_BIT(BOOL),
     .expected = {LEAT_ITEMS(INT32, LEAT_DIMS(3), 2, 0, 3)}},
    {.op = "Shape",
     .name = "scalar string",
     .attrs = {LEAT_CASE_TYPE("out_type", INT64)},
     .inputs = {LEAT_TEXTS(LEAT_SCALAR_DIMS, "leat")},
     .expected = {LEAT_NO_ITEMS(INT64, LEAT_DIMS(0))}},
    {.op = "ShapeN",
     .inputs = {LEAT_RANDOM(FLOAT, LEAT_DIMS(4), 0, 1), LEAT_RANDOM(FLOAT, LEAT_DIMS(1, 5), 0, 1)},
     .expected = {LEAT_ITEMS(INT32, LEAT_DIMS(1), 4), LEAT_ITEMS(INT32, LEAT_DIMS(2), 1, 5)}},
    {.op = "Rank",
     .inputs = {LEAT_RANDOM(INT8, LEAT_DIMS(2, 1, 2), 0, 9)},
     .expected = {LEAT_SCALAR_ITEM(INT32, 3)}},
    {.op = "Size",
     .inputs = {LEAT_RANDOM(DOUBLE, LEAT_DIMS(6, 7), 0, 9)},
     .expected = {LEAT_SCALAR_ITEM(INT32, 42)},
     .bench = true},
};

LEAT_OP_TEST_MAIN(kCases)
