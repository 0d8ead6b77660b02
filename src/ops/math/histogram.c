// The ops HistogramFixedWidth (how many values lie in each of nbins equal intervals) and Bucketize
// (in which of several intervals each number lies). Neither has a gradient.
#include "graph/inference/inference.h"
#include "ops/op_rows.h"

static leat_status_t histogram_shape(leat_inference_t* c) {
  leat_partial_shape_t range, scalar, output;
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank(c, leat_inference_input(c, 1), 1, &range));
  int64_t two;
  LEAT_RETURN_IF_ERROR(leat_inference_merge_dim(leat_partial_shape_dim(range, 0), 2, &two));
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

const leat_op_row_t leat_histogram_ops[] = {
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
