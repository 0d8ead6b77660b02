// Cases of SparseConcat, SparseSplit, SparseSlice and SparseSliceGrad, which the op harness runs
// (tests/op_harness/op_harness.h). Most take one matrix of 2 x 3 with three entries, so that each
// expected index, value and shape can be worked out by hand; the gradient of a slice is also
// compared with finite differences. The cases catch a negative axis that is not counted from the
// end, an index that is not moved by the sizes before it, entries out of order, pieces of unequal
// size that are cut at the wrong place, and gradients that go to another entry. Sizes and offsets
// of 2^62 must not overflow unseen, and an index outside the shape must be refused, since it would
// belong to a piece that is not there. TensorFlow 2.21 gives the same results and codes; only at
// the two shapes whose sum overflows does its process end.
#include "op_harness/op_harness.h"

#define INDICES LEAT_ITEMS(INT64, LEAT_DIMS(3, 2), 0, 1, 1, 0, 1, 2)
#define VALUES LEAT_ITEMS(FLOAT, LEAT_DIMS(3), 1, 2, 3)
#define SHAPE LEAT_ITEMS(INT64, LEAT_DIMS(2), 2, 3)
#define TWO(item) item, item

static const leat_op_case_t kCases[] = {
    {.op = "SparseConcat",
     .attrs = {LEAT_CASE_INT("concat_dim", -1), LEAT_CASE_INT("N", 2)},
     .inputs = {TWO(INDICES), TWO(VALUES), TWO(SHAPE)},
     .expected = {LEAT_ITEMS(INT64, LEAT_DIMS(6, 2), 0, 1, 0, 4, 1, 0, 1, 2, 1, 3, 1, 5),
                  LEAT_ITEMS(FLOAT, LEAT_DIMS(6), 1, 1, 2, 3, 2, 3),
                  LEAT_ITEMS(INT64, LEAT_DIMS(2), 2, 6)}},
    {.op = "SparseConcat",
     .name = "SparseConcat, out of order",
     .attrs = {LEAT_CASE_INT("concat_dim", 0), LEAT_CASE_INT("N", 2)},
     .inputs = {LEAT_ITEMS(INT64, LEAT_DIMS(2, 1), 2, 0), LEAT_NO_ITEMS(INT64, LEAT_DIMS(0, 1)),
                LEAT_TEXTS(LEAT_DIMS(2), "b", "a"), LEAT_NO_ITEMS(STRING, LEAT_DIMS(0)),
                TWO(LEAT_ITEMS(INT64, LEAT_DIMS(1), 3))},
     .expected = {LEAT_ITEMS(INT64, LEAT_DIMS(2, 1), 0, 2), LEAT_TEXTS(LEAT_DIMS(2), "a", "b"),
                  LEAT_ITEMS(INT64, LEAT_DIMS(1), 6)}},
    {.op = "SparseConcat",
     .name = "SparseConcat, other shapes",
     .attrs = {LEAT_CASE_INT("concat_dim", 0), LEAT_CASE_INT("N", 2)},
     .inputs = {TWO(INDICES), TWO(VALUES), SHAPE, LEAT_ITEMS(INT64, LEAT_DIMS(2), 2, 4)},
     .code = LEAT_INVALID_ARGUMENT,
     .message = "expected 3 for dimension 1 but got 4 at position 1"},
    {.op = "SparseConcat",
     .name = "SparseConcat, too large",
     .attrs = {LEAT_CASE_INT("concat_dim", 0), LEAT_CASE_INT("N", 2)},
     .inputs = {TWO(INDICES), TWO(VALUES), TWO(LEAT_ITEMS(INT64, LEAT_DIMS(2), 0x1p62, 1))},
     .code = LEAT_INTERNAL,
     .message = "overflow"},
    {.op = "SparseSplit",
     .attrs = {LEAT_CASE_INT("num_split", 2)},
     .inputs = {LEAT_SCALAR_ITEM(INT64, -1), INDICES, VALUES, SHAPE},
     .expected = {LEAT_ITEMS(INT64, LEAT_DIMS(2, 2), 0, 1, 1, 0),
                  LEAT_ITEMS(INT64, LEAT_DIMS(1, 2), 1, 0), LEAT_ITEMS(FLOAT, LEAT_DIMS(2), 1, 2),
                  LEAT_ITEMS(FLOAT, LEAT_DIMS(1), 3), LEAT_ITEMS(INT64, LEAT_DIMS(2), 2, 2),
                  LEAT_ITEMS(INT64, LEAT_DIMS(2), 2, 1)}},
    {.op = "SparseSplit",
     .name = "SparseSplit, an index outside",
     .attrs = {LEAT_CASE_INT("num_split", 2)},
     .inputs = {LEAT_SCALAR_ITEM(INT64, 1), INDICES, VALUES,
                LEAT_ITEMS(INT64, LEAT_DIMS(2), 2, 2)},
     .code = LEAT_INVALID_ARGUMENT,
     .message = "indices[2] = [1,2] is out of bounds"},
    {.op = "SparseSplit",
     .name = "SparseSplit, too many",
     .attrs = {LEAT_CASE_INT("num_split", 4)},
     .inputs = {LEAT_SCALAR_ITEM(INT64, 1), INDICES, VALUES, SHAPE},
     .code = LEAT_INVALID_ARGUMENT,
     .message = "dimension size (3), got 4"},
    {.op = "SparseSlice",
     .inputs = {INDICES, VALUES, SHAPE, LEAT_ITEMS(INT64, LEAT_DIMS(2), 1, 0),
                LEAT_ITEMS(INT64, LEAT_DIMS(2), 5, 2)},
     .expected = {LEAT_ITEMS(INT64, LEAT_DIMS(1, 2), 0, 0), LEAT_ITEMS(FLOAT, LEAT_DIMS(1), 2),
                  LEAT_ITEMS(INT64, LEAT_DIMS(2), 1, 2)}},
    {.op = "SparseSlice",
     .name = "SparseSlice, gradient",
     .inputs = {INDICES, LEAT_ITEMS(DOUBLE, LEAT_DIMS(3), 1, 2, 3), SHAPE,
                LEAT_ITEMS(INT64, LEAT_DIMS(2), 0, 1), LEAT_ITEMS(INT64, LEAT_DIMS(2), 2, 2)},
     .expected = {LEAT_ITEMS(INT64, LEAT_DIMS(2, 2), 0, 0, 1, 1),
                  LEAT_ITEMS(DOUBLE, LEAT_DIMS(2), 1, 3), LEAT_ITEMS(INT64, LEAT_DIMS(2), 2, 2)},
     .gradient = LEAT_GRADIENT_ONCE,
     .constant_inputs = 0x1d},
    {.op = "SparseSlice",
     .name = "SparseSlice, behind the end",
     .inputs = {INDICES, VALUES, SHAPE, LEAT_ITEMS(INT64, LEAT_DIMS(2), 0x1p62, -0x1p62),
                LEAT_ITEMS(INT64, LEAT_DIMS(2), 0x1p62, 0x1p62)},
     .expected = {LEAT_NO_ITEMS(INT64, LEAT_DIMS(0, 2)), LEAT_NO_ITEMS(FLOAT, LEAT_DIMS(0)),
                  LEAT_ITEMS(INT64, LEAT_DIMS(2), 0, 0x1p62)}},
    {.op = "SparseSlice",
     .name = "SparseSlice, a negative size",
     .inputs = {INDICES, VALUES, SHAPE, LEAT_ITEMS(INT64, LEAT_DIMS(2), 0, 0),
                LEAT_ITEMS(INT64, LEAT_DIMS(2), 2, -1)},
     .code = LEAT_INVALID_ARGUMENT,
     .message = "non-negative size, got -1"},
    {.op = "SparseSliceGrad",
     .inputs = {LEAT_ITEMS(FLOAT, LEAT_DIMS(2), 7, 8), INDICES,
                LEAT_ITEMS(INT64, LEAT_DIMS(2), 0, 1),
                LEAT_ITEMS(INT64, LEAT_DIMS(2, 2), 0, 0, 1, 1)},
     .expected = {LEAT_ITEMS(FLOAT, LEAT_DIMS(3), 7, 0, 8)}},
    {.op = "SparseSliceGrad",
     .name = "SparseSliceGrad, of another slice",
     .inputs = {LEAT_ITEMS(FLOAT, LEAT_DIMS(2), 7, 8), INDICES,
                LEAT_ITEMS(INT64, LEAT_DIMS(2), 0, 1),
                LEAT_ITEMS(INT64, LEAT_DIMS(2, 2), 0, 1, 1, 1)},
     .code = LEAT_INTERNAL,
     .message = "Num elements: 2, used: 0"},
};

LEAT_OP_TEST_MAIN(kCases)
