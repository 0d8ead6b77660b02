// Definitions of Conv3D with its gradients, of Conv, and of _FusedConv3D. conv3d_cpu.c has the
// kernels.
//
//   Conv3D        input [batch, planes, rows, columns, in]
//                 filter [planes, rows, columns, in / groups, out]
//   Conv          the same in two or three dimensions, with any number of batch dimensions
//   _FusedConv3D  Conv3D and what follows it, which TensorFlow's remapper puts in the place of a
//                 Conv3D, BiasAdd and the like, and of a Pad before them ("padding_list")
//
// Conv3D and the gradients with respect to its input and its filter are three ops. Each is linear
// in its two tensors, so that the gradient of each is made of the other two (ops/nn/convolution.h).
// The first versions of the gradient ops take a tensor instead of its sizes. They serve old graphs
// only, and have no gradient of their own.
#include "ops/nn/convolution.h"
#include "ops/op_rows.h"

// ---- Shapes -------------------------------------------------------------------------------------

static leat_status_t conv3d_shape(leat_inference_t* c) {
  leat_partial_shape_t input, filter;
  leat_window_t window;
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank(c, leat_inference_input(c, 0), 5, &input));
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank(c, leat_inference_input(c, 1), 5, &filter));
  LEAT_RETURN_IF_ERROR(leat_window_read(c->node->attrs, c->node->attr_count, 3, &window));
  LEAT_RETURN_IF_ERROR(leat_convolution_check_depths(
      input.dims[leat_window_channel_dim(&window)], filter.dims[3], filter.dims[4]));
  return leat_window_set_output(c, &window, 0, input, filter.dims, filter.dims[4]);
}

// batch_dims says how many dimensions come before the spatial ones and the channels. With all of
// them but one taken away, the ranks of input and filter must agree.
static leat_status_t conv_shape(leat_inference_t* c) {
  const leat_partial_shape_t input = leat_inference_input(c, 0);
  const leat_partial_shape_t filter = leat_inference_input(c, 1);
  leat_window_t window;
  if (input.rank < 0 || filter.rank < 0) return leat_ok_status();
  const int64_t batch_dims = leat_node_attr_int(c->node, "batch_dims", 1);
  const int64_t groups = leat_node_attr_int(c->node, "groups", 1);
  const int64_t rank = batch_dims < 0 ? 0 : input.rank + 1 - batch_dims;
  if (batch_dims < 0 || groups < 1) {
    return leat_make_status(LEAT_INVALID_ARGUMENT, "batch_dims is %lld, must be >= 0, groups is "
                            "%lld, must be positive", (long long)batch_dims, (long long)groups);
  }
  if ((rank != 4 && rank != 5) || filter.rank != rank) {
    return leat_make_status(LEAT_INVALID_ARGUMENT, "Input and filter must be of rank 4 or 5, "
                            "excluding extra batch dimensions, and alike, but are %lld and %d",
                            (long long)rank, filter.rank);
  }
  const int skip = (int)batch_dims - 1;
  LEAT_RETURN_IF_ERROR(
      leat_window_read(c->node->attrs, c->node->attr_count, (int)rank - 2, &window));
  if (window.spatial == 3 && window.padding == LEAT_PADDING_EXPLICIT) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "Explicit padding not supported for 3D Convolution");
  }
  const int64_t in = input.dims[skip + leat_window_channel_dim(&window)];
  const int64_t out = filter.dims[rank - 1];
  if ((in != LEAT_DIM_UNKNOWN && in % groups != 0) ||
      (out != LEAT_DIM_UNKNOWN && out % groups != 0)) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "Number of groups should divide input and output depth");
  }
  const int64_t filter_in = filter.dims[rank - 2];
  if (in != LEAT_DIM_UNKNOWN && filter_in != LEAT_DIM_UNKNOWN && in / groups != filter_in) {
    return leat_make_status(LEAT_INVALID_ARGUMENT, "Depth of input (%lld) does not fit the input "
                            "depth of filter (%lld)", (long long)in, (long long)filter_in);
  }
  LEAT_RETURN_IF_ERROR(leat_convolution_check_depths(in, filter_in, out));
  return leat_window_set_output(c, &window, skip, input, filter.dims, out);
}

static leat_status_t from_first_sizes(leat_inference_t* c) {
  return leat_window_shape_from_sizes(c, 0, 5);
}
static leat_status_t from_second_sizes(leat_inference_t* c) {
  return leat_window_shape_from_sizes(c, 1, 5);
}
static leat_status_t as_first(leat_inference_t* c) { return leat_window_shape_as_input(c, 0, 5); }
static leat_status_t as_second(leat_inference_t* c) { return leat_window_shape_as_input(c, 1, 5); }

// ---- Gradients ----------------------------------------------------------------------------------

static const leat_convolution_kind_t kVolumes = {"Conv3D", "Conv3DBackpropInputV2",
                                                 "Conv3DBackpropFilterV2"};

static leat_status_t conv3d_gradient(leat_gradient_t* g) {
  return leat_convolution_gradient(g, &kVolumes);
}
static leat_status_t to_input_gradient(leat_gradient_t* g) {
  return leat_convolution_to_input_gradient(g, &kVolumes);
}
static leat_status_t to_filter_gradient(leat_gradient_t* g) {
  return leat_convolution_to_filter_gradient(g, &kVolumes);
}

#define FLOATING "T: {half, bfloat16, float, double}"
#define OLD "T: {half, float, double}"
#define WINDOW "; strides: list(int) >= 5; padding: {'SAME', 'VALID'}"
#define FORMAT "; data_format: {'NDHWC', 'NCDHW'} = 'NDHWC'"
#define DILATIONS "; dilations: list(int) = [1, 1, 1, 1, 1]"

#define OLD_ROW(op, shape_fn)                                                                   \
  LEAT_OP_ROW(op, "input: T; filter: T; out_backprop: T", "output: T", OLD WINDOW DILATIONS,   \
              shape_fn, NULL, op "V2 that takes the sizes of a tensor.",                       \
              .cost = LEAT_COST_CONVOLUTION, .deprecated_since = 10,                           \
              .deprecation = "Use " op "V2",                                                   \
              .contract = LEAT_RULES(LEAT_RULE_RANK(0, 5), LEAT_RULE_RANK(1, 5),               \
                                     LEAT_RULE_RANK(2, 5)))

const leat_op_row_t leat_conv3d_ops[] = {
    {.name = "Conv",
     .inputs = "input: T; filter: T",
     .outputs = "output: T",
     .attrs = "T: {half, bfloat16, float, double, int32}; strides: list(int); padding: {'SAME', "
              "'VALID', 'EXPLICIT'}; explicit_paddings: list(int) = []; data_format: "
              "{'CHANNELS_FIRST', 'CHANNELS_LAST'} = 'CHANNELS_LAST'; dilations: list(int) = []; "
              "batch_dims: int = 1; groups: int = 1",
     .shape = conv_shape,
     .doc = "Convolution in two or three dimensions, of any number of batch dimensions."},
    LEAT_CONVOLUTION_ROW(5, "Conv3D", FLOATING WINDOW FORMAT DILATIONS, conv3d_shape,
                         conv3d_gradient,
                         "Convolution of volumes with a filter [planes, rows, columns, in, out]."),
    {.name = "_FusedConv3D",
     .cost = LEAT_COST_CONVOLUTION,
     .inputs = "input: T; filter: T; args: num_args * T",
     .outputs = "output: T",
     .attrs = "T: {bfloat16, float, half}; num_args: int >= 0" WINDOW FORMAT DILATIONS
              "; padding_list: list(int) = []; fused_ops: list(string) = []; "
              "epsilon: float = 0.0001; leakyrelu_alpha: float = 0.2",
     .shape = conv3d_shape,
     .contract = LEAT_RULES(LEAT_RULE_RANK(0, 5), LEAT_RULE_RANK(1, 5)),
     .doc = "Conv3D, and the ops in fused_ops on its result."},
    OLD_ROW("Conv3DBackpropInput", as_first),
    OLD_ROW("Conv3DBackpropFilter", as_second),
    LEAT_CONVOLUTION_TO_INPUT_ROW(
        5, "Conv3DBackpropInputV2", "Tshape",
        FLOATING WINDOW FORMAT DILATIONS "; Tshape: {int32, int64} = int32", from_first_sizes,
        to_input_gradient, "The gradient of Conv3D with respect to the volumes."),
    LEAT_CONVOLUTION_TO_FILTER_ROW(5, "Conv3DBackpropFilterV2", FLOATING WINDOW FORMAT DILATIONS,
                                   from_second_sizes, to_filter_gradient,
                                   "The gradient of Conv3D with respect to the filter."),
    LEAT_OP_ROWS_END,
};
