// The ops LowerBound, UpperBound and UnravelIndex, which find places: their shapes and
// registration. BoostedTreesBucketize has a row and no kernel here, as in TensorFlow 2.21, so that
// the graphs which name it can be read.
#include "graph/gradient.h"
#include "graph/inference/inference_index.h"
#include "ops/op_rows.h"

static leat_status_t bound_shape(leat_inference_t* c) {
  leat_partial_shape_t unused;
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank(c, leat_inference_input(c, 0), 2, &unused));
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank(c, leat_inference_input(c, 1), 2, &unused));
  leat_inference_set_output(c, 0, leat_inference_input(c, 1));
  return leat_ok_status();
}

static leat_status_t unravel_shape(leat_inference_t* c) {
  leat_partial_shape_t indices = leat_inference_input(c, 0), dims, shape;
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank(c, leat_inference_input(c, 1), 1, &dims));
  if (indices.rank < 0) return leat_ok_status();
  int64_t sizes[2] = {dims.dims[0], 1};
  for (int d = 0; d < indices.rank; ++d) {
    LEAT_RETURN_IF_ERROR(leat_inference_multiply(sizes[1], indices.dims[d], &sizes[1]));
  }
  LEAT_RETURN_IF_ERROR(leat_inference_make(c, indices.rank == 0 ? 1 : 2, sizes, &shape));
  leat_inference_set_output(c, 0, shape);
  return leat_ok_status();
}

static leat_status_t bucketize_shape(leat_inference_t* c) {
  int count = leat_inference_input_count(c) / 2;
  for (int i = 0; i < count; ++i) {
    leat_partial_shape_t values;
    int64_t unused;
    LEAT_RETURN_IF_ERROR(leat_inference_with_rank(c, leat_inference_input(c, i), 1, &values));
    LEAT_RETURN_IF_ERROR(leat_inference_merge_dim(
        values.dims[0], leat_partial_shape_dim(leat_inference_input(c, 0), 0), &unused));
    leat_inference_set_output(c, i, values);
  }
  return leat_ok_status();
}

const leat_op_row_t leat_search_ops[] = {
    {.name = "LowerBound",
     .inputs = "sorted_inputs: T; values: T",
     .outputs = "output: out_type",
     .attrs = "T: type; out_type: {int32, int64} = int32",
     .shape = bound_shape,
     .doc = "By row, the first place in the sorted inputs whose item is not less than the value."},
    {.name = "UpperBound",
     .inputs = "sorted_inputs: T; values: T",
     .outputs = "output: out_type",
     .attrs = "T: type; out_type: {int32, int64} = int32",
     .shape = bound_shape,
     .doc = "By row, the first place in the sorted inputs whose item is greater than the value."},
    {.name = "UnravelIndex",
     .inputs = "indices: Tidx; dims: Tidx",
     .outputs = "output: Tidx",
     .attrs = "Tidx: {int32, int64} = int32",
     .shape = unravel_shape,
     .doc = "The coordinates, a row a dimension, of flat indices into a tensor of shape dims."},
    {.name = "BoostedTreesBucketize",
     .inputs = "float_values: num_features * float; bucket_boundaries: num_features * float",
     .outputs = "buckets: num_features * int32",
     .attrs = "num_features: int >= 0",
     .shape = bucketize_shape,
     .doc = "The bucket of each value, by feature. TensorFlow has no kernel for it either."},
    LEAT_OP_ROWS_END,
};
