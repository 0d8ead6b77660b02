// Definition of SparseSoftmax: the softmax of each row of a sparse tensor [..., rows, columns] over
// its entries; what is not there takes no part.
#include "graph/gradient.h"
#include "ops/op_rows.h"
#include "ops/sparse/sparse_shape.h"

static leat_status_t softmax_shape(leat_inference_t* c) {
  LEAT_RETURN_IF_ERROR(leat_shape_check_sparse(c, 0));
  leat_partial_shape_t values;
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank(c, leat_inference_input(c, 1), 1, &values));
  leat_inference_set_output(c, 0, values);
  return leat_ok_status();
}

// dx = (dy - sum of y * dy over the row) * y, where the sums are a dense tensor [..., rows, 1].
static leat_status_t softmax_gradient(leat_gradient_t* g) {
  leat_builder_t* b = &g->builder;
  leat_output_t indices = leat_gradient_input(g, 0), shape = leat_gradient_input(g, 2);
  leat_output_t y = leat_gradient_output(g, 0), dy = leat_gradient_of_output(g, 0);
  leat_output_t last = leat_build_int32_vector(b, (const int32_t[]){-1}, 1);
  leat_output_t sums = leat_build(
      b, "SparseReduceSum", LEAT_INPUTS(indices, leat_build_binary(b, "Mul", y, dy), shape, last),
      LEAT_ATTRS(LEAT_BOOL("keep_dims", true)));
  leat_output_t difference =
      leat_build(b, "SparseDenseCwiseAdd",
                 LEAT_INPUTS(indices, dy, shape, leat_build_unary(b, "Neg", sums)), LEAT_NO_ATTRS);
  leat_gradient_set_input(g, 1, leat_build_binary(b, "Mul", difference, y));
  return leat_ok_status();
}

const leat_op_row_t leat_sparse_softmax_ops[] = {
    LEAT_OP_ROW("SparseSoftmax", "sp_indices: int64; sp_values: T; sp_shape: int64", "output: T",
                "T: {half, float, double}", softmax_shape, softmax_gradient,
                "The softmax of the entries of each row.",
                .shapes = "sp_indices[n, r] sp_values[n] sp_shape[r]",
                .misfits = "sp_indices: Input sp_indices should be a matrix but received shape: %; "
                           "sp_values: Inputs sp_values and sp_shape should be vectors | "
                           LEAT_ROWS_MISFIT "; sp_shape: Inputs sp_values and sp_shape should be "
                           "vectors | " LEAT_ORDER_MISFIT),
    LEAT_OP_ROWS_END,
};
