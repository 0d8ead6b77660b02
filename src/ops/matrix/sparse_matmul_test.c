// Products of matrices with zeros.
#include "op_harness/op_harness.h"

static const leat_op_case_t kCases[] = {
    {.op = "SparseMatMul",
     .inputs = {LEAT_ITEMS(FLOAT, LEAT_DIMS(2, 3), 1, 0, 2, 0, 0, 0),
                LEAT_ITEMS(FLOAT, LEAT_DIMS(3, 2), 1, 2, 3, 4, 5, 6)},
     .attrs = {LEAT_CASE_BOOL("a_is_sparse", true)},
     .expected = {LEAT_ITEMS(FLOAT, LEAT_DIMS(2, 2), 11, 14, 0, 0)}},
    {.op = "SparseMatMul",
     .name = "SparseMatMul, both transposed, bfloat16",
     .inputs = {LEAT_ITEMS(BFLOAT16, LEAT_DIMS(3, 2), 1, 0, 0, 0, 2, 0),
                LEAT_ITEMS(FLOAT, LEAT_DIMS(2, 3), 1, 3, 5, 2, 4, 6)},
     .attrs = {LEAT_CASE_BOOL("transpose_a", true), LEAT_CASE_BOOL("transpose_b", true),
               LEAT_CASE_TYPE("Ta", BFLOAT16)},
     .expected = {LEAT_ITEMS(FLOAT, LEAT_DIMS(2, 2), 11, 14, 0, 0)}},
    {.op = "SparseMatMul",
     .name = "SparseMatMul, no terms",
     .inputs = {LEAT_NO_ITEMS(FLOAT, LEAT_DIMS(2, 0)), LEAT_NO_ITEMS(FLOAT, LEAT_DIMS(0, 2))},
     .expected = {LEAT_ITEMS(FLOAT, LEAT_DIMS(2, 2), 0, 0, 0, 0)}},
    {.op = "SparseMatMul",
     .name = "SparseMatMul, sizes apart",
     .inputs = {LEAT_ITEMS(FLOAT, LEAT_DIMS(1, 2), 1, 2), LEAT_ITEMS(FLOAT, LEAT_DIMS(1, 2), 1, 2)},
     .code = LEAT_INVALID_ARGUMENT},
};
LEAT_OP_TEST_MAIN(kCases)
