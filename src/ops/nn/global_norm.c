// Definition of BatchNormWithGlobalNormalization and its gradient: batch normalisation as the first
// release of TensorFlow had it, deprecated since. In contrast to FusedBatchNorm it does not compute
// the statistics of the batch. Mean m and variance v are inputs, and have gradients.
//
//   t [batch, height, width, channels], m, v, beta, gamma [channels] -> result as t
//
// The gradient op gives the gradients of all five inputs at once, in their order. It does not take
// beta, since no gradient depends on it. global_norm_cpu.c has the kernels.
#include "graph/gradient.h"
#include "graph/inference/inference.h"
#include "ops/op_rows.h"

// Merges the channels of |shape| with the lengths of the vectors at inputs [1, end).
static leat_status_t merge_channels(leat_inference_t* c, leat_partial_shape_t shape, int end,
                                    leat_partial_shape_t* out_shape) {
  int64_t channels = shape.dims[3];
  for (int i = 1; i < end; ++i) {
    leat_partial_shape_t vector;
    LEAT_RETURN_IF_ERROR(leat_inference_with_rank(c, leat_inference_input(c, i), 1, &vector));
    LEAT_RETURN_IF_ERROR(leat_inference_merge_dim(channels, vector.dims[0], &channels));
  }
  const int64_t dims[] = {shape.dims[0], shape.dims[1], shape.dims[2], channels};
  return leat_inference_make(c, 4, dims, out_shape);
}

static leat_status_t global_norm_shape(leat_inference_t* c) {
  leat_partial_shape_t input, output;
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank(c, leat_inference_input(c, 0), 4, &input));
  LEAT_RETURN_IF_ERROR(merge_channels(c, input, 5, &output));
  leat_inference_set_output(c, 0, output);
  return leat_ok_status();
}

static leat_status_t global_norm_grad_shape(leat_inference_t* c) {
  leat_partial_shape_t input, output, vector;
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank(c, leat_inference_input(c, 0), 4, &input));
  LEAT_RETURN_IF_ERROR(leat_inference_merge(c, input, leat_inference_input(c, 4), &input));
  LEAT_RETURN_IF_ERROR(merge_channels(c, input, 4, &output));
  LEAT_RETURN_IF_ERROR(leat_inference_make(c, 1, &output.dims[3], &vector));
  leat_inference_set_output(c, 0, output);
  for (int i = 1; i < 5; ++i) leat_inference_set_output(c, i, vector);
  return leat_ok_status();
}

// The gradient op does not take beta, since no gradient depends on it.
static leat_status_t global_norm_gradient(leat_gradient_t* g) {
  const leat_node_t* node = leat_gradient_node(g);
  const leat_output_t inputs[] = {leat_gradient_input(g, 0), leat_gradient_input(g, 1),
                                  leat_gradient_input(g, 2), leat_gradient_input(g, 4),
                                  leat_gradient_of_output(g, 0)};
  const int32_t made = leat_build_node(
      &g->builder, "BatchNormWithGlobalNormalizationGrad", (leat_outputs_t){inputs, 5},
      LEAT_ATTRS(LEAT_COPY("variance_epsilon", leat_node_attr(node, LEAT_SV("variance_epsilon"))),
                 LEAT_COPY("scale_after_normalization",
                           leat_node_attr(node, LEAT_SV("scale_after_normalization")))));
  for (int i = 0; i < 5; ++i) leat_gradient_set_input(g, i, leat_node_output(made, i));
  return leat_ok_status();
}

#define ATTRS                                                                                   \
  "T: {float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, qint32, "     \
  "bfloat16, qint16, quint16, uint16, complex128, half, uint32, uint64}; variance_epsilon: "    \
  "float; scale_after_normalization: bool"

const leat_op_row_t leat_global_norm_ops[] = {
    {.name = "BatchNormWithGlobalNormalization",
     .inputs = "t: T; m: T; v: T; beta: T; gamma: T",
     .outputs = "result: T",
     .attrs = ATTRS,
     .shape = global_norm_shape,
     .gradient = global_norm_gradient,
     .contract = LEAT_RULES(LEAT_RULE_RANK(0, 4), LEAT_RULE_VECTOR(1), LEAT_RULE_VECTOR(2),
                            LEAT_RULE_VECTOR(3), LEAT_RULE_VECTOR(4)),
     .deprecated_since = 9,
     .deprecation = "Use tf.nn.batch_normalization()",
     .doc = "(t - m) / sqrt(v + epsilon) gamma + beta, over each channel."},
    {.name = "BatchNormWithGlobalNormalizationGrad",
     .inputs = "t: T; m: T; v: T; gamma: T; backprop: T",
     .outputs = "dx: T; dm: T; dv: T; db: T; dg: T",
     .attrs = ATTRS,
     .shape = global_norm_grad_shape,
     .contract = LEAT_RULES(LEAT_RULE_RANK(0, 4), LEAT_RULE_VECTOR(1), LEAT_RULE_VECTOR(2),
                            LEAT_RULE_VECTOR(3), LEAT_RULE_SAME_SHAPE(0, 4)),
     .deprecated_since = 9,
     .deprecation = "Use tf.nn.batch_normalization()",
     .doc = "The gradient of BatchNormWithGlobalNormalization."},
    LEAT_OP_ROWS_END,
};
