// Definitions of SoftmaxCrossEntropyWithLogits, its sparse form, and L2Loss.
//
//   features [batch, classes], labels -> loss [batch], backprop [batch, classes]
//   L2Loss: t -> half the sum of the squares of its elements [], with the gradient t dloss
//
// The kernel of a cross entropy computes backprop, the gradient of the loss with respect to the
// features, together with the loss, because both need the same exponentials. The gradient function
// then only multiplies each row of backprop by the gradient of that row's loss:
//
//   d features = backprop * d loss[:, None]
//
// _ScaledCrossEntropy does this multiplication within the kernel; a rewrite rule at the end of this
// file puts it in the place of either cross entropy and the product. It has no gradient, since it
// appears only after gradients have been built. The kernels are in cross_entropy_cpu.c and
// l2_loss_cpu.c.
#include "graph/gradient.h"
#include "graph/inference/inference.h"
#include "graph/rewrite_rule.h"
#include "ops/math/arithmetic.h"
#include "ops/nn/subgraph.h"
#include "ops/op_rows.h"

// |both| is the shape that features and labels have in common. The third input, the scale of
// _ScaledCrossEntropy, is broadcast with the gradient as Mul would.
static leat_status_t set_outputs(leat_inference_t* c, leat_partial_shape_t both) {
  const int64_t batch = leat_partial_shape_dim(both, 0);
  leat_partial_shape_t loss;
  LEAT_RETURN_IF_ERROR(leat_inference_make(c, 1, &batch, &loss));
  leat_inference_set_output(c, 0, loss);
  if (c->node->input_count > 2) {
    LEAT_RETURN_IF_ERROR(leat_inference_broadcast(c, both, leat_inference_input(c, 2), &both));
  }
  leat_inference_set_output(c, 1, both);
  return leat_ok_status();
}

// Features and labels that do not have the same shape may broadcast to a matrix.
static leat_status_t cross_entropy_shape(leat_inference_t* c) {
  const leat_partial_shape_t features = leat_inference_input(c, 0);
  const leat_partial_shape_t labels = leat_inference_input(c, 1);
  leat_partial_shape_t both;
  leat_status_t status = leat_inference_with_rank(c, features, 2, &both);
  if (!status) status = leat_inference_merge(c, both, labels, &both);
  if (!status) return set_outputs(c, both);
  leat_status_free(status);
  LEAT_RETURN_IF_ERROR(leat_inference_broadcast(c, features, labels, &both));
  if (both.rank != 2) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "Shape must be broadcasted with rank 2, but is %s",
                            LEAT_PARTIAL_SHAPE_TEXT(both));
  }
  return set_outputs(c, both);
}

static leat_status_t sparse_cross_entropy_shape(leat_inference_t* c) {
  leat_partial_shape_t features, labels, both;
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank(c, leat_inference_input(c, 0), 2, &features));
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank(c, leat_inference_input(c, 1), 1, &labels));
  int64_t dims[2] = {0, features.dims[1]};
  LEAT_RETURN_IF_ERROR(leat_inference_merge_dim(features.dims[0], labels.dims[0], &dims[0]));
  LEAT_RETURN_IF_ERROR(leat_inference_make(c, 2, dims, &both));
  return set_outputs(c, both);
}

// Multiplies each row of |matrix| by its number in |vector|.
static leat_output_t scale_rows(leat_builder_t* b, leat_output_t vector, leat_output_t matrix) {
  return leat_arithmetic_mul(b, leat_subgraph_expand(b, vector, -1), matrix);
}

// The gradient that comes through output 1. This output is softmax(logits) - labels, so it is the
// gradient of Softmax: (ddx - sum(ddx softmax)) softmax.
static leat_output_t through_gradient(leat_gradient_t* g, leat_output_t logits) {
  leat_builder_t* b = &g->builder;
  const leat_output_t ddx = leat_gradient_of_output(g, 1);
  const leat_output_t softmax = leat_build_unary(b, "Softmax", logits);
  const leat_output_t row = leat_subgraph_expand(b, ddx, 1);
  const leat_output_t product =
      leat_build_binary(b, "BatchMatMulV2", row, leat_subgraph_expand(b, softmax, 2));
  const int64_t one = 1;
  const leat_attr_t dims = LEAT_LIST("squeeze_dims", INT, 1, ints, &one);
  const leat_output_t sums = leat_build(b, "Squeeze", LEAT_INPUTS(product), LEAT_ATTRS(dims));
  return leat_build_binary(b, "Mul", leat_build_binary(b, "Sub", ddx, sums), softmax);
}

static leat_status_t set_logits_gradient(leat_gradient_t* g, leat_output_t dloss) {
  leat_builder_t* b = &g->builder;
  leat_output_t gradient = scale_rows(b, dloss, leat_gradient_output(g, 1));
  if (leat_gradient_has_output(g, 1)) {
    gradient = leat_build_binary(b, "AddV2", gradient,
                                 through_gradient(g, leat_gradient_input(g, 0)));
  }
  leat_gradient_set_input(g, 0, gradient);
  return leat_ok_status();
}

static leat_status_t cross_entropy_gradient(leat_gradient_t* g) {
  leat_builder_t* b = &g->builder;
  const leat_output_t dloss = leat_gradient_of_output(g, 0);
  LEAT_RETURN_IF_ERROR(set_logits_gradient(g, dloss));
  const leat_output_t log = leat_build_unary(b, "LogSoftmax", leat_gradient_input(g, 0));
  leat_gradient_set_input(g, 1, scale_rows(b, dloss, leat_build_unary(b, "Neg", log)));
  return leat_ok_status();
}

static leat_status_t sparse_cross_entropy_gradient(leat_gradient_t* g) {
  return set_logits_gradient(g, leat_gradient_of_output(g, 0));
}

// Labels that are integers are numbers of classes.
static leat_status_t scaled_shape(leat_inference_t* c) {
  const int labels = leat_node_attr_type(c->node, "Tlabels");
  return leat_dtype_in(labels, LEAT_DTYPES_INTEGER) ? sparse_cross_entropy_shape(c)
                                                    : cross_entropy_shape(c);
}

// ---- L2Loss -------------------------------------------------------------------------------------

static leat_status_t l2_loss_gradient(leat_gradient_t* g) {
  leat_gradient_set_input(g, 0, leat_arithmetic_mul(&g->builder, leat_gradient_input(g, 0),
                                                    leat_gradient_of_output(g, 0)));
  return leat_ok_status();
}

const leat_op_row_t leat_loss_ops[] = {
    {.name = "SoftmaxCrossEntropyWithLogits",
     .cost = LEAT_COST_FUNCTION,
     .inputs = "features: T; labels: T",
     .outputs = "loss: T; backprop: T",
     .attrs = "T: {half, bfloat16, float, double}",
     .shape = cross_entropy_shape,
     .gradient = cross_entropy_gradient,
     .contract = LEAT_RULES(LEAT_RULE_RANK_AT_MOST(0, 2), LEAT_RULE_RANK_AT_MOST(1, 2)),
     .doc = "Cross entropy between softmax(features) and labels, and its gradient."},
    {.name = "SparseSoftmaxCrossEntropyWithLogits",
     .cost = LEAT_COST_FUNCTION,
     .inputs = "features: T; labels: Tlabels",
     .outputs = "loss: T; backprop: T",
     .attrs = "T: {half, bfloat16, float, double}; Tlabels: {int32, int64} = int64",
     .shape = sparse_cross_entropy_shape,
     .gradient = sparse_cross_entropy_gradient,
     .contract = LEAT_RULES(LEAT_RULE_MATRIX(0)),
     .doc = "Cross entropy where the label of a row is the number of its class."},
    {.name = "_ScaledCrossEntropy",
     .cost = LEAT_COST_FUNCTION,
     .inputs = "features: T; labels: Tlabels; scale: T",
     .outputs = "loss: T; backprop: T",
     .attrs = "T: {float, double}; Tlabels: {float, double, int32, int64}",
     .shape = scaled_shape,
     .contract = LEAT_RULES(LEAT_RULE_RANK_AT_MOST(0, 2), LEAT_RULE_RANK_AT_MOST(1, 2)),
     .doc = "Either cross entropy, by the type of the labels, and its gradient with each row times "
            "its scale."},
    {.name = "L2Loss",
     .inputs = "t: T",
     .outputs = "output: T",
     .attrs = "T: {half, bfloat16, float, double}",
     .shape = leat_shape_scalar_output,
     .gradient = l2_loss_gradient,
     .doc = "Half the sum of the squares."},
    LEAT_OP_ROWS_END,
};

// ---- Rewriting ----------------------------------------------------------------------------------
//
// The gradient of a loss multiplies each row of backprop by the gradient of that row's loss. The
// kernel does so while it has the row in registers:
//
//   x, y ─▶ CrossEntropy ─▶ loss           x, y, s ─▶ _ScaledCrossEntropy ─▶ loss
//                └─▶ Mul ─▶ dx                               └─▶ dx              (s: a column)
//                s ───┘

// Whether the other factor is a column of as many numbers as backprop has rows, if both are known.
// The kernel broadcasts what turns out to be no such column, which does not happen in practice: so
// a column known to have one number only, or rows known to be one, are left to Mul.
static bool is_column(const leat_rewrite_match_t* m) {
  const leat_output_t factor = leat_rewrite_root(m)->inputs[1 - m->side];
  const leat_partial_shape_t column = leat_graph_output_shape(m->graph, factor);
  const leat_partial_shape_t rows = leat_rewrite_producer(m)->output_shapes[1];
  return rows.rank == 2 && column.rank == 2 && column.dims[1] == 1 &&
         (column.dims[0] == rows.dims[0] || (column.dims[0] < 0 && rows.dims[0] != 1) ||
          (rows.dims[0] < 0 && column.dims[0] != 1));
}

static leat_status_t scale_backprop(leat_rewrite_match_t* m, leat_output_t* out_by) {
  const leat_node_t* loss = leat_rewrite_producer(m);
  const leat_output_t inputs[] = {loss->inputs[0], loss->inputs[1],
                                  leat_rewrite_root(m)->inputs[1 - m->side]};
  const leat_attr_t attrs[] = {
      LEAT_TYPE("T", loss->output_types[0]),
      LEAT_TYPE("Tlabels", leat_graph_output_type(m->graph, loss->inputs[1]))};
  leat_node_spec_t spec = {.inputs = inputs, .input_count = 3, .attrs = attrs, .attr_count = 2};
  return m->add(m, "_ScaledCrossEntropy", &spec, out_by);
}

const leat_rewrite_rule_t leat_loss_rules[] = {
    {.name = "scaled_backprop",
     .phase = LEAT_REWRITE_PROLOGUE,
     .root = "Mul",
     .producer = "SoftmaxCrossEntropyWithLogits|SparseSoftmaxCrossEntropyWithLogits",
     .producer_output = 1,
     .commutes = true,
     .applies = is_column,
     .make = scale_backprop,
     .doc = "a loss whose gradient is scaled by rows scales it by itself"},
    LEAT_REWRITE_RULES_END,
};
