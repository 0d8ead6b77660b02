// The segment ops: rows of |data| that share a segment id are folded into one row of the output, as
// a group-by does. Ids are sorted (SegmentSum, ...) or in any order (UnsortedSegmentSum, ...),
// where rows of negative ids are dropped. The sparse segment ops fold only the rows that |indices|
// picks, which is the lookup of embeddings. The V2 ops of sorted ids have shapes only, no CPU
// kernel.
//
//   sorted:    data [rows, ...], ids [rows] -> [unknown, ...]
//   counted:   data [ids' shape..., ...], ids, num_segments -> [num_segments, ...]
//   sparse:    data [rows, ...], indices [picks], ids [picks] -> [unknown, ...]
//   GradV2:    grad, indices, ids, rows -> output [unique, ...], indices [unique]
//
// The gradient of a sum gathers dC/dz by id. Where ids may be negative, the gather reads row 0
// instead and a mask makes the result 0, because GatherV2 refuses negative indices. The kernels are
// in segment_cpu.c and sparse_segment_cpu.c.
#include "graph/gradient.h"
#include "graph/inference/inference.h"
#include "ops/math/arithmetic.h"
#include "ops/op_rows.h"

#define MUL leat_arithmetic_mul
#define DIV leat_arithmetic_div
#define SELECT leat_arithmetic_select

// ---- Shapes -------------------------------------------------------------------------------------

// Sets the shape of output 0 to [dim0] followed by the dims of |data| from dimension |skipped| on.
static leat_status_t set_segments(leat_inference_t* c, int64_t dim0, leat_partial_shape_t data,
                                  int skipped) {
  leat_partial_shape_t rows, rest, output;
  LEAT_RETURN_IF_ERROR(leat_inference_make(c, 1, &dim0, &rows));
  if (data.rank < 0) {
    leat_inference_set_output(c, 0, data);
    return leat_ok_status();
  }
  LEAT_RETURN_IF_ERROR(leat_inference_subshape(c, data, skipped, INT32_MAX, &rest));
  LEAT_RETURN_IF_ERROR(leat_inference_concatenate(c, rows, rest, &output));
  leat_inference_set_output(c, 0, output);
  return leat_ok_status();
}

// Reads the known value of scalar input |index|, the number of segments; LEAT_DIM_UNKNOWN when it
// is not known, INVALID_ARGUMENT when it is negative.
static leat_status_t known_count(leat_inference_t* c, int index, int64_t* out_count) {
  leat_partial_value_t value;
  *out_count = LEAT_DIM_UNKNOWN;
  LEAT_RETURN_IF_ERROR(leat_inference_input_value(c, index, &value));
  if (value.rank < 0 || value.count != 1 || value.items[0] == LEAT_VALUE_UNKNOWN) {
    return leat_ok_status();
  }
  if (value.items[0] < 0) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "Dimension size, given by scalar input %d, must be non-negative but is "
                            "%lld", index, (long long)value.items[0]);
  }
  *out_count = value.items[0];
  return leat_ok_status();
}

static leat_status_t segment_shape(leat_inference_t* c) {
  leat_partial_shape_t data = leat_inference_input(c, 0), ids;
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank_at_least(c, data, 1));
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank(c, leat_inference_input(c, 1), 1, &ids));
  return set_segments(c, LEAT_DIM_UNKNOWN, data, 1);
}

// The shape of the ids is a prefix of the data's shape; the rest of the data's shape stays.
static leat_status_t counted_segment_shape(leat_inference_t* c) {
  leat_partial_shape_t data = leat_inference_input(c, 0), ids = leat_inference_input(c, 1), scalar;
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank(c, leat_inference_input(c, 2), 0, &scalar));
  int64_t count;
  LEAT_RETURN_IF_ERROR(known_count(c, 2, &count));
  if (ids.rank < 0) return leat_ok_status();
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank_at_least(c, data, ids.rank));
  if (data.rank >= 0) {
    leat_partial_shape_t prefix;
    LEAT_RETURN_IF_ERROR(leat_inference_subshape(c, data, 0, ids.rank, &prefix));
    LEAT_RETURN_IF_ERROR(leat_inference_merge(c, prefix, ids, &prefix));
  }
  return set_segments(c, count, data, ids.rank);
}

// ---- Gradients of sorted segments ---------------------------------------------------------------

// Builds the gather of rows of |x| by |indices|.
static leat_output_t gather_rows(leat_builder_t* b, leat_output_t x, leat_output_t indices) {
  leat_output_t zero = leat_build_scalar(b, LEAT_DTYPE_INT32, 0);
  return leat_build(b, "GatherV2", LEAT_INPUTS(x, indices, zero), LEAT_NO_ATTRS);
}

static leat_status_t segment_sum_gradient(leat_gradient_t* g) {
  leat_builder_t* b = &g->builder;
  leat_output_t dz = leat_gradient_of_output(g, 0);
  leat_gradient_set_input(g, 0, gather_rows(b, dz, leat_gradient_input(g, 1)));
  return leat_ok_status();
}

// Builds ones of shape [rows, 1, 1, ...] with the type of |like| and the rank of the data: summed
// by segment they are the rows' counts, in a shape that broadcasts.
static leat_output_t column_of_ones(leat_gradient_t* g, leat_output_t like) {
  leat_builder_t* b = &g->builder;
  leat_output_t one = leat_build_scalar(b, LEAT_DTYPE_INT32, 1);
  leat_output_t zero = leat_build_scalar(b, LEAT_DTYPE_INT32, 0);
  leat_output_t rank = leat_build_unary(b, "Rank", leat_gradient_input(g, 0));
  leat_output_t rest = leat_build(b, "ExpandDims",
                                  LEAT_INPUTS(leat_arithmetic_sub(b, rank, one), zero),
                                  LEAT_NO_ATTRS);
  leat_output_t ones = leat_build_binary(b, "Fill", rest, one);
  leat_output_t ids = leat_build_shape_of(b, leat_gradient_input(g, 1));
  leat_output_t shape = leat_build(b, "ConcatV2", LEAT_INPUTS(ids, ones, zero),
                                   LEAT_ATTRS(LEAT_INT("N", 2)));
  return leat_build_binary(b, "Fill", shape, leat_arithmetic_constant_like(b, like, 1));
}

static leat_status_t segment_mean_gradient(leat_gradient_t* g) {
  leat_builder_t* b = &g->builder;
  leat_output_t ids = leat_gradient_input(g, 1), dz = leat_gradient_of_output(g, 0);
  leat_output_t counts = leat_build_binary(b, "SegmentSum", column_of_ones(g, dz), ids);
  leat_gradient_set_input(g, 0, gather_rows(b, DIV(b, dz, counts), ids));
  return leat_ok_status();
}

// The elements that equal their segment's extremum share its gradient evenly.
static leat_status_t segment_extremum_gradient(leat_gradient_t* g) {
  leat_builder_t* b = &g->builder;
  leat_output_t data = leat_gradient_input(g, 0), ids = leat_gradient_input(g, 1);
  leat_output_t dz = leat_gradient_of_output(g, 0);
  int dtype = b->status ? 0 : leat_build_type_of(b, dz);
  leat_output_t gathered = gather_rows(b, leat_gradient_output(g, 0), ids);
  leat_output_t chosen = leat_build_binary(b, "Equal", data, gathered);
  leat_output_t count =
      leat_build_binary(b, "SegmentSum", leat_arithmetic_cast(b, chosen, dtype), ids);
  leat_output_t shares = gather_rows(b, DIV(b, dz, count), ids);
  leat_gradient_set_input(g, 0, SELECT(b, chosen, shares, leat_arithmetic_zeros_like(b, data)));
  return leat_ok_status();
}

// ---- Gradients of unsorted segments -------------------------------------------------------------

// The ids with 0 for negative ones, so that a gather accepts them.
static leat_output_t clipped_ids(leat_gradient_t* g) {
  leat_output_t ids = leat_gradient_input(g, 1);
  return leat_build_binary(&g->builder, "Maximum", ids,
                           leat_arithmetic_zeros_like(&g->builder, ids));
}

// true where an id is not negative, in the shape of |like|, whose shape begins with that of the
// ids.
static leat_output_t positive_mask(leat_gradient_t* g, leat_output_t like) {
  leat_builder_t* b = &g->builder;
  leat_output_t ids = leat_gradient_input(g, 1);
  leat_output_t zero = leat_build_scalar(b, LEAT_DTYPE_INT32, 0);
  leat_output_t one = leat_build_scalar(b, LEAT_DTYPE_INT32, 1);
  leat_output_t mask =
      leat_build_binary(b, "GreaterEqual", ids, leat_arithmetic_constant_like(b, ids, 0));
  leat_output_t missing = leat_arithmetic_sub(b, leat_build_unary(b, "Rank", like),
                                              leat_build_unary(b, "Rank", mask));
  missing = leat_build_binary(b, "ExpandDims", missing, zero);
  leat_output_t ones = leat_build_binary(b, "Fill", missing, one);
  leat_output_t shape = leat_build(b, "ConcatV2",
                                   LEAT_INPUTS(leat_build_shape_of(b, mask), ones, zero),
                                   LEAT_ATTRS(LEAT_INT("N", 2)));
  mask = leat_build_binary(b, "Reshape", mask, shape);
  return leat_build_binary(b, "BroadcastTo", mask, leat_build_shape_of(b, like));
}

// Builds the rows of |x| by id, and 0 for negative ids.
static leat_output_t gather_positive(leat_gradient_t* g, leat_output_t x) {
  leat_builder_t* b = &g->builder;
  leat_output_t gathered = gather_rows(b, x, clipped_ids(g));
  leat_output_t zeros = leat_arithmetic_zeros_like(b, gathered);
  return SELECT(b, positive_mask(g, gathered), gathered, zeros);
}

static leat_status_t unsorted_sum_gradient(leat_gradient_t* g) {
  leat_gradient_set_input(g, 0, gather_positive(g, leat_gradient_of_output(g, 0)));
  return leat_ok_status();
}

static leat_output_t unsorted_sum(leat_gradient_t* g, leat_output_t x) {
  return leat_build(&g->builder, "UnsortedSegmentSum",
                    LEAT_INPUTS(x, leat_gradient_input(g, 1), leat_gradient_input(g, 2)),
                    LEAT_NO_ATTRS);
}

// As for sorted ids, except that elements with a negative id get 0.
static leat_status_t unsorted_extremum_gradient(leat_gradient_t* g) {
  leat_builder_t* b = &g->builder;
  leat_output_t data = leat_gradient_input(g, 0), dz = leat_gradient_of_output(g, 0);
  int dtype = b->status ? 0 : leat_build_type_of(b, dz);
  leat_output_t gathered = gather_positive(g, leat_gradient_output(g, 0));
  leat_output_t chosen = leat_build_binary(b, "Equal", data, gathered);
  chosen = leat_build_binary(b, "LogicalAnd", chosen, positive_mask(g, gathered));
  leat_output_t count = unsorted_sum(g, leat_arithmetic_cast(b, chosen, dtype));
  leat_output_t shares = gather_positive(g, DIV(b, dz, count));
  leat_gradient_set_input(g, 0, SELECT(b, chosen, shares, leat_arithmetic_zeros_like(b, shares)));
  return leat_ok_status();
}

// ---- Gradients of products ----------------------------------------------------------------------

// d z_s / d x_i is the product of the other elements of the segment: z_s / x_i where x_i is not 0;
// where x_i is the segment's only 0, the product of the rest (computed with 1 in place of zeros); 0
// where there are two zeros.
static leat_status_t product_gradient(leat_gradient_t* g, bool is_sorted) {
  leat_builder_t* b = &g->builder;
  const char* fold = is_sorted ? "SegmentSum" : "UnsortedSegmentSum";
  const char* op = is_sorted ? "SegmentProd" : "UnsortedSegmentProd";
  leat_output_t data = leat_gradient_input(g, 0), ids = leat_gradient_input(g, 1);
  leat_output_t count = is_sorted ? ids : leat_gradient_input(g, 2);
  int inputs = is_sorted ? 2 : 3;
  leat_output_t dz = leat_gradient_of_output(g, 0);
  leat_output_t is_zero =
      leat_build_binary(b, "Equal", data, leat_arithmetic_constant_like(b, data, 0));
  leat_output_t as_int = leat_arithmetic_cast(b, is_zero, LEAT_DTYPE_INT32);
  leat_outputs_t fold_inputs = {(leat_output_t[]){as_int, ids, count}, inputs};
  leat_output_t zeros = leat_build(b, fold, fold_inputs, LEAT_NO_ATTRS);
  leat_output_t many =
      leat_build_binary(b, "Greater", zeros, leat_build_scalar(b, LEAT_DTYPE_INT32, 1));
  dz = SELECT(b, many, leat_arithmetic_zeros_like(b, dz), dz);
  leat_output_t filled = SELECT(b, is_zero, leat_build_unary(b, "OnesLike", data), data);
  leat_outputs_t product_inputs = {(leat_output_t[]){filled, ids, count}, inputs};
  leat_output_t rest = leat_build(b, op, product_inputs, LEAT_NO_ATTRS);
  leat_output_t rows = is_sorted ? ids : clipped_ids(g);
  leat_output_t divided = DIV(b, gather_rows(b, leat_gradient_output(g, 0), rows),
                              is_sorted ? filled : data);
  leat_output_t partial = SELECT(b, is_zero, gather_rows(b, rest, rows), divided);
  leat_output_t gathered = is_sorted ? gather_rows(b, dz, ids) : gather_positive(g, dz);
  leat_gradient_set_input(g, 0, MUL(b, gathered, partial));
  return leat_ok_status();
}
static leat_status_t segment_prod_gradient(leat_gradient_t* g) {
  return product_gradient(g, true);
}
static leat_status_t unsorted_prod_gradient(leat_gradient_t* g) {
  return product_gradient(g, false);
}

// ---- Rows ---------------------------------------------------------------------------------------

#define NUMBER                                                                                \
  "{float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, qint32, "      \
  "bfloat16, qint16, quint16, uint16, complex128, half, uint32, uint64}"
#define REAL                                                                                  \
  "{float, double, int32, uint8, int16, int8, int64, bfloat16, uint16, half, uint32, uint64}"
#define SORTED(op, types, gradient_fn, text)                            \
  {.name = op,                                                          \
   .inputs = "data: T; segment_ids: Tindices",                          \
   .outputs = "output: T",                                              \
   .attrs = "T: " types "; Tindices: {int32, int64}",                   \
   .shape = segment_shape,                                              \
   .gradient = gradient_fn,                                             \
   .contract = LEAT_RULES(LEAT_RULE_RANK_AT_LEAST(0, 1), LEAT_RULE_VECTOR(1)), \
   .doc = text}
#define COUNTED(op, types, id_types, gradient_fn, text)                                  \
  {.name = op,                                                                                  \
   .inputs = "data: T; segment_ids: Tindices; num_segments: Tnumsegments",                      \
   .outputs = "output: T",                                                                      \
   .attrs = "T: " types "; Tindices: " id_types "; Tnumsegments: {int32, int64} = int32",       \
   .shape = counted_segment_shape,                                                              \
   .gradient = gradient_fn,                                                                     \
   .doc = text}
#define INDICES "{int32, int64}"

// ---- Sparse segments ----------------------------------------------------------------------------
// Rows that |indices| picks are summed by sorted segment id. Sum, Mean and SqrtN differ in whether
// a sum of n rows is divided by 1, n or the root of n. The ops WithNumSegments state the number of
// output rows, which otherwise follows from the last id when the op runs.
//
// A gradient scatters dC/d_output back to the rows of data. With the attribute sparse_gradient it
// becomes IndexedSlices of the picked rows (a GradV2 op), so that the update of a large embedding
// touches few rows; otherwise it is a dense tensor.

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
  return set_segments(c, LEAT_DIM_UNKNOWN, leat_inference_input(c, 0), 1);
}

// Input 3 gives the number of output rows, if it is known.
static leat_status_t counted_shape(leat_inference_t* c) {
  LEAT_RETURN_IF_ERROR(check_inputs(c));
  leat_partial_shape_t scalar;
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank(c, leat_inference_input(c, 3), 0, &scalar));
  int64_t count;
  LEAT_RETURN_IF_ERROR(known_count(c, 3, &count));
  return set_segments(c, count, leat_inference_input(c, 0), 1);
}

static leat_status_t unique_rows_shape(leat_inference_t* c) {
  LEAT_RETURN_IF_ERROR(check_inputs(c));
  leat_partial_shape_t scalar, vector;
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank(c, leat_inference_input(c, 3), 0, &scalar));
  LEAT_RETURN_IF_ERROR(
      set_segments(c, LEAT_DIM_UNKNOWN, leat_inference_input(c, 0), 1));
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

#define REAL_ATTR                                                                                  \
  "T: {float, double, int32, uint8, int16, int8, int64, bfloat16, uint16, half, uint32, uint64}; "
#define FLOATING "T: {bfloat16, half, float, double}; "
#define INDEX "Tidx: {int32, int64} = int32; "
#define COUNT "Tnumsegments: {int32, int64} = int32; "
#define IDS "Tsegmentids: {int32, int64} = int32"
#define SPARSE "; sparse_gradient: bool = false"
#define RULES                                                                                   \
  LEAT_RULE_RANK_AT_LEAST(0, 1), LEAT_RULE_VECTOR(1), LEAT_RULE_VECTOR(2),                       \
      LEAT_RULE_SAME_SHAPE(1, 2)

#define SPARSE_PLAIN(op, types, gradient_fn, text)                     \
  {.name = op,                                                         \
   .inputs = "data: T; indices: Tidx; segment_ids: Tsegmentids",       \
   .outputs = "output: T",                                             \
   .attrs = types INDEX IDS SPARSE,                                    \
   .shape = plain_shape,                                               \
   .gradient = gradient_fn,                                            \
   .contract = LEAT_RULES(RULES),                                      \
   .doc = text}
#define SPARSE_COUNTED(op, types, gradient_fn, text)                                              \
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

const leat_op_row_t leat_segment_ops[] = {
    SORTED("SegmentSum", NUMBER, segment_sum_gradient, "Sums of rows by sorted segment id."),
    COUNTED("SegmentSumV2", NUMBER, INDICES, NULL, "Sums of rows by sorted segment id."),
    SORTED("SegmentMean", NUMBER, segment_mean_gradient, "Means of rows by sorted segment id."),
    SORTED("SegmentProd", NUMBER, segment_prod_gradient, "Products of rows by sorted segment id."),
    COUNTED("SegmentProdV2", NUMBER, INDICES, NULL, "Products of rows by sorted segment id."),
    SORTED("SegmentMin", REAL, segment_extremum_gradient, "Least of rows by sorted segment id."),
    COUNTED("SegmentMinV2", REAL, INDICES, NULL, "Least of rows by sorted segment id."),
    SORTED("SegmentMax", REAL, segment_extremum_gradient, "Largest of rows by sorted segment id."),
    COUNTED("SegmentMaxV2", REAL, INDICES, NULL, "Largest of rows by sorted segment id."),
    COUNTED("UnsortedSegmentSum", NUMBER, "{int16, int32, int64}", unsorted_sum_gradient,
            "Sums of rows by segment id."),
    COUNTED("UnsortedSegmentMax", REAL, INDICES, unsorted_extremum_gradient,
            "Largest of rows by segment id."),
    COUNTED("UnsortedSegmentMin", REAL, INDICES, unsorted_extremum_gradient,
            "Least of rows by segment id."),
    COUNTED("UnsortedSegmentProd", NUMBER, INDICES, unsorted_prod_gradient,
            "Products of rows by segment id."),
    SPARSE_PLAIN("SparseSegmentSum", REAL_ATTR, sum_gradient, "Sums of picked rows by segment."),
    SPARSE_COUNTED("SparseSegmentSumWithNumSegments", REAL_ATTR, sum_gradient,
            "Sums of picked rows by segment, of which there are num_segments."),
    GRAD("SparseSegmentSumGrad", "The gradient of SparseSegmentSum, for all rows."),
    GRAD_V2("SparseSegmentSumGradV2", "The gradient of SparseSegmentSum, for the picked rows."),
    SPARSE_PLAIN("SparseSegmentMean", FLOATING, mean_gradient, "Means of picked rows by segment."),
    SPARSE_COUNTED("SparseSegmentMeanWithNumSegments", FLOATING, mean_gradient,
            "Means of picked rows by segment, of which there are num_segments."),
    GRAD("SparseSegmentMeanGrad", "The gradient of SparseSegmentMean, for all rows."),
    GRAD_V2("SparseSegmentMeanGradV2", "The gradient of SparseSegmentMean, for the picked rows."),
    SPARSE_PLAIN("SparseSegmentSqrtN", FLOATING, sqrt_n_gradient,
          "Sums of picked rows by segment over the root of their count."),
    SPARSE_COUNTED("SparseSegmentSqrtNWithNumSegments", FLOATING, sqrt_n_gradient,
            "Sums of picked rows by segment over the root of their count; num_segments of them."),
    GRAD("SparseSegmentSqrtNGrad", "The gradient of SparseSegmentSqrtN, for all rows."),
    GRAD_V2("SparseSegmentSqrtNGradV2", "The gradient of SparseSegmentSqrtN, for the picked rows."),
    LEAT_OP_ROWS_END,
};
