// Definitions of Softmax and LogSoftmax over the last dimension, logits [..., classes] -> [...,
// classes], with their gradients. Both gradients use the output, so that the logits need not be
// kept.
#include "graph/gradient.h"
#include "graph/inference/inference.h"
#include "ops/math/arithmetic.h"
#include "ops/nn/subgraph.h"
#include "ops/op_rows.h"

static leat_status_t unchanged_vector(leat_inference_t* c) {
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank_at_least(c, leat_inference_input(c, 0), 1));
  return leat_shape_unchanged(c);
}

// dx = (dy - sum(dy y)) y
static leat_status_t softmax_gradient(leat_gradient_t* g) {
  leat_builder_t* b = &g->builder;
  const leat_output_t y = leat_gradient_output(g, 0), dy = leat_gradient_of_output(g, 0);
  const leat_output_t sum = leat_subgraph_sum(b, leat_arithmetic_mul(b, dy, y), -1, true);
  leat_gradient_set_input(g, 0, leat_arithmetic_mul(b, leat_arithmetic_sub(b, dy, sum), y));
  return leat_ok_status();
}

// dx = dy - sum(dy) exp(y)
static leat_status_t log_softmax_gradient(leat_gradient_t* g) {
  leat_builder_t* b = &g->builder;
  const leat_output_t dy = leat_gradient_of_output(g, 0);
  const leat_output_t softmax = leat_build_unary(b, "Exp", leat_gradient_output(g, 0));
  const leat_output_t sum = leat_subgraph_sum(b, dy, -1, true);
  leat_gradient_set_input(g, 0, leat_arithmetic_sub(b, dy, leat_arithmetic_mul(b, sum, softmax)));
  return leat_ok_status();
}

const leat_op_row_t leat_softmax_ops[] = {
    {.name = "Softmax",
     .cost = LEAT_COST_FUNCTION,
     .inputs = "logits: T",
     .outputs = "softmax: T",
     .attrs = "T: {half, bfloat16, float, double}",
     .shape = unchanged_vector,
     .gradient = softmax_gradient,
     .contract = LEAT_RULES(LEAT_RULE_RANK_AT_LEAST(0, 1)),
     .doc = "exp(x) divided by its sum over the last dimension."},
    {.name = "LogSoftmax",
     .cost = LEAT_COST_FUNCTION,
     .inputs = "logits: T",
     .outputs = "logsoftmax: T",
     .attrs = "T: {half, bfloat16, float, double}",
     .shape = unchanged_vector,
     .gradient = log_softmax_gradient,
     .contract = LEAT_RULES(LEAT_RULE_RANK_AT_LEAST(0, 1)),
     .doc = "The logarithm of Softmax."},
    LEAT_OP_ROWS_END,
};
