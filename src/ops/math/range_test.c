// Cases of Range and LinSpace.
#include <math.h>

#include "op_harness/op_harness.h"

#define N(DTYPE, value) LEAT_SCALAR_ITEM(DTYPE, value)

static const leat_op_case_t kCases[] = {
    {.op = "Range",
     .inputs = {N(INT32, 1), N(INT32, 8), N(INT32, 3)},
     .types = LEAT_DTYPE_BIT(INT32) | LEAT_DTYPE_BIT(INT64) | LEAT_DTYPES_FLOATING,
     .expected = {LEAT_ITEMS(INT32, LEAT_DIMS(3), 1, 4, 7)}},
    {.op = "Range",
     .name = "down",
     .inputs = {N(INT64, 3), N(INT64, 0), N(INT64, -1)},
     .expected = {LEAT_ITEMS(INT64, LEAT_DIMS(3), 3, 2, 1)}},
    {.op = "Range",
     .name = "empty",
     .inputs = {N(FLOAT, 3), N(FLOAT, 3), N(FLOAT, 1)},
     .expected = {LEAT_NO_ITEMS(FLOAT, LEAT_DIMS(0))}},
    {.op = "Range",
     .name = "in fractions",
     .inputs = {N(DOUBLE, 0), N(DOUBLE, 1), N(DOUBLE, 0.25)},
     .expected = {LEAT_ITEMS(DOUBLE, LEAT_DIMS(4), 0, 0.25, 0.5, 0.75)}},
    {.op = "Range",
     .name = "by nothing",
     .inputs = {N(INT32, 0), N(INT32, 8), N(INT32, 0)},
     .code = LEAT_INVALID_ARGUMENT,
     .message = "delta != 0"},
    {.op = "Range",
     .name = "away from the limit",
     .inputs = {N(INT32, 0), N(INT32, 8), N(INT32, -1)},
     .code = LEAT_INVALID_ARGUMENT},
    {.op = "Range",
     .name = "by what is no number",
     .inputs = {N(FLOAT, 0), N(FLOAT, 8), N(FLOAT, NAN)},
     .code = LEAT_INVALID_ARGUMENT},
    {.op = "Range",
     .name = "without end",
     .inputs = {N(FLOAT, 0), N(FLOAT, INFINITY), N(FLOAT, 1)},
     .code = LEAT_INVALID_ARGUMENT},
    {.op = "LinSpace",
     .inputs = {N(FLOAT, 1), N(FLOAT, 2), N(INT32, 5)},
     .types = LEAT_DTYPE_BIT(FLOAT) | LEAT_DTYPE_BIT(DOUBLE),
     .expected = {LEAT_ITEMS(FLOAT, LEAT_DIMS(5), 1, 1.25, 1.5, 1.75, 2)}},
    {.op = "LinSpace",
     .name = "one number",
     .inputs = {N(FLOAT, 1), N(FLOAT, 2), N(INT64, 1)},
     .expected = {LEAT_ITEMS(FLOAT, LEAT_DIMS(1), 1)}},
    {.op = "LinSpace",
     .name = "no number",
     .inputs = {N(FLOAT, 1), N(FLOAT, 2), N(INT32, 0)},
     .code = LEAT_INVALID_ARGUMENT},
};

LEAT_OP_TEST_MAIN(kCases)
