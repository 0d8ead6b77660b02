// Sparse tensors whose three tensors do not fit together: three indices, and two values. Kernels
// read as many values as there are indices, and rely on the op's row to say that they agree; an op
// whose row did not say it would read beyond the values. TensorFlow refuses all of them with the
// same code.
#include "op_harness/op_harness.h"

#define INDICES LEAT_ITEMS(INT64, LEAT_DIMS(3, 2), 0, 1, 1, 0, 1, 2)
#define VALUES LEAT_ITEMS(FLOAT, LEAT_DIMS(3), 1, 2, 3)
#define SHAPE LEAT_ITEMS(INT64, LEAT_DIMS(2), 2, 3)
#define FEWER LEAT_ITEMS(FLOAT, LEAT_DIMS(2), 1, 2)
#define NUMBERS LEAT_ITEMS(INT64, LEAT_DIMS(2), 1, 2)
#define DENSE LEAT_ITEMS(FLOAT, LEAT_DIMS(2, 3), 1, 1, 1, 1, 1, 1)
#define ZERO LEAT_SCALAR_ITEM(FLOAT, 0)
#define AXIS LEAT_SCALAR_ITEM(INT32, 0)
#define REFUSED(op_name, ...) \
  {.op = op_name, .inputs = {__VA_ARGS__}, .code = LEAT_INVALID_ARGUMENT}

static const leat_op_case_t kCases[] = {
    REFUSED("SparseReorder", INDICES, FEWER, SHAPE),
    REFUSED("SparseFillEmptyRows", INDICES, FEWER, SHAPE, ZERO),
    REFUSED("SparseDenseCwiseAdd", INDICES, FEWER, SHAPE, DENSE),
    REFUSED("SparseDenseCwiseMul", INDICES, FEWER, SHAPE, DENSE),
    REFUSED("SparseDenseCwiseDiv", INDICES, FEWER, SHAPE, DENSE),
    REFUSED("SparseTensorDenseAdd", INDICES, FEWER, SHAPE, DENSE),
    REFUSED("SparseTensorDenseMatMul", INDICES, FEWER, SHAPE,
            LEAT_ITEMS(FLOAT, LEAT_DIMS(3, 1), 1, 1, 1)),
    REFUSED("SparseSoftmax", INDICES, FEWER, SHAPE),
    REFUSED("SparseSparseMaximum", INDICES, VALUES, SHAPE, INDICES, FEWER, SHAPE),
    REFUSED("SparseSparseMinimum", INDICES, FEWER, SHAPE, INDICES, VALUES, SHAPE),
    REFUSED("SparseAdd", INDICES, VALUES, SHAPE, INDICES, FEWER, SHAPE, ZERO),
    REFUSED("SparseReduceSum", INDICES, FEWER, SHAPE, AXIS),
    REFUSED("SparseReduceMax", INDICES, FEWER, SHAPE, AXIS),
    REFUSED("SparseReduceSumSparse", INDICES, FEWER, SHAPE, AXIS),
    REFUSED("SparseReduceMaxSparse", INDICES, FEWER, SHAPE, AXIS),
    REFUSED("SparseSlice", INDICES, FEWER, SHAPE, LEAT_ITEMS(INT64, LEAT_DIMS(2), 0, 0), SHAPE),
    REFUSED("EditDistance", INDICES, VALUES, SHAPE, INDICES, FEWER, SHAPE),
    REFUSED("SetSize", INDICES, NUMBERS, SHAPE),
    REFUSED("SerializeManySparse", INDICES, FEWER, SHAPE),
    REFUSED("AddSparseToTensorsMap", INDICES, FEWER, SHAPE),
    REFUSED("AddManySparseToTensorsMap", INDICES, FEWER, SHAPE),
    REFUSED("SparseTensorToCSRSparseMatrix", INDICES, FEWER, SHAPE),
};
LEAT_OP_TEST_MAIN(kCases)
