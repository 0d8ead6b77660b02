// The ops Cholesky, Qr, Svd, SelfAdjointEigV2 and Eig, and their deprecated forms: shapes,
// gradients and registration. The kernels are in decomposition_cpu.c and (Eig)
// matrix_function_cpu.c.
//
// A factor that was not asked for has the shape [0] here, as TensorFlow infers it, although the
// kernel gives a scalar. Inner dimensions may be unknown; the lesser of two is known when one of
// them is 0.
#include "ops/matrix/matrix_shape.h"
#include "ops/nn/subgraph.h"
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

// ---- Gradients ----------------------------------------------------------------------------------

// The gradients of Qr, Svd, SelfAdjointEig and Eig, as formulas of matrix ops. They are
// TensorFlow's, with the same cases left out (UNIMPLEMENTED), so that programs meet the same
// limits.
//
//   SelfAdjointEig:  dA = lower triangle of V (diag(de) + F o (V^H dV)) V^H,
//                    F(i, j) = 1 / (e_j - e_i)
//   Qr, m >= n:      dA = Q (dR + tril(M) R^-H) + (dQ - Q Q^H dQ) R^-H,
//                    M = Q^H dQ - dQ^H Q + R dR^H - dR R^H
//   Svd:             dA = U (diag(ds) + (F o U^H dU + h.c.) S + S (F o V^H dV + h.c.)) V^H + outer
//
// (o is the elementwise product, h.c. the adjoint of the term before it; in Svd, F is that of s^2.)
// F has a pole where two eigenvalues are equal; it is broadened to d / (d^2 + 1e-20), which is
// finite there. Wide matrices are reduced to the tall case.

static leat_output_t add(leat_builder_t* b, leat_output_t x, leat_output_t y) {
  return leat_build_binary(b, "AddV2", x, y);
}
static leat_output_t subtract(leat_builder_t* b, leat_output_t x, leat_output_t y) {
  return leat_build_binary(b, "Sub", x, y);
}
static leat_output_t multiply(leat_builder_t* b, leat_output_t x, leat_output_t y) {
  return leat_build_binary(b, "Mul", x, y);
}
static leat_output_t times(leat_builder_t* b, leat_output_t x, leat_output_t y) {
  return leat_matrix_product(b, x, false, y, false);
}
static leat_output_t adjoint_times(leat_builder_t* b, leat_output_t x, leat_output_t y) {
  return leat_matrix_product(b, x, true, y, false);
}
static leat_output_t times_adjoint(leat_builder_t* b, leat_output_t x, leat_output_t y) {
  return leat_matrix_product(b, x, false, y, true);
}
static bool is_complex(leat_builder_t* b, leat_output_t x) {
  return leat_dtype_in(leat_build_type_of(b, x), LEAT_DTYPES_COMPLEX);
}
// Builds x / (x^2 + 1e-20), which is 1 / x away from 0 and finite at 0.
static leat_output_t safe_reciprocal(leat_builder_t* b, leat_output_t x) {
  const leat_output_t square = multiply(b, x, x);
  const leat_output_t broad = add(b, square, leat_matrix_scalar(b, x, 1e-20));
  return multiply(b, x, leat_build_unary(b, "Reciprocal", broad));
}
// Builds F(i, j) = 1 / (values_j - values_i), with 0 on the diagonal.
static leat_output_t build_gaps(leat_builder_t* b, leat_output_t values) {
  const leat_output_t gaps = subtract(b, leat_subgraph_expand(b, values, -2),
                                      leat_subgraph_expand(b, values, -1));
  return leat_matrix_with_diagonal(b, safe_reciprocal(b, gaps),
                                   leat_build_unary(b, "ZerosLike", values));
}
// Builds the real part of complex |x|, as a complex number.
static leat_output_t real_part(leat_builder_t* b, leat_output_t x) {
  const int dtype = leat_build_type_of(b, x);
  const int part = dtype == LEAT_DTYPE_COMPLEX64 ? LEAT_DTYPE_FLOAT : LEAT_DTYPE_DOUBLE;
  const leat_output_t real =
      leat_build(b, "Real", LEAT_INPUTS(x), LEAT_ATTRS(LEAT_TYPE("Tout", part)));
  return leat_subgraph_cast(b, real, dtype);
}
static leat_status_t not_implemented(const char* op, const char* what) {
  return leat_make_status(LEAT_UNIMPLEMENTED, "%sGrad not implemented %s", op, what);
}

// ---- Eigenvalues --------------------------------------------------------------------------------

// Builds the lower triangle of x + x^H, with the diagonal of x: the ops read the lower triangle
// only.
static leat_output_t take_lower(leat_builder_t* b, leat_output_t x) {
  const leat_output_t sum = leat_matrix_band(b, add(b, x, leat_matrix_adjoint(b, x)), -1, 0);
  const leat_output_t half = leat_matrix_scalar(b, x, 0.5);
  return leat_matrix_with_diagonal(b, sum,
                                   multiply(b, half, leat_matrix_diagonal_of(b, sum)));
}

// Without eigenvectors the op is run again with them, for the formula needs V.
static leat_status_t self_adjoint_eig_gradient(leat_gradient_t* g) {
  leat_builder_t* b = &g->builder;
  leat_output_t middle = leat_matrix_of_diagonal(b, leat_gradient_of_output(g, 0));
  leat_output_t v = leat_gradient_output(g, 1);
  if (leat_node_attr_bool(leat_gradient_node(g), "compute_v", true)) {
    const leat_output_t f = build_gaps(b, leat_gradient_output(g, 0));
    const leat_output_t product = adjoint_times(b, v, leat_gradient_of_output(g, 1));
    middle = add(b, middle, multiply(b, f, product));
  } else {
    const int32_t again = leat_build_node(b, "SelfAdjointEigV2",
                                          LEAT_INPUTS(leat_gradient_input(g, 0)), LEAT_NO_ATTRS);
    v = leat_node_output(again, 1);
  }
  leat_gradient_set_input(g, 0, take_lower(b, times(b, v, times_adjoint(b, middle, v))));
  return leat_ok_status();
}

// Eigenvectors of a matrix that is not Hermitian are not orthogonal, so that the formula has V^-H
// in place of V, and removes the part of dV along each vector, whose length is fixed.
static leat_status_t eig_gradient(leat_gradient_t* g) {
  leat_builder_t* b = &g->builder;
  const leat_node_t* node = leat_gradient_node(g);
  const int input_type = leat_node_attr_type(node, "T");
  leat_output_t middle = leat_matrix_of_diagonal(b, leat_gradient_of_output(g, 0));
  leat_output_t v = leat_gradient_output(g, 1);
  if (leat_node_attr_bool(node, "compute_v", true)) {
    const leat_output_t f = leat_build_unary(b, "Conj", build_gaps(b, leat_gradient_output(g, 0)));
    const leat_output_t vgv = adjoint_times(b, v, leat_gradient_of_output(g, 1));
    const leat_output_t diagonal =
        leat_matrix_of_diagonal(b, leat_matrix_diagonal_of(b, real_part(b, vgv)));
    const leat_output_t rest = subtract(b, vgv, times(b, adjoint_times(b, v, v), diagonal));
    middle = add(b, middle, multiply(b, f, rest));
  } else {
    const int32_t again =
        leat_build_node(b, "Eig", LEAT_INPUTS(leat_gradient_input(g, 0)),
                        LEAT_ATTRS(LEAT_TYPE("Tout", leat_node_attr_type(node, "Tout"))));
    v = leat_node_output(again, 1);
  }
  const leat_output_t vt = leat_matrix_adjoint(b, v);
  const leat_output_t dx = leat_build_binary(b, "MatrixSolve", vt, times(b, middle, vt));
  leat_gradient_set_input(g, 0, leat_subgraph_cast(b, dx, input_type));
  return leat_ok_status();
}

// ---- Qr -----------------------------------------------------------------------------------------

// Builds x R^-H for an upper triangle R, as the solution of R Y = x^H, adjoint.
static leat_output_t divide_by_triangle(leat_builder_t* b, leat_output_t x, leat_output_t r) {
  const leat_output_t solved =
      leat_build(b, "MatrixTriangularSolve", LEAT_INPUTS(r, leat_matrix_adjoint(b, x)),
                 LEAT_ATTRS(LEAT_BOOL("lower", false), LEAT_BOOL("adjoint", false)));
  return leat_matrix_adjoint(b, solved);
}

// Builds the gradient of Qr for matrices with at least as many rows as columns.
static leat_output_t deep_qr(leat_builder_t* b, leat_output_t q, leat_output_t r, leat_output_t dq,
                             leat_output_t dr) {
  const leat_output_t qdq = adjoint_times(b, q, dq);
  const leat_output_t rdr = times_adjoint(b, r, dr);
  const leat_output_t skew = add(b, subtract(b, qdq, leat_matrix_adjoint(b, qdq)),
                                 subtract(b, rdr, leat_matrix_adjoint(b, rdr)));
  const leat_output_t lower = leat_matrix_band(b, skew, -1, 0);
  leat_output_t dx = times(b, q, add(b, dr, divide_by_triangle(b, lower, r)));
  dx = add(b, dx, divide_by_triangle(b, subtract(b, dq, times(b, q, qdq)), r));
  if (!is_complex(b, q)) return dx;
  const leat_output_t m = subtract(b, rdr, leat_matrix_adjoint(b, qdq));
  const leat_output_t diagonal = leat_matrix_with_diagonal(
      b, leat_build_unary(b, "ZerosLike", m), leat_matrix_diagonal_of(b, m));
  const leat_output_t correction = subtract(b, diagonal, real_part(b, diagonal));
  return add(b, dx, divide_by_triangle(b, times_adjoint(b, q, correction), r));
}

// Builds columns [begin, end) of the last dimension.
static leat_output_t take_columns(leat_builder_t* b, leat_output_t x, int rank, int64_t begin,
                                  int64_t end) {
  int32_t starts[LEAT_SHAPE_MAX_RANK], sizes[LEAT_SHAPE_MAX_RANK];
  for (int d = 0; d < rank; ++d) {
    starts[d] = d == rank - 1 ? (int32_t)begin : 0;
    sizes[d] = d == rank - 1 ? (int32_t)(end - begin) : -1;
  }
  return leat_build(b, "Slice",
                    LEAT_INPUTS(x, leat_build_int32_vector(b, starts, rank),
                                leat_build_int32_vector(b, sizes, rank)),
                    LEAT_NO_ATTRS);
}

static leat_output_t join_columns(leat_builder_t* b, leat_output_t x, leat_output_t y) {
  return leat_build(b, "ConcatV2",
                    LEAT_INPUTS(x, y, leat_build_scalar(b, LEAT_DTYPE_INT32, -1)),
                    LEAT_ATTRS(LEAT_INT("N", 2)));
}

static leat_status_t qr_gradient(leat_gradient_t* g) {
  leat_builder_t* b = &g->builder;
  const leat_output_t q = leat_gradient_output(g, 0), r = leat_gradient_output(g, 1);
  const leat_partial_shape_t q_shape = leat_graph_output_shape(b->graph, q);
  const leat_partial_shape_t r_shape = leat_graph_output_shape(b->graph, r);
  if (r_shape.rank < 0) return not_implemented("Qr", "with dynamic shapes");
  const int rank = r_shape.rank;
  const int64_t r_rows = r_shape.dims[rank - 2], columns = r_shape.dims[rank - 1];
  const int64_t rows = q_shape.dims[rank - 2];
  if (r_rows < 0 || columns < 0) return not_implemented("Qr", "with dynamic shapes");
  if (r_rows > columns && rows == q_shape.dims[rank - 1]) {
    return not_implemented("Qr", "when nrows > ncols and full_matrices is true");
  }
  const leat_output_t dq = leat_gradient_of_output(g, 0), dr = leat_gradient_of_output(g, 1);
  if (rows >= columns) {
    leat_gradient_set_input(g, 0, deep_qr(b, q, r, dq, dr));
    return leat_ok_status();
  }
  // A = [X, Y] and R = [U, V] with X = Q U square: Y = Q V, so that dV adds Y dV^H to dQ, and dY =
  // Q dV.
  const leat_output_t y = take_columns(b, leat_gradient_input(g, 0), rank, rows, columns);
  const leat_output_t u = take_columns(b, r, rank, 0, rows);
  const leat_output_t dv = take_columns(b, dr, rank, rows, columns);
  const leat_output_t du = take_columns(b, dr, rank, 0, rows);
  const leat_output_t dx = deep_qr(b, q, u, add(b, dq, times_adjoint(b, y, dv)), du);
  leat_gradient_set_input(g, 0, join_columns(b, dx, times(b, q, dv)));
  return leat_ok_status();
}

// ---- Svd ----------------------------------------------------------------------------------------

// The factors of A, or of A^H when A has more rows than columns, and their gradients.
typedef struct factors_s {
  leat_output_t s, u, v, ds, du, dv;
  int64_t m, n;  // the sizes of A or A^H, m <= n
  int rank;
  bool is_full;
} factors_t;

// Builds the part of the gradient outside of the span of the first m columns of V.
static leat_output_t outer_term(leat_builder_t* b, const factors_t* f, leat_output_t v1,
                                leat_output_t dv1, leat_output_t inverse) {
  const leat_output_t adjoint = leat_matrix_adjoint(b, dv1);
  leat_output_t term = subtract(b, adjoint, times_adjoint(b, times(b, adjoint, v1), v1));
  if (f->is_full) {
    const leat_output_t v2 = take_columns(b, f->v, f->rank, f->m, f->n);
    const leat_output_t dv2 = take_columns(b, f->dv, f->rank, f->m, f->n);
    term = subtract(b, term, times_adjoint(b, adjoint_times(b, v1, dv2), v2));
  }
  return times(b, times(b, f->u, inverse), term);
}

// Builds the gradient of A (or A^H) from those of all factors.
static leat_output_t through_factors(leat_builder_t* b, const factors_t* f) {
  const leat_output_t diagonal = leat_matrix_of_diagonal(b, f->s);
  const leat_output_t gaps = build_gaps(b, leat_build_unary(b, "Square", f->s));
  const leat_output_t inverse = leat_matrix_of_diagonal(b, safe_reciprocal(b, f->s));
  const bool cuts = f->is_full && f->m < f->n;
  const leat_output_t v1 = cuts ? take_columns(b, f->v, f->rank, 0, f->m) : f->v;
  const leat_output_t dv1 = cuts ? take_columns(b, f->dv, f->rank, 0, f->m) : f->dv;
  const leat_output_t v_dv = adjoint_times(b, v1, dv1);
  const leat_output_t by_u = multiply(b, gaps, adjoint_times(b, f->u, f->du));
  const leat_output_t by_v = multiply(b, gaps, v_dv);
  leat_output_t inner = leat_matrix_of_diagonal(b, f->ds);
  inner = add(b, inner, times(b, add(b, by_u, leat_matrix_adjoint(b, by_u)), diagonal));
  inner = add(b, inner, times(b, diagonal, add(b, by_v, leat_matrix_adjoint(b, by_v))));
  leat_output_t dx = times(b, f->u, times_adjoint(b, inner, v1));
  if (f->m < f->n) dx = add(b, dx, outer_term(b, f, v1, dv1, inverse));
  if (!is_complex(b, f->u)) return dx;
  const leat_output_t l = leat_matrix_of_diagonal(b, leat_matrix_diagonal_of(b, v_dv));
  const leat_output_t phase =
      times(b, inverse, subtract(b, leat_matrix_adjoint(b, l), l));
  const leat_output_t half = leat_matrix_scalar(b, phase, 0.5);
  return add(b, dx, multiply(b, half, times(b, f->u, times_adjoint(b, phase, v1))));
}

// Builds the gradient when only singular values are outputs: U diag(ds) V^H, with factors computed
// again.
static leat_status_t values_gradient(leat_gradient_t* g, leat_output_t ds) {
  leat_builder_t* b = &g->builder;
  const int32_t again = leat_build_node(b, "Svd", LEAT_INPUTS(leat_gradient_input(g, 0)),
                                        LEAT_ATTRS(LEAT_BOOL("compute_uv", true)));
  const leat_output_t u = leat_node_output(again, 1), v = leat_node_output(again, 2);
  leat_gradient_set_input(g, 0,
                          times(b, u, times_adjoint(b, leat_matrix_of_diagonal(b, ds), v)));
  return leat_ok_status();
}

// The formulas are for matrices with no more rows than columns. The gradient of a tall matrix is
// that of its adjoint, whose factors u and v are exchanged.
static leat_status_t svd_gradient(leat_gradient_t* g) {
  leat_builder_t* b = &g->builder;
  const leat_node_t* node = leat_gradient_node(g);
  const leat_output_t a = leat_gradient_input(g, 0);
  const leat_partial_shape_t shape = leat_graph_output_shape(b->graph, a);
  const leat_output_t ds = leat_gradient_of_output(g, 0);
  if (!leat_node_attr_bool(node, "compute_uv", true)) return values_gradient(g, ds);
  if (shape.rank < 2 || shape.dims[shape.rank - 2] < 0 || shape.dims[shape.rank - 1] < 0) {
    return not_implemented("Svd", "for input with unknown inner matrix shape");
  }
  factors_t f = {.s = leat_gradient_output(g, 0),
                 .ds = ds,
                 .m = shape.dims[shape.rank - 2],
                 .n = shape.dims[shape.rank - 1],
                 .rank = shape.rank,
                 .is_full = leat_node_attr_bool(node, "full_matrices", false)};
  const bool is_tall = f.m > f.n;
  f.u = leat_gradient_output(g, is_tall ? 2 : 1);
  f.v = leat_gradient_output(g, is_tall ? 1 : 2);
  f.du = leat_gradient_of_output(g, is_tall ? 2 : 1);
  f.dv = leat_gradient_of_output(g, is_tall ? 1 : 2);
  if (is_tall) {
    const int64_t rows = f.m;
    f.m = f.n;
    f.n = rows;
  }
  if (f.is_full && f.n - f.m > 1) {
    return not_implemented("Svd", "for abs(m - n) > 1 when full_matrices is True");
  }
  const leat_output_t dx = through_factors(b, &f);
  leat_gradient_set_input(g, 0, is_tall ? leat_matrix_adjoint(b, dx) : dx);
  return leat_ok_status();
}

// ---- Ops ----------------------------------------------------------------------------------------

#define ANY "T: {double, float, half, complex64, complex128}"
#define OLD "T: {double, float}"
#define SQUARE "input[..., n, n]"
#define NOT_THE_SAME "Inputs (L and grad) must have the same shape."
#define CHOLESKY_GRAD "l[..., n, n] grad[..., n, n] -> output[..., n, n]"
#define OLD_ROW(op, ins, outs, types, shape_text, since, instead)                    \
  {.name = op, .inputs = ins, .outputs = outs, .attrs = types, .shapes = shape_text, \
   .shape = leat_shape_unknown, .deprecated_since = since,                           \
   .deprecation = "Use " instead " instead.", .doc = instead "."}

const leat_op_row_t leat_decomposition_ops[] = {
    LEAT_OP_ROW("Cholesky", "input: T", "output: T", ANY, NULL, cholesky_gradient,
                "Lower triangles L with A = L L^H.", .shapes = SQUARE " -> output[..., n, n]"),
    LEAT_OP_ROW("CholeskyGrad", "l: T; grad: T", "output: T", "T: {half, float, double}",
                NULL, NULL, "The gradient of Cholesky.", .shapes = CHOLESKY_GRAD,
                .misfits = "l: | " NOT_THE_SAME "; grad: | " NOT_THE_SAME),
    LEAT_OP_ROW("Qr", "input: T", "q: T; r: T", "full_matrices: bool = false; " ANY, qr_shape,
                qr_gradient, "A = Q R, Q with orthonormal columns, R an upper triangle.",
                .shapes = "input[..., m, n]"),
    LEAT_OP_ROW("Svd", "input: T", "s: T; u: T; v: T",
                "compute_uv: bool = true; full_matrices: bool = false; " ANY, svd_shape,
                svd_gradient, "A = U diag(s) V^H, s descending.", .shapes = "input[..., m, n]"),
    LEAT_OP_ROW("SelfAdjointEigV2", "input: T", "e: T; v: T", "compute_v: bool = true; " ANY,
                eig_shape, self_adjoint_eig_gradient,
                "Eigenvalues, ascending, and eigenvectors of self-adjoint matrices.",
                .shapes = SQUARE),
    LEAT_OP_ROW("Eig", "input: T", "e: Tout; v: Tout",
                "compute_v: bool = true; T: {float, double, complex64, complex128}; "
                "Tout: {complex64, complex128}",
                eig_shape, eig_gradient, "Eigenvalues and eigenvectors of square matrices.",
                .shapes = SQUARE),
    {.name = "SelfAdjointEig",
     .inputs = "input: T",
     .outputs = "output: T",
     .attrs = "T: {double, float, half}",
     .shapes = SQUARE,
     .shape = self_adjoint_eig_shape,
     .deprecated_since = 11,
     .deprecation = "Use SelfAdjointEigV2 instead.",
     .doc = "Eigenvalues in the first row, eigenvectors below."},
    OLD_ROW("BatchCholesky", "input: T", "output: T", OLD, SQUARE, 13, "Cholesky"),
    OLD_ROW("BatchCholeskyGrad", "l: T; grad: T", "output: T", "T: {float, double}",
            CHOLESKY_GRAD, 13, "CholeskyGrad"),
    OLD_ROW("BatchSelfAdjointEig", "input: T", "output: T", OLD, SQUARE, 11, "SelfAdjointEigV2"),
    OLD_ROW("BatchSelfAdjointEigV2", "input: T", "e: T; v: T", "compute_v: bool = true; " OLD,
            SQUARE, 13, "SelfAdjointEigV2"),
    OLD_ROW("BatchSvd", "input: T", "s: T; u: T; v: T",
            "compute_uv: bool = true; full_matrices: bool = false; "
            "T: {double, float, complex64, complex128}",
            "input[..., m, n]", 13, "Svd"),
    LEAT_OP_ROWS_END,
};
