// The op MatrixSolveLs, linear least squares, and its gradient. solve_ls_cpu.c has the kernel.
//
//   matrix [..., m, n], rhs [..., m, k], l2_regularizer -> X [..., n, k]
//
// The gradient exists for fast = true only, where the kernel solves the normal equations. It
// follows from these equations, in two cases by the matrix's sizes. The sizes must therefore be
// known when the gradient is built; UNIMPLEMENTED otherwise.
//
//   m >= n:  X = (A^H A + l2)^-1 A^H B,   Z = (A^H A + l2)^-1 dX,   dB = A Z
//            dA = B Z^H - A (X Z^H + Z X^H)
//   m < n:   X = A^H (A A^H + l2)^-1 B,   dB = (A A^H + l2)^-1 A dX
//
// Each inverse is applied by a Cholesky factorization and two triangular equations.
#include "ops/matrix/matrix_shape.h"
#include "ops/nn/subgraph.h"
#include "ops/op_rows.h"

static leat_output_t times(leat_builder_t* b, leat_output_t x, leat_output_t y) {
  return leat_matrix_product(b, x, false, y, false);
}
static leat_output_t add(leat_builder_t* b, leat_output_t x, leat_output_t y) {
  return leat_build_binary(b, "AddV2", x, y);
}

// Builds the Cholesky factor of A^H A (|first_kind|) or A A^H, with |l2| added to the diagonal.
static leat_output_t factor_gramian(leat_builder_t* b, leat_output_t a, leat_output_t l2,
                                    bool first_kind) {
  const leat_output_t gramian = leat_matrix_product(b, a, first_kind, a, !first_kind);
  const leat_output_t diagonal = add(b, leat_matrix_diagonal_of(b, gramian), l2);
  return leat_build_unary(b, "Cholesky", leat_matrix_with_diagonal(b, gramian, diagonal));
}

// Builds (L L^H)^-1 x by two triangular equations.
static leat_output_t solve(leat_builder_t* b, leat_output_t l, leat_output_t x) {
  const leat_output_t y =
      leat_build(b, "MatrixTriangularSolve", LEAT_INPUTS(l, x),
                 LEAT_ATTRS(LEAT_BOOL("lower", true), LEAT_BOOL("adjoint", false)));
  return leat_build(b, "MatrixTriangularSolve", LEAT_INPUTS(l, y),
                    LEAT_ATTRS(LEAT_BOOL("lower", true), LEAT_BOOL("adjoint", true)));
}

// Sets the gradients for a matrix with at least as many rows as columns.
static void set_tall(leat_gradient_t* g, leat_output_t a, leat_output_t l2, leat_output_t dx) {
  leat_builder_t* b = &g->builder;
  const leat_output_t z = solve(b, factor_gramian(b, a, l2, true), dx);
  const leat_output_t xz = leat_matrix_product(b, leat_gradient_output(g, 0), false, z, true);
  leat_output_t zx = leat_matrix_adjoint(b, xz);
  if (leat_dtype_in(leat_build_type_of(b, a), LEAT_DTYPES_COMPLEX)) {
    // TensorFlow's formula transposes without conjugating.
    zx = leat_build_unary(b, "Conj", zx);
  }
  const leat_output_t bz = leat_matrix_product(b, leat_gradient_input(g, 1), false, z, true);
  leat_gradient_set_input(g, 0, leat_build_binary(b, "Sub", bz, times(b, a, add(b, xz, zx))));
  leat_gradient_set_input(g, 1, times(b, a, z));
}

// Sets the gradients for a matrix with fewer rows than columns.
static void set_wide(leat_gradient_t* g, leat_output_t a, leat_output_t l2, leat_output_t dx) {
  leat_builder_t* b = &g->builder;
  const leat_output_t factor = factor_gramian(b, a, l2, false);
  const leat_output_t db = solve(b, factor, times(b, a, dx));
  const leat_output_t z = solve(b, factor, leat_gradient_input(g, 1));
  const leat_output_t inner = times(b, db, leat_matrix_product(b, z, true, a, false));
  const leat_output_t rest =
      leat_build_binary(b, "Sub", dx, leat_matrix_product(b, a, true, db, false));
  const leat_output_t outer = leat_matrix_product(b, z, false, rest, true);
  leat_gradient_set_input(g, 0, leat_build_binary(b, "Sub", outer, inner));
  leat_gradient_set_input(g, 1, db);
}

static leat_status_t solve_ls_gradient(leat_gradient_t* g) {
  leat_builder_t* b = &g->builder;
  if (!leat_node_attr_bool(leat_gradient_node(g), "fast", true)) {
    return leat_make_status(LEAT_INVALID_ARGUMENT, "Gradient not defined for fast=False");
  }
  const leat_output_t a = leat_gradient_input(g, 0);
  const leat_partial_shape_t shape = leat_graph_output_shape(b->graph, a);
  if (shape.rank < 2 || shape.dims[shape.rank - 1] < 0 || shape.dims[shape.rank - 2] < 0) {
    return leat_make_status(LEAT_UNIMPLEMENTED,
                            "the gradient of MatrixSolveLs is not implemented for a matrix whose "
                            "size is not known");
  }
  const leat_output_t l2 =
      leat_subgraph_cast(b, leat_gradient_input(g, 2), leat_build_type_of(b, a));
  const bool is_tall = shape.dims[shape.rank - 2] >= shape.dims[shape.rank - 1];
  (is_tall ? set_tall : set_wide)(g, a, l2, leat_gradient_of_output(g, 0));
  return leat_ok_status();
}

#define SHAPES "matrix[..., m, n] rhs[..., m, k] l2_regularizer[] -> output[..., n, k]"

const leat_op_row_t leat_solve_ls_ops[] = {
    {.name = "MatrixSolveLs",
     .inputs = "matrix: T; rhs: T; l2_regularizer: double",
     .outputs = "output: T",
     .attrs = "T: {double, float, half, complex64, complex128}; fast: bool = true",
     .shapes = SHAPES,
     .misfits = "rhs: | Input matrix and rhs are incompatible.; "
                "l2_regularizer: l2_regularizer must be scalar, got shape %",
     .gradient = solve_ls_gradient,
     .doc = "The X of least |A X - B|^2 + l2 |X|^2; the least X where that leaves a choice."},
    {.name = "BatchMatrixSolveLs",
     .inputs = "matrix: T; rhs: T; l2_regularizer: double",
     .outputs = "output: T",
     .attrs = "T: {double, float}; fast: bool = true",
     .shapes = SHAPES,
     .misfits = "rhs: | Input matrix and rhs are incompatible.; "
                "l2_regularizer: l2_regularizer must be scalar, got shape %",
     .shape = leat_shape_unknown,
     .deprecated_since = 13,
     .deprecation = "Use MatrixSolveLs instead.",
     .doc = "MatrixSolveLs."},
    LEAT_OP_ROWS_END,
};
