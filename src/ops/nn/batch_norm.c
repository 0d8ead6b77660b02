// Definitions of FusedBatchNorm in its three versions, of their gradients, and of
// _FusedBatchNormEx, the third version with what follows it.
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
// The gradient ops are differentiable too. Networks whose loss contains a gradient (a gradient
// penalty) need that; it is rare, so it is built of elementary ops and has no kernel.
#include "graph/gradient.h"
#include "graph/inference/inference.h"
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

// TensorFlow takes only channels that fill the vectors of the GPU's kernel.
static leat_status_t extended_shape(leat_inference_t* c) {
  LEAT_RETURN_IF_ERROR(batch_norm_shape(c));
  leat_partial_shape_t x;
  LEAT_RETURN_IF_ERROR(read_input(c, 0, &x));
  const bool first = starts_with_channels(leat_node_attr_string(c->node, "data_format"));
  const int64_t channels = x.dims[first ? 1 : x.rank - 1];
  if (channels == LEAT_DIM_UNKNOWN || channels % 4 == 0) return leat_ok_status();
  return leat_make_status(LEAT_INVALID_ARGUMENT,
                          "_FusedBatchNormEx channel dimension must be divisible by 4, is %lld",
                          (long long)channels);
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

// ---- Gradient of the gradient -------------------------------------------------------------------

// The gradient of the gradient of batch normalisation, built as a graph of elementary ops.
//
// For a channel with N positions, with g the gradient of y and s the scale, the gradient op
// computes
//
//   dx = s r (g' - r^2 Q x' / N),  ds = r Q,  do = sum g
//   x' = x - mean x,  g' = g - mean g,  Q = sum g x',  r = 1 / sqrt(mean x'^2 + epsilon)
//
// With A, B, C the gradients that come in for dx, ds and do, A' = A - mean A, P = sum A g' and R =
// sum A x', the gradients of its inputs are
//
//   for g:  s r (A - mean A - r^2 R x' / N) + B r x' + C
//   for s:  r P - r^3 Q R / N
//   for x:  s (x' (3 r^5 Q R / N - r^3 P) - r^3 (g' R + A' Q)) / N + B (r g' - r^3 Q x' / N)
//
// With frozen statistics, dx = s r g and ds = r sum g (x - mean), and everything is simpler. All
// arithmetic is in float, and results are cast to the type of x.

// What the functions below need to build nodes for one gradient.
typedef struct pieces_s {
  leat_builder_t* b;
  int32_t axes[4];  // all dimensions but the channels
  int axis_count;
  bool channels_first;
  int rank;
} pieces_t;

static leat_output_t multiply(const pieces_t* p, leat_output_t x, leat_output_t y) {
  return leat_build_binary(p->b, "Mul", x, y);
}
static leat_output_t add(const pieces_t* p, leat_output_t x, leat_output_t y) {
  return leat_build_binary(p->b, "AddV2", x, y);
}
static leat_output_t subtract(const pieces_t* p, leat_output_t x, leat_output_t y) {
  return leat_build_binary(p->b, "Sub", x, y);
}
// Builds "Sum" or "Mean" over all dimensions but the channels; these keep size 1, so that the
// result broadcasts against x.
static leat_output_t reduce(const pieces_t* p, const char* op, leat_output_t x) {
  const leat_output_t axes = leat_build_int32_vector(p->b, p->axes, p->axis_count);
  return leat_build(p->b, op, LEAT_INPUTS(x, axes), LEAT_ATTRS(LEAT_BOOL("keep_dims", true)));
}
static leat_output_t reciprocal_root(const pieces_t* p, leat_output_t variance, float epsilon) {
  const leat_output_t small = leat_build_scalar(p->b, LEAT_DTYPE_FLOAT, (double)epsilon);
  return leat_build_unary(p->b, "Rsqrt", add(p, variance, small));
}
// Reshapes a vector of the channels so that it broadcasts against x.
static leat_output_t spread(const pieces_t* p, leat_output_t vector) {
  int32_t sizes[5] = {1, 1, 1, 1, 1};
  sizes[p->channels_first ? 1 : p->rank - 1] = -1;
  return leat_build_binary(p->b, "Reshape", vector,
                           leat_build_int32_vector(p->b, sizes, p->rank));
}
static leat_output_t flatten(const pieces_t* p, leat_output_t x) {
  const int32_t all = -1;
  return leat_build_binary(p->b, "Reshape", x, leat_build_int32_vector(p->b, &all, 1));
}

typedef struct values_s {
  leat_output_t dy, x, scale, mean, variance;
  leat_output_t ddx, ddscale, ddoffset;  // A, B, C
} values_t;

typedef struct results_s {
  leat_output_t dy, x, scale;
} results_t;

// dx = s r g, ds = r sum g (x - mean), do = sum g.
static results_t with_frozen_statistics(const pieces_t* p, const values_t* v, float epsilon) {
  const leat_output_t r = reciprocal_root(p, v->variance, epsilon);
  const leat_output_t centered = subtract(p, v->x, v->mean);
  const leat_output_t through_x = multiply(p, multiply(p, v->ddx, v->scale), r);
  const leat_output_t through_scale = multiply(p, multiply(p, v->ddscale, centered), r);
  return (results_t){
      .dy = add(p, add(p, through_x, through_scale), v->ddoffset),
      .x = multiply(p, multiply(p, v->ddscale, v->dy), r),
      .scale = multiply(p, reduce(p, "Sum", multiply(p, v->ddx, v->dy)), r),
  };
}

static results_t with_batch_statistics(const pieces_t* p, const values_t* v, float epsilon) {
  const leat_output_t three = leat_build_scalar(p->b, LEAT_DTYPE_FLOAT, 3);
  const leat_output_t x = subtract(p, v->x, reduce(p, "Mean", v->x));
  const leat_output_t g = subtract(p, v->dy, reduce(p, "Mean", v->dy));
  const leat_output_t a = subtract(p, v->ddx, reduce(p, "Mean", v->ddx));
  const leat_output_t r =
      reciprocal_root(p, reduce(p, "Mean", leat_build_unary(p->b, "Square", x)), epsilon);
  const leat_output_t r2 = multiply(p, r, r), r3 = multiply(p, r2, r);
  // mean_p, mean_q and mean_r are P, Q and R divided by N.
  const leat_output_t mean_p = reduce(p, "Mean", multiply(p, v->ddx, g));
  const leat_output_t mean_q = reduce(p, "Mean", multiply(p, v->dy, x));
  const leat_output_t mean_r = reduce(p, "Mean", multiply(p, v->ddx, x));
  const leat_output_t sum_p = reduce(p, "Sum", multiply(p, v->ddx, g));
  const leat_output_t sum_q = reduce(p, "Sum", multiply(p, v->dy, x));
  const leat_output_t r2qr = multiply(p, multiply(p, r2, mean_q), mean_r);
  results_t results;
  results.dy = multiply(p, multiply(p, v->scale, r),
                        subtract(p, a, multiply(p, multiply(p, r2, mean_r), x)));
  results.dy = add(p, add(p, results.dy, multiply(p, multiply(p, v->ddscale, r), x)), v->ddoffset);
  results.scale = multiply(
      p, r, subtract(p, sum_p, multiply(p, multiply(p, r2, sum_q), mean_r)));
  const leat_output_t along = multiply(p, x, subtract(p, multiply(p, three, r2qr), mean_p));
  const leat_output_t across = add(p, multiply(p, g, mean_r), multiply(p, a, mean_q));
  const leat_output_t through_x =
      multiply(p, multiply(p, v->scale, r3), subtract(p, along, across));
  const leat_output_t through_scale =
      subtract(p, multiply(p, r, g), multiply(p, multiply(p, r3, mean_q), x));
  results.x = add(p, through_x, multiply(p, v->ddscale, through_scale));
  return results;
}

static pieces_t describe(leat_gradient_t* g) {
  const leat_string_view_t format = leat_node_attr_string(leat_gradient_node(g), "data_format");
  pieces_t p = {.b = &g->builder, .rank = (int)format.size};
  p.channels_first = p.rank > 1 && format.data[1] == 'C';
  for (int d = 0; d < p.rank && d < 5; ++d) {
    if (d != (p.channels_first ? 1 : p.rank - 1)) p.axes[p.axis_count++] = d;
  }
  return p;
}

static leat_status_t second_gradient(leat_gradient_t* g) {
  const pieces_t p = describe(g);
  leat_builder_t* b = &g->builder;
  const leat_node_t* node = leat_gradient_node(g);
  const leat_attr_value_t* epsilon_attr = leat_node_attr(node, LEAT_SV("epsilon"));
  const float epsilon = epsilon_attr ? epsilon_attr->f : 1e-4f;
  const bool is_training = leat_node_attr_bool(node, "is_training", true);
  const int dtype = leat_build_type_of(b, leat_gradient_input(g, 1));
  const values_t v = {
      .dy = leat_subgraph_cast(b, leat_gradient_input(g, 0), LEAT_DTYPE_FLOAT),
      .x = leat_subgraph_cast(b, leat_gradient_input(g, 1), LEAT_DTYPE_FLOAT),
      .scale = spread(&p, leat_gradient_input(g, 2)),
      .mean = spread(&p, leat_gradient_input(g, 3)),
      .variance = spread(&p, leat_gradient_input(g, 4)),
      .ddx = leat_subgraph_cast(b, leat_gradient_of_output(g, 0), LEAT_DTYPE_FLOAT),
      .ddscale = spread(&p, leat_gradient_of_output(g, 1)),
      .ddoffset = spread(&p, leat_gradient_of_output(g, 2)),
  };
  const results_t results = is_training ? with_batch_statistics(&p, &v, epsilon)
                                        : with_frozen_statistics(&p, &v, epsilon);
  leat_gradient_set_input(g, 0, leat_subgraph_cast(b, results.dy, dtype));
  leat_gradient_set_input(g, 1, leat_subgraph_cast(b, results.x, dtype));
  leat_gradient_set_input(g, 2, flatten(&p, results.scale));
  return leat_ok_status();
}

// ---- Ops ----------------------------------------------------------------------------------------

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
                second_gradient, "The gradient of FusedBatchNorm."),
    LEAT_OP_ROW("FusedBatchNormV2", "x: T; scale: U; offset: U; mean: U; variance: U",
                "y: T; batch_mean: U; batch_variance: U; reserve_space_1: U; reserve_space_2: U",
                TYPES "; " FORWARD(FLAT), batch_norm_shape, v2_gradient,
                "FusedBatchNorm with statistics in float."),
    LEAT_OP_ROW("FusedBatchNormGradV2",
                "y_backprop: T; x: T; scale: float; reserve_space_1: U; reserve_space_2: U",
                "x_backprop: T; scale_backprop: U; offset_backprop: U; reserve_space_3: U; "
                "reserve_space_4: U",
                TYPES "; " BACKWARD(FLAT), batch_norm_grad_shape, second_gradient,
                "The gradient of FusedBatchNormV2."),
    LEAT_OP_ROW("FusedBatchNormV3", "x: T; scale: U; offset: U; mean: U; variance: U",
                "y: T; batch_mean: U; batch_variance: U; reserve_space_1: U; reserve_space_2: U; "
                "reserve_space_3: U",
                "T: {half, bfloat16, float}; U: {bfloat16, float}; " FORWARD(ANY), batch_norm_shape,
                v3_gradient, "FusedBatchNormV2, also of three spatial dimensions."),
    LEAT_OP_ROW("_FusedBatchNormEx",
                "x: T; scale: U; offset: U; mean: U; variance: U; side_input: num_side_inputs * T",
                "y: T; batch_mean: U; batch_variance: U; reserve_space_1: U; reserve_space_2: U; "
                "reserve_space_3: U",
                "T: {half, float, bfloat16}; U: {float}; epsilon: float = 1e-04; "
                "exponential_avg_factor: float = 1.0; num_side_inputs: int >= 0 = 0; "
                "activation_mode: string = 'Identity'; " FLAT "; is_training: bool = true",
                extended_shape, NULL,
                "FusedBatchNormV3, a sum with a tensor and a Relu, which TensorFlow's remapper "
                "puts in their place."),
    LEAT_OP_ROW("FusedBatchNormGradV3",
                "y_backprop: T; x: T; scale: float; reserve_space_1: U; reserve_space_2: U; "
                "reserve_space_3: U",
                "x_backprop: T; scale_backprop: U; offset_backprop: U; reserve_space_4: U; "
                "reserve_space_5: U",
                TYPES "; " BACKWARD(ANY), batch_norm_grad_shape, second_gradient,
                "The gradient of FusedBatchNormV3."),
    LEAT_OP_ROWS_END,
};
