// The ops MatrixExponential, MatrixLogarithm and MatrixSquareRoot of square matrices. Only the
// square root has a gradient; matrix_function_cpu.c has the kernels.
#include "ops/matrix/matrix_shape.h"
#include "ops/nn/subgraph.h"
#include "ops/op_rows.h"

// Builds the matrices x [n, n] as [n, 1, n, 1] or, with |inner|, as [1, n, 1, n].
static leat_output_t spread(leat_builder_t* b, leat_output_t x, bool inner) {
  return inner ? leat_subgraph_expand(b, leat_subgraph_expand(b, x, -3), -2)
               : leat_subgraph_expand(b, leat_subgraph_expand(b, x, -2), -1);
}
// Builds the Kronecker products of |x| and |y| in |shape|.
static leat_output_t kronecker(leat_builder_t* b, leat_output_t x, leat_output_t y,
                               leat_output_t shape) {
  const leat_output_t product =
      leat_build_binary(b, "Mul", spread(b, x, false), spread(b, y, true));
  return leat_build_binary(b, "Reshape", product, shape);
}
static leat_output_t transpose(leat_builder_t* b, leat_output_t x) {
  const leat_output_t transposed = leat_matrix_adjoint(b, x);
  const bool is_complex = leat_dtype_in(leat_build_type_of(b, x), LEAT_DTYPES_COMPLEX);
  return is_complex ? leat_build_unary(b, "Conj", transposed) : transposed;
}

// A = R R gives dA = R dR + dR R: a system of n n linear equations for the elements of dR, whose
// matrix is a sum of two Kronecker products. The gradient solves its adjoint.
static leat_status_t square_root_gradient(leat_gradient_t* g) {
  leat_builder_t* b = &g->builder;
  const leat_output_t root = leat_gradient_output(g, 0);
  const leat_output_t shape = leat_build_shape_of(b, root);
  const leat_output_t batch = leat_subgraph_slice(b, shape, 0, -2);
  const leat_output_t n = leat_subgraph_slice(b, shape, -1, 0);
  const leat_output_t nn = leat_build_binary(b, "Mul", n, n);
  const leat_output_t zeros = leat_build_unary(b, "ZerosLike", root);
  const leat_output_t ones =
      leat_build_unary(b, "OnesLike", leat_matrix_diagonal_of(b, root));
  const leat_output_t identity = leat_matrix_with_diagonal(b, zeros, ones);
  const leat_output_t whole = leat_subgraph_join(b, batch, nn, nn);
  const leat_output_t left = kronecker(b, identity, transpose(b, root), whole);
  const leat_output_t right = kronecker(b, root, identity, whole);
  const leat_output_t one = leat_build_unary(b, "OnesLike", n);
  const leat_output_t column =
      leat_build_binary(b, "Reshape", transpose(b, leat_gradient_of_output(g, 0)),
                        leat_subgraph_join(b, batch, nn, one));
  const leat_output_t solved =
      leat_build_binary(b, "MatrixSolve", leat_build_binary(b, "AddV2", left, right), column);
  leat_gradient_set_input(
      g, 0, transpose(b, leat_build_binary(b, "Reshape", solved, shape)));
  return leat_ok_status();
}

#define ANY "T: {double, float, half, complex64, complex128}"
#define SQUARE "input[..., n, n] -> output[..., n, n]"

const leat_op_row_t leat_matrix_function_ops[] = {
    {.name = "MatrixExponential",
     .inputs = "input: T",
     .outputs = "output: T",
     .attrs = ANY,
     .shapes = SQUARE,
     .deprecated_since = 27,
     .deprecation = "Use Python implementation tf.linalg.matrix_exponential instead.",
     .doc = "exp of square matrices."},
    {.name = "MatrixLogarithm",
     .inputs = "input: T",
     .outputs = "output: T",
     .attrs = "T: {complex64, complex128}",
     .shapes = SQUARE,
     .doc = "The principal logarithm of square matrices."},
    {.name = "MatrixSquareRoot",
     .inputs = "input: T",
     .outputs = "output: T",
     .attrs = ANY,
     .shapes = SQUARE,
     .gradient = square_root_gradient,
     .doc = "The principal square root of square matrices."},
    LEAT_OP_ROWS_END,
};
