// What the definitions of convolutions share, whatever the number of their dimensions: the rule for
// depths, the gradients, and rows of the op table.
//
// Three ops make a kind: the convolution and its two gradients, with respect to the input and to
// the filter. Each is linear in both of its tensors, so the gradient of each of the three is made
// of the other two.
#ifndef LEAT_OPS_NN_CONVOLUTION_H_
#define LEAT_OPS_NN_CONVOLUTION_H_

#include "ops/nn/window_op.h"

// INVALID_ARGUMENT unless |in|, the channels of the input, is a multiple of |filter_in|, those of
// the filter, and |out|, the channels of the output, is a multiple of the quotient, which is the
// number of groups. Each may be LEAT_DIM_UNKNOWN, which agrees with everything.
LEAT_MUST_USE leat_status_t leat_convolution_check_depths(int64_t in, int64_t filter_in,
                                                          int64_t out);

// The shape functions of Conv2D and DepthwiseConv2dNative, which their fused forms share. The data
// format may put the channels second.
//
//   input [batch, rows, columns, in], filter [rows, columns, in / groups, out]
//   depthwise: filter [rows, columns, in, multiplier], output channels in * multiplier
LEAT_MUST_USE leat_status_t leat_conv2d_shape(leat_inference_t* c);
LEAT_MUST_USE leat_status_t leat_depthwise_conv2d_shape(leat_inference_t* c);

// The names of a kind's ops and what their inputs are.
typedef struct leat_convolution_kind_s {
  const char* forward;    // (input, filter)
  const char* to_input;   // (sizes of the input, filter, gradient)
  const char* to_filter;  // (input, sizes of the filter, gradient)
} leat_convolution_kind_t;
// The gradient functions of a kind's |forward|, |to_input| and |to_filter|.
LEAT_MUST_USE leat_status_t leat_convolution_gradient(leat_gradient_t* g,
                                                      const leat_convolution_kind_t* kind);
// The other two have a gradient for their two tensors, none for the vector of sizes.
LEAT_MUST_USE leat_status_t leat_convolution_to_input_gradient(leat_gradient_t* g,
                                                               const leat_convolution_kind_t* kind);
LEAT_MUST_USE leat_status_t leat_convolution_to_filter_gradient(
    leat_gradient_t* g, const leat_convolution_kind_t* kind);

// Rows of a kind's three ops, over inputs of |rank| dimensions (batch and channels included).
// |types| is the attribute list of the op in the mini-language of graph/op/op_parse.c, |sizes| the
// type of the vector of sizes, and |words| the op's documentation.
#define LEAT_CONVOLUTION_ROW(rank, op, types, shape_fn, gradient_fn, words)                      \
  LEAT_OP_ROW(op, "input: T; filter: T", "output: T", types, shape_fn, gradient_fn, words,       \
              .cost = LEAT_COST_CONVOLUTION,                                                     \
              .contract = LEAT_RULES(LEAT_RULE_RANK(0, rank), LEAT_RULE_RANK(1, rank)))
#define LEAT_CONVOLUTION_TO_INPUT_ROW(rank, op, sizes, types, shape_fn, gradient_fn, words)      \
  LEAT_OP_ROW(op, "input_sizes: " sizes "; filter: T; out_backprop: T", "output: T", types,      \
              shape_fn, gradient_fn, words, .cost = LEAT_COST_CONVOLUTION,                       \
              .contract = LEAT_RULES(LEAT_RULE_VECTOR(0), LEAT_RULE_RANK(1, rank),               \
                                     LEAT_RULE_RANK(2, rank)))
#define LEAT_CONVOLUTION_TO_FILTER_ROW(rank, op, types, shape_fn, gradient_fn, words)            \
  LEAT_OP_ROW(op, "input: T; filter_sizes: int32; out_backprop: T", "output: T", types,          \
              shape_fn, gradient_fn, words, .cost = LEAT_COST_CONVOLUTION,                       \
              .contract = LEAT_RULES(LEAT_RULE_RANK(0, rank), LEAT_RULE_VECTOR(1),               \
                                     LEAT_RULE_RANK(2, rank)))

#endif  // LEAT_OPS_NN_CONVOLUTION_H_
