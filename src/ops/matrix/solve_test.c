// Linear equations, inverses, determinants and LU decomposition. The matrices are 2 x 2 so that
// Cramer's rule, written out in the reference, gives the solution without any elimination; one
// inverse with 100 rows is there for the speed alone. A singular matrix is an error for the
// inverse, the solver and Lu, as is a zero on the diagonal of a banded matrix. A NaN goes into the
// results, unless it is the first pivot.
// MatrixTriangularSolve reads only one triangle, so the other one holds a number that would show,
// and one matrix may be used for a whole batch.
#include <math.h>

#include "op_harness/op_harness.h"

// 2 x 2 matrices with a determinant far from 0.
#define PAIR                                                                  \
  LEAT_ITEMS(FLOAT, LEAT_DIMS(2, 2, 2), 2, 1, 1, 3, 0, -2, 1, 0.5)
#define RIGHT LEAT_RANDOM(FLOAT, LEAT_DIMS(2, 2, 3), -2, 2)
#define SINGULAR LEAT_ITEMS(FLOAT, LEAT_DIMS(2, 2), 1, 2, 2, 4)
#define TYPES LEAT_DTYPE_BIT(FLOAT) | LEAT_DTYPE_BIT(DOUBLE)

// A^-1 B (no second input: A^-1) for matrices [2, 2], by Cramer's rule.
static void solve_reference(const leat_reference_t* r) {
  const leat_shape_t* shape = &r->outputs[0].shape;
  const int64_t k = leat_shape_dim(shape, shape->rank - 1);
  const bool adjoint = r->op_case->attrs[0].value.b;
  const double identity[] = {1, 0, 0, 1};
  for (int64_t i = 0; i < shape->element_count / (2 * k); ++i) {
    const double* m = r->in[0] + 4 * i;
    const double a = m[0], b = m[adjoint ? 2 : 1], c = m[adjoint ? 1 : 2], d = m[3];
    const double* y = r->input_count > 1 ? r->in[1] + 2 * k * i : identity;
    double* x = r->out[0] + 2 * k * i;
    for (int64_t j = 0; j < k; ++j) {
      x[j] = (d * y[j] - b * y[k + j]) / (a * d - b * c);
      x[k + j] = (a * y[k + j] - c * y[j]) / (a * d - b * c);
    }
  }
}
#define ADJOINT {LEAT_CASE_BOOL("adjoint", true)}

static const leat_op_case_t kCases[] = {
    {.op = "MatrixInverse",
     .inputs = {PAIR},
     .types = TYPES,
     .reference = solve_reference,
     .gradient = LEAT_GRADIENT_TWICE},
    {.op = "MatrixInverse",
     .name = "of the adjoint",
     .attrs = ADJOINT,
     .inputs = {PAIR},
     .reference = solve_reference,
     .gradient = LEAT_GRADIENT_TWICE},
    {.op = "MatrixInverse",
     .name = "complex",
     .attrs = ADJOINT,
     .inputs = {LEAT_ITEMS(COMPLEX64, LEAT_DIMS(1, 1), 0, 2)},
     .expected = {LEAT_ITEMS(COMPLEX64, LEAT_DIMS(1, 1), 0, 0.5)}},
    {.op = "MatrixInverse",
     .name = "singular",
     .inputs = {SINGULAR},
     .code = LEAT_INVALID_ARGUMENT,
     .message = "not invertible"},
    {.op = "MatrixInverse",
     .name = "not square",
     .inputs = {LEAT_RANDOM(FLOAT, LEAT_DIMS(2, 3), 0, 1)},
     .code = LEAT_INVALID_ARGUMENT},
    {.op = "MatrixInverse",
     .name = "none",
     .inputs = {LEAT_NO_ITEMS(FLOAT, LEAT_DIMS(0, 3, 3))},
     .expected = {LEAT_NO_ITEMS(FLOAT, LEAT_DIMS(0, 3, 3))}},
    {.op = "MatrixSolve",
     .inputs = {PAIR, RIGHT},
     .types = TYPES,
     .reference = solve_reference,
     .gradient = LEAT_GRADIENT_TWICE},
    {.op = "MatrixSolve",
     .name = "with the adjoint",
     .attrs = ADJOINT,
     .inputs = {PAIR, RIGHT},
     .reference = solve_reference,
     .gradient = LEAT_GRADIENT_TWICE},
    {.op = "MatrixSolve",
     .name = "singular",
     .inputs = {SINGULAR, LEAT_RANDOM(FLOAT, LEAT_DIMS(2, 1), 0, 1)},
     .code = LEAT_INVALID_ARGUMENT},
    {.op = "MatrixSolve",
     .name = "rows that differ",
     .inputs = {PAIR, LEAT_RANDOM(FLOAT, LEAT_DIMS(2, 3, 3), 0, 1)},
     .code = LEAT_INVALID_ARGUMENT},
    {.op = "MatrixDeterminant",
     .inputs = {PAIR},
     .types = TYPES,
     .expected = {LEAT_ITEMS(FLOAT, LEAT_DIMS(2), 5, 2)},
     .gradient = LEAT_GRADIENT_TWICE},
    {.op = "MatrixDeterminant",
     .name = "of nothing is 1",
     .inputs = {LEAT_NO_ITEMS(FLOAT, LEAT_DIMS(2, 0, 0))},
     .expected = {LEAT_ITEMS(FLOAT, LEAT_DIMS(2), 1, 1)}},
    {.op = "LogMatrixDeterminant",
     .inputs = {LEAT_ITEMS(DOUBLE, LEAT_DIMS(1, 2, 2), 0, 1, 2, 0)},
     .expected = {LEAT_ITEMS(DOUBLE, LEAT_DIMS(1), -1),
                  LEAT_ITEMS(DOUBLE, LEAT_DIMS(1), 0.693147180559945)},
     .gradient = LEAT_GRADIENT_TWICE},
    {.op = "MatrixTriangularSolve",
     .inputs = {LEAT_ITEMS(FLOAT, LEAT_DIMS(2, 2), 2, 9, 1, 4),
                LEAT_ITEMS(FLOAT, LEAT_DIMS(2, 1), 2, 9)},
     .types = TYPES,
     .expected = {LEAT_ITEMS(FLOAT, LEAT_DIMS(2, 1), 1, 2)},
     .gradient = LEAT_GRADIENT_TWICE},
    {.op = "MatrixTriangularSolve",
     .name = "upper, adjoint",
     .attrs = {LEAT_CASE_BOOL("lower", false), LEAT_CASE_BOOL("adjoint", true)},
     .inputs = {LEAT_ITEMS(FLOAT, LEAT_DIMS(2, 2), 2, 1, 9, 4),
                LEAT_ITEMS(FLOAT, LEAT_DIMS(2, 1), 2, 9)},
     .expected = {LEAT_ITEMS(FLOAT, LEAT_DIMS(2, 1), 1, 2)},
     .gradient = LEAT_GRADIENT_TWICE},
    {.op = "MatrixTriangularSolve",
     .name = "one matrix for the whole batch",
     .inputs = {LEAT_ITEMS(FLOAT, LEAT_DIMS(1, 1), 2),
                LEAT_ITEMS(FLOAT, LEAT_DIMS(3, 1, 1), 2, 4, 6)},
     .expected = {LEAT_ITEMS(FLOAT, LEAT_DIMS(3, 1, 1), 1, 2, 3)},
     .gradient = LEAT_GRADIENT_TWICE},
    {.op = "MatrixTriangularSolve",
     .name = "a zero on the diagonal",
     .inputs = {LEAT_ITEMS(FLOAT, LEAT_DIMS(2, 2), 2, 0, 1, 0),
                LEAT_ITEMS(FLOAT, LEAT_DIMS(2, 1), 2, 9)},
     .expected = {LEAT_ITEMS(FLOAT, LEAT_DIMS(2, 1), 1, INFINITY)}},
    {.op = "BandedTriangularSolve",
     .name = "a zero on the diagonal",
     .inputs = {LEAT_ITEMS(FLOAT, LEAT_DIMS(1, 2), 2, 0),
                LEAT_ITEMS(FLOAT, LEAT_DIMS(2, 1), 2, 9)},
     .code = LEAT_INVALID_ARGUMENT},
    {.op = "BandedTriangularSolve",
     .name = "nothing",
     .inputs = {LEAT_NO_ITEMS(FLOAT, LEAT_DIMS(0, 2, 2)),
                LEAT_NO_ITEMS(FLOAT, LEAT_DIMS(0, 2, 1))},
     .code = LEAT_INVALID_ARGUMENT},
    {.op = "BandedTriangularSolve",
     .inputs = {LEAT_ITEMS(FLOAT, LEAT_DIMS(2, 3), 2, 4, 5, 9, 1, 2),
                LEAT_ITEMS(FLOAT, LEAT_DIMS(3, 1), 2, 9, 19)},
     .expected = {LEAT_ITEMS(FLOAT, LEAT_DIMS(3, 1), 1, 2, 3)},
     .gradient = LEAT_GRADIENT_TWICE},
    {.op = "Lu",
     .attrs = {LEAT_CASE_TYPE("output_idx_type", INT64)},
     .inputs = {LEAT_ITEMS(FLOAT, LEAT_DIMS(2, 2), 1, 2, 2, 6)},
     .expected = {LEAT_ITEMS(FLOAT, LEAT_DIMS(2, 2), 2, 6, 0.5, -1),
                  LEAT_ITEMS(INT64, LEAT_DIMS(2), 1, 0)}},
    {.op = "Lu",
     .name = "a later pivot is no number",
     .inputs = {LEAT_ITEMS(FLOAT, LEAT_DIMS(2, 2), 4, NAN, 2, 3)},
     .expected = {LEAT_ITEMS(FLOAT, LEAT_DIMS(2, 2), 4, NAN, 0.5, NAN),
                  LEAT_ITEMS(INT32, LEAT_DIMS(2), 0, 1)}},
    {.op = "Lu",
     .name = "the first pivot is no number",
     .inputs = {LEAT_ITEMS(FLOAT, LEAT_DIMS(2, 2), NAN, 1, 2, 3)},
     .code = LEAT_INVALID_ARGUMENT},
    {.op = "Lu", .name = "singular", .inputs = {SINGULAR}, .code = LEAT_INVALID_ARGUMENT},
    {.op = "MatrixInverse",
     .name = "100",
     .inputs = {LEAT_RANDOM(FLOAT, LEAT_DIMS(100, 100), -1, 1)},
     .reference = solve_reference,
     .bench = true,
     .bench_only = true},
};

LEAT_OP_TEST_MAIN(kCases)
