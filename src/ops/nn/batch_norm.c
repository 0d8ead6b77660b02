// Definitions of FusedBatchNorm in its three versions, and of their gradients.
//
//   x [batch, height, width, channels] (or NCHW), scale, offset, mean, variance [channels]
//     -> y as x, batch_mean, batch_variance, reserve_space_1, reserve_space_2 [channels]
//
// The second version lets x be half or bfloat16 while the statistics are float; the third adds
// three spatial dimensions and an output that GPUs use. With is_training the op computes the
// statistics of the batch and keeps them in the reserve spaces for its gradient; without, it
// normalises by the mean and variance that it is given, and the gradient takes these inputs
// instead.
//
// The gradient ops are differentiable too: batch_norm_second.c builds that.
#include "graph/gradient.h"
#include "graph/inference/inference.h"
#include "ops/nn/batch_norm_second.h"
#include "ops/nn/subgraph.h"
#include "ops/op_rows.h"

static bool starts_with_channels(leat_string_view_t format) {
  return leat_string_view_equal(format, LEAT_SV("NCHW")) ||
         leat_string_view_equal(format, LEAT_SV("NCDHW"));
}

// Merges the number of channels of |x| with the lengths of the vectors at inputs [begin, end), and
// gives the shape of |x| with it.
static leat_status_t merge_channels(leat_inference_t* c, leat_partial_shape_t x, int begin, int end,
                                    int64_t* out_channels, leat_partial_shape_t* out_shape) {
  const bool first = starts_with_channels(leat_node_attr_string(c->node, "data_format"));
  const int channel = first ? 1 : x.rank - 1;
  *out_channels = x.dims[channel];
  for (int i = begin; i < end; ++i) {
    leat_partial_shape_t vector;
    LEAT_RETURN_IF_ERROR(leat_inference_with_rank(c, leat_inference_input(c, i), 1, &vector));
    LEAT_RETURN_IF_ERROR(leat_inference_merge_dim(*out_channels, vector.dims[0], out_channels));
  }
  int64_t dims[5];
  for (int d = 0; d < x.rank; ++d) dims[d] = d == channel ? *out_channels : x.dims[d];
  return leat_inference_make(c, x.rank, dims, out_shape);
}

// The data format has one letter for each dimension.
static leat_status_t read_input(leat_inference_t* c, int index, leat_partial_shape_t* out_shape) {
  const leat_string_view_t format = leat_node_attr_string(c->node, "data_format");
  return leat_inference_with_rank(c, leat_inference_input(c, index), (int)format.size, out_shape);
}

// In training with factor 1 the inputs mean and variance are not read and may be empty.
static leat_status_t batch_norm_shape(leat_inference_t* c) {
  leat_partial_shape_t x, y, vector;
  int64_t channels;
  LEAT_RETURN_IF_ERROR(read_input(c, 0, &x));
  const leat_attr_value_t* factor = leat_node_attr(c->node, LEAT_SV("exponential_avg_factor"));
  const bool ignores_statistics =
      leat_node_attr_bool(c->node, "is_training", true) && (!factor || factor->f == 1);
  LEAT_RETURN_IF_ERROR(merge_channels(c, x, 1, ignores_statistics ? 3 : 5, &channels, &y));
  LEAT_RETURN_IF_ERROR(leat_inference_make(c, 1, &channels, &vector));
  leat_inference_set_output(c, 0, y);
  for (int i = 1; i < 5; ++i) leat_inference_set_output(c, i, vector);
  return leat_ok_status();
}

// Outputs 3 and 4 are placeholders and always empty, as in TensorFlow.
static leat_status_t batch_norm_grad_shape(leat_inference_t* c) {
  leat_partial_shape_t dy, x, dx, vector, none;
  int64_t channels;
  const int64_t zero = 0;
  LEAT_RETURN_IF_ERROR(read_input(c, 0, &dy));
  LEAT_RETURN_IF_ERROR(read_input(c, 1, &x));
  LEAT_RETURN_IF_ERROR(merge_channels(c, x, 2, 5, &channels, &x));
  LEAT_RETURN_IF_ERROR(merge_channels(c, dy, 2, 5, &channels, &dx));
  LEAT_RETURN_IF_ERROR(leat_inference_make(c, 1, &channels, &vector));
  LEAT_RETURN_IF_ERROR(leat_inference_make(c, 1, &zero, &none));
  leat_inference_set_output(c, 0, dx);
  leat_inference_set_output(c, 1, vector);
  leat_inference_set_output(c, 2, vector);
  leat_inference_set_output(c, 3, none);
  leat_inference_set_output(c, 4, none);
  return leat_ok_status();
}

// ---- Gradient -----------------------------------------------------------------------------------

// How a gradient is built where the channels are second. With frozen statistics TensorFlow's
// gradient op wants the channels last, so its operands are transposed before and its result after;
// |is_transposed| says so.
typedef struct layout_s {
  bool is_transposed;
  leat_attr_t format;  // the data_format of the gradient op
  int32_t to_last[5], back[5];  // the order of dimensions for both transposes
  int rank;
} layout_t;

static layout_t choose_layout(const leat_node_t* node, bool is_training) {
  layout_t layout = {.format = LEAT_COPY("data_format",
                                         leat_node_attr(node, LEAT_SV("data_format")))};
  layout.rank = (int)layout.format.value.s.size;
  layout.is_transposed = !is_training && starts_with_channels(layout.format.value.s);
  if (!layout.is_transposed) return layout;
  layout.format = layout.rank == 5 ? LEAT_STR("data_format", "NDHWC")
                                   : LEAT_STR("data_format", "NHWC");
  layout.back[1] = layout.rank - 1;
  layout.to_last[layout.rank - 1] = 1;
  for (int d = 1; d + 1 < layout.rank; ++d) {
    layout.to_last[d] = d + 1;
    layout.back[d + 1] = d;
  }
  return layout;
}

// Builds the gradient node |op|. |has_reserve| says that it takes the third reserve space as well.
static leat_status_t batch_norm_gradient(leat_gradient_t* g, const char* op, bool has_reserve) {
  leat_builder_t* b = &g->builder;
  const leat_node_t* node = leat_gradient_node(g);
  const bool is_training = leat_node_attr_bool(node, "is_training", true);
  const leat_attr_t epsilon = LEAT_COPY("epsilon", leat_node_attr(node, LEAT_SV("epsilon")));
  const layout_t layout = choose_layout(node, is_training);
  leat_output_t inputs[6] = {
      leat_gradient_of_output(g, 0),
      leat_gradient_input(g, 0),
      leat_gradient_input(g, 1),
      is_training ? leat_gradient_output(g, 3) : leat_gradient_input(g, 3),
      is_training ? leat_gradient_output(g, 4) : leat_gradient_input(g, 4),
  };
  if (has_reserve) inputs[5] = leat_gradient_output(g, 5);
  for (int i = 0; i < 2 && layout.is_transposed; ++i) {
    inputs[i] = leat_subgraph_transpose(b, inputs[i], layout.to_last, layout.rank);
  }
  const int32_t made = leat_build_node(
      b, op, (leat_outputs_t){inputs, has_reserve ? 6 : 5},
      LEAT_ATTRS(epsilon, layout.format, LEAT_BOOL("is_training", is_training)));
  leat_output_t dx = leat_node_output(made, 0);
  if (layout.is_transposed) dx = leat_subgraph_transpose(b, dx, layout.back, layout.rank);
  leat_gradient_set_input(g, 0, dx);
  leat_gradient_set_input(g, 1, leat_node_output(made, 1));
  leat_gradient_set_input(g, 2, leat_node_output(made, 2));
  return leat_ok_status();
}
static leat_status_t v1_gradient(leat_gradient_t* g) {
  return batch_norm_gradient(g, "FusedBatchNormGrad", false);
}
static leat_status_t v2_gradient(leat_gradient_t* g) {
  return batch_norm_gradient(g, "FusedBatchNormGradV2", false);
}
static leat_status_t v3_gradient(leat_gradient_t* g) {
  return batch_norm_gradient(g, "FusedBatchNormGradV3", true);
}

#define FLAT "data_format: {'NHWC', 'NCHW'} = 'NHWC'"
#define ANY "data_format: {'NHWC', 'NCHW', 'NDHWC', 'NCDHW'} = 'NHWC'"
#define TYPES "T: {half, bfloat16, float}; U: {float}"
#define FORWARD(formats) \
  "epsilon: float = 1e-04; exponential_avg_factor: float = 1.0; " formats \
  "; is_training: bool = true"
#define BACKWARD(formats) "epsilon: float = 1e-04; " formats "; is_training: bool = true"

const leat_op_row_t leat_batch_norm_ops[] = {
    LEAT_OP_ROW("FusedBatchNorm", "x: T; scale: T; offset: T; mean: T; variance: T",
                "y: T; batch_mean: T; batch_variance: T; reserve_space_1: T; reserve_space_2: T",
                "T: {float}; " FORWARD(FLAT), batch_norm_shape, v1_gradient,
                "(x - mean) / sqrt(variance + epsilon) scale + offset, over each channel."),
    LEAT_OP_ROW("FusedBatchNormGrad",
                "y_backprop: T; x: T; scale: T; reserve_space_1: T; reserve_space_2: T",
                "x_backprop: T; scale_backprop: T; offset_backprop: T; reserve_space_3: T; "
                "reserve_space_4: T",
                "T: {float}; " BACKWARD(FLAT), batch_norm_grad_shape,
                leat_batch_norm_second_gradient, "The gradient of FusedBatchNorm."),
    LEAT_OP_ROW("FusedBatchNormV2", "x: T; scale: U; offset: U; mean: U; variance: U",
                "y: T; batch_mean: U; batch_variance: U; reserve_space_1: U; reserve_space_2: U",
                TYPES "; " FORWARD(FLAT), batch_norm_shape, v2_gradient,
                "FusedBatchNorm with statistics in float."),
    LEAT_OP_ROW("FusedBatchNormGradV2",
                "y_backprop: T; x: T; scale: float; reserve_space_1: U; reserve_space_2: U",
                "x_backprop: T; scale_backprop: U; offset_backprop: U; reserve_space_3: U; "
                "reserve_space_4: U",
                TYPES "; " BACKWARD(FLAT), batch_norm_grad_shape, leat_batch_norm_second_gradient,
                "The gradient of FusedBatchNormV2."),
    LEAT_OP_ROW("FusedBatchNormV3", "x: T; scale: U; offset: U; mean: U; variance: U",
                "y: T; batch_mean: U; batch_variance: U; reserve_space_1: U; reserve_space_2: U; "
                "reserve_space_3: U",
                "T: {half, bfloat16, float}; U: {bfloat16, float}; " FORWARD(ANY), batch_norm_shape,
                v3_gradient, "FusedBatchNormV2, also of three spatial dimensions."),
    LEAT_OP_ROW("FusedBatchNormGradV3",
                "y_backprop: T; x: T; scale: float; reserve_space_1: U; reserve_space_2: U; "
                "reserve_space_3: U",
                "x_backprop: T; scale_backprop: U; offset_backprop: U; reserve_space_4: U; "
                "reserve_space_5: U",
                TYPES "; " BACKWARD(ANY), batch_norm_grad_shape, leat_batch_norm_second_gradient,
                "The gradient of FusedBatchNormV3."),
    LEAT_OP_ROWS_END,
};
