// Cases of Cross.
#include "op_harness/op_harness.h"

static const leat_op_case_t kCases[] = {
    {.op = "Cross",
     .inputs = {LEAT_ITEMS(FLOAT, LEAT_DIMS(2, 3), 1, 2, 3, 0, 1, 0),
                LEAT_ITEMS(FLOAT, LEAT_DIMS(2, 3), 4, 5, 6, 0, 0, 1)},
     .types = LEAT_DTYPES_FLOATING | LEAT_DTYPES_SIGNED,
     .expected = {LEAT_ITEMS(FLOAT, LEAT_DIMS(2, 3), -3, 6, -3, 1, 0, 0)},
     .gradient = LEAT_GRADIENT_TWICE},
    {.op = "Cross",
     .name = "shapes that differ",
     .inputs = {LEAT_RANDOM(FLOAT, LEAT_DIMS(3), 0, 1), LEAT_RANDOM(FLOAT, LEAT_DIMS(1, 3), 0, 1)},
     .code = LEAT_INVALID_ARGUMENT},
};

LEAT_OP_TEST_MAIN(kCases)
