// Cases of sparse segment ops and their gradient ops.
#include <math.h>

#include "op_harness/op_harness.h"

#define DATA LEAT_ITEMS(FLOAT, LEAT_DIMS(3, 2), 1, 2, 3, 4, 5, 6)
#define PICKS(...) LEAT_ITEMS(INT32, LEAT_DIMS(4), __VA_ARGS__)
#define PICK(op_name, ...)                                            \
  {.op = op_name,                                                     \
   .inputs = {DATA, PICKS(0, 2, 2, 1), PICKS(0, 0, 0, 1)},            \
   .types = LEAT_DTYPES_FLOATING,                                     \
   .expected = {LEAT_ITEMS(FLOAT, LEAT_DIMS(2, 2), __VA_ARGS__)},     \
   .gradient = LEAT_GRADIENT_ONCE,                                    \
   .constant_inputs = 6}
#define ROOT_3 1.7320508075688772
#define GRADS LEAT_ITEMS(FLOAT, LEAT_DIMS(2, 1), 6, 1)

static const leat_op_case_t kCases[] = {
    PICK("SparseSegmentSum", 11, 14, 3, 4),
    PICK("SparseSegmentMean", 11 / 3.0, 14 / 3.0, 3, 4),
    PICK("SparseSegmentSqrtN", 11 / ROOT_3, 14 / ROOT_3, 3, 4),
    {.op = "SparseSegmentSumWithNumSegments",
     .inputs = {DATA, PICKS(0, 2, 2, 1), PICKS(0, 0, 2, 2), LEAT_SCALAR_ITEM(INT32, 4)},
     .types = LEAT_DTYPES_REAL & ~LEAT_DTYPE_BIT(INT32),
     .expected = {LEAT_ITEMS(FLOAT, LEAT_DIMS(4, 2), 6, 8, 0, 0, 8, 10, 0, 0)}},
    {.op = "SparseSegmentMeanGrad",
     .inputs = {GRADS, PICKS(0, 2, 2, 1), PICKS(0, 0, 0, 1), LEAT_SCALAR_ITEM(INT32, 4)},
     .types = LEAT_DTYPES_FLOATING,
     .expected = {LEAT_ITEMS(FLOAT, LEAT_DIMS(4, 1), 2, 1, 4, 0)}},
    {.op = "SparseSegmentSumGradV2",
     .inputs = {GRADS, PICKS(7, 2, 2, 7), PICKS(0, 0, 0, 1), LEAT_SCALAR_ITEM(INT32, 9)},
     .types = LEAT_DTYPES_FLOATING,
     .expected = {LEAT_ITEMS(FLOAT, LEAT_DIMS(2, 1), 12, 7),
                  LEAT_ITEMS(INT32, LEAT_DIMS(2), 2, 7)}},
    {.op = "SparseSegmentSum",
     .name = "a row that is not there",
     .inputs = {DATA, PICKS(0, 3, 2, 1), PICKS(0, 0, 0, 1)},
     .code = LEAT_INVALID_ARGUMENT},
    {.op = "SparseSegmentSum",
     .name = "segments that are not sorted",
     .inputs = {DATA, PICKS(0, 1, 2, 1), PICKS(0, 1, 0, 1)},
     .code = LEAT_INVALID_ARGUMENT},
    {.op = "SparseSegmentSumGrad",
     .name = "a segment that is not there",
     .inputs = {GRADS, PICKS(0, 1, 2, 1), PICKS(0, 0, 1, 2), LEAT_SCALAR_ITEM(INT32, 4)},
     .code = LEAT_INVALID_ARGUMENT},
    {.op = "SparseSegmentSumGrad",
     .name = "fewer than no rows",
     .inputs = {GRADS, PICKS(0, 1, 2, 1), PICKS(0, 0, 1, 1), LEAT_SCALAR_ITEM(INT32, -1)},
     .code = LEAT_INVALID_ARGUMENT},
};

LEAT_OP_TEST_MAIN(kCases)
