// Definitions of FractionalMaxPool and FractionalAvgPool with their gradients: pools whose windows
// have sizes k and k + 1 in random order, so that the ratio of input to output need not be a whole
// number (Graham, "Fractional Max-Pooling", 2014).
//
//   value [batch, rows, columns, channels] -> output, row_pooling_sequence, col_pooling_sequence
//
// Outputs 1 and 2 say where the windows begin. The gradient ops take them as inputs, because
// windows are drawn anew in each step. The kernels, and the meaning of a sequence, are in
// fractional_pool_cpu.c.
#include "graph/gradient.h"
#include "graph/inference/inference.h"
#include "ops/nn/window_op.h"
#include "ops/op_rows.h"

static leat_status_t pool_shape(leat_inference_t* c) {
  leat_partial_shape_t input, output, sequence;
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank(c, leat_inference_input(c, 0), 4, &input));
  const leat_attr_value_t* ratios = leat_node_attr(c->node, LEAT_SV("pooling_ratio"));
  if (!ratios || ratios->count != 4) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "pooling_ratio field must specify 4 dimensions");
  }
  int64_t dims[4];
  for (int d = 0; d < 4; ++d) {
    const float ratio = ratios->floats[d];
    if (!(ratio >= 1)) {
      return leat_make_status(LEAT_INVALID_ARGUMENT,
                              "pooling_ratio cannot be smaller than 1, got: %g", (double)ratio);
    }
    const int64_t dim = leat_partial_shape_dim(input, d);
    dims[d] = dim < 0 ? dim : leat_window_count_fractional(dim, ratio);
  }
  LEAT_RETURN_IF_ERROR(leat_inference_make(c, 4, dims, &output));
  leat_inference_set_output(c, 0, output);
  for (int i = 1; i <= 2; ++i) {
    // The kernel's sequence has one element more than this. TensorFlow's shape function makes the
    // same mistake, and graphs that were built with it rely on nothing else.
    LEAT_RETURN_IF_ERROR(leat_inference_make(c, 1, &dims[i], &sequence));
    leat_inference_set_output(c, i, sequence);
  }
  return leat_ok_status();
}

static leat_status_t max_grad_shape(leat_inference_t* c) {
  return leat_window_shape_as_input(c, 0, 4);
}

// The first input is the shape of the pool's input, which is known when it is a constant.
static leat_status_t avg_grad_shape(leat_inference_t* c) {
  leat_partial_shape_t output;
  if (leat_inference_input_tensor(c, 0)) {
    LEAT_RETURN_IF_ERROR(leat_inference_input_as_shape(c, 0, &output));
  } else {
    LEAT_RETURN_IF_ERROR(leat_inference_unknown_of_rank(c, 4, &output));
  }
  leat_inference_set_output(c, 0, output);
  return leat_ok_status();
}

// Builds the gradient node |op|, whose inputs are |first| followed by the two sequences.
static leat_output_t build_grad(leat_gradient_t* g, const char* op, leat_outputs_t first) {
  leat_output_t inputs[5];
  int count = 0;
  for (int i = 0; i < first.count; ++i) inputs[count++] = first.items[i];
  inputs[count++] = leat_gradient_output(g, 1);
  inputs[count++] = leat_gradient_output(g, 2);
  const bool overlapping = leat_node_attr_bool(leat_gradient_node(g), "overlapping", false);
  return leat_build(&g->builder, op, (leat_outputs_t){inputs, count},
                    LEAT_ATTRS(LEAT_BOOL("overlapping", overlapping)));
}

static leat_status_t max_gradient(leat_gradient_t* g) {
  const leat_outputs_t first = LEAT_INPUTS(leat_gradient_input(g, 0), leat_gradient_output(g, 0),
                                           leat_gradient_of_output(g, 0));
  leat_gradient_set_input(g, 0, build_grad(g, "FractionalMaxPoolGrad", first));
  return leat_ok_status();
}

static leat_status_t avg_gradient(leat_gradient_t* g) {
  const leat_output_t shape =
      leat_build(&g->builder, "Shape", LEAT_INPUTS(leat_gradient_input(g, 0)),
                 LEAT_ATTRS(LEAT_TYPE("out_type", LEAT_DTYPE_INT64)));
  const leat_outputs_t first = LEAT_INPUTS(shape, leat_gradient_of_output(g, 0));
  leat_gradient_set_input(g, 0, build_grad(g, "FractionalAvgPoolGrad", first));
  return leat_ok_status();
}

#define TYPES "T: {float, double, int32, int64}"
#define SEQUENCES "row_pooling_sequence: int64; col_pooling_sequence: int64"
#define ATTRS                                                                             \
  "pooling_ratio: list(float) >= 4; pseudo_random: bool = false; overlapping: bool = false; " \
  "deterministic: bool = false; seed: int = 0; seed2: int = 0; " TYPES

const leat_op_row_t leat_fractional_pool_ops[] = {
    {.name = "FractionalMaxPool",
     .inputs = "value: T",
     .outputs = "output: T; " SEQUENCES,
     .attrs = ATTRS,
     .shape = pool_shape,
     .gradient = max_gradient,
     .doc = "The greatest value of windows of random size; where they begin."},
    {.name = "FractionalMaxPoolGrad",
     .inputs = "orig_input: T; orig_output: T; out_backprop: T; " SEQUENCES,
     .outputs = "output: T",
     .attrs = "overlapping: bool = false; " TYPES,
     .shape = max_grad_shape,
     .doc = "The gradient of FractionalMaxPool."},
    {.name = "FractionalAvgPool",
     .inputs = "value: T",
     .outputs = "output: T; " SEQUENCES,
     .attrs = ATTRS,
     .shape = pool_shape,
     .gradient = avg_gradient,
     .doc = "The mean of windows of random size; where they begin."},
    {.name = "FractionalAvgPoolGrad",
     .inputs = "orig_input_tensor_shape: int64; out_backprop: T; " SEQUENCES,
     .outputs = "output: T",
     .attrs = "overlapping: bool = false; " TYPES,
     .shape = avg_grad_shape,
     .doc = "The gradient of FractionalAvgPool."},
    LEAT_OP_ROWS_END,
};
