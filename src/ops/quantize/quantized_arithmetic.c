// Definitions of arithmetic on quantised numbers: integers of few bits that stand for real numbers
// over a range. Each quantised input is a tensor of integers with two float inputs beside it, the
// ends of its range, and each quantised output has two float outputs.
//
//   8 bits   QuantizedConv2D, QuantizedMatMul, QuantizedBiasAdd  -> 32 bits over a wide range
//   32 bits  QuantizeDownAndShrinkRange, or RequantizationRange and Requantize  -> 8 bits
//   8 bits   QuantizedRelu, QuantizedMaxPool, QuantizedConcat  -> 8 bits
//
// Graphs that were quantised for inference are chains of these. The ops PerChannel have a range for
// each slice along the last dimension. None of the ops has a gradient. QuantizedConcat,
// QuantizedReshape and QuantizedResizeBilinear are defined beside the ops that they resemble, in
// ops/array and ops/image, and products with a bias and more in quantized_fused.c.
#include "graph/inference/inference_index.h"
#include "ops/nn/convolution.h"
#include "ops/op_rows.h"

// ---- Shapes -------------------------------------------------------------------------------------

// Inputs |first| to |last| must be scalars.
static leat_status_t check_scalars(leat_inference_t* c, int first, int last) {
  for (int i = first; i <= last; ++i) LEAT_RETURN_IF_ERROR(leat_shape_check_scalar(c, i));
  return leat_ok_status();
}

// Outputs |first| and |first| + 1 are the scalars of a range.
static void set_range(leat_inference_t* c, int first) {
  leat_inference_set_output(c, first, leat_partial_shape_scalar());
  leat_inference_set_output(c, first + 1, leat_partial_shape_scalar());
}

static leat_status_t unchanged(leat_inference_t* c, int last_scalar) {
  LEAT_RETURN_IF_ERROR(leat_shape_unchanged(c));
  LEAT_RETURN_IF_ERROR(check_scalars(c, 1, last_scalar));
  set_range(c, 1);
  return leat_ok_status();
}
// input, min, max
static leat_status_t unary_shape(leat_inference_t* c) { return unchanged(c, 2); }
// features, max_value, min, max
static leat_status_t relu_x_shape(leat_inference_t* c) { return unchanged(c, 3); }
// input, min, max, requested min, requested max
static leat_status_t requantize_shape(leat_inference_t* c) { return unchanged(c, 4); }

static leat_status_t range_shape(leat_inference_t* c) {
  LEAT_RETURN_IF_ERROR(check_scalars(c, 1, 2));
  set_range(c, 0);
  return leat_ok_status();
}

static leat_status_t range_per_channel_shape(leat_inference_t* c) {
  leat_partial_shape_t unused;
  for (int i = 1; i <= 2; ++i) {
    LEAT_RETURN_IF_ERROR(leat_inference_with_rank(c, leat_inference_input(c, i), 1, &unused));
  }
  set_range(c, 0);
  return leat_ok_status();
}

static leat_status_t per_channel_shape(leat_inference_t* c) {
  leat_partial_shape_t unused;
  for (int i = 1; i <= 2; ++i) {
    LEAT_RETURN_IF_ERROR(leat_inference_with_rank(c, leat_inference_input(c, i), 1, &unused));
  }
  LEAT_RETURN_IF_ERROR(check_scalars(c, 3, 4));
  set_range(c, 1);
  return leat_shape_unchanged(c);
}

static leat_status_t mul_shape(leat_inference_t* c) {
  set_range(c, 1);
  return leat_shape_broadcast_binary(c);
}
static leat_status_t add_shape(leat_inference_t* c) {
  LEAT_RETURN_IF_ERROR(check_scalars(c, 2, 5));
  return mul_shape(c);
}

// x [..., channels], bias [channels]
static leat_status_t bias_shape(leat_inference_t* c) {
  leat_partial_shape_t x = leat_inference_input(c, 0), bias, before, shape;
  LEAT_RETURN_IF_ERROR(check_scalars(c, 2, 5));
  set_range(c, 1);
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank_at_least(c, x, 2));
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank(c, leat_inference_input(c, 1), 1, &bias));
  if (x.rank < 0) return leat_ok_status();
  LEAT_RETURN_IF_ERROR(leat_inference_subshape(c, x, -1, INT32_MAX, &shape));
  LEAT_RETURN_IF_ERROR(leat_inference_merge(c, shape, bias, &bias));
  LEAT_RETURN_IF_ERROR(leat_inference_subshape(c, x, 0, -1, &before));
  LEAT_RETURN_IF_ERROR(leat_inference_concatenate(c, before, bias, &shape));
  leat_inference_set_output(c, 0, shape);
  return leat_ok_status();
}

static leat_status_t matmul_shape(leat_inference_t* c) {
  leat_partial_shape_t a, b, shape;
  int64_t unused;
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank(c, leat_inference_input(c, 0), 2, &a));
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank(c, leat_inference_input(c, 1), 2, &b));
  LEAT_RETURN_IF_ERROR(check_scalars(c, 2, 5));
  const bool flips_a = leat_node_attr_bool(c->node, "transpose_a", false);
  const bool flips_b = leat_node_attr_bool(c->node, "transpose_b", false);
  LEAT_RETURN_IF_ERROR(leat_inference_merge_dim(a.dims[!flips_a], b.dims[flips_b], &unused));
  const int64_t dims[] = {a.dims[flips_a], b.dims[!flips_b]};
  LEAT_RETURN_IF_ERROR(leat_inference_make(c, 2, dims, &shape));
  leat_inference_set_output(c, 0, shape);
  set_range(c, 1);
  return leat_ok_status();
}

static leat_status_t conv2d_shape(leat_inference_t* c) {
  LEAT_RETURN_IF_ERROR(leat_conv2d_shape(c));
  LEAT_RETURN_IF_ERROR(check_scalars(c, 2, 5));
  set_range(c, 1);
  return leat_ok_status();
}

static leat_status_t pool_shape(leat_inference_t* c, int spatial) {
  leat_partial_shape_t input;
  leat_window_t w;
  LEAT_RETURN_IF_ERROR(
      leat_inference_with_rank(c, leat_inference_input(c, 0), spatial + 2, &input));
  LEAT_RETURN_IF_ERROR(leat_window_read(c->node->attrs, c->node->attr_count, spatial, &w));
  LEAT_RETURN_IF_ERROR(check_scalars(c, 1, 2));
  set_range(c, 1);
  const int64_t sizes[] = {w.axes[0].size, w.axes[1].size, w.axes[2].size};
  return leat_window_set_output(c, &w, 0, input, sizes, input.dims[leat_window_channel_dim(&w)]);
}
static leat_status_t pool_2d_shape(leat_inference_t* c) { return pool_shape(c, 2); }
static leat_status_t pool_3d_shape(leat_inference_t* c) { return pool_shape(c, 3); }

static leat_status_t instance_norm_shape(leat_inference_t* c) {
  leat_partial_shape_t x;
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank(c, leat_inference_input(c, 0), 4, &x));
  LEAT_RETURN_IF_ERROR(check_scalars(c, 1, 2));
  leat_inference_set_output(c, 0, x);
  set_range(c, 1);
  return leat_ok_status();
}

// Inputs 3, 6, 9 and 12 are the mean, variance, beta and gamma of each channel; every input has its
// range behind it.
static leat_status_t batch_norm_shape(leat_inference_t* c) {
  leat_partial_shape_t x, of_channel, shape;
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank(c, leat_inference_input(c, 0), 4, &x));
  int64_t channels = x.dims[3];
  for (int i = 3; i <= 12; i += 3) {
    LEAT_RETURN_IF_ERROR(leat_inference_with_rank(c, leat_inference_input(c, i), 1, &of_channel));
    LEAT_RETURN_IF_ERROR(leat_inference_merge_dim(channels, of_channel.dims[0], &channels));
  }
  const int64_t dims[] = {x.dims[0], x.dims[1], x.dims[2], channels};
  LEAT_RETURN_IF_ERROR(leat_inference_make(c, 4, dims, &shape));
  leat_inference_set_output(c, 0, shape);
  set_range(c, 1);
  return leat_ok_status();
}

// ---- Rows ---------------------------------------------------------------------------------------

#define ANY "{qint8, quint8, qint32, qint16, quint16}"
#define BINARY_ATTRS "T1: " ANY "; T2: " ANY "; Toutput: " ANY " = qint32"
#define UNARY_ATTRS "Tinput: " ANY "; out_type: " ANY
#define RELU_ATTRS "Tinput: " ANY "; out_type: " ANY " = quint8"
#define WINDOW_ATTRS \
  "T: " ANY "; ksize: list(int); strides: list(int); padding: {'SAME', 'VALID'}"

// The contracts: the ends of ranges are scalars, or tensors of one element.
#define RANGE(index) LEAT_RULE_SCALAR(index), LEAT_RULE_SCALAR((index) + 1)
#define COUNTED_RANGE(index) LEAT_RULE_COUNT(index, 1), LEAT_RULE_COUNT((index) + 1, 1)
#define BINARY_CONTRACT LEAT_RULES(RANGE(2), RANGE(4))
#define UNARY_CONTRACT LEAT_RULES(RANGE(1))

const leat_op_row_t leat_quantized_arithmetic_ops[] = {
    LEAT_OP_ROW("QuantizeDownAndShrinkRange", "input: Tinput; input_min: float; input_max: float",
                "output: out_type; output_min: float; output_max: float", UNARY_ATTRS, unary_shape,
                NULL, "The input over the range that it covers, in fewer bits.",
                .contract = UNARY_CONTRACT),
    LEAT_OP_ROW("RequantizationRange", "input: Tinput; input_min: float; input_max: float",
                "output_min: float; output_max: float", "Tinput: " ANY, range_shape, NULL,
                "The range that the input covers, widened to contain 0.",
                .contract = UNARY_CONTRACT),
    LEAT_OP_ROW("Requantize",
                "input: Tinput; input_min: float; input_max: float; requested_output_min: float; "
                "requested_output_max: float",
                "output: out_type; output_min: float; output_max: float", UNARY_ATTRS,
                requantize_shape, NULL, "The input over another range, in fewer bits.",
                .contract = LEAT_RULES(RANGE(1), RANGE(3))),
    LEAT_OP_ROW("RequantizationRangePerChannel", "input: T; input_min: float; input_max: float",
                "output_min: float; output_max: float",
                "T: " ANY " = qint32; clip_value_max: float", range_per_channel_shape, NULL,
                "The range that an input with a range a channel covers, at most clip_value_max.",
                .contract = LEAT_RULES(LEAT_RULE_RANK(0, 4), LEAT_RULE_NOT_EMPTY(0),
                                       LEAT_RULE_VECTOR(1), LEAT_RULE_VECTOR(2))),
    LEAT_OP_ROW("RequantizePerChannel",
                "input: T; input_min: float; input_max: float; requested_output_min: float; "
                "requested_output_max: float",
                "output: out_type; output_min: float; output_max: float",
                "T: " ANY " = qint32; out_type: " ANY " = quint8", per_channel_shape, NULL,
                "An input with a range a channel over one range, in fewer bits.",
                .contract = LEAT_RULES(LEAT_RULE_RANK(0, 4), LEAT_RULE_VECTOR(1),
                                       LEAT_RULE_VECTOR(2), RANGE(3))),
    LEAT_OP_ROW("QuantizedAdd",
                "x: T1; y: T2; min_x: float; max_x: float; min_y: float; max_y: float",
                "z: Toutput; min_z: float; max_z: float", BINARY_ATTRS, add_shape, NULL,
                "The sum of x and y, one of which may be a scalar or a vector.",
                .contract = BINARY_CONTRACT),
    LEAT_OP_ROW("QuantizedMul",
                "x: T1; y: T2; min_x: float; max_x: float; min_y: float; max_y: float",
                "z: Toutput; min_z: float; max_z: float", BINARY_ATTRS, mul_shape, NULL,
                "The product of x and y, one of which may be a scalar or a vector.",
                .contract = BINARY_CONTRACT),
    LEAT_OP_ROW("QuantizedBiasAdd",
                "input: T1; bias: T2; min_input: float; max_input: float; min_bias: float; "
                "max_bias: float",
                "output: out_type; min_out: float; max_out: float",
                "T1: " ANY "; T2: " ANY "; out_type: " ANY, bias_shape, NULL,
                "The sum of the input and a vector along its last dimension.",
                .contract = BINARY_CONTRACT),
    LEAT_OP_ROW("QuantizedMatMul",
                "a: T1; b: T2; min_a: float; max_a: float; min_b: float; max_b: float",
                "out: Toutput; min_out: float; max_out: float",
                BINARY_ATTRS "; transpose_a: bool = false; transpose_b: bool = false; "
                             "Tactivation: " ANY " = quint8",
                matmul_shape, NULL, "The matrix product of a and b.",
                .cost = LEAT_COST_CONTRACTION,
                .contract = LEAT_RULES(LEAT_RULE_MATRIX(0), LEAT_RULE_MATRIX(1), RANGE(2),
                                       RANGE(4))),
    LEAT_OP_ROW("QuantizedConv2D",
                "input: Tinput; filter: Tfilter; min_input: float; max_input: float; min_filter: "
                "float; max_filter: float",
                "output: out_type; min_output: float; max_output: float",
                "Tinput: " ANY "; Tfilter: " ANY "; out_type: " ANY
                " = qint32; strides: list(int); padding: {'SAME', 'VALID'}; dilations: list(int) "
                "= [1, 1, 1, 1]",
                conv2d_shape, NULL, "Convolution of images with a filter [height, width, in, out].",
                .cost = LEAT_COST_CONVOLUTION,
                .contract = LEAT_RULES(LEAT_RULE_RANK(0, 4), LEAT_RULE_RANK(1, 4), RANGE(2),
                                       RANGE(4))),
    LEAT_OP_ROW("QuantizedRelu",
                "features: Tinput; min_features: float; max_features: float",
                "activations: out_type; min_activations: float; max_activations: float",
                RELU_ATTRS, unary_shape, NULL, "The features where they are positive, else 0.",
                .contract = UNARY_CONTRACT),
    LEAT_OP_ROW("QuantizedRelu6",
                "features: Tinput; min_features: float; max_features: float",
                "activations: out_type; min_activations: float; max_activations: float",
                RELU_ATTRS, unary_shape, NULL, "The features limited to [0, 6].",
                .contract = UNARY_CONTRACT),
    LEAT_OP_ROW("QuantizedReluX",
                "features: Tinput; max_value: float; min_features: float; max_features: float",
                "activations: out_type; min_activations: float; max_activations: float",
                RELU_ATTRS, relu_x_shape, NULL, "The features limited to [0, max_value]."),
    LEAT_OP_ROW("QuantizedMaxPool", "input: T; min_input: float; max_input: float",
                "output: T; min_output: float; max_output: float", WINDOW_ATTRS, pool_2d_shape,
                NULL, "The greatest integer of each window.", .contract = UNARY_CONTRACT),
    LEAT_OP_ROW("QuantizedAvgPool", "input: T; min_input: float; max_input: float",
                "output: T; min_output: float; max_output: float", WINDOW_ATTRS, pool_2d_shape,
                NULL, "The mean of each window.", .contract = UNARY_CONTRACT),
    LEAT_OP_ROW("_QuantizedMaxPool3D", "input: T; min_input: float; max_input: float",
                "output: T; min_output: float; max_output: float",
                "ksize: list(int) >= 5; strides: list(int) >= 5; padding: {'SAME', 'VALID'}; "
                "data_format: {'NDHWC', 'NCDHW'} = 'NDHWC'; T: " ANY,
                pool_3d_shape, NULL, "The greatest integer of each window over planes, rows and "
                "columns.", .contract = UNARY_CONTRACT),
    LEAT_OP_ROW("QuantizedInstanceNorm", "x: T; x_min: float; x_max: float",
                "y: T; y_min: float; y_max: float",
                "T: " ANY "; output_range_given: bool = false; given_y_min: float = 0.0; "
                "given_y_max: float = 0.0; variance_epsilon: float = 1e-05; min_separation: float "
                "= 0.001",
                instance_norm_shape, NULL,
                "Each channel of each image, shifted and scaled to mean 0 and variance 1.",
                .contract = LEAT_RULES(LEAT_RULE_RANK(0, 4), RANGE(1))),
    LEAT_OP_ROW("QuantizedBatchNormWithGlobalNormalization",
                "t: Tinput; t_min: float; t_max: float; m: Tinput; m_min: float; m_max: float; "
                "v: Tinput; v_min: float; v_max: float; beta: Tinput; beta_min: float; beta_max: "
                "float; gamma: Tinput; gamma_min: float; gamma_max: float",
                "result: out_type; result_min: float; result_max: float",
                UNARY_ATTRS "; variance_epsilon: float; scale_after_normalization: bool",
                batch_norm_shape, NULL,
                "Each channel shifted and scaled by a mean and a variance, then by beta and gamma.",
                .contract = LEAT_RULES(LEAT_RULE_RANK(0, 4), COUNTED_RANGE(1), LEAT_RULE_VECTOR(3),
                                       COUNTED_RANGE(4), LEAT_RULE_VECTOR(6), COUNTED_RANGE(7),
                                       LEAT_RULE_VECTOR(9), COUNTED_RANGE(10),
                                       LEAT_RULE_VECTOR(12), COUNTED_RANGE(13),
                                       LEAT_RULE_SAME_DIM(0, 3, 3, 0),
                                       LEAT_RULE_SAME_DIM(0, 3, 6, 0),
                                       LEAT_RULE_SAME_DIM(0, 3, 9, 0),
                                       LEAT_RULE_SAME_DIM(0, 3, 12, 0))),
    LEAT_OP_ROWS_END,
};
