// Cases of decompositions: small matrices whose factors are known, for Cholesky, Qr, Svd and
// SelfAdjointEigV2. The expected factors were worked out by hand, with the signs that TensorFlow
// chooses, since a factor is only determined up to its sign; TensorFlow 2.21 gives all of them. The
// cases catch a triangle that is read though it must not be, a conjugate that is missing, singular
// values and eigenvalues that are not in order, and vectors that do not move with them. A matrix
// that is not positive definite, or has a NaN, gives NaN and no error. Gradients that need static
// shapes, or those of a triangle alone, are checked by recorded cases (tests/conformance/grad.txt),
// and so are larger matrices (op.txt beside it).
#include <math.h>

#include "op_harness/op_harness.h"

#define TYPES LEAT_DTYPE_BIT(FLOAT) | LEAT_DTYPE_BIT(DOUBLE)

static const leat_op_case_t kCases[] = {
    {.op = "Cholesky",
     .inputs = {LEAT_ITEMS(FLOAT, LEAT_DIMS(2, 2, 2), 4, 9, 2, 5, 1, 0, 0, 1)},  // not the 9
     .types = TYPES,
     .expected = {LEAT_ITEMS(FLOAT, LEAT_DIMS(2, 2, 2), 2, 0, 1, 2, 1, 0, 0, 1)}},
    {.op = "Cholesky",
     .name = "complex",
     .inputs = {LEAT_ITEMS(COMPLEX128, LEAT_DIMS(2, 2), 4, 0, 0, 2, 0, -2, 5, 0)},
     .expected = {LEAT_ITEMS(COMPLEX128, LEAT_DIMS(2, 2), 2, 0, 0, 0, 0, -1, 2, 0)}},
    {.op = "Cholesky",
     .name = "not positive",
     .inputs = {LEAT_ITEMS(FLOAT, LEAT_DIMS(2, 2), 1, 2, 2, 1)},
     .expected = {LEAT_ITEMS(FLOAT, LEAT_DIMS(2, 2), NAN, 0, NAN, NAN)}},
    {.op = "Cholesky",
     .name = "no number",
     .inputs = {LEAT_ITEMS(FLOAT, LEAT_DIMS(2, 2), 4, 0, 2, NAN)},
     .expected = {LEAT_ITEMS(FLOAT, LEAT_DIMS(2, 2), 2, 0, 1, NAN)}},
    {.op = "Cholesky",
     .name = "none",
     .inputs = {LEAT_NO_ITEMS(FLOAT, LEAT_DIMS(2, 0, 0))},
     .expected = {LEAT_NO_ITEMS(FLOAT, LEAT_DIMS(2, 0, 0))}},
    {.op = "Cholesky",
     .name = "not square",
     .inputs = {LEAT_RANDOM(FLOAT, LEAT_DIMS(2, 3), 0, 1)},
     .code = LEAT_INVALID_ARGUMENT},
    {.op = "CholeskyGrad",
     .inputs = {LEAT_SCALAR_ITEM(FLOAT, 1), LEAT_SCALAR_ITEM(FLOAT, 1)},
     .code = LEAT_INVALID_ARGUMENT},
    {.op = "CholeskyGrad",
     .name = "of a root",
     .inputs = {LEAT_ITEMS(FLOAT, LEAT_DIMS(1, 1), 4), LEAT_ITEMS(FLOAT, LEAT_DIMS(1, 1), 8)},
     .expected = {LEAT_ITEMS(FLOAT, LEAT_DIMS(1, 1), 1)}},
    {.op = "Qr",
     .inputs = {LEAT_ITEMS(FLOAT, LEAT_DIMS(2, 2), 3, 5, 4, 10)},
     .types = TYPES,
     .expected = {LEAT_ITEMS(FLOAT, LEAT_DIMS(2, 2), -0.6, -0.8, -0.8, 0.6),
                  LEAT_ITEMS(FLOAT, LEAT_DIMS(2, 2), -5, -11, 0, 2)}},
    {.op = "Qr",
     .name = "full",
     .attrs = {LEAT_CASE_BOOL("full_matrices", true)},
     .inputs = {LEAT_ITEMS(FLOAT, LEAT_DIMS(2, 1), 3, 4)},
     .expected = {LEAT_ITEMS(FLOAT, LEAT_DIMS(2, 2), -0.6, -0.8, -0.8, 0.6),
                  LEAT_ITEMS(FLOAT, LEAT_DIMS(2, 1), -5, 0)}},
    {.op = "Qr",
     .name = "wide",
     .inputs = {LEAT_ITEMS(FLOAT, LEAT_DIMS(1, 3), 2, 3, 4)},
     .expected = {LEAT_ITEMS(FLOAT, LEAT_DIMS(1, 1), 1),
                  LEAT_ITEMS(FLOAT, LEAT_DIMS(1, 3), 2, 3, 4)}},
    {.op = "Svd",
     .name = "of a diagonal",
     .inputs = {LEAT_ITEMS(FLOAT, LEAT_DIMS(1, 3, 2), 2, 0, 0, 5, 0, 0)},
     .types = TYPES,
     .expected = {LEAT_ITEMS(FLOAT, LEAT_DIMS(1, 2), 5, 2),
                  LEAT_ITEMS(FLOAT, LEAT_DIMS(1, 3, 2), 0, 1, 1, 0, 0, 0),
                  LEAT_ITEMS(FLOAT, LEAT_DIMS(1, 2, 2), 0, 1, 1, 0)}},
    {.op = "Svd",
     .name = "a vector",
     .inputs = {LEAT_RANDOM(FLOAT, LEAT_DIMS(2), 0, 1)},
     .code = LEAT_INVALID_ARGUMENT},
    {.op = "SelfAdjointEigV2",
     .name = "of a diagonal",
     .inputs = {LEAT_ITEMS(FLOAT, LEAT_DIMS(1, 2, 2), 3, 9, 0, 1)},  // not the 9
     .types = TYPES,
     .expected = {LEAT_ITEMS(FLOAT, LEAT_DIMS(1, 2), 1, 3),
                  LEAT_ITEMS(FLOAT, LEAT_DIMS(1, 2, 2), 0, 1, 1, 0)}},
    {.op = "SelfAdjointEigV2",
     .name = "of one",
     .inputs = {LEAT_ITEMS(FLOAT, LEAT_DIMS(1, 1), 7)},
     .expected = {LEAT_ITEMS(FLOAT, LEAT_DIMS(1), 7), LEAT_ITEMS(FLOAT, LEAT_DIMS(1, 1), 1)}},
    {.op = "SelfAdjointEig",
     .name = "is too old",
     .inputs = {LEAT_ITEMS(FLOAT, LEAT_DIMS(1, 1), 7)},
     .code = LEAT_UNIMPLEMENTED},
};

LEAT_OP_TEST_MAIN(kCases)
