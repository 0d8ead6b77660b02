// Definitions of the ops between real numbers and integers of few bits over a range. 0 is kept
// exactly.
//
//   QuantizeV2             input, min_range, max_range -> output as input, output_min, output_max
//   Dequantize             input, min_range, max_range -> output as input
//   QuantizeAndDequantize  numbers -> what integers of num_bits bits would keep of them
//
// The range is two scalars, min and max, or two vectors over the dimension "axis". QuantizeV2 and
// Dequantize have no gradient. A network that is trained with QuantizeAndDequantize learns to live
// with quantised numbers, although it still computes in floats. The versions of this op differ in
// where the range and the number of bits come from, and in the gradient. Up to the third, the
// gradient passes unchanged, as if the op were the identity. In the fourth it passes only where the
// input lies within the range. The kernels are in quantized_cpu.c and quantization_cpu.c.
#include "graph/gradient.h"
#include "graph/inference/inference_index.h"
#include "ops/op_rows.h"

// Checks the range at inputs |first| and |first| + 1: scalars, or with the attribute "axis" vectors
// as long as that dimension of input 0. Gives their merged shape. INVALID_ARGUMENT for a wrong axis
// too.
static leat_status_t check_range(leat_inference_t* c, int first, leat_partial_shape_t* out_range) {
  leat_partial_shape_t input = leat_inference_input(c, 0);
  int64_t axis = leat_node_attr_int(c->node, "axis", -1), unused;
  if (axis < -1 || axis >= INT32_MAX) {
    return leat_make_status(LEAT_INVALID_ARGUMENT, "axis should be at least -1 and below 2^31, got "
                            "%lld", (long long)axis);
  }
  LEAT_RETURN_IF_ERROR(
      leat_inference_with_rank(c, leat_inference_input(c, first), axis == -1 ? 0 : 1, out_range));
  LEAT_RETURN_IF_ERROR(
      leat_inference_merge(c, *out_range, leat_inference_input(c, first + 1), out_range));
  if (axis == -1) return leat_ok_status();
  int least = axis < LEAT_SHAPE_MAX_RANK ? (int)axis + 1 : LEAT_SHAPE_MAX_RANK + 1;
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank_at_least(c, input, least));
  if (input.rank < 0) return leat_ok_status();
  return leat_inference_merge_dim(out_range->dims[0], input.dims[axis], &unused);
}

static leat_status_t v2_shape(leat_inference_t* c) {
  leat_partial_shape_t range;
  LEAT_RETURN_IF_ERROR(check_range(c, 1, &range));
  return leat_shape_unchanged(c);
}

// Input 3 is the number of bits.
static leat_status_t v3_shape(leat_inference_t* c) {
  LEAT_RETURN_IF_ERROR(leat_shape_by_pattern(c));
  return v2_shape(c);
}

static leat_status_t v4_grad_shape(leat_inference_t* c) {
  leat_partial_shape_t range;
  LEAT_RETURN_IF_ERROR(leat_shape_by_pattern(c));
  LEAT_RETURN_IF_ERROR(check_range(c, 2, &range));
  leat_inference_set_output(c, 1, range);
  leat_inference_set_output(c, 2, range);
  return leat_ok_status();
}

// The gradient of the input is that of the output; the range gets none.
static leat_status_t pass_gradient(leat_gradient_t* g) {
  g->input_gradients[0] = leat_gradient_value_of_output(g, 0);
  return leat_ok_status();
}

// The gradient node gives gradients of the input and of the range.
static leat_status_t v4_gradient(leat_gradient_t* g) {
  int64_t axis = leat_node_attr_int(leat_gradient_node(g), "axis", -1);
  leat_output_t input = leat_gradient_input(g, 0);
  leat_output_t min = leat_gradient_input(g, 1), max = leat_gradient_input(g, 2);
  int32_t made = leat_build_node(&g->builder, "QuantizeAndDequantizeV4Grad",
                                 LEAT_INPUTS(leat_gradient_of_output(g, 0), input, min, max),
                                 LEAT_ATTRS(LEAT_INT("axis", axis)));
  for (int i = 0; i < 3; ++i) leat_gradient_set_input(g, i, leat_node_output(made, i));
  return leat_ok_status();
}

#define FLOATS "T: {bfloat16, half, float, double}"
#define V2_ATTRS                                                                           \
  "signed_input: bool = true; num_bits: int = 8; range_given: bool = false; " FLOATS       \
  "; round_mode: {'HALF_TO_EVEN', 'HALF_UP'} = 'HALF_TO_EVEN'; narrow_range: bool = false; " \
  "axis: int = -1"

// ---- QuantizeV2 and Dequantize ------------------------------------------------------------------

static leat_status_t quantize_shape(leat_inference_t* c) {
  leat_partial_shape_t range;
  LEAT_RETURN_IF_ERROR(check_range(c, 1, &range));
  leat_inference_set_output(c, 1, range);
  leat_inference_set_output(c, 2, range);
  return leat_shape_unchanged(c);
}

static leat_status_t dequantize_shape(leat_inference_t* c) {
  leat_partial_shape_t range;
  LEAT_RETURN_IF_ERROR(check_range(c, 1, &range));
  return leat_shape_unchanged(c);
}

#define MODE                                                                                      \
  "T: {qint8, quint8, qint32, qint16, quint16}; mode: {'MIN_COMBINED', 'MIN_FIRST', 'SCALED'} = " \
  "'MIN_COMBINED'; "
#define LAYOUT "narrow_range: bool = false; axis: int = -1; "

const leat_op_row_t leat_quantization_ops[] = {
    {.name = "QuantizeAndDequantize",
     .inputs = "input: T",
     .outputs = "output: T",
     .attrs = "signed_input: bool = true; num_bits: int = 8; range_given: bool = false; input_min: "
              "float = 0.0; input_max: float = 0.0; " FLOATS,
     .shape = leat_shape_unchanged,
     .gradient = pass_gradient,
     .deprecated_since = 22,
     .deprecation = "Replaced by QuantizeAndDequantizeV2",
     .doc = "As QuantizeAndDequantizeV2, over a fixed range."},
    {.name = "QuantizeAndDequantizeV2",
     .inputs = "input: T; input_min: T; input_max: T",
     .outputs = "output: T",
     .attrs = V2_ATTRS,
     .shape = v2_shape,
     .gradient = pass_gradient,
     .doc = "The input as integers of num_bits over a range would keep it."},
    {.name = "QuantizeAndDequantizeV3",
     .inputs = "input: T; input_min: T; input_max: T; num_bits: int32",
     .outputs = "output: T",
     .attrs = "signed_input: bool = true; range_given: bool = true; " FLOATS
              "; narrow_range: bool = false; axis: int = -1",
     .shapes = "num_bits[]",
     .shape = v3_shape,
     .gradient = pass_gradient,
     .doc = "As QuantizeAndDequantizeV2, with num_bits an input."},
    {.name = "QuantizeAndDequantizeV4",
     .inputs = "input: T; input_min: T; input_max: T",
     .outputs = "output: T",
     .attrs = V2_ATTRS,
     .shape = v2_shape,
     .gradient = v4_gradient,
     .doc = "As QuantizeAndDequantizeV2; the gradient passes within the range only."},
    {.name = "QuantizeAndDequantizeV4Grad",
     .inputs = "gradients: T; input: T; input_min: T; input_max: T",
     .outputs = "input_backprop: T; input_min_backprop: T; input_max_backprop: T",
     .attrs = FLOATS "; axis: int = -1",
     .shapes = "gradients[...] input[...] -> input_backprop[...]",
     .misfits = "input: | gradient and input must be the same size",
     .shape = v4_grad_shape,
     .doc = "The gradients where the input lies within the range; none for the range."},
    {.name = "QuantizeV2",
     .inputs = "input: float; min_range: float; max_range: float",
     .outputs = "output: T; output_min: float; output_max: float",
     .attrs =
         MODE "round_mode: {'HALF_AWAY_FROM_ZERO', 'HALF_TO_EVEN'} = 'HALF_AWAY_FROM_ZERO'; " LAYOUT
              "ensure_minimum_range: float = 0.01",
     .shape = quantize_shape,
     .doc = "The input as integers over a range, and the range that they cover."},
    {.name = "Dequantize",
     .inputs = "input: T; min_range: float; max_range: float",
     .outputs = "output: dtype",
     .attrs = MODE LAYOUT "dtype: {bfloat16, float} = DT_FLOAT",
     .shape = dequantize_shape,
     .doc = "The numbers that integers over a range stand for."},
    LEAT_OP_ROWS_END,
};
