// Definitions of Dilation2D (grayscale morphology) and its gradients.
//
//   input [batch, rows, columns, depth], filter [rows, columns, depth] -> output
//
// Each output element is the largest sum of input and filter in its window. The gradient ops take
// the same two tensors and the gradient of the output, and give the gradient of one of the two.
// Where several sums are equally large the gradient goes to the first, as the kernels in
// dilation2d_cpu.c find it.
#include "graph/gradient.h"
#include "graph/inference/inference.h"
#include "ops/nn/window.h"
#include "ops/op_rows.h"

// The depth of the output is the filter's; it is merged with the input's only where all spatial
// sizes are known, as TensorFlow does.
static leat_status_t dilation2d_shape(leat_inference_t* c) {
  leat_partial_shape_t input, filter, output;
  leat_window_t window;
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank(c, leat_inference_input(c, 0), 4, &input));
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank(c, leat_inference_input(c, 1), 3, &filter));
  LEAT_RETURN_IF_ERROR(leat_window_read(c->node->attrs, c->node->attr_count, 2, &window));
  int64_t dims[4] = {input.dims[0], LEAT_DIM_UNKNOWN, LEAT_DIM_UNKNOWN, filter.dims[2]};
  bool is_known = true;
  for (int i = 0; i < 2; ++i) {
    is_known = is_known && input.dims[1 + i] != LEAT_DIM_UNKNOWN &&
               filter.dims[i] != LEAT_DIM_UNKNOWN;
  }
  if (is_known) {
    LEAT_RETURN_IF_ERROR(leat_inference_merge_dim(input.dims[3], filter.dims[2], &dims[3]));
  }
  for (int i = 0; i < 2 && is_known; ++i) {
    int64_t before;
    LEAT_RETURN_IF_ERROR(leat_window_count(&window.axes[i], window.padding, input.dims[1 + i],
                                           filter.dims[i], &dims[1 + i], &before));
  }
  LEAT_RETURN_IF_ERROR(leat_inference_make(c, 4, dims, &output));
  leat_inference_set_output(c, 0, output);
  return leat_ok_status();
}

static leat_status_t as_filter(leat_inference_t* c) {
  leat_inference_set_output(c, 0, leat_inference_input(c, 1));
  return leat_ok_status();
}

static leat_status_t dilation2d_gradient(leat_gradient_t* g) {
  static const char* const ops[] = {"Dilation2DBackpropInput", "Dilation2DBackpropFilter"};
  const leat_node_t* node = leat_gradient_node(g);
  const leat_output_t dy = leat_gradient_of_output(g, 0);
  for (int i = 0; i < 2; ++i) {
    leat_gradient_set_input(
        g, i,
        leat_build(&g->builder, ops[i],
                   LEAT_INPUTS(leat_gradient_input(g, 0), leat_gradient_input(g, 1), dy),
                   LEAT_ATTRS(LEAT_COPY("strides", leat_node_attr(node, LEAT_SV("strides"))),
                              LEAT_COPY("rates", leat_node_attr(node, LEAT_SV("rates"))),
                              LEAT_COPY("padding", leat_node_attr(node, LEAT_SV("padding"))))));
  }
  return leat_ok_status();
}

#define ATTRS                                                                                  \
  "T: {float, double, int32, uint8, int16, int8, int64, bfloat16, uint16, half, uint32, "      \
  "uint64}; strides: list(int) >= 4; rates: list(int) >= 4; padding: {'SAME', 'VALID'}"

const leat_op_row_t leat_dilation2d_ops[] = {
    {.name = "Dilation2D",
     .inputs = "input: T; filter: T",
     .outputs = "output: T",
     .attrs = ATTRS,
     .shape = dilation2d_shape,
     .gradient = dilation2d_gradient,
     .contract = LEAT_RULES(LEAT_RULE_RANK(0, 4), LEAT_RULE_RANK(1, 3)),
     .doc = "The greatest sum of input and filter over each window (grayscale dilation)."},
    {.name = "Dilation2DBackpropInput",
     .inputs = "input: T; filter: T; out_backprop: T",
     .outputs = "in_backprop: T",
     .attrs = ATTRS,
     .shape = leat_shape_unchanged,
     .contract = LEAT_RULES(LEAT_RULE_RANK(0, 4), LEAT_RULE_RANK(1, 3)),
     .doc = "The gradient of Dilation2D with respect to the input."},
    {.name = "Dilation2DBackpropFilter",
     .inputs = "input: T; filter: T; out_backprop: T",
     .outputs = "filter_backprop: T",
     .attrs = ATTRS,
     .shape = as_filter,
     .contract = LEAT_RULES(LEAT_RULE_RANK(0, 4), LEAT_RULE_RANK(1, 3)),
     .doc = "The gradient of Dilation2D with respect to the filter."},
    LEAT_OP_ROWS_END,
};
