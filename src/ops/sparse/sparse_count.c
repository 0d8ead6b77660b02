// Definitions of the ops that count how often each number occurs in each row, as a sparse tensor.
// sparse_count_cpu.c has the kernels.
//
//   DenseCountSparseOutput   values [n] or [rows, n]
//   SparseCountSparseOutput  sparse tensor, whose first dimension counts rows
//   RaggedCountSparseOutput  splits [rows + 1], values [n]
//
// Each takes weights besides: none, or one for each value. The result is [numbers] where the input
// is a vector, and [rows, numbers] otherwise.
#include "graph/gradient.h"
#include "ops/op_rows.h"
#include "ops/sparse/sparse_shape.h"

// Sets a sparse tensor of |rank|.
static leat_status_t set_counts(leat_inference_t* c, int64_t rank) {
  LEAT_RETURN_IF_ERROR(leat_shape_set_matrix(c, 0, LEAT_DIM_UNKNOWN, rank));
  LEAT_RETURN_IF_ERROR(leat_shape_set_matrix(c, 1, LEAT_DIM_UNKNOWN, LEAT_SPARSE_VECTOR));
  return leat_shape_set_matrix(c, 2, rank, LEAT_SPARSE_VECTOR);
}

static leat_status_t dense_shape(leat_inference_t* c) {
  return set_counts(c, leat_inference_input(c, 0).rank);
}

static leat_status_t sparse_shape(leat_inference_t* c) {
  leat_partial_shape_t indices = leat_inference_input(c, 0);
  return set_counts(c, indices.rank == 2 ? indices.dims[1] : LEAT_DIM_UNKNOWN);
}

static leat_status_t ragged_shape(leat_inference_t* c) {
  int rank = leat_inference_input(c, 1).rank;
  return set_counts(c, rank < 0 ? LEAT_DIM_UNKNOWN : rank + 1);
}

#define ROW(op, ins, shape_fn, pattern, words, text)                                          \
  {.name = op,                                                                                \
   .inputs = ins "; weights: output_type",                                                    \
   .outputs = "output_indices: int64; output_values: output_type; output_dense_shape: int64", \
   .attrs = "T: {int32, int64}; minlength: int >= -1 = -1; maxlength: int >= -1 = -1; "       \
            "binary_output: bool; output_type: {int32, int64, float, double}",                \
   .shapes = pattern,                                                                         \
   .misfits = words,                                                                          \
   .shape = shape_fn,                                                                         \
   .doc = text}

const leat_op_row_t leat_sparse_count_ops[] = {
    ROW("DenseCountSparseOutput", "values: T", dense_shape, NULL, NULL,
        "How often each number occurs in a tensor's rows."),
    ROW("SparseCountSparseOutput", "indices: int64; values: T; dense_shape: int64", sparse_shape,
        "indices[n, r] values[n] dense_shape[r]",
        "indices: Input indices must be a 2-dimensional tensor. Got: %; "
        "values: Input values must be a vector. Got: % | "
        "Number of values must match first dimension of indices.; "
        "dense_shape: Input shape must be a vector. Got: % | "
        "Number of dimensions must match second dimension of indices.",
        "How often each number occurs in a sparse tensor's rows."),
    ROW("RaggedCountSparseOutput", "splits: int64; values: T", ragged_shape, NULL, NULL,
        "How often each number occurs in a ragged tensor's rows."),
    LEAT_OP_ROWS_END,
};
