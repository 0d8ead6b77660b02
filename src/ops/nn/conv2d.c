// Definitions of Conv2D, DepthwiseConv2dNative and their gradients.
//
//   input [batch, height, width, in], filter [height, width, in / groups, out] -> output
//
// A convolution and its two gradients are three functions, each linear in two of (input, filter,
// dy). Hence the gradient of each of the three is made of the other two, and any order of
// differentiation works (ops/nn/convolution.h). The gradient ops take the sizes of their result as
// an input, because several sizes of an input can lead to the same size of an output.
#include "ops/nn/convolution.h"
#include "ops/op_rows.h"

// ---- Shapes -------------------------------------------------------------------------------------

static leat_status_t read_window(const leat_inference_t* c, leat_window_t* out_window) {
  return leat_window_read(c->node->attrs, c->node->attr_count, 2, out_window);
}

leat_status_t leat_conv2d_shape(leat_inference_t* c) {
  leat_partial_shape_t input, filter;
  leat_window_t window;
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank(c, leat_inference_input(c, 0), 4, &input));
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank(c, leat_inference_input(c, 1), 4, &filter));
  LEAT_RETURN_IF_ERROR(read_window(c, &window));
  LEAT_RETURN_IF_ERROR(leat_convolution_check_depths(
      input.dims[leat_window_channel_dim(&window)], filter.dims[2], filter.dims[3]));
  return leat_window_set_output(c, &window, 0, input, filter.dims, filter.dims[3]);
}

leat_status_t leat_depthwise_conv2d_shape(leat_inference_t* c) {
  leat_partial_shape_t input, filter;
  leat_window_t window;
  int64_t depth;
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank(c, leat_inference_input(c, 0), 4, &input));
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank(c, leat_inference_input(c, 1), 4, &filter));
  LEAT_RETURN_IF_ERROR(read_window(c, &window));
  LEAT_RETURN_IF_ERROR(leat_inference_merge_dim(input.dims[leat_window_channel_dim(&window)],
                                                filter.dims[2], &depth));
  LEAT_RETURN_IF_ERROR(leat_inference_multiply(depth, filter.dims[3], &depth));
  return leat_window_set_output(c, &window, 0, input, filter.dims, depth);
}

// The output has the sizes that input 0 holds: all four, or rows and columns alone, when batch and
// channels follow from dy and the filter.
static leat_status_t input_gradient_shape(leat_inference_t* c) {
  leat_partial_shape_t dy, filter, sizes, output;
  leat_window_t window;
  int64_t unused;
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank(c, leat_inference_input(c, 2), 4, &dy));
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank(c, leat_inference_input(c, 1), 4, &filter));
  LEAT_RETURN_IF_ERROR(read_window(c, &window));
  const int channel = leat_window_channel_dim(&window);
  LEAT_RETURN_IF_ERROR(leat_inference_merge_dim(dy.dims[channel], filter.dims[3], &unused));
  LEAT_RETURN_IF_ERROR(leat_inference_input_as_shape(c, 0, &sizes));
  if (sizes.rank < 0) LEAT_RETURN_IF_ERROR(leat_inference_unknown_of_rank(c, 4, &sizes));
  int64_t dims[4];
  if (sizes.rank == 4) {
    for (int d = 0; d < 4; ++d) dims[d] = sizes.dims[d];
    LEAT_RETURN_IF_ERROR(leat_inference_merge_dim(dims[0], dy.dims[0], &dims[0]));
  } else if (sizes.rank == 2) {
    dims[0] = dy.dims[0];
    dims[channel] = filter.dims[2];
    for (int i = 0; i < 2; ++i) dims[leat_window_dim(&window, i)] = sizes.dims[i];
  } else {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "input_sizes has %d values, must have 4 or 2", sizes.rank);
  }
  LEAT_RETURN_IF_ERROR(leat_inference_make(c, 4, dims, &output));
  leat_inference_set_output(c, 0, output);
  return leat_ok_status();
}

static leat_status_t shape_from_first(leat_inference_t* c) {
  return leat_window_shape_from_sizes(c, 0, 4);
}
static leat_status_t shape_from_second(leat_inference_t* c) {
  return leat_window_shape_from_sizes(c, 1, 4);
}
static leat_status_t shape_as_first(leat_inference_t* c) {
  return leat_window_shape_as_input(c, 0, 4);
}
static leat_status_t shape_as_second(leat_inference_t* c) {
  return leat_window_shape_as_input(c, 1, 4);
}

// ---- Gradients ----------------------------------------------------------------------------------

static const leat_convolution_kind_t kFull = {"Conv2D", "Conv2DBackpropInput",
                                              "Conv2DBackpropFilter"};
static const leat_convolution_kind_t kDepthwise = {"DepthwiseConv2dNative",
                                                   "DepthwiseConv2dNativeBackpropInput",
                                                   "DepthwiseConv2dNativeBackpropFilter"};

static leat_status_t conv2d_gradient(leat_gradient_t* g) {
  return leat_convolution_gradient(g, &kFull);
}
static leat_status_t conv2d_to_input_gradient(leat_gradient_t* g) {
  return leat_convolution_to_input_gradient(g, &kFull);
}
static leat_status_t conv2d_to_filter_gradient(leat_gradient_t* g) {
  return leat_convolution_to_filter_gradient(g, &kFull);
}
static leat_status_t depthwise_gradient(leat_gradient_t* g) {
  return leat_convolution_gradient(g, &kDepthwise);
}
static leat_status_t depthwise_to_input_gradient(leat_gradient_t* g) {
  return leat_convolution_to_input_gradient(g, &kDepthwise);
}
static leat_status_t depthwise_to_filter_gradient(leat_gradient_t* g) {
  return leat_convolution_to_filter_gradient(g, &kDepthwise);
}

#define PADDING                                                                         \
  "padding: {'SAME', 'VALID', 'EXPLICIT'}; explicit_paddings: list(int) = []; "          \
  "data_format: {'NHWC', 'NCHW'} = 'NHWC'; dilations: list(int) = [1, 1, 1, 1]"
#define ATTRS(types) \
  "T: {" types "}; strides: list(int); use_cudnn_on_gpu: bool = true; " PADDING
#define DEPTHWISE_ATTRS "T: {half, bfloat16, float, double}; strides: list(int); " PADDING
#define FLOATING "half, bfloat16, float, double"

const leat_op_row_t leat_conv2d_ops[] = {
    LEAT_CONVOLUTION_ROW(4, "Conv2D", ATTRS(FLOATING ", int32"), leat_conv2d_shape, conv2d_gradient,
                         "Convolution of images with a filter [height, width, in, out]."),
    LEAT_CONVOLUTION_TO_INPUT_ROW(4, "Conv2DBackpropInput", "int32", ATTRS(FLOATING ", int32"),
                                  input_gradient_shape, conv2d_to_input_gradient,
                                  "The gradient of Conv2D with respect to the images."),
    LEAT_OP_ROW("Conv2DBackpropInputV2", "input: T; filter: T; out_backprop: T", "output: T",
                ATTRS(FLOATING ", int32"), shape_as_first, NULL,
                "Conv2DBackpropInput that takes the sizes of a tensor."),
    LEAT_CONVOLUTION_TO_FILTER_ROW(4, "Conv2DBackpropFilter", ATTRS(FLOATING), shape_from_second,
                                   conv2d_to_filter_gradient,
                                   "The gradient of Conv2D with respect to the filter."),
    LEAT_OP_ROW("Conv2DBackpropFilterV2", "input: T; filter: T; out_backprop: T", "output: T",
                ATTRS(FLOATING), shape_as_second, NULL,
                "Conv2DBackpropFilter that takes the sizes of a tensor."),
    LEAT_CONVOLUTION_ROW(
        4, "DepthwiseConv2dNative", DEPTHWISE_ATTRS, leat_depthwise_conv2d_shape,
        depthwise_gradient,
        "Convolution of each channel by itself; filter [height, width, in, multiplier]."),
    LEAT_CONVOLUTION_TO_INPUT_ROW(
        4, "DepthwiseConv2dNativeBackpropInput", "int32", DEPTHWISE_ATTRS, shape_from_first,
        depthwise_to_input_gradient,
        "The gradient of DepthwiseConv2dNative with respect to the images."),
    LEAT_CONVOLUTION_TO_FILTER_ROW(
        4, "DepthwiseConv2dNativeBackpropFilter", DEPTHWISE_ATTRS, shape_from_second,
        depthwise_to_filter_gradient,
        "The gradient of DepthwiseConv2dNative with respect to the filter."),
    LEAT_OP_ROWS_END,
};
