// Definition of LRN, local response normalisation over neighbouring channels, and its gradient.
//
//   input [batch, height, width, channels] -> output of the same shape
#include "graph/gradient.h"
#include "graph/inference/inference.h"
#include "ops/op_rows.h"

// All inputs have one shape, of rank 4.
static leat_status_t lrn_shape(leat_inference_t* c) {
  leat_partial_shape_t shape = leat_partial_shape_unknown();
  for (int i = 0; i < leat_inference_input_count(c); ++i) {
    LEAT_RETURN_IF_ERROR(leat_inference_merge(c, shape, leat_inference_input(c, i), &shape));
  }
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank(c, shape, 4, &shape));
  leat_inference_set_output(c, 0, shape);
  return leat_ok_status();
}

static leat_status_t lrn_gradient(leat_gradient_t* g) {
  const leat_node_t* node = leat_gradient_node(g);
  const leat_output_t dy = leat_gradient_of_output(g, 0);
  leat_gradient_set_input(
      g, 0,
      leat_build(&g->builder, "LRNGrad",
                 LEAT_INPUTS(dy, leat_gradient_input(g, 0), leat_gradient_output(g, 0)),
                 LEAT_ATTRS(LEAT_COPY("depth_radius",
                                      leat_node_attr(node, LEAT_SV("depth_radius"))),
                            LEAT_COPY("bias", leat_node_attr(node, LEAT_SV("bias"))),
                            LEAT_COPY("alpha", leat_node_attr(node, LEAT_SV("alpha"))),
                            LEAT_COPY("beta", leat_node_attr(node, LEAT_SV("beta"))))));
  return leat_ok_status();
}

#define ATTRS                                                                          \
  "depth_radius: int = 5; bias: float = 1.0; alpha: float = 1.0; beta: float = 0.5; "   \
  "T: {half, bfloat16, float} = float"

const leat_op_row_t leat_lrn_ops[] = {
    {.name = "LRN",
     .inputs = "input: T",
     .outputs = "output: T",
     .attrs = ATTRS,
     .shape = lrn_shape,
     .gradient = lrn_gradient,
     .contract = LEAT_RULES(LEAT_RULE_RANK(0, 4)),
     .doc = "x / (bias + alpha sum of squares of channels at most depth_radius away)^beta."},
    {.name = "LRNGrad",
     .inputs = "input_grads: T; input_image: T; output_image: T",
     .outputs = "output: T",
     .attrs = ATTRS,
     .shape = lrn_shape,
     .contract = LEAT_RULES(LEAT_RULE_RANK(0, 4), LEAT_RULE_SAME_SHAPE(0, 1),
                            LEAT_RULE_SAME_SHAPE(0, 2)),
     .doc = "The gradient of LRN."},
    LEAT_OP_ROWS_END,
};
