// The sparse segment ops: rows of |data| that |indices| picks are summed by sorted segment id,
// which is the lookup of embeddings. Sum, Mean and SqrtN differ in whether a sum of n rows is
// divided by 1, n or the root of n. The ops WithNumSegments state the number of output rows, which
// otherwise follows from the last id when the op runs.
//
//   data [rows, ...], indices [picks], segment_ids [picks] -> output [segments, ...]
//   GradV2: grad, indices, segment_ids, rows -> output [unique, ...], indices [unique]
//
// A gradient scatters dC/d_output back to the rows of data. With the attribute sparse_gradient it
// becomes IndexedSlices of the picked rows (a GradV2 op), so that the update of a large embedding
// touches few rows; otherwise it is a dense tensor.
#include "ops/math/arithmetic.h"
#include "ops/math/segment.h"
#include "ops/op_rows.h"

// ---- Shapes -------------------------------------------------------------------------------------

// Checks ranks: data at least 1, indices and ids 1 and of one length.
static leat_status_t check_inputs(leat_inference_t* c) {
  leat_partial_shape_t indices, ids, merged;
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank_at_least(c, leat_inference_input(c, 0), 1));
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank(c, leat_inference_input(c, 1), 1, &indices));
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank(c, leat_inference_input(c, 2), 1, &ids));
  return leat_inference_merge(c, indices, ids, &merged);
}

static leat_status_t plain_shape(leat_inference_t* c) {
  LEAT_RETURN_IF_ERROR(check_inputs(c));
  return leat_segment_set_output(c, LEAT_DIM_UNKNOWN, leat_inference_input(c, 0), 1);
}

// Input 3 gives the number of output rows, if it is known.
static leat_status_t counted_shape(leat_inference_t* c) {
  LEAT_RETURN_IF_ERROR(check_inputs(c));
  leat_partial_shape_t scalar;
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank(c, leat_inference_input(c, 3), 0, &scalar));
  int64_t count;
  LEAT_RETURN_IF_ERROR(leat_segment_count(c, 3, &count));
  return leat_segment_set_output(c, count, leat_inference_input(c, 0), 1);
}

static leat_status_t unique_rows_shape(leat_inference_t* c) {
  LEAT_RETURN_IF_ERROR(check_inputs(c));
  leat_partial_shape_t scalar, vector;
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank(c, leat_inference_input(c, 3), 0, &scalar));
  LEAT_RETURN_IF_ERROR(
      leat_segment_set_output(c, LEAT_DIM_UNKNOWN, leat_inference_input(c, 0), 1));
  LEAT_RETURN_IF_ERROR(leat_inference_unknown_of_rank(c, 1, &vector));
  leat_inference_set_output(c, 1, vector);
  return leat_ok_status();
}

// ---- Gradients ----------------------------------------------------------------------------------

// Builds the gradient of |data|: |op| gives all rows, |rows_op| the picked rows and their indices.
static leat_status_t scatter_gradient(leat_gradient_t* g, const char* op, const char* rows_op) {
  leat_builder_t* b = &g->builder;
  leat_output_t shape = leat_build_shape_of(b, leat_gradient_input(g, 0));
  leat_output_t zero = leat_build_scalar(b, LEAT_DTYPE_INT32, 0);
  leat_output_t rows = leat_build(b, "GatherV2", LEAT_INPUTS(shape, zero, zero), LEAT_NO_ATTRS);
  leat_output_t inputs[] = {leat_gradient_of_output(g, 0), leat_gradient_input(g, 1),
                            leat_gradient_input(g, 2), rows};
  leat_outputs_t list = {inputs, 4};
  if (leat_node_attr_bool(leat_gradient_node(g), "sparse_gradient", false)) {
    int32_t node = leat_build_node(b, rows_op, list, LEAT_NO_ATTRS);
    leat_gradient_set_input_rows(g, 0, leat_node_output(node, 0), leat_node_output(node, 1),
                                 shape);
  } else {
    leat_gradient_set_input(g, 0, leat_build(b, op, list, LEAT_NO_ATTRS));
  }
  return leat_ok_status();
}
static leat_status_t sum_gradient(leat_gradient_t* g) {
  return scatter_gradient(g, "SparseSegmentSumGrad", "SparseSegmentSumGradV2");
}
static leat_status_t mean_gradient(leat_gradient_t* g) {
  return scatter_gradient(g, "SparseSegmentMeanGrad", "SparseSegmentMeanGradV2");
}
static leat_status_t sqrt_n_gradient(leat_gradient_t* g) {
  return scatter_gradient(g, "SparseSegmentSqrtNGrad", "SparseSegmentSqrtNGradV2");
}

// ---- Rows ---------------------------------------------------------------------------------------

#define REAL                                                                                  \
  "T: {float, double, int32, uint8, int16, int8, int64, bfloat16, uint16, half, uint32, uint64}; "
#define FLOATING "T: {bfloat16, half, float, double}; "
#define INDEX "Tidx: {int32, int64} = int32; "
#define COUNT "Tnumsegments: {int32, int64} = int32; "
#define IDS "Tsegmentids: {int32, int64} = int32"
#define SPARSE "; sparse_gradient: bool = false"
#define RULES                                                                                   \
  LEAT_RULE_RANK_AT_LEAST(0, 1), LEAT_RULE_VECTOR(1), LEAT_RULE_VECTOR(2),                       \
      LEAT_RULE_SAME_SHAPE(1, 2)

#define PLAIN(op, types, gradient_fn, text)                            \
  {.name = op,                                                         \
   .inputs = "data: T; indices: Tidx; segment_ids: Tsegmentids",       \
   .outputs = "output: T",                                             \
   .attrs = types INDEX IDS SPARSE,                                    \
   .shape = plain_shape,                                               \
   .gradient = gradient_fn,                                            \
   .contract = LEAT_RULES(RULES),                                      \
   .doc = text}
#define COUNTED(op, types, gradient_fn, text)                                                     \
  {.name = op,                                                                                    \
   .inputs = "data: T; indices: Tidx; segment_ids: Tsegmentids; num_segments: Tnumsegments",      \
   .outputs = "output: T",                                                                        \
   .attrs = types INDEX COUNT IDS SPARSE,                                                         \
   .shape = counted_shape,                                                                        \
   .gradient = gradient_fn,                                                                       \
   .contract = LEAT_RULES(RULES, LEAT_RULE_SCALAR(3)),                                            \
   .doc = text}
#define GRAD(op, text)                                                                     \
  {.name = op,                                                                             \
   .inputs = "grad: T; indices: Tidx; segment_ids: Tsegmentids; output_dim0: int32",       \
   .outputs = "output: T",                                                                 \
   .attrs = FLOATING INDEX IDS,                                                            \
   .shape = counted_shape,                                                                 \
   .contract = LEAT_RULES(RULES, LEAT_RULE_SCALAR(3)),                                     \
   .doc = text}
#define GRAD_V2(op, text)                                                                    \
  {.name = op,                                                                               \
   .inputs = "grad: T; indices: Tidx; segment_ids: Tsegmentids; dense_output_dim0: int32",   \
   .outputs = "output: T; sorted_unique_indices: Tidx",                                      \
   .attrs = FLOATING INDEX IDS,                                                              \
   .shape = unique_rows_shape,                                                               \
   .contract = LEAT_RULES(RULES, LEAT_RULE_SCALAR(3)),                                       \
   .doc = text}

const leat_op_row_t leat_sparse_segment_ops[] = {
    PLAIN("SparseSegmentSum", REAL, sum_gradient, "Sums of picked rows by segment."),
    COUNTED("SparseSegmentSumWithNumSegments", REAL, sum_gradient,
            "Sums of picked rows by segment, of which there are num_segments."),
    GRAD("SparseSegmentSumGrad", "The gradient of SparseSegmentSum, for all rows."),
    GRAD_V2("SparseSegmentSumGradV2", "The gradient of SparseSegmentSum, for the picked rows."),
    PLAIN("SparseSegmentMean", FLOATING, mean_gradient, "Means of picked rows by segment."),
    COUNTED("SparseSegmentMeanWithNumSegments", FLOATING, mean_gradient,
            "Means of picked rows by segment, of which there are num_segments."),
    GRAD("SparseSegmentMeanGrad", "The gradient of SparseSegmentMean, for all rows."),
    GRAD_V2("SparseSegmentMeanGradV2", "The gradient of SparseSegmentMean, for the picked rows."),
    PLAIN("SparseSegmentSqrtN", FLOATING, sqrt_n_gradient,
          "Sums of picked rows by segment over the root of their count."),
    COUNTED("SparseSegmentSqrtNWithNumSegments", FLOATING, sqrt_n_gradient,
            "Sums of picked rows by segment over the root of their count; num_segments of them."),
    GRAD("SparseSegmentSqrtNGrad", "The gradient of SparseSegmentSqrtN, for all rows."),
    GRAD_V2("SparseSegmentSqrtNGradV2", "The gradient of SparseSegmentSqrtN, for the picked rows."),
    LEAT_OP_ROWS_END,
};
