// Conv2D, DepthwiseConv2dNative and their gradients, which are convolutions again: the gradient of
// each is made of the other two.
#include "graph/gradient.h"
#include "graph/inference.h"
#include "ops/family.h"
#include "ops/nn/window.h"

// ---- Shapes -------------------------------------------------------------------------------------

static leat_status_t read_window(const leat_inference_t* c, leat_window_t* out_window) {
  return leat_window_read(c->node->attrs, c->node->attr_count, 2, out_window);
}

// The output, of |channels|, of windows of the filter's first two sizes.
static leat_status_t set_output(leat_inference_t* c, const leat_window_t* window,
                                leat_partial_shape_t input, leat_partial_shape_t filter,
                                int64_t channels) {
  int64_t dims[4];
  dims[0] = input.dims[0];
  dims[leat_window_channel_dim(window)] = channels;
  for (int i = 0; i < 2; ++i) {
    const int d = leat_window_dim(window, i);
    LEAT_RETURN_IF_ERROR(leat_window_infer(&window->axes[i], window->padding, input.dims[d],
                                           filter.dims[i], &dims[d]));
  }
  leat_partial_shape_t output;
  LEAT_RETURN_IF_ERROR(leat_inference_make(c, 4, dims, &output));
  leat_inference_set_output(c, 0, output);
  return leat_ok_status();
}

// Input channels are a multiple of the filter's: convolution in groups.
static leat_status_t check_groups(int64_t in, int64_t filter_in, int64_t out) {
  if (in == LEAT_DIM_UNKNOWN || filter_in == LEAT_DIM_UNKNOWN) return leat_ok_status();
  if (filter_in == 0) {
    return leat_make_status(LEAT_INVALID_ARGUMENT, "Depth of filter must not be 0");
  }
  if (in % filter_in != 0) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "Depth of input (%lld) is not a multiple of input depth of filter "
                            "(%lld)", (long long)in, (long long)filter_in);
  }
  const int64_t groups = in / filter_in;
  if (in == filter_in || out == LEAT_DIM_UNKNOWN || (groups > 0 && out % groups == 0)) {
    return leat_ok_status();
  }
  return leat_make_status(LEAT_INVALID_ARGUMENT,
                          "Depth of output (%lld) is not a multiple of the number of groups (%lld)",
                          (long long)out, (long long)groups);
}

static leat_status_t conv2d_shape(leat_inference_t* c) {
  leat_partial_shape_t input, filter;
  leat_window_t window;
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank(c, leat_inference_input(c, 0), 4, &input));
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank(c, leat_inference_input(c, 1), 4, &filter));
  LEAT_RETURN_IF_ERROR(read_window(c, &window));
  LEAT_RETURN_IF_ERROR(check_groups(input.dims[leat_window_channel_dim(&window)], filter.dims[2],
                                    filter.dims[3]));
  return set_output(c, &window, input, filter, filter.dims[3]);
}

static leat_status_t depthwise_shape(leat_inference_t* c) {
  leat_partial_shape_t input, filter;
  leat_window_t window;
  int64_t depth;
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank(c, leat_inference_input(c, 0), 4, &input));
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank(c, leat_inference_input(c, 1), 4, &filter));
  LEAT_RETURN_IF_ERROR(read_window(c, &window));
  LEAT_RETURN_IF_ERROR(leat_inference_merge_dim(input.dims[leat_window_channel_dim(&window)],
                                                filter.dims[2], &depth));
  LEAT_RETURN_IF_ERROR(leat_inference_multiply(depth, filter.dims[3], &depth));
  return set_output(c, &window, input, filter, depth);
}

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

// The output has the sizes that input |index| holds.
static leat_status_t shape_from_sizes(leat_inference_t* c, int index) {
  leat_partial_shape_t sizes;
  LEAT_RETURN_IF_ERROR(leat_inference_input_as_shape(c, index, &sizes));
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank(c, sizes, 4, &sizes));
  leat_inference_set_output(c, 0, sizes);
  return leat_ok_status();
}
static leat_status_t shape_from_first(leat_inference_t* c) { return shape_from_sizes(c, 0); }
static leat_status_t shape_from_second(leat_inference_t* c) { return shape_from_sizes(c, 1); }

static leat_status_t shape_as_input(leat_inference_t* c, int index) {
  leat_partial_shape_t shape;
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank(c, leat_inference_input(c, index), 4, &shape));
  leat_inference_set_output(c, 0, shape);
  return leat_ok_status();
}
static leat_status_t shape_as_first(leat_inference_t* c) { return shape_as_input(c, 0); }
static leat_status_t shape_as_second(leat_inference_t* c) { return shape_as_input(c, 1); }

// ---- Gradients ----------------------------------------------------------------------------------

// The three ops of a kind.
typedef struct trio_s {
  const char *forward, *to_input, *to_filter;
} trio_t;
static const trio_t kFull = {"Conv2D", "Conv2DBackpropInput", "Conv2DBackpropFilter"};
static const trio_t kDepthwise = {"DepthwiseConv2dNative", "DepthwiseConv2dNativeBackpropInput",
                                  "DepthwiseConv2dNativeBackpropFilter"};

// Of the same windows as the node.
static leat_output_t build_like(leat_gradient_t* g, const char* op, leat_outputs_t inputs) {
  static const char* const names[] = {"strides",     "padding",   "explicit_paddings",
                                      "data_format", "dilations", "use_cudnn_on_gpu"};
  leat_attr_t attrs[LEAT_ARRAY_SIZE(names)];
  int count = 0;
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(names); ++i) {
    const leat_string_view_t name = leat_string_view_from(names[i]);
    const leat_attr_value_t* value = leat_node_attr(leat_gradient_node(g), name);
    if (value) attrs[count++] = (leat_attr_t){name, *value};
  }
  return leat_build(&g->builder, op, inputs, (leat_attrs_t){attrs, count});
}

static leat_status_t forward_gradient(leat_gradient_t* g, const trio_t* ops) {
  leat_builder_t* b = &g->builder;
  const leat_output_t input = leat_gradient_input(g, 0), filter = leat_gradient_input(g, 1);
  const leat_output_t dy = leat_gradient_of_output(g, 0);
  const leat_output_t input_sizes = leat_build_shape_of(b, input);
  const leat_output_t filter_sizes = leat_build_shape_of(b, filter);
  leat_gradient_set_input(g, 0,
                          build_like(g, ops->to_input, LEAT_INPUTS(input_sizes, filter, dy)));
  leat_gradient_set_input(g, 1,
                          build_like(g, ops->to_filter, LEAT_INPUTS(input, filter_sizes, dy)));
  return leat_ok_status();
}

// Inputs (sizes, filter, dy).
static leat_status_t to_input_gradient(leat_gradient_t* g, const trio_t* ops) {
  const leat_output_t filter = leat_gradient_input(g, 1), dy = leat_gradient_input(g, 2);
  const leat_output_t ddx = leat_gradient_of_output(g, 0);
  const leat_output_t sizes = leat_build_shape_of(&g->builder, filter);
  leat_gradient_set_input(g, 1, build_like(g, ops->to_filter, LEAT_INPUTS(ddx, sizes, dy)));
  leat_gradient_set_input(g, 2, build_like(g, ops->forward, LEAT_INPUTS(ddx, filter)));
  return leat_ok_status();
}

// Inputs (input, sizes, dy).
static leat_status_t to_filter_gradient(leat_gradient_t* g, const trio_t* ops) {
  const leat_output_t input = leat_gradient_input(g, 0), dy = leat_gradient_input(g, 2);
  const leat_output_t ddf = leat_gradient_of_output(g, 0);
  const leat_output_t sizes = leat_build_shape_of(&g->builder, input);
  leat_gradient_set_input(g, 0, build_like(g, ops->to_input, LEAT_INPUTS(sizes, ddf, dy)));
  leat_gradient_set_input(g, 2, build_like(g, ops->forward, LEAT_INPUTS(input, ddf)));
  return leat_ok_status();
}

static leat_status_t conv2d_gradient(leat_gradient_t* g) { return forward_gradient(g, &kFull); }
static leat_status_t conv2d_to_input_gradient(leat_gradient_t* g) {
  return to_input_gradient(g, &kFull);
}
static leat_status_t conv2d_to_filter_gradient(leat_gradient_t* g) {
  return to_filter_gradient(g, &kFull);
}
static leat_status_t depthwise_gradient(leat_gradient_t* g) {
  return forward_gradient(g, &kDepthwise);
}
static leat_status_t depthwise_to_input_gradient(leat_gradient_t* g) {
  return to_input_gradient(g, &kDepthwise);
}
static leat_status_t depthwise_to_filter_gradient(leat_gradient_t* g) {
  return to_filter_gradient(g, &kDepthwise);
}

#define PADDING                                                                         \
  "padding: {'SAME', 'VALID', 'EXPLICIT'}; explicit_paddings: list(int) = []; "          \
  "data_format: {'NHWC', 'NCHW'} = 'NHWC'; dilations: list(int) = [1, 1, 1, 1]"
#define ATTRS(types) \
  "T: {" types "}; strides: list(int); use_cudnn_on_gpu: bool = true; " PADDING
#define DEPTHWISE_ATTRS "T: {half, bfloat16, float, double}; strides: list(int); " PADDING
#define FLOATING "half, bfloat16, float, double"

#define ROW(op, ins, types, shape_fn, ...) \
  LEAT_OP_ROW(op, ins, "output: T", types, shape_fn, __VA_ARGS__)

const leat_op_row_t leat_conv2d_ops[] = {
    {.name = "Conv2D",
     .cost = LEAT_COST_CONVOLUTION,
     .inputs = "input: T; filter: T",
     .outputs = "output: T",
     .attrs = ATTRS(FLOATING ", int32"),
     .shape = conv2d_shape,
     .gradient = conv2d_gradient,
     .contract = LEAT_RULES(LEAT_RULE_RANK(0, 4), LEAT_RULE_RANK(1, 4)),
     .doc = "Convolution of images with a filter [height, width, in, out]."},
    {.name = "Conv2DBackpropInput",
     .cost = LEAT_COST_CONVOLUTION,
     .inputs = "input_sizes: int32; filter: T; out_backprop: T",
     .outputs = "output: T",
     .attrs = ATTRS(FLOATING ", int32"),
     .shape = input_gradient_shape,
     .gradient = conv2d_to_input_gradient,
     .contract = LEAT_RULES(LEAT_RULE_VECTOR(0), LEAT_RULE_RANK(1, 4), LEAT_RULE_RANK(2, 4)),
     .doc = "The gradient of Conv2D with respect to the images."},
    ROW("Conv2DBackpropInputV2", "input: T; filter: T; out_backprop: T", ATTRS(FLOATING ", int32"),
        shape_as_first, NULL, "Conv2DBackpropInput that takes the sizes of a tensor."),
    {.name = "Conv2DBackpropFilter",
     .cost = LEAT_COST_CONVOLUTION,
     .inputs = "input: T; filter_sizes: int32; out_backprop: T",
     .outputs = "output: T",
     .attrs = ATTRS(FLOATING),
     .shape = shape_from_second,
     .gradient = conv2d_to_filter_gradient,
     .contract = LEAT_RULES(LEAT_RULE_RANK(0, 4), LEAT_RULE_VECTOR(1), LEAT_RULE_RANK(2, 4)),
     .doc = "The gradient of Conv2D with respect to the filter."},
    ROW("Conv2DBackpropFilterV2", "input: T; filter: T; out_backprop: T", ATTRS(FLOATING),
        shape_as_second, NULL, "Conv2DBackpropFilter that takes the sizes of a tensor."),
    {.name = "DepthwiseConv2dNative",
     .cost = LEAT_COST_CONVOLUTION,
     .inputs = "input: T; filter: T",
     .outputs = "output: T",
     .attrs = DEPTHWISE_ATTRS,
     .shape = depthwise_shape,
     .gradient = depthwise_gradient,
     .contract = LEAT_RULES(LEAT_RULE_RANK(0, 4), LEAT_RULE_RANK(1, 4)),
     .doc = "Convolution of each channel by itself; filter [height, width, in, multiplier]."},
    {.name = "DepthwiseConv2dNativeBackpropInput",
     .cost = LEAT_COST_CONVOLUTION,
     .inputs = "input_sizes: int32; filter: T; out_backprop: T",
     .outputs = "output: T",
     .attrs = DEPTHWISE_ATTRS,
     .shape = shape_from_first,
     .gradient = depthwise_to_input_gradient,
     .contract = LEAT_RULES(LEAT_RULE_VECTOR(0), LEAT_RULE_RANK(1, 4), LEAT_RULE_RANK(2, 4)),
     .doc = "The gradient of DepthwiseConv2dNative with respect to the images."},
    {.name = "DepthwiseConv2dNativeBackpropFilter",
     .cost = LEAT_COST_CONVOLUTION,
     .inputs = "input: T; filter_sizes: int32; out_backprop: T",
     .outputs = "output: T",
     .attrs = DEPTHWISE_ATTRS,
     .shape = shape_from_second,
     .gradient = depthwise_to_filter_gradient,
     .contract = LEAT_RULES(LEAT_RULE_RANK(0, 4), LEAT_RULE_VECTOR(1), LEAT_RULE_RANK(2, 4)),
     .doc = "The gradient of DepthwiseConv2dNative with respect to the filter."},
    LEAT_OP_ROWS_END,
};
