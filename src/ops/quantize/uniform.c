// Definitions of the uniform ops, which compute with integers that stand for numbers by a scale and
// a zero point:
//
//   number = (integer - zero_point) * scale
//
//   UniformQuantize, UniformDequantize   between numbers and integers
//   UniformRequantize                    between two scales
//   UniformQuantizedAdd, ...Dot, ...Convolution, ...ClipByValue
//   UniformQuantizedDotHybrid, UniformQuantizedConvolutionHybrid  numbers times integers
//
// A scale and a zero point are scalars, or vectors with an element for each slice along a
// dimension, the attribute quantization_axis (-1: scalars). Every quantised tensor also has two
// attributes for the least and the greatest integer that it may hold. None of the ops has a
// gradient.
#include "graph/inference/inference_index.h"
#include "ops/op_rows.h"
#include "ops/quantize/uniform_window.h"

// ---- Shapes -------------------------------------------------------------------------------------

// Inputs |index| and |index| + 1 are a scale and a zero point: of one shape, scalars or vectors. A
// vector is as long as dimension |axis| of |shape|, and |per_axis| says whether it may be one.
static leat_status_t check_scale(leat_inference_t* c, int index, bool per_axis,
                                 leat_partial_shape_t shape, int axis) {
  leat_partial_shape_t scale = leat_inference_input(c, index);
  int64_t unused;
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank_at_most(c, scale, per_axis));
  LEAT_RETURN_IF_ERROR(
      leat_inference_merge(c, scale, leat_inference_input(c, index + 1), &scale));
  if (scale.rank != 1 || shape.rank < 0) return leat_ok_status();
  return leat_inference_merge_dim(scale.dims[0], shape.dims[axis], &unused);
}

// lhs [m, k], rhs [k, n]
static leat_status_t dot_shape_of(leat_inference_t* c, leat_partial_shape_t* out_shape) {
  leat_partial_shape_t lhs, rhs;
  int64_t unused;
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank(c, leat_inference_input(c, 0), 2, &lhs));
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank(c, leat_inference_input(c, 1), 2, &rhs));
  LEAT_RETURN_IF_ERROR(leat_inference_merge_dim(lhs.dims[1], rhs.dims[0], &unused));
  const int64_t dims[] = {lhs.dims[0], rhs.dims[1]};
  LEAT_RETURN_IF_ERROR(leat_inference_make(c, 2, dims, out_shape));
  leat_inference_set_output(c, 0, *out_shape);
  return leat_ok_status();
}

static leat_status_t dot_shape(leat_inference_t* c) {
  leat_partial_shape_t output;
  LEAT_RETURN_IF_ERROR(dot_shape_of(c, &output));
  LEAT_RETURN_IF_ERROR(check_scale(c, 2, false, output, 1));
  LEAT_RETURN_IF_ERROR(check_scale(c, 4, true, output, 1));
  return check_scale(c, 6, true, output, 1);
}

static leat_status_t dot_hybrid_shape(leat_inference_t* c) {
  leat_partial_shape_t output;
  LEAT_RETURN_IF_ERROR(dot_shape_of(c, &output));
  return check_scale(c, 2, true, output, 1);
}

// Sets output 0 where the shapes of inputs 0 and 1 are known.
static leat_status_t convolution_shape_of(leat_inference_t* c, leat_uniform_window_t* out_window) {
  leat_partial_shape_t lhs = leat_inference_input(c, 0), rhs = leat_inference_input(c, 1), output;
  int64_t dims[LEAT_UNIFORM_MAX_RANK];
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank_at_least(c, lhs, 2));
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank_at_least(c, rhs, 2));
  if (lhs.rank < 0 && rhs.rank < 0) return leat_ok_status();
  const int rank = lhs.rank < 0 ? rhs.rank : lhs.rank;
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank(c, lhs, rank, &lhs));
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank(c, rhs, rank, &rhs));
  LEAT_RETURN_IF_ERROR(
      leat_uniform_window_read(c->node->attrs, c->node->attr_count, out_window));
  LEAT_RETURN_IF_ERROR(leat_uniform_window_fit(out_window, rank));
  LEAT_RETURN_IF_ERROR(leat_uniform_window_measure(out_window, lhs.dims, rhs.dims, dims));
  LEAT_RETURN_IF_ERROR(leat_inference_make(c, rank, dims, &output));
  leat_inference_set_output(c, 0, output);
  return leat_ok_status();
}

static leat_status_t convolution_shape(leat_inference_t* c) {
  leat_uniform_window_t w = {.spatial = -1};
  LEAT_RETURN_IF_ERROR(convolution_shape_of(c, &w));
  if (w.spatial < 0) return leat_ok_status();
  LEAT_RETURN_IF_ERROR(check_scale(c, 2, false, c->outputs[0], w.output.feature));
  LEAT_RETURN_IF_ERROR(check_scale(c, 4, true, c->outputs[0], w.output.feature));
  return check_scale(c, 6, true, c->outputs[0], w.output.feature);
}

static leat_status_t convolution_hybrid_shape(leat_inference_t* c) {
  leat_uniform_window_t w = {.spatial = -1};
  LEAT_RETURN_IF_ERROR(convolution_shape_of(c, &w));
  if (w.spatial < 0) return leat_ok_status();
  return check_scale(c, 2, true, c->outputs[0], w.output.feature);
}

// ---- Rows ---------------------------------------------------------------------------------------

// The attributes and inputs of a quantised tensor; |prefix| is "", "lhs_", ...
#define LAYOUT(prefix)                                                             \
  prefix "quantization_axis: int = -1; " prefix "quantization_min_val: int; " prefix \
         "quantization_max_val: int"
#define SCALE(prefix) prefix "scales: float; " prefix "zero_points: int32"
#define LAYOUTS LAYOUT("lhs_") "; " LAYOUT("rhs_") "; " LAYOUT("output_")
#define SCALES SCALE("lhs_") "; " SCALE("rhs_") "; " SCALE("output_")
#define WINDOW                                                                             \
  "window_strides: list(int) = []; padding: string; explicit_padding: list(int) = []; "    \
  "lhs_dilation: list(int) = []; rhs_dilation: list(int) = []; batch_group_count: int = 1; " \
  "feature_group_count: int = 1; dimension_numbers: string = ''; "

const leat_op_row_t leat_uniform_ops[] = {
    LEAT_OP_ROW("UniformQuantize", "input: Tin; " SCALE(""), "output: Tout",
                "Tin: {float}; Tout: {qint8, quint8, qint32}; " LAYOUT(""), leat_shape_unchanged,
                NULL, "The integers that stand for numbers."),
    LEAT_OP_ROW("UniformDequantize", "input: Tin; " SCALE(""), "output: Tout",
                "Tin: {qint8, quint8, qint32}; Tout: {float}; " LAYOUT(""), leat_shape_unchanged,
                NULL, "The numbers that integers stand for."),
    LEAT_OP_ROW("UniformRequantize", "input: Tin; " SCALE("input_") "; " SCALE("output_"),
                "output: Tout",
                "Tin: {qint8, qint32}; Tout: {qint8, qint32}; " LAYOUT("input_") "; "
                LAYOUT("output_"),
                leat_shape_unchanged, NULL,
                "The integers that stand for the same numbers by another scale."),
    LEAT_OP_ROW("UniformQuantizedAdd", "lhs: T; rhs: T; " SCALES, "output: T",
                LAYOUTS "; T: {qint32}", leat_shape_broadcast_binary, NULL, "The sum."),
    LEAT_OP_ROW("UniformQuantizedClipByValue", "operand: T; min: T; max: T; " SCALE(""),
                "output: T", "T: {qint32}; " LAYOUT(""), leat_shape_unchanged, NULL,
                "The operand limited to [min, max]."),
    LEAT_OP_ROW("UniformQuantizedDot", "lhs: Tin; rhs: Tin; " SCALES, "output: Tout",
                "Tin: {qint8}; Tout: {qint32}; " LAYOUTS, dot_shape, NULL, "The matrix product.",
                .cost = LEAT_COST_CONTRACTION,
                .contract = LEAT_RULES(LEAT_RULE_MATRIX(0), LEAT_RULE_MATRIX(1),
                                       LEAT_RULE_SAME_DIM(0, 1, 1, 0))),
    LEAT_OP_ROW("UniformQuantizedDotHybrid", "lhs: Tlhs; rhs: Trhs; " SCALE("rhs_"),
                "output: Tout", "Tlhs: {float}; Trhs: {qint8}; Tout: {float}; " LAYOUT("rhs_"),
                dot_hybrid_shape, NULL, "The matrix product of numbers and integers.",
                .cost = LEAT_COST_CONTRACTION,
                .contract = LEAT_RULES(LEAT_RULE_MATRIX(0), LEAT_RULE_MATRIX(1),
                                       LEAT_RULE_SAME_DIM(0, 1, 1, 0))),
    LEAT_OP_ROW("UniformQuantizedConvolution", "lhs: Tin; rhs: Tin; " SCALES, "output: Tout",
                "Tin: {qint8}; Tout: {qint32}; " WINDOW LAYOUTS, convolution_shape, NULL,
                "The convolution of lhs with the kernel rhs."),
    LEAT_OP_ROW("UniformQuantizedConvolutionHybrid", "lhs: Tlhs; rhs: Trhs; " SCALE("rhs_"),
                "output: Tout",
                "Tlhs: {float}; Trhs: {qint8}; Tout: {float}; " WINDOW LAYOUT("rhs_"),
                convolution_hybrid_shape, NULL,
                "The convolution of numbers with a kernel of integers."),
    LEAT_OP_ROWS_END,
};
