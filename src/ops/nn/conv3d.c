// Conv3D with its gradients, which are convolutions again, and Conv, of two or three dimensions.
#include "graph/gradient.h"
#include "graph/inference.h"
#include "ops/family.h"
#include "ops/nn/window.h"

// ---- Shapes -------------------------------------------------------------------------------------

static leat_status_t check_depths(int64_t in, int64_t filter_in, int64_t out, int64_t groups) {
  if (in == LEAT_DIM_UNKNOWN || filter_in == LEAT_DIM_UNKNOWN) return leat_ok_status();
  if (filter_in == 0) {
    return leat_make_status(LEAT_INVALID_ARGUMENT, "Depth of filter must not be 0");
  }
  if (in % filter_in != 0 || (groups > 0 && in / filter_in != groups)) {
    return leat_make_status(LEAT_INVALID_ARGUMENT, "Depth of input (%lld) does not fit the input "
                            "depth of filter (%lld)", (long long)in, (long long)filter_in);
  }
  const int64_t parts = in / filter_in;
  if (in == filter_in || out == LEAT_DIM_UNKNOWN || (parts > 0 && out % parts == 0)) {
    return leat_ok_status();
  }
  return leat_make_status(LEAT_INVALID_ARGUMENT,
                          "Depth of output (%lld) is not a multiple of the number of groups (%lld)",
                          (long long)out, (long long)parts);
}

// |skip| batch dimensions come before the window's own.
static leat_status_t set_output(leat_inference_t* c, const leat_window_t* window, int skip,
                                leat_partial_shape_t input, leat_partial_shape_t filter) {
  int64_t dims[LEAT_SHAPE_MAX_RANK];
  for (int d = 0; d <= skip; ++d) dims[d] = input.dims[d];
  dims[skip + leat_window_channel_dim(window)] = filter.dims[window->spatial + 1];
  for (int i = 0; i < window->spatial; ++i) {
    const int d = skip + leat_window_dim(window, i);
    LEAT_RETURN_IF_ERROR(leat_window_infer(&window->axes[i], window->padding, input.dims[d],
                                           filter.dims[i], &dims[d]));
  }
  leat_partial_shape_t output;
  LEAT_RETURN_IF_ERROR(leat_inference_make(c, input.rank, dims, &output));
  leat_inference_set_output(c, 0, output);
  return leat_ok_status();
}

static leat_status_t conv3d_shape(leat_inference_t* c) {
  leat_partial_shape_t input, filter;
  leat_window_t window;
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank(c, leat_inference_input(c, 0), 5, &input));
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank(c, leat_inference_input(c, 1), 5, &filter));
  LEAT_RETURN_IF_ERROR(leat_window_read(c->node->attrs, c->node->attr_count, 3, &window));
  LEAT_RETURN_IF_ERROR(check_depths(input.dims[leat_window_channel_dim(&window)], filter.dims[3],
                                    filter.dims[4], 0));
  return set_output(c, &window, 0, input, filter);
}

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
  LEAT_RETURN_IF_ERROR(check_depths(in, filter.dims[rank - 2], out, groups));
  return set_output(c, &window, skip, input, filter);
}

static leat_status_t from_sizes(leat_inference_t* c, int index) {
  leat_partial_shape_t sizes;
  LEAT_RETURN_IF_ERROR(leat_inference_input_as_shape(c, index, &sizes));
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank(c, sizes, 5, &sizes));
  leat_inference_set_output(c, 0, sizes);
  return leat_ok_status();
}
static leat_status_t from_first_sizes(leat_inference_t* c) { return from_sizes(c, 0); }
static leat_status_t from_second_sizes(leat_inference_t* c) { return from_sizes(c, 1); }

static leat_status_t as_input(leat_inference_t* c, int index) {
  leat_partial_shape_t shape;
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank(c, leat_inference_input(c, index), 5, &shape));
  leat_inference_set_output(c, 0, shape);
  return leat_ok_status();
}
static leat_status_t as_first(leat_inference_t* c) { return as_input(c, 0); }
static leat_status_t as_second(leat_inference_t* c) { return as_input(c, 1); }

// ---- Gradients ----------------------------------------------------------------------------------

static leat_output_t build_like(leat_gradient_t* g, const char* op, leat_outputs_t inputs) {
  const leat_node_t* node = leat_gradient_node(g);
  return leat_build(
      &g->builder, op, inputs,
      LEAT_ATTRS(LEAT_COPY("strides", leat_node_attr(node, LEAT_SV("strides"))),
                 LEAT_COPY("padding", leat_node_attr(node, LEAT_SV("padding"))),
                 LEAT_COPY("data_format", leat_node_attr(node, LEAT_SV("data_format"))),
                 LEAT_COPY("dilations", leat_node_attr(node, LEAT_SV("dilations")))));
}

static leat_status_t conv3d_gradient(leat_gradient_t* g) {
  leat_builder_t* b = &g->builder;
  const leat_output_t input = leat_gradient_input(g, 0), filter = leat_gradient_input(g, 1);
  const leat_output_t dy = leat_gradient_of_output(g, 0);
  const leat_output_t input_sizes = leat_build_shape_of(b, input);
  const leat_output_t filter_sizes = leat_build_shape_of(b, filter);
  leat_gradient_set_input(
      g, 0, build_like(g, "Conv3DBackpropInputV2", LEAT_INPUTS(input_sizes, filter, dy)));
  leat_gradient_set_input(
      g, 1, build_like(g, "Conv3DBackpropFilterV2", LEAT_INPUTS(input, filter_sizes, dy)));
  return leat_ok_status();
}

static leat_status_t to_input_gradient(leat_gradient_t* g) {
  const leat_output_t filter = leat_gradient_input(g, 1), dy = leat_gradient_input(g, 2);
  const leat_output_t ddx = leat_gradient_of_output(g, 0);
  const leat_output_t sizes = leat_build_shape_of(&g->builder, filter);
  leat_gradient_set_input(g, 1,
                          build_like(g, "Conv3DBackpropFilterV2", LEAT_INPUTS(ddx, sizes, dy)));
  leat_gradient_set_input(g, 2, build_like(g, "Conv3D", LEAT_INPUTS(ddx, filter)));
  return leat_ok_status();
}

static leat_status_t to_filter_gradient(leat_gradient_t* g) {
  const leat_output_t input = leat_gradient_input(g, 0), dy = leat_gradient_input(g, 2);
  const leat_output_t ddf = leat_gradient_of_output(g, 0);
  const leat_output_t sizes = leat_build_shape_of(&g->builder, input);
  leat_gradient_set_input(g, 0,
                          build_like(g, "Conv3DBackpropInputV2", LEAT_INPUTS(sizes, ddf, dy)));
  leat_gradient_set_input(g, 2, build_like(g, "Conv3D", LEAT_INPUTS(input, ddf)));
  return leat_ok_status();
}

#define FLOATING "T: {half, bfloat16, float, double}"
#define OLD "T: {half, float, double}"
#define WINDOW "; strides: list(int) >= 5; padding: {'SAME', 'VALID'}"
#define FORMAT "; data_format: {'NDHWC', 'NCDHW'} = 'NDHWC'"
#define DILATIONS "; dilations: list(int) = [1, 1, 1, 1, 1]"

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
    {.name = "Conv3D",
     .cost = LEAT_COST_CONVOLUTION,
     .inputs = "input: T; filter: T",
     .outputs = "output: T",
     .attrs = FLOATING WINDOW FORMAT DILATIONS,
     .shape = conv3d_shape,
     .gradient = conv3d_gradient,
     .contract = LEAT_RULES(LEAT_RULE_RANK(0, 5), LEAT_RULE_RANK(1, 5)),
     .doc = "Convolution of volumes with a filter [planes, rows, columns, in, out]."},
    {.name = "Conv3DBackpropInput",
     .cost = LEAT_COST_CONVOLUTION,
     .inputs = "input: T; filter: T; out_backprop: T",
     .outputs = "output: T",
     .attrs = OLD WINDOW DILATIONS,
     .shape = as_first,
     .contract = LEAT_RULES(LEAT_RULE_RANK(0, 5), LEAT_RULE_RANK(1, 5), LEAT_RULE_RANK(2, 5)),
     .deprecated_since = 10,
     .deprecation = "Use Conv3DBackpropInputV2",
     .doc = "Conv3DBackpropInputV2 that takes the sizes of a tensor."},
    {.name = "Conv3DBackpropFilter",
     .cost = LEAT_COST_CONVOLUTION,
     .inputs = "input: T; filter: T; out_backprop: T",
     .outputs = "output: T",
     .attrs = OLD WINDOW DILATIONS,
     .shape = as_second,
     .contract = LEAT_RULES(LEAT_RULE_RANK(0, 5), LEAT_RULE_RANK(1, 5), LEAT_RULE_RANK(2, 5)),
     .deprecated_since = 10,
     .deprecation = "Use Conv3DBackpropFilterV2",
     .doc = "Conv3DBackpropFilterV2 that takes the sizes of a tensor."},
    {.name = "Conv3DBackpropInputV2",
     .cost = LEAT_COST_CONVOLUTION,
     .inputs = "input_sizes: Tshape; filter: T; out_backprop: T",
     .outputs = "output: T",
     .attrs = FLOATING WINDOW FORMAT DILATIONS "; Tshape: {int32, int64} = int32",
     .shape = from_first_sizes,
     .gradient = to_input_gradient,
     .contract = LEAT_RULES(LEAT_RULE_VECTOR(0), LEAT_RULE_RANK(1, 5), LEAT_RULE_RANK(2, 5)),
     .doc = "The gradient of Conv3D with respect to the volumes."},
    {.name = "Conv3DBackpropFilterV2",
     .cost = LEAT_COST_CONVOLUTION,
     .inputs = "input: T; filter_sizes: int32; out_backprop: T",
     .outputs = "output: T",
     .attrs = FLOATING WINDOW FORMAT DILATIONS,
     .shape = from_second_sizes,
     .gradient = to_filter_gradient,
     .contract = LEAT_RULES(LEAT_RULE_RANK(0, 5), LEAT_RULE_VECTOR(1), LEAT_RULE_RANK(2, 5)),
     .doc = "The gradient of Conv3D with respect to the filter."},
    LEAT_OP_ROWS_END,
};
