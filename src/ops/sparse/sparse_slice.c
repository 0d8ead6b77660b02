// Definitions of the ops that join sparse tensors and that cut pieces out of them.
// sparse_concat_cpu.c and sparse_slice_cpu.c have the kernels.
//
//   SparseConcat     N sparse tensors, side by side along an axis -> sparse
//   SparseSplit      split_dim [], sparse -> num_split sparse tensors
//   SparseSlice      sparse, start [r], size [r] -> sparse
//   SparseSliceGrad  gradient of the slice's values, indices and start of the slice, indices of its
//                    result -> gradient of the values that were sliced
//
// How many entries a piece has is known only at run time; that many have a joined tensor's parts is
// known where all of theirs are.
#include "graph/gradient.h"
#include "graph/inference/inference_index.h"
#include "ops/op_rows.h"
#include "ops/sparse/sparse_shape.h"

static leat_status_t concat_shape(leat_inference_t* c) {
  int n = leat_inference_input_count(c) / 3;
  int64_t rows = 0, rank = LEAT_DIM_UNKNOWN;
  leat_partial_shape_t dense = leat_partial_shape_unknown();
  for (int i = 0; i < n; ++i) {
    leat_partial_shape_t indices, values, shape;
    int64_t count;
    LEAT_RETURN_IF_ERROR(leat_inference_with_rank(c, leat_inference_input(c, i), 2, &indices));
    LEAT_RETURN_IF_ERROR(leat_inference_with_rank(c, leat_inference_input(c, n + i), 1, &values));
    LEAT_RETURN_IF_ERROR(
        leat_inference_with_rank(c, leat_inference_input(c, 2 * n + i), 1, &shape));
    LEAT_RETURN_IF_ERROR(leat_inference_merge_dim(indices.dims[0], values.dims[0], &count));
    LEAT_RETURN_IF_ERROR(leat_inference_merge_dim(indices.dims[1], rank, &rank));
    LEAT_RETURN_IF_ERROR(leat_inference_merge(c, dense, shape, &dense));
    if (rows < 0 || count < 0) {
      rows = LEAT_DIM_UNKNOWN;
    } else {
      LEAT_RETURN_IF_ERROR(leat_inference_add(rows, count, &rows));
    }
  }
  leat_inference_set_output(c, 2, dense);
  LEAT_RETURN_IF_ERROR(leat_shape_set_matrix(c, 0, rows, rank));
  return leat_shape_set_matrix(c, 1, rows, LEAT_SPARSE_VECTOR);
}

// Sets |count| sparse tensors of the rank of the dense shape in input |dense|: all indices, then
// all values, then all shapes.
static leat_status_t set_pieces(leat_inference_t* c, int dense, int count) {
  leat_partial_shape_t shape = leat_inference_input(c, dense);
  int64_t rank = LEAT_DIM_UNKNOWN;
  if (shape.rank >= 0) {
    leat_partial_shape_t all;
    rank = 1;
    LEAT_RETURN_IF_ERROR(leat_inference_with_rank(c, shape, shape.rank, &all));
    for (int d = 0; d < all.rank; ++d) {
      LEAT_RETURN_IF_ERROR(leat_inference_multiply(rank, all.dims[d], &rank));
    }
  }
  for (int i = 0; i < count; ++i) {
    LEAT_RETURN_IF_ERROR(leat_shape_set_matrix(c, i, LEAT_DIM_UNKNOWN, rank));
    LEAT_RETURN_IF_ERROR(
        leat_shape_set_matrix(c, count + i, LEAT_DIM_UNKNOWN, LEAT_SPARSE_VECTOR));
    leat_inference_set_output(c, 2 * count + i, shape);
  }
  return leat_ok_status();
}

static leat_status_t split_shape(leat_inference_t* c) {
  return set_pieces(c, 3, c->node->output_count / 3);
}

static leat_status_t slice_shape(leat_inference_t* c) { return set_pieces(c, 2, 1); }

static leat_status_t slice_gradient_shape(leat_inference_t* c) {
  leat_partial_shape_t indices;
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank(c, leat_inference_input(c, 1), 2, &indices));
  return leat_shape_set_matrix(c, 0, indices.dims[0], LEAT_SPARSE_VECTOR);
}

// Only values have a gradient.
static leat_status_t slice_gradient(leat_gradient_t* g) {
  leat_gradient_set_input(
      g, 1,
      leat_build(&g->builder, "SparseSliceGrad",
                 LEAT_INPUTS(leat_gradient_of_output(g, 1), leat_gradient_input(g, 0),
                             leat_gradient_input(g, 3), leat_gradient_output(g, 0)),
                 LEAT_NO_ATTRS));
  return leat_ok_status();
}

#define SLICE_NO_MATRICES "Input and output indices should be matrices"

const leat_op_row_t leat_sparse_slice_ops[] = {
    {.name = "SparseConcat",
     .inputs = "indices: N * int64; values: N * T; shapes: N * int64",
     .outputs = "output_indices: int64; output_values: T; output_shape: int64",
     .attrs = "concat_dim: int; N: int >= 2; T: type",
     .shape = concat_shape,
     .gradient = leat_gradient_none,
     .doc = "Sparse tensors side by side along an axis."},
    {.name = "SparseSplit",
     .inputs = "split_dim: int64; indices: int64; values: T; shape: int64",
     .outputs = "output_indices: num_split * int64; output_values: num_split * T; "
                "output_shape: num_split * int64",
     .attrs = "num_split: int >= 1; T: type",
     .shapes = "split_dim[] indices[n, r] values[n] shape[r]",
     .misfits = "split_dim: Input axis should be a scalar but received shape %; "
                LEAT_EACH_SPARSE_MISFITS(
                    "indices", "values", "shape",
                    "Number of elements in indices and values do not match",
                    "Index rank and shape rank do not match"),
     .shape = split_shape,
     .doc = "Cuts a sparse tensor into pieces along an axis."},
    {.name = "SparseSlice",
     .inputs = "indices: int64; values: T; shape: int64; start: int64; size: int64",
     .outputs = "output_indices: int64; output_values: T; output_shape: int64",
     .attrs = "T: type",
     .shapes = "indices[n, r] values[n] shape[r] start[r] size[r]",
     .misfits = LEAT_SPARSE_MISFITS("indices", "values", "shape")
                "; start: Input start should be a vector but received shape % | Expected start to "
                "be a vector of the rank's length; size: Input size should be a vector but "
                "received shape % | Expected size to be a vector of the rank's length",
     .shape = slice_shape,
     .gradient = slice_gradient,
     .doc = "A box out of a sparse tensor."},
    {.name = "SparseSliceGrad",
     .inputs = "backprop_val_grad: T; input_indices: int64; input_start: int64; "
               "output_indices: int64",
     .outputs = "val_grad: T",
     .attrs = "T: {float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, "
              "qint32, bfloat16, qint16, quint16, uint16, complex128, half, uint32, uint64}",
     .shapes = "backprop_val_grad[k] input_indices[n, r] input_start[r] output_indices[k, r]",
     .misfits = "backprop_val_grad: Input backprop_val_grad should be a vector but received "
                "shape: %; input_indices: " SLICE_NO_MATRICES "; input_start: The input_start "
                "should be a vector but received shape % | Expected input_start to be a vector of "
                "the rank's length; output_indices: " SLICE_NO_MATRICES " | # elements of "
                "backprop_val_grad and # rows of output_indices should match, and the input and "
                "output should have the same ndims",
     .shape = slice_gradient_shape,
     .doc = "The gradient of SparseSlice."},
    LEAT_OP_ROWS_END,
};
