// Cases of functions of matrices, and of Eig.
#include "op_harness/op_harness.h"

#define TYPES LEAT_DTYPE_BIT(FLOAT) | LEAT_DTYPE_BIT(DOUBLE)

static const leat_op_case_t kCases[] = {
    {.op = "MatrixSquareRoot",
     .inputs = {LEAT_ITEMS(FLOAT, LEAT_DIMS(2, 2), 7, 10, 15, 22)},
     .types = TYPES,
     .expected = {LEAT_ITEMS(FLOAT, LEAT_DIMS(2, 2), 1.566698903601281, 1.740776559556978,
                             2.611164839335467, 4.177863742936748)},
     .gradient = LEAT_GRADIENT_TWICE},
    {.op = "MatrixSquareRoot",
     .name = "of a rotation",
     .inputs = {LEAT_ITEMS(DOUBLE, LEAT_DIMS(1, 2, 2), 0, -1, 1, 0)},
     .expected = {LEAT_ITEMS(DOUBLE, LEAT_DIMS(1, 2, 2), 0.7071067811865476, -0.7071067811865476,
                             0.7071067811865476, 0.7071067811865476)}},
    {.op = "MatrixLogarithm",
     .inputs = {LEAT_ITEMS(COMPLEX128, LEAT_DIMS(2, 2), 0, 0, -1, 0, 1, 0, 0, 0)},
     .expected = {LEAT_ITEMS(COMPLEX128, LEAT_DIMS(2, 2), 0, 0, -1.5707963267948966, 0,
                             1.5707963267948966, 0, 0, 0)},
     .tolerance = 1e-12},
    {.op = "Eig",
     .attrs = {LEAT_CASE_TYPE("Tout", COMPLEX64)},
     .inputs = {LEAT_ITEMS(FLOAT, LEAT_DIMS(1, 1), -3)},
     .expected = {LEAT_ITEMS(COMPLEX64, LEAT_DIMS(1), -3, 0),
                  LEAT_ITEMS(COMPLEX64, LEAT_DIMS(1, 1), 1, 0)}},
    {.op = "Eig",
     .name = "an output of the wrong width",
     .attrs = {LEAT_CASE_TYPE("Tout", COMPLEX128)},
     .inputs = {LEAT_ITEMS(FLOAT, LEAT_DIMS(1, 1), -3)},
     .code = LEAT_INVALID_ARGUMENT},
    {.op = "MatrixSquareRoot",
     .name = "not square",
     .inputs = {LEAT_RANDOM(FLOAT, LEAT_DIMS(2, 3), 0, 1)},
     .code = LEAT_INVALID_ARGUMENT},
};

LEAT_OP_TEST_MAIN(kCases)
