// Definitions of BiasAdd and BiasAddGrad: shapes, gradients and registration. bias_cpu.c has the
// kernels. BiasAdd adds a vector to a tensor along its channels:
//
//   value [batch, ..., channels] (NHWC) or [batch, channels, ...] (NCHW), bias [channels] -> output
//
// BiasAddGrad is the gradient with respect to the bias: the sum over all dimensions but the
// channels. Its own gradient repeats what comes in over all these dimensions. BiasAddV1 is the form
// of the first release, with the channels always last; its gradient is a plain Sum.
#include "graph/gradient.h"
#include "graph/inference/inference.h"
#include "ops/nn/subgraph.h"
#include "ops/op_rows.h"

static bool is_channels_first(const leat_node_t* node) {
  return leat_string_view_equal(leat_node_attr_string(node, "data_format"), LEAT_SV("NCHW"));
}

static leat_status_t bias_add_shape(leat_inference_t* c) {
  const leat_partial_shape_t input = leat_inference_input(c, 0);
  const bool first = is_channels_first(c->node);
  leat_partial_shape_t bias, output;
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank_at_least(c, input, first ? 3 : 2));
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank(c, leat_inference_input(c, 1), 1, &bias));
  if (input.rank < 0) return leat_ok_status();
  int64_t dims[LEAT_SHAPE_MAX_RANK];
  for (int d = 0; d < input.rank; ++d) dims[d] = input.dims[d];
  const int channel = first ? 1 : input.rank - 1;
  LEAT_RETURN_IF_ERROR(leat_inference_merge_dim(dims[channel], bias.dims[0], &dims[channel]));
  LEAT_RETURN_IF_ERROR(leat_inference_make(c, input.rank, dims, &output));
  leat_inference_set_output(c, 0, output);
  return leat_ok_status();
}

static leat_status_t bias_add_grad_shape(leat_inference_t* c) {
  const leat_partial_shape_t input = leat_inference_input(c, 0);
  const bool first = is_channels_first(c->node);
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank_at_least(c, input, first ? 3 : 2));
  const int64_t channels = leat_partial_shape_dim(input, first ? 1 : -1);
  leat_partial_shape_t output;
  LEAT_RETURN_IF_ERROR(leat_inference_make(c, 1, &channels, &output));
  leat_inference_set_output(c, 0, output);
  return leat_ok_status();
}

static leat_status_t bias_add_gradient(leat_gradient_t* g) {
  const leat_output_t dy = leat_gradient_of_output(g, 0);
  const leat_attr_value_t* format = leat_node_attr(leat_gradient_node(g), LEAT_SV("data_format"));
  leat_gradient_set_input(g, 0, dy);
  leat_gradient_set_input(g, 1, leat_build(&g->builder, "BiasAddGrad", LEAT_INPUTS(dy),
                                           LEAT_ATTRS(LEAT_COPY("data_format", format))));
  return leat_ok_status();
}

// Sums dy over all dimensions but the last.
static leat_status_t bias_add_v1_gradient(leat_gradient_t* g) {
  leat_builder_t* b = &g->builder;
  const leat_output_t dy = leat_gradient_of_output(g, 0);
  const leat_output_t zero = leat_build_scalar(b, LEAT_DTYPE_INT32, 0);
  const leat_output_t one = leat_build_scalar(b, LEAT_DTYPE_INT32, 1);
  const leat_output_t last = leat_build_binary(b, "Sub", leat_build_unary(b, "Rank", dy), one);
  const leat_output_t dims =
      leat_build(b, "Range", LEAT_INPUTS(zero, last, one), LEAT_NO_ATTRS);
  leat_gradient_set_input(g, 0, dy);
  leat_gradient_set_input(g, 1, leat_build_binary(b, "Sum", dy, dims));
  return leat_ok_status();
}

// ---- The gradient of BiasAddGrad ----------------------------------------------------------------

// The gradient of a sum repeats what comes in over all positions: it is reshaped so that all
// dimensions but the channels are 1, and then tiled to the shape of input 0.
static leat_status_t bias_add_grad_gradient(leat_gradient_t* g) {
  leat_builder_t* b = &g->builder;
  const bool first = is_channels_first(leat_gradient_node(g));
  const leat_output_t ddb = leat_gradient_of_output(g, 0);
  const leat_output_t shape = leat_build_shape_of(b, leat_gradient_input(g, 0));
  const leat_output_t channels = leat_build_shape_of(b, ddb);
  const int32_t one = 1;
  const leat_output_t ones = leat_build_int32_vector(b, &one, 1);
  const leat_output_t outer = leat_subgraph_slice(b, shape, 0, first ? 1 : -1);
  const leat_output_t inner = first ? leat_subgraph_slice(b, shape, 2, 0) : LEAT_OUTPUT_NONE;
  const leat_output_t inner_ones = first ? leat_build_unary(b, "OnesLike", inner) : inner;
  const leat_output_t expanded =
      leat_subgraph_join(b, leat_build_unary(b, "OnesLike", outer), channels, inner_ones);
  const leat_output_t repeats = leat_subgraph_join(b, outer, ones, inner);
  const leat_output_t reshaped = leat_build_binary(b, "Reshape", ddb, expanded);
  leat_gradient_set_input(g, 0, leat_build_binary(b, "Tile", reshaped, repeats));
  return leat_ok_status();
}

#define NUMBER                                                                                 \
  "T: {float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, qint32, "    \
  "bfloat16, qint16, quint16, uint16, complex128, half, uint32, uint64}"
#define FORMAT "; data_format: {'NHWC', 'NCHW'} = 'NHWC'"

const leat_op_row_t leat_bias_ops[] = {
    {.name = "BiasAdd",
     .inputs = "value: T; bias: T",
     .outputs = "output: T",
     .attrs = NUMBER FORMAT,
     .shape = bias_add_shape,
     .gradient = bias_add_gradient,
     .flags = LEAT_OP_CHEAP,
     .contract = LEAT_RULES(LEAT_RULE_RANK_AT_LEAST(0, 2), LEAT_RULE_VECTOR(1)),
     .doc = "Adds a number for each channel."},
    {.name = "BiasAddV1",
     .inputs = "value: T; bias: T",
     .outputs = "output: T",
     .attrs = NUMBER,
     .shape = bias_add_shape,
     .gradient = bias_add_v1_gradient,
     .contract = LEAT_RULES(LEAT_RULE_RANK_AT_LEAST(0, 2), LEAT_RULE_VECTOR(1)),
     .doc = "BiasAdd over the last dimension."},
    {.name = "BiasAddGrad",
     .inputs = "out_backprop: T",
     .outputs = "output: T",
     .attrs = NUMBER FORMAT,
     .shape = bias_add_grad_shape,
     .gradient = bias_add_grad_gradient,
     .contract = LEAT_RULES(LEAT_RULE_RANK_AT_LEAST(0, 2)),
     .doc = "The sums over each channel."},
    LEAT_OP_ROWS_END,
};
