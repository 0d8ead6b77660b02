// The ops TridiagonalSolve and TridiagonalMatMul, for matrices that are given by three diagonals:
// shapes and gradients. tridiagonal_cpu.c has the kernels.
//
//   TridiagonalSolve:   diagonals [..., 3, n], rhs [..., n, k] -> [..., n, k]
//   TridiagonalMatMul:  superdiag, maindiag, subdiag [..., 1, n], rhs [..., n, k] -> [..., n, k]
//
// Row i of the product is above_i b_(i+1) + middle_i b_i + below_i b_(i-1). Each gradient is
// therefore a sum of products of rows that are shifted by one. The gradient of a solution solves
// the transposed equation, whose diagonals are the same ones, exchanged and shifted. No n x n
// matrix is ever built.
#include "ops/matrix/matrix_shape.h"
#include "ops/nn/subgraph.h"
#include "ops/op_rows.h"

// ---- Gradients ----------------------------------------------------------------------------------

static leat_output_t add(leat_builder_t* b, leat_output_t x, leat_output_t y) {
  return leat_build_binary(b, "AddV2", x, y);
}
static leat_output_t multiply(leat_builder_t* b, leat_output_t x, leat_output_t y) {
  return leat_build_binary(b, "Mul", x, y);
}

// Builds items [begin, end) (an end of 0: all to the end) of dimension |axis|, the last (-1) or the
// one before it (-2).
static leat_output_t take(leat_builder_t* b, leat_output_t x, int axis, int begin, int end) {
  const int32_t begins[] = {0, begin, 0}, ends[] = {0, end, 0}, steps[] = {1, 1, 1};
  const int count = 1 - axis;  // the ellipsis, |axis| and the dimensions behind it
  const int rest = axis == -2 ? 4 : 0;
  return leat_build(b, "StridedSlice",
                    LEAT_INPUTS(x, leat_build_int32_vector(b, begins, count),
                                leat_build_int32_vector(b, ends, count),
                                leat_build_int32_vector(b, steps, count)),
                    LEAT_ATTRS(LEAT_INT("ellipsis_mask", 1), LEAT_INT("begin_mask", rest),
                               LEAT_INT("end_mask", rest + (end == 0 ? 2 : 0))));
}

// Builds the concatenation of two or three (|z| exists) tensors along |axis|.
static leat_output_t join(leat_builder_t* b, leat_output_t x, leat_output_t y, leat_output_t z,
                          int axis) {
  const leat_output_t items[] = {x, y, z};
  const int count = leat_output_exists(z) ? 3 : 2;
  const leat_output_t place = leat_build_scalar(b, LEAT_DTYPE_INT32, axis);
  const leat_output_t inputs[] = {items[0], items[1], count == 3 ? items[2] : place, place};
  return leat_build(b, "ConcatV2", (leat_outputs_t){inputs, count + 1},
                    LEAT_ATTRS(LEAT_INT("N", count)));
}

// Builds |x| moved by one along |axis|: item i becomes the former item i + 1 (with |down|, i - 1),
// and a zero fills the gap.
static leat_output_t shift(leat_builder_t* b, leat_output_t x, int axis, bool down) {
  const leat_output_t zeros = leat_build_unary(b, "ZerosLike", take(b, x, axis, 0, 1));
  return down ? join(b, zeros, take(b, x, axis, 0, -1), LEAT_OUTPUT_NONE, axis)
              : join(b, take(b, x, axis, 1, 0), zeros, LEAT_OUTPUT_NONE, axis);
}

static leat_output_t sum_last(leat_builder_t* b, leat_output_t x) {
  return leat_subgraph_sum(b, x, -1, false);
}

static leat_status_t product_gradient(leat_gradient_t* g) {
  leat_builder_t* b = &g->builder;
  const leat_output_t dy = leat_gradient_of_output(g, 0);
  leat_output_t right = leat_gradient_input(g, 3);
  if (leat_dtype_in(leat_build_type_of(b, right), LEAT_DTYPES_COMPLEX)) {
    right = leat_build_unary(b, "Conj", right);
  }
  const leat_output_t met[] = {shift(b, right, -2, false), right, shift(b, right, -2, true)};
  leat_output_t parts[3];
  for (int i = 0; i < 3; ++i) {
    const leat_output_t sum = sum_last(b, multiply(b, met[i], dy));
    leat_gradient_set_input(g, i, leat_subgraph_expand(b, sum, -2));
    parts[i] = multiply(b, leat_matrix_adjoint(b, leat_gradient_input(g, i)), dy);
  }
  leat_gradient_set_input(g, 3, add(b, add(b, shift(b, parts[0], -2, true), parts[1]),
                                    shift(b, parts[2], -2, false)));
  return leat_ok_status();
}

// Builds the diagonals of the transposed matrix.
static leat_output_t transpose(leat_builder_t* b, leat_output_t diagonals) {
  const leat_output_t above = take(b, diagonals, -2, 0, 1);
  const leat_output_t middle = take(b, diagonals, -2, 1, 2);
  const leat_output_t below = take(b, diagonals, -2, 2, 3);
  return join(b, shift(b, below, -1, false), middle, shift(b, above, -1, true), -2);
}

static leat_status_t solve_gradient(leat_gradient_t* g) {
  leat_builder_t* b = &g->builder;
  const leat_node_t* node = leat_gradient_node(g);
  const leat_output_t x = leat_gradient_output(g, 0);
  const leat_attr_value_t* pivoting = leat_node_attr(node, LEAT_SV("partial_pivoting"));
  const leat_attr_value_t* perturb = leat_node_attr(node, LEAT_SV("perturb_singular"));
  const leat_output_t dy = leat_build(
      b, "TridiagonalSolve",
      LEAT_INPUTS(transpose(b, leat_gradient_input(g, 0)), leat_gradient_of_output(g, 0)),
      LEAT_ATTRS(LEAT_COPY("partial_pivoting", pivoting),
                 LEAT_COPY("perturb_singular", perturb)));
  const leat_output_t diagonals[] = {sum_last(b, multiply(b, dy, shift(b, x, -2, false))),
                                     sum_last(b, multiply(b, dy, x)),
                                     sum_last(b, multiply(b, dy, shift(b, x, -2, true)))};
  const leat_output_t all = leat_build(b, "Pack", (leat_outputs_t){diagonals, 3},
                                       LEAT_ATTRS(LEAT_INT("axis", -2)));
  leat_gradient_set_input(g, 0, leat_matrix_negate(b, all));
  leat_gradient_set_input(g, 1, dy);
  return leat_ok_status();
}

#define TYPES "T: {double, float, complex64, complex128}"

const leat_op_row_t leat_tridiagonal_ops[] = {
    {.name = "TridiagonalSolve",
     .inputs = "diagonals: T; rhs: T",
     .outputs = "output: T",
     .attrs = "partial_pivoting: bool = true; perturb_singular: bool = false; " TYPES,
     .shapes = "diagonals[..., 3, n] rhs[..., n, k] -> output[..., n, k]",
     .misfits = "diagonals: | Expected diagonals to be provided as a matrix with 3 rows; "
                "rhs: | Expected the same number of left-hand sides and right-hand sides",
     .gradient = solve_gradient,
     .doc = "Solves A X = B, A given by the diagonals above, on and below the main one."},
    {.name = "TridiagonalMatMul",
     .inputs = "superdiag: T; maindiag: T; subdiag: T; rhs: T",
     .outputs = "output: T",
     .attrs = TYPES,
     .shapes = "superdiag[..., 1, n] maindiag[..., 1, n] subdiag[..., 1, n] rhs[..., n, k] "
               "-> output[..., n, k]",
     .misfits = "superdiag: | Invalid superdiagonal shape.; "
                "maindiag: | Invalid main diagonal shape.; "
                "subdiag: | Invalid subdiagonal shape.; rhs: | Invalid superdiagonal shape.",
     .gradient = product_gradient,
     .doc = "The product of a matrix of three diagonals with a dense one."},
    LEAT_OP_ROWS_END,
};
