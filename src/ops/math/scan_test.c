// Cases of running sums, products and log-sum-exps.
#include <math.h>

#include "op_harness/op_harness.h"

#define AXIS(axis) LEAT_SCALAR_ITEM(INT32, axis)
#define FLOATS(...) LEAT_ITEMS(FLOAT, LEAT_DIMS(2, 3), __VA_ARGS__)
#define SCAN(op_name, axis, is_exclusive, is_reverse, ...)                              \
  {.op = op_name,                                                                       \
   .attrs = {LEAT_CASE_BOOL("exclusive", is_exclusive), LEAT_CASE_BOOL("reverse", is_reverse)}, \
   .inputs = {FLOATS(1, 2, 3, 4, 5, 6), AXIS(axis)},                                    \
   .types = LEAT_DTYPES_FLOATING,                                                       \
   .expected = {FLOATS(__VA_ARGS__)},                                                   \
   .gradient = LEAT_GRADIENT_TWICE,                                                     \
   .constant_inputs = 2}

static const leat_op_case_t kCases[] = {
    SCAN("Cumsum", 1, false, false, 1, 3, 6, 4, 9, 15),
    SCAN("Cumsum", 0, false, false, 1, 2, 3, 5, 7, 9),
    SCAN("Cumsum", -1, true, false, 0, 1, 3, 0, 4, 9),
    SCAN("Cumsum", 1, false, true, 6, 5, 3, 15, 11, 6),
    SCAN("Cumsum", 1, true, true, 5, 3, 0, 11, 6, 0),
    SCAN("Cumprod", 1, false, false, 1, 2, 6, 4, 20, 120),
    SCAN("Cumprod", 1, true, true, 6, 3, 1, 30, 6, 1),
    {.op = "Cumsum",
     .name = "integers wrap",
     .inputs = {LEAT_ITEMS(INT8, LEAT_DIMS(3), 100, 100, 1), AXIS(0)},
     .expected = {LEAT_ITEMS(INT8, LEAT_DIMS(3), 100, -56, -55)}},
    {.op = "CumulativeLogsumexp",
     .inputs = {LEAT_ITEMS(FLOAT, LEAT_DIMS(3), 0, 0, -INFINITY), AXIS(0)},
     .types = LEAT_DTYPES_FLOATING,
     .expected = {LEAT_ITEMS(FLOAT, LEAT_DIMS(3), 0, M_LN2, M_LN2)}},
    {.op = "CumulativeLogsumexp",
     .name = "gradient",
     .inputs = {LEAT_ITEMS(DOUBLE, LEAT_DIMS(2), 0, 0), AXIS(0)},
     .expected = {LEAT_ITEMS(DOUBLE, LEAT_DIMS(2), 0, M_LN2)},
     .gradient = LEAT_GRADIENT_ONCE,
     .constant_inputs = 2},
    {.op = "Cumsum",
     .name = "empty",
     .inputs = {LEAT_NO_ITEMS(FLOAT, LEAT_DIMS(3, 0)), AXIS(0)},
     .expected = {LEAT_NO_ITEMS(FLOAT, LEAT_DIMS(3, 0))}},
    {.op = "Cumsum",
     .name = "no such axis",
     .inputs = {FLOATS(1, 2, 3, 4, 5, 6), AXIS(2)},
     .code = LEAT_INVALID_ARGUMENT},
    {.op = "Cumsum",
     .name = "an axis for a scalar",
     .inputs = {LEAT_SCALAR_ITEM(FLOAT, 1), AXIS(0)},
     .code = LEAT_INVALID_ARGUMENT},
};

LEAT_OP_TEST_MAIN(kCases)
