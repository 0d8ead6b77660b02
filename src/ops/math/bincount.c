// The ops that count. Bincount, DenseBincount, SparseBincount and RaggedBincount: how often each
// integer in [0, size) occurs, or the sum of the weights with which it does. A vector gives one row
// of counts; a matrix, a sparse matrix and a ragged tensor give one row of counts for each of their
// rows. HistogramFixedWidth: how many values lie in each of nbins equal intervals. Bucketize: in
// which of several intervals each number lies.
//
//   Bincount:      arr, size, weights -> bins [size]
//   DenseBincount: [n, m], size, weights -> [n, size]
//
// Weights are empty or as many as the values. The ops have no gradient. The last dimension of the
// output is the value of the scalar |size| (or nbins), so that the shape functions look for a
// constant there. The kernels are in bincount_cpu.c and histogram_cpu.c.
#include "graph/inference/inference.h"
#include "ops/op_rows.h"

// The value of scalar input |index|, which must not be negative; LEAT_DIM_UNKNOWN when it is no
// constant.
static leat_status_t known_size(leat_inference_t* c, int index, int64_t* out_size) {
  const leat_tensor_t* tensor = leat_inference_input_tensor(c, index);
  *out_size = LEAT_DIM_UNKNOWN;
  if (!tensor) return leat_ok_status();
  if (tensor->shape.rank != 0) {
    return leat_make_status(LEAT_INVALID_ARGUMENT, "Shape must be rank 0 but is rank %d",
                            tensor->shape.rank);
  }
  *out_size = leat_tensor_index_at(tensor, 0);
  if (*out_size >= 0) return leat_ok_status();
  return leat_make_status(LEAT_INVALID_ARGUMENT, "size (%lld) must be non-negative",
                          (long long)*out_size);
}

static leat_status_t set_output(leat_inference_t* c, int rank, const int64_t* dims) {
  leat_partial_shape_t output;
  LEAT_RETURN_IF_ERROR(leat_inference_make(c, rank, dims, &output));
  leat_inference_set_output(c, 0, output);
  return leat_ok_status();
}

static leat_status_t bincount_shape(leat_inference_t* c) {
  leat_partial_shape_t scalar;
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank(c, leat_inference_input(c, 1), 0, &scalar));
  int64_t size;
  LEAT_RETURN_IF_ERROR(known_size(c, 1, &size));
  return set_output(c, 1, &size);
}

static leat_status_t dense_shape(leat_inference_t* c) {
  leat_partial_shape_t input = leat_inference_input(c, 0), scalar;
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank_at_most(c, input, 2));
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank(c, leat_inference_input(c, 1), 0, &scalar));
  int64_t size;
  LEAT_RETURN_IF_ERROR(known_size(c, 1, &size));
  if (input.rank < 0) return leat_ok_status();
  if (input.rank == 2) return set_output(c, 2, (const int64_t[]){input.dims[0], size});
  return set_output(c, 1, &size);
}

static leat_status_t sparse_shape(leat_inference_t* c) {
  int64_t size;
  LEAT_RETURN_IF_ERROR(known_size(c, 3, &size));
  const leat_tensor_t* shape = leat_inference_input_tensor(c, 2);
  if (size == LEAT_DIM_UNKNOWN || !shape) return leat_ok_status();
  if (shape->shape.element_count == 1) return set_output(c, 1, &size);
  if (shape->shape.element_count == 2) {
    return set_output(c, 2, (const int64_t[]){leat_tensor_index_at(shape, 0), size});
  }
  return leat_make_status(LEAT_INVALID_ARGUMENT, "Input must be less than rank 2");
}

#define WEIGHTS "T: {int32, int64, float, double}"
#define COUNTED "Tidx: {int32, int64}; " WEIGHTS "; binary_output: bool = false"

// ---- Histograms ---------------------------------------------------------------------------------

static leat_status_t histogram_shape(leat_inference_t* c) {
  leat_partial_shape_t range, scalar, output;
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank(c, leat_inference_input(c, 1), 1, &range));
  int64_t two;
  LEAT_RETURN_IF_ERROR(leat_inference_dim_with_value(leat_partial_shape_dim(range, 0), 2, &two));
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank(c, leat_inference_input(c, 2), 0, &scalar));
  const leat_tensor_t* count = leat_inference_input_tensor(c, 2);
  int64_t bins = count ? leat_tensor_index_at(count, 0) : LEAT_DIM_UNKNOWN;
  if (count && bins <= 0) {
    return leat_make_status(LEAT_INVALID_ARGUMENT, "Requires nbins > 0: %lld", (long long)bins);
  }
  LEAT_RETURN_IF_ERROR(leat_inference_make(c, 1, &bins, &output));
  leat_inference_set_output(c, 0, output);
  return leat_ok_status();
}

const leat_op_row_t leat_bincount_ops[] = {
    {.name = "Bincount",
     .inputs = "arr: int32; size: int32; weights: T",
     .outputs = "bins: T",
     .attrs = WEIGHTS,
     .shape = bincount_shape,
     .contract = LEAT_RULES(LEAT_RULE_SCALAR(1)),
     .doc = "How often each integer below size occurs, or the sum of its weights."},
    {.name = "DenseBincount",
     .inputs = "input: Tidx; size: Tidx; weights: T",
     .outputs = "output: T",
     .attrs = COUNTED,
     .shape = dense_shape,
     .contract = LEAT_RULES(LEAT_RULE_SCALAR(1), LEAT_RULE_RANK_AT_MOST(0, 2)),
     .doc = "How often each integer below size occurs, in all or by row of a matrix."},
    {.name = "SparseBincount",
     .inputs = "indices: int64; values: Tidx; dense_shape: int64; size: Tidx; weights: T",
     .outputs = "output: T",
     .attrs = COUNTED,
     .shape = sparse_shape,
     .contract = LEAT_RULES(LEAT_RULE_SCALAR(3)),
     .doc = "How often each integer below size occurs in a sparse vector, or by row of a matrix."},
    {.name = "RaggedBincount",
     .inputs = "splits: int64; values: Tidx; size: Tidx; weights: T",
     .outputs = "output: T",
     .attrs = COUNTED,
     .shape = leat_shape_unknown,
     .contract = LEAT_RULES(LEAT_RULE_SCALAR(2)),
     .doc = "How often each integer below size occurs in each row of a ragged matrix."},
    {.name = "HistogramFixedWidth",
     .inputs = "values: T; value_range: T; nbins: int32",
     .outputs = "out: dtype",
     .attrs = "T: {int32, int64, float, double}; dtype: {int32, int64} = int32",
     .shape = histogram_shape,
     .contract = LEAT_RULES(LEAT_RULE_VECTOR(1), LEAT_RULE_COUNT(1, 2), LEAT_RULE_SCALAR(2)),
     .doc = "How many values lie in each of nbins equal parts of a range."},
    {.name = "Bucketize",
     .inputs = "input: T",
     .outputs = "output: int32",
     .attrs = "T: {int32, int64, float, double}; boundaries: list(float)",
     .shape = leat_shape_unchanged,
     .doc = "How many of the sorted boundaries are not above each number."},
    LEAT_OP_ROWS_END,
};
