// Definitions of fused products of 8-bit numbers, which Intel's tools put into frozen graphs: a
// convolution or a matrix product and what follows it in one node.
//
//   QuantizedConv2D..., QuantizedDepthwiseConv2D..., QuantizedMatMul...   the name tells what
//   _FusedQuantizedConv2D, _FusedQuantizedDepthwiseConv2D, _QuantizedMatMul   "fused_ops" does
//
// Each quantised input is a tensor with the ends of its range, two floats, somewhere behind it. The
// range of a convolution's filter may be a vector, a range for each output channel; then so are
// those of 32-bit outputs. min_freezed_output and max_freezed_output are the range that Requantize
// brings the output to. None of the ops has a gradient.
//
// The ops with "fused_ops" take their inputs as two lists of any types, so that the shape functions
// check that an input is there before they look at it, and the kernels, when they are created, that
// it has the type that the list of ops asks for.
#include "ops/nn/convolution.h"
#include "ops/op_rows.h"

// ---- Shapes -------------------------------------------------------------------------------------

static leat_status_t check_scalars(leat_inference_t* c, int first, int last) {
  for (int i = first; i <= last; ++i) LEAT_RETURN_IF_ERROR(leat_shape_check_scalar(c, i));
  return leat_ok_status();
}

static leat_status_t check_vector(leat_inference_t* c, int index) {
  leat_partial_shape_t unused;
  return leat_inference_with_rank(c, leat_inference_input(c, index), 1, &unused);
}

// Outputs 1 and 2 are scalars, or have the shape of a filter's range, which begins at input
// |filter_range| and is a scalar or a vector.
static leat_status_t set_ranges(leat_inference_t* c, int filter_range, bool requantizes) {
  leat_partial_shape_t shape = leat_partial_shape_scalar(), end;
  for (int i = 0; i < 2; ++i) {
    end = leat_inference_input(c, filter_range + i);
    LEAT_RETURN_IF_ERROR(leat_inference_with_rank_at_most(c, end, 1));
  }
  if (!requantizes) shape = end;
  for (int i = 1; i <= 2; ++i) leat_inference_set_output(c, i, shape);
  return leat_ok_status();
}

// input, filter, {bias}, ranges of input and filter, {range of the output}, ...
static leat_status_t conv2d_shape(leat_inference_t* c, bool has_bias, bool requantizes) {
  const int ranges = 2 + has_bias;
  LEAT_RETURN_IF_ERROR(leat_conv2d_shape(c));
  if (has_bias) LEAT_RETURN_IF_ERROR(check_vector(c, 2));
  LEAT_RETURN_IF_ERROR(check_scalars(c, ranges, ranges + 1));
  if (requantizes) LEAT_RETURN_IF_ERROR(check_scalars(c, ranges + 4, ranges + 5));
  return set_ranges(c, ranges + 2, requantizes);
}
static leat_status_t plain_shape(leat_inference_t* c) { return conv2d_shape(c, false, false); }
static leat_status_t to_bytes_shape(leat_inference_t* c) { return conv2d_shape(c, false, true); }
static leat_status_t biased_shape(leat_inference_t* c) { return conv2d_shape(c, true, false); }
static leat_status_t biased_to_bytes_shape(leat_inference_t* c) {
  return conv2d_shape(c, true, true);
}
// TensorFlow knows no range for each channel of this op while the graph is built.
static leat_status_t one_range_shape(leat_inference_t* c) {
  LEAT_RETURN_IF_ERROR(check_scalars(c, 4, 5));
  return conv2d_shape(c, false, true);
}

static bool has_fused_op(const leat_inference_t* c, const char* name) {
  const leat_attr_value_t* ops =
      leat_attr_find(c->node->attrs, c->node->attr_count, LEAT_SV("fused_ops"));
  for (uint32_t i = 0; ops && ops->is_list && i < ops->count; ++i) {
    if (leat_string_view_equals(ops->strings[i], name)) return true;
  }
  return false;
}

// INVALID_ARGUMENT unless the node has |inputs| inputs and an output.
static leat_status_t check_counts(const leat_inference_t* c, int inputs) {
  if (leat_inference_input_count(c) >= inputs && c->node->output_count >= 1) {
    return leat_ok_status();
  }
  return leat_make_status(LEAT_INVALID_ARGUMENT,
                          "the lists have %d inputs and %d outputs, must have at least %d and 1",
                          leat_inference_input_count(c), c->node->output_count, inputs);
}

// input, filter, {bias}, {summand}, ranges of input and filter, ...
static leat_status_t listed_shape(leat_inference_t* c, leat_status_t (*shape)(leat_inference_t*)) {
  const bool has_bias = has_fused_op(c, "BiasAdd");
  const int ranges = 2 + has_bias + has_fused_op(c, "Sum");
  LEAT_RETURN_IF_ERROR(check_counts(c, ranges + 4));
  LEAT_RETURN_IF_ERROR(shape(c));
  if (has_bias) LEAT_RETURN_IF_ERROR(check_vector(c, 2));
  LEAT_RETURN_IF_ERROR(check_scalars(c, ranges, ranges + 1));
  if (c->node->output_count < 3) return leat_ok_status();  // the kernel refuses the node
  return set_ranges(c, ranges + 2, has_fused_op(c, "Requantize"));
}
static leat_status_t listed_conv2d_shape(leat_inference_t* c) {
  return listed_shape(c, leat_conv2d_shape);
}
static leat_status_t listed_depthwise_shape(leat_inference_t* c) {
  return listed_shape(c, leat_depthwise_conv2d_shape);
}

static leat_status_t product_shape(leat_inference_t* c) {
  leat_partial_shape_t a, b, shape;
  int64_t unused;
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank(c, leat_inference_input(c, 0), 2, &a));
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank(c, leat_inference_input(c, 1), 2, &b));
  const bool flips_a = leat_node_attr_bool(c->node, "transpose_a", false);
  const bool flips_b = leat_node_attr_bool(c->node, "transpose_b", false);
  LEAT_RETURN_IF_ERROR(leat_inference_merge_dim(a.dims[!flips_a], b.dims[flips_b], &unused));
  const int64_t dims[] = {a.dims[flips_a], b.dims[!flips_b]};
  LEAT_RETURN_IF_ERROR(leat_inference_make(c, 2, dims, &shape));
  leat_inference_set_output(c, 0, shape);
  return leat_ok_status();
}

static leat_status_t matmul_shape(leat_inference_t* c) {
  LEAT_RETURN_IF_ERROR(product_shape(c));
  LEAT_RETURN_IF_ERROR(check_vector(c, 2));
  for (int i = 1; i < c->node->output_count; ++i) {
    leat_inference_set_output(c, i, leat_partial_shape_scalar());
  }
  return check_scalars(c, 3, leat_inference_input_count(c) - 1);
}

static leat_status_t listed_matmul_shape(leat_inference_t* c) {
  LEAT_RETURN_IF_ERROR(check_counts(c, 2));
  return product_shape(c);
}

// ---- Rows ---------------------------------------------------------------------------------------

#define ANY "{qint8, quint8, qint32, qint16, quint16}"
#define ANY_OR_REAL "{bfloat16, float, qint8, quint8, qint32, qint16, quint16}"
#define BIAS_TYPE "Tbias: {float, qint32}"

#define IMAGES "input: Tinput; filter: Tfilter; "
#define RANGES "min_input: float; max_input: float; min_filter: float; max_filter: float"
#define REQUESTED "; min_freezed_output: float; max_freezed_output: float"
#define SUMMAND "; summand: Tsummand; min_summand: float; max_summand: float"
#define TYPES "Tinput: " ANY "; Tfilter: " ANY "; "
#define WINDOW \
  "; strides: list(int); padding: {'SAME', 'VALID'}; dilations: list(int) = [1, 1, 1, 1]"
#define PADDED_WINDOW WINDOW "; padding_list: list(int) = []"
#define TO(type) "out_type: " ANY " = " type

// The contracts: ranks. What depends on the fused ops is checked by the kernels.
#define OF_RANK(n) LEAT_RULES(LEAT_RULE_RANK(0, n), LEAT_RULE_RANK(1, n))
#define CONV2D_ROW(op, ins, types, shape_fn, words)                                         \
  LEAT_OP_ROW(op, IMAGES ins, "output: out_type; min_output: float; max_output: float",     \
              TYPES types, shape_fn, NULL, words, .cost = LEAT_COST_CONVOLUTION,            \
              .contract = OF_RANK(4))

#define FACTORS "a: T1; b: T2; "
#define FACTOR_RANGES "min_a: float; max_a: float; min_b: float; max_b: float"
#define FACTOR_TYPES "T1: " ANY "; T2: " ANY "; "
#define MODES                                                        \
  "; transpose_a: bool = false; transpose_b: bool = false; "         \
  "input_quant_mode: {'MIN_FIRST', 'SCALED'} = 'MIN_FIRST'"
#define MATMUL_ROW(op, ins, outs, types, words)                                      \
  LEAT_OP_ROW(op, FACTORS ins, "out: Toutput" outs, FACTOR_TYPES types MODES, matmul_shape, NULL, \
              words, .cost = LEAT_COST_CONTRACTION, .contract = OF_RANK(2))

#define LISTS "device_inputs: Tdevice_inputs; host_inputs: Thost_inputs"
#define OUT_LISTS "device_outputs: Tdevice_outputs; host_outputs: Thost_outputs"
#define LISTED_CONV2D_ROW(op, shape_fn, words)                                                   \
  LEAT_OP_ROW(op, LISTS, OUT_LISTS,                                                              \
              "Tinput: " ANY " = quint8; Tfilter: " ANY " = qint8; " BIAS_TYPE " = qint32; "     \
              "Tsummand: {float, quint8, qint8, qint32}; out_type: " ANY " = qint32; "           \
              "Tdevice_inputs: list(type) >= 0 = []; Thost_inputs: list(type) >= 0; "            \
              "Tdevice_outputs: list(type) >= 0 = []; Thost_outputs: list(type) >= 0; "          \
              "data_format: string = 'NHWC'; strides: list(int); is_filter_const: bool = true; " \
              "is_bias_const: bool = true; padding: {'SAME', 'VALID', 'EXPLICIT'}; "             \
              "explicit_paddings: list(int) = []; dilations: list(int) = [1, 1, 1, 1]; "         \
              "fused_ops: list(string) = []; alpha: float = 0",                                  \
              shape_fn, NULL, words, .cost = LEAT_COST_CONVOLUTION, .contract = OF_RANK(4))

const leat_op_row_t leat_quantized_fused_ops[] = {
    CONV2D_ROW("QuantizedConv2DPerChannel", RANGES, TO("qint32") WINDOW, plain_shape,
               "Convolution with a filter that may have a range for each output channel."),
    CONV2D_ROW("QuantizedConv2DAndRelu", RANGES, TO("qint32") PADDED_WINDOW, plain_shape,
               "Convolution and Relu."),
    CONV2D_ROW("QuantizedConv2DAndReluAndRequantize", RANGES REQUESTED,
               TO("quint8") PADDED_WINDOW, to_bytes_shape,
               "Convolution and Relu, over the requested range."),
    CONV2D_ROW("QuantizedConv2DAndRequantize", RANGES REQUESTED, TO("qint8") PADDED_WINDOW,
               one_range_shape, "Convolution, over the requested range."),
    CONV2D_ROW("QuantizedConv2DWithBias", "bias: float; " RANGES, TO("qint32") PADDED_WINDOW,
               biased_shape, "Convolution plus a bias."),
    CONV2D_ROW("QuantizedConv2DWithBiasAndRelu", "bias: float; " RANGES,
               TO("qint32") PADDED_WINDOW, biased_shape, "Convolution plus a bias, and Relu."),
    CONV2D_ROW("QuantizedConv2DWithBiasAndReluAndRequantize", "bias: Tbias; " RANGES REQUESTED,
               BIAS_TYPE "; " TO("quint8") PADDED_WINDOW, biased_to_bytes_shape,
               "Convolution plus a bias, and Relu, over the requested range."),
    CONV2D_ROW("QuantizedConv2DWithBiasAndRequantize", "bias: Tbias; " RANGES REQUESTED,
               BIAS_TYPE "; " TO("qint8") PADDED_WINDOW, biased_to_bytes_shape,
               "Convolution plus a bias, over the requested range."),
    CONV2D_ROW("QuantizedConv2DWithBiasSignedSumAndReluAndRequantize",
               "bias: Tbias; " RANGES REQUESTED SUMMAND,
               BIAS_TYPE "; Tsummand: " ANY "; " TO("quint8") PADDED_WINDOW, biased_to_bytes_shape,
               "Convolution plus a bias and signed numbers, and Relu, over the requested range."),
    CONV2D_ROW("QuantizedConv2DWithBiasSumAndRelu", "bias: float; " RANGES "; summand: float",
               TO("qint32") PADDED_WINDOW, biased_shape,
               "Convolution plus a bias and the summand, and Relu."),
    CONV2D_ROW("QuantizedConv2DWithBiasSumAndReluAndRequantize",
               "bias: Tbias; " RANGES REQUESTED SUMMAND,
               BIAS_TYPE "; Tsummand: " ANY "; " TO("quint8") PADDED_WINDOW, biased_to_bytes_shape,
               "Convolution plus a bias and the summand, and Relu, over the requested range."),
    CONV2D_ROW("QuantizedDepthwiseConv2D", RANGES, TO("qint32") WINDOW,
               leat_depthwise_conv2d_shape, "Convolution of each channel on its own."),
    CONV2D_ROW("QuantizedDepthwiseConv2DWithBias", "bias: float; " RANGES, TO("qint32") WINDOW,
               leat_depthwise_conv2d_shape,
               "Convolution of each channel on its own, plus a bias."),
    CONV2D_ROW("QuantizedDepthwiseConv2DWithBiasAndRelu", "bias: float; " RANGES,
               TO("qint32") PADDED_WINDOW, leat_depthwise_conv2d_shape,
               "Convolution of each channel on its own, plus a bias, and Relu."),
    CONV2D_ROW("QuantizedDepthwiseConv2DWithBiasAndReluAndRequantize",
               "bias: Tbias; " RANGES REQUESTED, BIAS_TYPE "; " TO("quint8") PADDED_WINDOW,
               leat_depthwise_conv2d_shape,
               "Convolution of each channel on its own, plus a bias, and Relu, over the requested "
               "range."),
    MATMUL_ROW("QuantizedMatMulWithBias", "bias: Tbias; " FACTOR_RANGES,
               "; min_out: float; max_out: float", BIAS_TYPE "; Toutput: " ANY " = qint32",
               "The matrix product of a and b plus a bias."),
    MATMUL_ROW("QuantizedMatMulWithBiasAndDequantize", "bias: Tbias; " FACTOR_RANGES REQUESTED, "",
               BIAS_TYPE "; Toutput: {float}", "The matrix product of a and b plus a bias, as "
               "floats."),
    MATMUL_ROW("QuantizedMatMulWithBiasAndRelu", "bias: float; " FACTOR_RANGES,
               "; min_out: float; max_out: float", "Toutput: " ANY " = qint32",
               "The matrix product of a and b plus a bias, and Relu."),
    MATMUL_ROW("QuantizedMatMulWithBiasAndReluAndRequantize",
               "bias: Tbias; " FACTOR_RANGES REQUESTED, "; min_out: float; max_out: float",
               BIAS_TYPE "; Toutput: " ANY " = quint8",
               "The matrix product of a and b plus a bias, and Relu, over the requested range."),
    MATMUL_ROW("QuantizedMatMulWithBiasAndRequantize", "bias: Tbias; " FACTOR_RANGES REQUESTED,
               "; min_out: float; max_out: float", BIAS_TYPE "; Toutput: " ANY " = quint8",
               "The matrix product of a and b plus a bias, over the requested range."),
    LISTED_CONV2D_ROW("_FusedQuantizedConv2D", listed_conv2d_shape,
                      "Convolution, and the ops in fused_ops on its result."),
    LISTED_CONV2D_ROW("_FusedQuantizedDepthwiseConv2D", listed_depthwise_shape,
                      "Convolution of each channel on its own, and the ops in fused_ops."),
    LEAT_OP_ROW("_QuantizedMatMul", LISTS, OUT_LISTS,
                "Tdevice_inputs: list(type) >= 0 = []; Thost_inputs: list(type) >= 0 = []; "
                "Tdevice_outputs: list(type) >= 0 = []; Thost_outputs: list(type) >= 0 = []; "
                "T1: " ANY "; T2: " ANY "; Tbias: " ANY_OR_REAL " = float; U: " ANY_OR_REAL
                " = float; Tout: " ANY_OR_REAL " = float; transpose_a: bool = false; "
                "transpose_b: bool = false; is_weight_const: bool = true; "
                "is_bias_const: bool = true; fused_ops: list(string) = []; "
                "input_quant_mode: {'MIN_FIRST', 'SCALED'} = 'SCALED'; "
                "output_quant_mode: {'MIN_FIRST', 'SCALED'} = 'SCALED'; "
                "leakyrelu_alpha: float = 0.2",
                listed_matmul_shape, NULL,
                "The matrix product of two tensors, and the ops in fused_ops on it.",
                .cost = LEAT_COST_CONTRACTION, .contract = OF_RANK(2)),
    LEAT_OP_ROWS_END,
};
