// What the definitions of the ops on matrices share: shapes of batches of matrices for their shape
// functions, and the matrix algebra of which their gradients are built. A batch of matrices has the
// shape [batch..., rows, columns].
//
// Gradients are written for one matrix: the nodes built here (BatchMatMulV2, MatrixBandPart,
// MatrixDiag and so on) all work on the last two dimensions and leave the batch alone. Where an op
// broadcasts its batches, leat_matrix_set_broadcast_inputs sums the gradients at the end.
#include "ops/matrix/matrix_shape.h"

#include "ops/nn/subgraph.h"

leat_status_t leat_matrix_set_output(leat_inference_t* c, int index, leat_partial_shape_t batch,
                                     int rank, int64_t rows, int64_t columns) {
  const int64_t dims[] = {rows, columns};
  leat_partial_shape_t inner, output;
  LEAT_RETURN_IF_ERROR(leat_inference_make(c, rank, dims, &inner));
  LEAT_RETURN_IF_ERROR(leat_inference_concatenate(c, batch, inner, &output));
  leat_inference_set_output(c, index, output);
  return leat_ok_status();
}

leat_status_t leat_matrix_input(leat_inference_t* c, int index, leat_partial_shape_t* out_batch,
                                int64_t* out_rows, int64_t* out_columns) {
  const leat_partial_shape_t input = leat_inference_input(c, index);
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank_at_least(c, input, 2));
  *out_rows = leat_partial_shape_dim(input, -2);
  *out_columns = leat_partial_shape_dim(input, -1);
  return leat_inference_subshape(c, input, 0, -2, out_batch);
}

leat_status_t leat_matrix_square_input(leat_inference_t* c, int index,
                                       leat_partial_shape_t* out_batch, int64_t* out_size) {
  int64_t rows, columns;
  LEAT_RETURN_IF_ERROR(leat_matrix_input(c, index, out_batch, &rows, &columns));
  return leat_inference_merge_dim(rows, columns, out_size);
}

// ---- Gradients ----------------------------------------------------------------------------------

leat_output_t leat_matrix_product(leat_builder_t* b, leat_output_t x, bool adjoint_x,
                                  leat_output_t y, bool adjoint_y) {
  return leat_build(b, "BatchMatMulV2", LEAT_INPUTS(x, y),
                    LEAT_ATTRS(LEAT_BOOL("adj_x", adjoint_x), LEAT_BOOL("adj_y", adjoint_y)));
}

// Transposes the last two dimensions and conjugates complex numbers. Where the rank is not known,
// nodes compute the permutation when the graph runs.
leat_output_t leat_matrix_adjoint(leat_builder_t* b, leat_output_t x) {
  if (b->status) return LEAT_OUTPUT_NONE;
  const bool is_complex = leat_dtype_in(leat_build_type_of(b, x), LEAT_DTYPES_COMPLEX);
  const leat_partial_shape_t shape = leat_graph_output_shape(b->graph, x);
  leat_output_t order;
  if (shape.rank >= 2) {
    int32_t dims[LEAT_SHAPE_MAX_RANK];
    for (int d = 0; d < shape.rank; ++d) dims[d] = d;
    dims[shape.rank - 2] = shape.rank - 1;
    dims[shape.rank - 1] = shape.rank - 2;
    order = leat_build_int32_vector(b, dims, shape.rank);
  } else {
    const int32_t last[] = {-1, -2};
    const leat_output_t rank = leat_build_unary(b, "Rank", x);
    const leat_output_t two = leat_build_scalar(b, LEAT_DTYPE_INT32, 2);
    const leat_output_t outer =
        leat_build(b, "Range",
                   LEAT_INPUTS(leat_build_scalar(b, LEAT_DTYPE_INT32, 0),
                               leat_build_binary(b, "Sub", rank, two),
                               leat_build_scalar(b, LEAT_DTYPE_INT32, 1)),
                   LEAT_NO_ATTRS);
    const leat_output_t inner =
        leat_build_binary(b, "AddV2", leat_build_int32_vector(b, last, 2), rank);
    order = leat_subgraph_join(b, outer, inner, LEAT_OUTPUT_NONE);
  }
  return leat_build_binary(b, is_complex ? "ConjugateTranspose" : "Transpose", x, order);
}

leat_output_t leat_matrix_negate(leat_builder_t* b, leat_output_t x) {
  return leat_build_unary(b, "Neg", x);
}

leat_output_t leat_matrix_band(leat_builder_t* b, leat_output_t x, int lower, int upper) {
  return leat_build(b, "MatrixBandPart",
                    LEAT_INPUTS(x, leat_build_scalar(b, LEAT_DTYPE_INT64, lower),
                                leat_build_scalar(b, LEAT_DTYPE_INT64, upper)),
                    LEAT_NO_ATTRS);
}

leat_output_t leat_matrix_diagonal_of(leat_builder_t* b, leat_output_t x) {
  return leat_build_unary(b, "MatrixDiagPart", x);
}

leat_output_t leat_matrix_of_diagonal(leat_builder_t* b, leat_output_t vector) {
  return leat_build_unary(b, "MatrixDiag", vector);
}

leat_output_t leat_matrix_with_diagonal(leat_builder_t* b, leat_output_t x, leat_output_t vector) {
  return leat_build_binary(b, "MatrixSetDiag", x, vector);
}

leat_output_t leat_matrix_scalar(leat_builder_t* b, leat_output_t like, double value) {
  return leat_build_scalar(b, leat_build_type_of(b, like), value);
}

// true when both shapes are known to have the same batch dimensions: nothing was broadcast.
static bool batches_surely_equal(leat_partial_shape_t x, leat_partial_shape_t y) {
  if (x.rank < 0 || y.rank != x.rank) return false;
  for (int d = 0; d < x.rank - 2; ++d) {
    if (x.dims[d] == LEAT_DIM_UNKNOWN || x.dims[d] != y.dims[d]) return false;
  }
  return true;
}

static leat_output_t sum_to(leat_builder_t* b, leat_output_t value, leat_output_t dims,
                            leat_output_t shape) {
  return leat_build_binary(b, "Reshape", leat_build_binary(b, "Sum", value, dims), shape);
}

void leat_matrix_set_broadcast_inputs(leat_gradient_t* g, leat_output_t gx, leat_output_t gy) {
  leat_builder_t* b = &g->builder;
  const leat_output_t x = leat_gradient_input(g, 0), y = leat_gradient_input(g, 1);
  if (batches_surely_equal(leat_graph_output_shape(b->graph, x),
                           leat_graph_output_shape(b->graph, y))) {
    leat_gradient_set_input(g, 0, gx);
    leat_gradient_set_input(g, 1, gy);
    return;
  }
  const leat_output_t sx = leat_build_shape_of(b, x), sy = leat_build_shape_of(b, y);
  const int32_t reduced = leat_build_node(
      b, "BroadcastGradientArgs",
      LEAT_INPUTS(leat_subgraph_slice(b, sx, 0, -2), leat_subgraph_slice(b, sy, 0, -2)),
      LEAT_NO_ATTRS);
  leat_gradient_set_input(g, 0, sum_to(b, gx, leat_node_output(reduced, 0), sx));
  leat_gradient_set_input(g, 1, sum_to(b, gy, leat_node_output(reduced, 1), sy));
}
