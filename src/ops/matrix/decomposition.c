// The ops Cholesky, Qr, Svd, SelfAdjointEigV2 and Eig, and their deprecated forms: shapes,
// registration and the gradient of Cholesky. The other gradients are in decomposition_gradient.c,
// the kernels in decomposition_cpu.c and (Eig) matrix_function_cpu.c.
//
// A factor that was not asked for has the shape [0] here, as TensorFlow infers it, although the
// kernel gives a scalar. Inner dimensions may be unknown; the lesser of two is known when one of
// them is 0.
#include "ops/matrix/decomposition_gradient.h"
#include "ops/matrix/matrix_shape.h"
#include "ops/op_rows.h"

// min(m, n), LEAT_DIM_UNKNOWN where that is not known.
static int64_t lesser(int64_t m, int64_t n) {
  if (m == 0 || n == 0) return 0;
  if (m == LEAT_DIM_UNKNOWN || n == LEAT_DIM_UNKNOWN) return LEAT_DIM_UNKNOWN;
  return m < n ? m : n;
}

// Sets an output that was not asked for.
static leat_status_t set_empty(leat_inference_t* c, int index) {
  return leat_matrix_set_output(c, index, leat_partial_shape_scalar(), 1, 0, 0);
}

static leat_status_t qr_shape(leat_inference_t* c) {
  leat_partial_shape_t batch;
  int64_t m, n;
  LEAT_RETURN_IF_ERROR(leat_matrix_input(c, 0, &batch, &m, &n));
  const int64_t p =
      leat_node_attr_bool(c->node, "full_matrices", false) ? m : lesser(m, n);
  LEAT_RETURN_IF_ERROR(leat_matrix_set_output(c, 0, batch, 2, m, p));
  return leat_matrix_set_output(c, 1, batch, 2, p, n);
}

static leat_status_t svd_shape(leat_inference_t* c) {
  leat_partial_shape_t batch;
  int64_t m, n;
  LEAT_RETURN_IF_ERROR(leat_matrix_input(c, 0, &batch, &m, &n));
  const int64_t p = lesser(m, n);
  LEAT_RETURN_IF_ERROR(leat_matrix_set_output(c, 0, batch, 1, p, 0));
  if (!leat_node_attr_bool(c->node, "compute_uv", true)) {
    LEAT_RETURN_IF_ERROR(set_empty(c, 1));
    return set_empty(c, 2);
  }
  const bool full = leat_node_attr_bool(c->node, "full_matrices", false);
  LEAT_RETURN_IF_ERROR(leat_matrix_set_output(c, 1, batch, 2, m, full ? m : p));
  return leat_matrix_set_output(c, 2, batch, 2, n, full ? n : p);
}

static leat_status_t eig_shape(leat_inference_t* c) {
  leat_partial_shape_t batch;
  int64_t n;
  LEAT_RETURN_IF_ERROR(leat_matrix_square_input(c, 0, &batch, &n));
  LEAT_RETURN_IF_ERROR(leat_matrix_set_output(c, 0, batch, 1, n, 0));
  if (!leat_node_attr_bool(c->node, "compute_v", true)) return set_empty(c, 1);
  return leat_matrix_set_output(c, 1, batch, 2, n, n);
}

// The deprecated form has the eigenvalues in the first row and the eigenvectors below it.
static leat_status_t self_adjoint_eig_shape(leat_inference_t* c) {
  leat_partial_shape_t batch;
  int64_t n;
  LEAT_RETURN_IF_ERROR(leat_matrix_square_input(c, 0, &batch, &n));
  return leat_matrix_set_output(c, 0, batch, 2, n == LEAT_DIM_UNKNOWN ? n : n + 1, n);
}

// dA = the Hermitian part of L^-H phi(L^H dL) L^-1, where phi halves the diagonal and drops what is
// above it (Murray, "Differentiation of the Cholesky decomposition").
static leat_status_t cholesky_gradient(leat_gradient_t* g) {
  leat_builder_t* b = &g->builder;
  const leat_output_t l = leat_gradient_output(g, 0);
  const leat_output_t half = leat_matrix_scalar(b, l, 0.5);
  leat_output_t middle = leat_matrix_product(b, l, true, leat_gradient_of_output(g, 0), false);
  middle = leat_matrix_with_diagonal(
      b, middle, leat_build_binary(b, "Mul", half, leat_matrix_diagonal_of(b, middle)));
  middle = leat_matrix_band(b, middle, -1, 0);
  // X = L^-H M L^-1 by two triangular equations instead of an inverse.
  const leat_output_t left =
      leat_build(b, "MatrixTriangularSolve", LEAT_INPUTS(l, middle),
                 LEAT_ATTRS(LEAT_BOOL("lower", true), LEAT_BOOL("adjoint", true)));
  const leat_output_t right =
      leat_build(b, "MatrixTriangularSolve", LEAT_INPUTS(l, leat_matrix_adjoint(b, left)),
                 LEAT_ATTRS(LEAT_BOOL("lower", true), LEAT_BOOL("adjoint", true)));
  const leat_output_t sum = leat_build_binary(b, "AddV2", right, leat_matrix_adjoint(b, right));
  leat_gradient_set_input(g, 0, leat_build_binary(b, "Mul", sum, half));
  return leat_ok_status();
}

#define ANY "T: {double, float, half, complex64, complex128}"
#define OLD "T: {double, float}"
#define OLD_ROW(op, ins, outs, types, since, instead)                                \
  {.name = op, .inputs = ins, .outputs = outs, .attrs = types,                       \
   .shape = leat_shape_unknown, .deprecated_since = since,                           \
   .deprecation = "Use " instead " instead.", .doc = instead "."}

const leat_op_row_t leat_decomposition_ops[] = {
    LEAT_OP_ROW("Cholesky", "input: T", "output: T", ANY, leat_shape_matrix_unchanged,
                cholesky_gradient, "Lower triangles L with A = L L^H."),
    LEAT_OP_ROW("CholeskyGrad", "l: T; grad: T", "output: T", "T: {half, float, double}",
                leat_shape_matrix_unchanged, NULL, "The gradient of Cholesky."),
    LEAT_OP_ROW("Qr", "input: T", "q: T; r: T", "full_matrices: bool = false; " ANY, qr_shape,
                leat_qr_gradient, "A = Q R, Q with orthonormal columns, R an upper triangle."),
    LEAT_OP_ROW("Svd", "input: T", "s: T; u: T; v: T",
                "compute_uv: bool = true; full_matrices: bool = false; " ANY, svd_shape,
                leat_svd_gradient, "A = U diag(s) V^H, s descending."),
    LEAT_OP_ROW("SelfAdjointEigV2", "input: T", "e: T; v: T", "compute_v: bool = true; " ANY,
                eig_shape, leat_self_adjoint_eig_gradient,
                "Eigenvalues, ascending, and eigenvectors of self-adjoint matrices."),
    LEAT_OP_ROW("Eig", "input: T", "e: Tout; v: Tout",
                "compute_v: bool = true; T: {float, double, complex64, complex128}; "
                "Tout: {complex64, complex128}",
                eig_shape, leat_eig_gradient, "Eigenvalues and eigenvectors of square matrices."),
    {.name = "SelfAdjointEig",
     .inputs = "input: T",
     .outputs = "output: T",
     .attrs = "T: {double, float, half}",
     .shape = self_adjoint_eig_shape,
     .deprecated_since = 11,
     .deprecation = "Use SelfAdjointEigV2 instead.",
     .doc = "Eigenvalues in the first row, eigenvectors below."},
    OLD_ROW("BatchCholesky", "input: T", "output: T", OLD, 13, "Cholesky"),
    OLD_ROW("BatchCholeskyGrad", "l: T; grad: T", "output: T", "T: {float, double}", 13,
            "CholeskyGrad"),
    OLD_ROW("BatchSelfAdjointEig", "input: T", "output: T", OLD, 11, "SelfAdjointEigV2"),
    OLD_ROW("BatchSelfAdjointEigV2", "input: T", "e: T; v: T", "compute_v: bool = true; " OLD, 13,
            "SelfAdjointEigV2"),
    OLD_ROW("BatchSvd", "input: T", "s: T; u: T; v: T",
            "compute_uv: bool = true; full_matrices: bool = false; "
            "T: {double, float, complex64, complex128}",
            13, "Svd"),
    LEAT_OP_ROWS_END,
};
