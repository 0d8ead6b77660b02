// The ops of linear equations and determinants: MatrixInverse, MatrixDeterminant, MatrixSolve, the
// triangular and banded solvers, Lu, and the deprecated Batch ops. Shapes and gradients;
// solve_cpu.c has the kernels.
//
//   Y = A^-1:              dA = -Y^H dY Y^H
//   d = det A:             dA = dd d A^-H        log |det A|:  dA = dl A^-H
//   A X = B:               dB = A^-H dX,  dA = -dB X^H   (the adjoint flag exchanges the roles)
//
// The gradient of a triangular matrix is the triangle of dA; that of bands the bands of dA. Where
// batches were broadcast, gradients are summed down to the batches of the inputs.
#include "ops/matrix/matrix_shape.h"
#include "ops/nn/subgraph.h"
#include "ops/op_rows.h"

// ---- Shapes -------------------------------------------------------------------------------------

// Sets the output's shape, that of X in A X = B, where A is a batch of matrices of |size| and B is
// input 1. The batches broadcast.
static leat_status_t set_solution(leat_inference_t* c, leat_partial_shape_t batch, int64_t size) {
  leat_partial_shape_t right_batch;
  int64_t rows, columns;
  LEAT_RETURN_IF_ERROR(leat_matrix_input(c, 1, &right_batch, &rows, &columns));
  LEAT_RETURN_IF_ERROR(leat_inference_broadcast(c, batch, right_batch, &batch));
  LEAT_RETURN_IF_ERROR(leat_inference_merge_dim(size, rows, &size));
  return leat_matrix_set_output(c, 0, batch, 2, size, columns);
}

static leat_status_t triangular_shape(leat_inference_t* c) {
  leat_partial_shape_t batch;
  int64_t size;
  LEAT_RETURN_IF_ERROR(leat_matrix_square_input(c, 0, &batch, &size));
  return set_solution(c, batch, size);
}

static leat_status_t banded_shape(leat_inference_t* c) {
  leat_partial_shape_t batch;
  int64_t bands, size;
  LEAT_RETURN_IF_ERROR(leat_matrix_input(c, 0, &batch, &bands, &size));
  if (bands == 0 || (bands != LEAT_DIM_UNKNOWN && size != LEAT_DIM_UNKNOWN && bands > size)) {
    return leat_make_status(LEAT_INVALID_ARGUMENT, "Number of bands is %lld, must be positive and "
                            "not exceed the size of the matrix, %lld", (long long)bands,
                            (long long)size);
  }
  return set_solution(c, batch, size);
}

// ---- Gradients ----------------------------------------------------------------------------------

static leat_output_t solve(leat_builder_t* b, leat_output_t a, leat_output_t rhs, bool adjoint) {
  return leat_build(b, "MatrixSolve", LEAT_INPUTS(a, rhs),
                    LEAT_ATTRS(LEAT_BOOL("adjoint", adjoint)));
}

static leat_status_t inverse_gradient(leat_gradient_t* g) {
  leat_builder_t* b = &g->builder;
  const bool adjoint = leat_node_attr_bool(leat_gradient_node(g), "adjoint", false);
  const leat_output_t y = leat_gradient_output(g, 0);
  const leat_output_t inner =
      leat_matrix_product(b, leat_gradient_of_output(g, 0), adjoint, y, !adjoint);
  leat_gradient_set_input(
      g, 0, leat_matrix_negate(b, leat_matrix_product(b, y, !adjoint, inner, false)));
  return leat_ok_status();
}

// Builds the inverse of A^H times |factors|, one number for each matrix.
static leat_output_t scale_inverse(leat_gradient_t* g, leat_output_t factors) {
  leat_builder_t* b = &g->builder;
  const int32_t ones[] = {1, 1};
  const leat_output_t inverse =
      leat_build(b, "MatrixInverse", LEAT_INPUTS(leat_gradient_input(g, 0)),
                 LEAT_ATTRS(LEAT_BOOL("adjoint", true)));
  const leat_output_t shape = leat_subgraph_join(b, leat_build_shape_of(b, factors),
                                                 leat_build_int32_vector(b, ones, 2),
                                                 LEAT_OUTPUT_NONE);
  return leat_build_binary(b, "Mul", leat_build_binary(b, "Reshape", factors, shape), inverse);
}

static leat_status_t determinant_gradient(leat_gradient_t* g) {
  const leat_output_t dy = leat_gradient_of_output(g, 0);
  const leat_output_t factors =
      leat_build_binary(&g->builder, "Mul", dy, leat_gradient_output(g, 0));
  leat_gradient_set_input(g, 0, scale_inverse(g, factors));
  return leat_ok_status();
}

static leat_status_t log_determinant_gradient(leat_gradient_t* g) {
  leat_gradient_set_input(g, 0, scale_inverse(g, leat_gradient_of_output(g, 1)));
  return leat_ok_status();
}

// Builds the gradient of the matrix of an equation from |right|, the gradient of its right-hand
// side.
static leat_output_t through_matrix(leat_gradient_t* g, leat_output_t right, bool adjoint) {
  leat_builder_t* b = &g->builder;
  const leat_output_t x = leat_gradient_output(g, 0);
  return leat_matrix_negate(b, adjoint ? leat_matrix_product(b, x, false, right, true)
                                       : leat_matrix_product(b, right, false, x, true));
}

static leat_status_t solve_gradient(leat_gradient_t* g) {
  const bool adjoint = leat_node_attr_bool(leat_gradient_node(g), "adjoint", false);
  const leat_output_t right = solve(&g->builder, leat_gradient_input(g, 0),
                                    leat_gradient_of_output(g, 0), !adjoint);
  leat_gradient_set_input(g, 0, through_matrix(g, right, adjoint));
  leat_gradient_set_input(g, 1, right);
  return leat_ok_status();
}

static leat_status_t triangular_gradient(leat_gradient_t* g) {
  leat_builder_t* b = &g->builder;
  const leat_node_t* node = leat_gradient_node(g);
  const bool adjoint = leat_node_attr_bool(node, "adjoint", false);
  const bool lower = leat_node_attr_bool(node, "lower", true);
  const leat_output_t right =
      leat_build(b, "MatrixTriangularSolve",
                 LEAT_INPUTS(leat_gradient_input(g, 0), leat_gradient_of_output(g, 0)),
                 LEAT_ATTRS(LEAT_BOOL("lower", lower), LEAT_BOOL("adjoint", !adjoint)));
  const leat_output_t matrix = through_matrix(g, right, adjoint);
  leat_matrix_set_broadcast_inputs(
      g, leat_matrix_band(b, matrix, lower ? -1 : 0, lower ? 0 : -1), right);
  return leat_ok_status();
}

// Builds the bands of the matrix's gradient in the layout of the input: MatrixDiagPartV3 aligned
// "LEFT_RIGHT".
static leat_status_t banded_gradient(leat_gradient_t* g) {
  leat_builder_t* b = &g->builder;
  const leat_node_t* node = leat_gradient_node(g);
  const bool adjoint = leat_node_attr_bool(node, "adjoint", false);
  const bool lower = leat_node_attr_bool(node, "lower", true);
  const leat_output_t a = leat_gradient_input(g, 0);
  const leat_output_t right =
      leat_build(b, "BandedTriangularSolve", LEAT_INPUTS(a, leat_gradient_of_output(g, 0)),
                 LEAT_ATTRS(LEAT_BOOL("lower", lower), LEAT_BOOL("adjoint", !adjoint)));
  const leat_output_t matrix = through_matrix(g, right, adjoint);
  const int32_t zero = 0;
  const leat_output_t none = leat_build_int32_vector(b, &zero, 1);
  const leat_output_t bands = leat_subgraph_slice(b, leat_build_shape_of(b, a), -2, -1);
  const leat_output_t last =
      leat_build_binary(b, "Sub", bands, leat_build_scalar(b, LEAT_DTYPE_INT32, 1));
  const leat_output_t range =
      lower ? leat_subgraph_join(b, leat_build_unary(b, "Neg", last), none, LEAT_OUTPUT_NONE)
            : leat_subgraph_join(b, none, last, LEAT_OUTPUT_NONE);
  const leat_output_t parts =
      leat_build(b, "MatrixDiagPartV3",
                 LEAT_INPUTS(matrix, range, leat_matrix_scalar(b, matrix, 0)),
                 LEAT_ATTRS(LEAT_STR("align", "LEFT_RIGHT")));
  leat_matrix_set_broadcast_inputs(g, parts, right);
  return leat_ok_status();
}

#define ANY "T: {double, float, half, complex64, complex128}"
#define DETERMINED "T: {half, float, double, complex64, complex128}"
#define OLD "T: {double, float}"
#define SQUARE "input[..., n, n] -> output[..., n, n]"
#define DETERMINANT "input[..., n, n] -> output[...]"
#define SOLUTION "matrix[..., n, n] rhs[..., n, k] -> output[..., n, k]"
#define TRIANGULAR "matrix[...a, n, n] rhs[...b, n, k]"  // the batches broadcast
#define TRIANGULAR_MISFITS                                                                \
  "matrix: In[0] ndims must be >= 2: %r | In[0] matrices in the last dimensions must be " \
  "square; rhs: In[1] ndims must be >= 2: %r | In[0] mismatch In[1] shape"
#define OLD_ROW(op, ins, types, shape_text, instead)                                       \
  {.name = "Batch" op, .inputs = ins, .outputs = "output: T", .attrs = types,              \
   .shapes = shape_text, .shape = leat_shape_unknown, .deprecated_since = 13,              \
   .deprecation = "Use " op " instead.", .doc = instead}

const leat_op_row_t leat_solve_ops[] = {
    LEAT_OP_ROW("MatrixInverse", "input: T", "output: T", "adjoint: bool = false; " ANY,
                NULL, inverse_gradient, "The inverses of square matrices, or of their adjoints.",
                .shapes = SQUARE),
    LEAT_OP_ROW("MatrixDeterminant", "input: T", "output: T", DETERMINED, NULL,
                determinant_gradient, "The determinants of square matrices.",
                .shapes = DETERMINANT),
    LEAT_OP_ROW("LogMatrixDeterminant", "input: T", "sign: T; log_abs_determinant: T", DETERMINED,
                NULL, log_determinant_gradient,
                "Sign and logarithm of the size of the determinants.",
                .shapes = "input[..., n, n] -> sign[...] log_abs_determinant[...]"),
    LEAT_OP_ROW("MatrixSolve", "matrix: T; rhs: T", "output: T", "adjoint: bool = false; " ANY,
                NULL, solve_gradient, "X in A X = B.", .shapes = SOLUTION,
                .misfits = "matrix: | First input (lhs) must be a square matrix.; "
                           "rhs: | Input matrix and rhs are incompatible."),
    LEAT_OP_ROW("MatrixTriangularSolve", "matrix: T; rhs: T", "output: T",
                "lower: bool = true; adjoint: bool = false; "
                "T: {bfloat16, double, float, half, complex64, complex128}",
                triangular_shape, triangular_gradient, "X in A X = B, A a triangle.",
                .shapes = TRIANGULAR, .misfits = TRIANGULAR_MISFITS),
    LEAT_OP_ROW("BandedTriangularSolve", "matrix: T; rhs: T", "output: T",
                "lower: bool = true; adjoint: bool = false; " ANY, banded_shape, banded_gradient,
                "X in A X = B, A a triangle given by its bands.",
                .shapes = "matrix[...a, _, n] rhs[...b, n, k]", .misfits = TRIANGULAR_MISFITS),
    LEAT_OP_ROW("Lu", "input: T", "lu: T; p: output_idx_type",
                ANY "; output_idx_type: {int32, int64} = int32", NULL, NULL,
                "Triangles L and U with L U = A after its rows are permuted by p.",
                .shapes = "input[..., n, n] -> lu[..., n, n] p[..., n]",
                .misfits = "input: Input tensor must have rank >= 2, got %r"),
    OLD_ROW("MatrixInverse", "input: T", "adjoint: bool = false; " OLD, SQUARE, "MatrixInverse."),
    OLD_ROW("MatrixDeterminant", "input: T", "T: {float, double, complex64, complex128}",
            DETERMINANT, "MatrixDeterminant."),
    OLD_ROW("MatrixSolve", "matrix: T; rhs: T", "adjoint: bool = false; " OLD, SOLUTION,
            "MatrixSolve."),
    OLD_ROW("MatrixTriangularSolve", "matrix: T; rhs: T",
            "lower: bool = true; adjoint: bool = false; " OLD, TRIANGULAR,
            "MatrixTriangularSolve."),
    LEAT_OP_ROWS_END,
};
