// Cases of HistogramFixedWidth and Bucketize.
#include <math.h>

#include "op_harness/op_harness.h"

#define V(DTYPE, count, ...) LEAT_ITEMS(DTYPE, LEAT_DIMS(count), __VA_ARGS__)

static const leat_op_case_t kCases[] = {
    {.op = "HistogramFixedWidth",
     .inputs = {V(FLOAT, 6, -1, 0, 1.5, 2, 5, 15), V(FLOAT, 2, 0, 5), LEAT_SCALAR_ITEM(INT32, 5)},
     .types = LEAT_DTYPE_BIT(FLOAT) | LEAT_DTYPE_BIT(DOUBLE),
     .expected = {V(INT32, 5, 2, 1, 1, 0, 2)}},
    {.op = "HistogramFixedWidth",
     .name = "not a number",
     .inputs = {V(FLOAT, 1, NAN), V(FLOAT, 2, 0, 5), LEAT_SCALAR_ITEM(INT32, 5)},
     .code = LEAT_INVALID_ARGUMENT},
    {.op = "HistogramFixedWidth",
     .name = "an empty range",
     .inputs = {V(FLOAT, 1, 0), V(FLOAT, 2, 5, 5), LEAT_SCALAR_ITEM(INT32, 5)},
     .code = LEAT_INVALID_ARGUMENT},
    {.op = "Bucketize",
     .attrs = {LEAT_CASE_FLOATS("boundaries", 0, 10, 100)},
     .inputs = {V(FLOAT, 6, -5, 0, 9.9, 10, 150, NAN)},
     .types = LEAT_DTYPE_BIT(FLOAT) | LEAT_DTYPE_BIT(DOUBLE),
     .expected = {V(INT32, 6, 0, 1, 1, 2, 3, 3)}},
    {.op = "Bucketize",
     .name = "boundaries that are not sorted",
     .attrs = {LEAT_CASE_FLOATS("boundaries", 0, 10, 5)},
     .inputs = {V(FLOAT, 1, 1)},
     .code = LEAT_INVALID_ARGUMENT},
};

LEAT_OP_TEST_MAIN(kCases)
