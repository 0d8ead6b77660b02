// CPU kernels of FusedBatchNorm and its gradient, in all three versions, and of _FusedBatchNormEx.
// For each channel, over the N positions of the batch and the image:
//
//   forward   y = (x - mean) scale / sqrt(variance + epsilon) + offset
//   backward  r = 1 / sqrt(variance + epsilon)
//             doffset = sum dy
//             dscale  = r sum dy (x - mean)
//             dx      = scale r (dy - doffset / N - (x - mean) r dscale / N)
//
// With is_training, mean and variance are those of the batch; otherwise they are inputs that do not
// depend on x, and the two subtracted terms of dx vanish.
//
// A tensor is seen as rows of channels. Tensors with the channels second are transposed before and
// after, and half and bfloat16 are converted to float; both are done by channels_cpu.c. Reading x
// twice, once for the mean and once for the squares of the differences from it, costs a pass more
// than summing x and x^2 together, but does not cancel where the mean is large.
//
// _FusedBatchNormEx gives max(y + side input, 0) instead of y, or max(y, 0) without a side input,
// computed in float. TensorFlow's CPU kernel leaves out the side input, which its remapper uses for
// GPUs only; graphs that were optimised there run here.
//
// Sums run over blocks of rows whose number does not depend on the number of threads, so that
// results do not either (batch_norm_steps.inc).
#include "ops/nn/batch_norm_cpu.h"

#include <math.h>
#include <string.h>

#include "base/checked.h"
#include "ops/kernel_rows.h"
#include "ops/math/elementwise_loops_cpu.h"
#include "ops/nn/channels_cpu.h"
#include "ops/nn/relu_cpu.h"

#define BLOCKS 64  // the largest number of blocks of rows that are summed separately

#define REAL float
#define SUFFIX(name) name##_f32
#include "ops/nn/batch_norm_steps.inc"

typedef struct leat_batch_norm_s {
  float epsilon, average_factor;
  bool channels_first, is_training;
  bool has_reserve;  // version 3 has a sixth output, which only GPUs use
  bool activates;    // a Relu follows
  bool has_side;     // input 5 is added before that
} leat_batch_norm_t;

static leat_status_t create(leat_kernel_creation_t* c, leat_batch_norm_t* norm) {
  leat_string_view_t format;
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_float(c, "epsilon", &norm->epsilon));
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_bool(c, "is_training", &norm->is_training));
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_string(c, "data_format", &format));
  norm->channels_first = leat_string_view_equal(format, LEAT_SV("NCHW")) ||
                         leat_string_view_equal(format, LEAT_SV("NCDHW"));
  norm->has_reserve = c->kernel->output_count > 5;
  return leat_ok_status();
}
static leat_status_t create_forward(leat_kernel_creation_t* c, void* state) {
  leat_batch_norm_t* norm = state;
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_float(c, "exponential_avg_factor", &norm->average_factor));
  return create(c, norm);
}
// Side inputs and activations are those that TensorFlow's kernels have on any device.
static leat_status_t create_extended(leat_kernel_creation_t* c, void* state) {
  leat_batch_norm_t* norm = state;
  leat_string_view_t activation;
  int64_t sides;
  LEAT_RETURN_IF_ERROR(create_forward(c, norm));
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_string(c, "activation_mode", &activation));
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_int(c, "num_side_inputs", &sides));
  norm->activates = leat_string_view_equals(activation, "Relu");
  norm->has_side = sides > 0;
  if (!norm->activates && !leat_string_view_equals(activation, "Identity")) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "Unsupported activation mode: %.*s, must be Identity or Relu",
                            LEAT_SV_ARG(activation));
  }
  if (sides <= norm->activates) return leat_ok_status();
  return leat_make_status(LEAT_INVALID_ARGUMENT,
                          "attribute num_side_inputs is %lld, must be at most 1, and 0 where "
                          "activation_mode is Identity", (long long)sides);
}
static leat_status_t create_gradient(leat_kernel_creation_t* c, void* state) {
  return create(c, state);
}

// ---- Sizes --------------------------------------------------------------------------------------

static leat_status_t check_rank(const leat_kernel_context_t* c, const leat_tensor_t* x,
                                int64_t* out_channels) {
  const leat_batch_norm_t* norm = leat_kernel_state(c);
  if (x->shape.rank != 4 && x->shape.rank != 5) {
    return leat_kernel_invalid(c, "input must be 4 or 5-dimensional, is %s",
                               LEAT_SHAPE_TEXT(&x->shape));
  }
  *out_channels = leat_shape_dim(&x->shape, norm->channels_first ? 1 : x->shape.rank - 1);
  return leat_ok_status();
}

// |channels| is -1 where any number of elements will do.
static leat_status_t check_vector(const leat_kernel_context_t* c, int index, const char* name,
                                  int64_t channels) {
  const leat_shape_t* shape = &leat_kernel_input(c, index)->shape;
  if (shape->rank == 1 && (channels < 0 || shape->element_count == channels)) {
    return leat_ok_status();
  }
  return leat_kernel_invalid(c, "%s is %s, must be a vector with as many elements as the channels "
                             "of x, %lld", name, LEAT_SHAPE_TEXT(shape), (long long)channels);
}

// Allocates scratch memory for |vectors| vectors of one float for each channel.
static leat_status_t allocate_scratch(leat_kernel_context_t* c, int64_t vectors, int64_t channels,
                                      leat_tensor_t* out_scratch) {
  const leat_shape_t shape = leat_shape_vector(vectors * channels);
  return leat_kernel_allocate_temporary(c, LEAT_DTYPE_FLOAT, &shape, out_scratch);
}

// ---- Forward ------------------------------------------------------------------------------------

// |vectors| are the outputs after y: batch mean and variance, then saved mean and variance.
typedef struct outputs_s {
  leat_tensor_t* y;
  float* vectors[4];
} outputs_t;

// y may take the buffer of x: each element of x is read before its y is written.
static leat_status_t allocate_forward(leat_kernel_context_t* c, int64_t channels,
                                      outputs_t* out_outputs) {
  const leat_batch_norm_t* norm = leat_kernel_state(c);
  const leat_shape_t vector = leat_shape_vector(channels);
  leat_tensor_t* output;
  LEAT_RETURN_IF_ERROR(leat_kernel_forward_or_allocate(c, 0, 0, &leat_kernel_input(c, 0)->shape,
                                                       &out_outputs->y));
  for (int i = 0; i < 4; ++i) {
    LEAT_RETURN_IF_ERROR(leat_kernel_allocate_output(c, 1 + i, &vector, &output));
    out_outputs->vectors[i] = output->data;
  }
  if (norm->has_reserve) {
    const leat_shape_t scalar = leat_shape_scalar();
    LEAT_RETURN_IF_ERROR(leat_kernel_allocate_output(c, 5, &scalar, &output));
    *leat_tensor_data(output, float) = 0;
  }
  return leat_ok_status();
}

// Writes mean and variance of the batch to the saved vectors, which the gradient op will read. The
// first two vectors are for the running averages: they get the batch's values, or a weighted mean
// of those and the old averages unless the factor is 1. The variance of a running average is
// divided by N - 1 instead of N, so that it estimates that of all data. |partials| holds BLOCKS * n
// elements.
static void find_statistics(leat_kernel_context_t* c, const float* x, int64_t rows, int64_t n,
                            float* partials, float* const* vectors) {
  const leat_batch_norm_t* norm = leat_kernel_state(c);
  float *mean = vectors[2], *variance = vectors[3];
  const float inverse = 1.0f / (float)rows;
  const float adjust = (float)rows / (float)LEAT_MAX(rows - 1, 1);
  sum_rows_f32(c, x, NULL, NULL, rows, n, partials, mean);
  for (int64_t i = 0; i < n; ++i) mean[i] *= inverse;
  sum_rows_f32(c, x, NULL, mean, rows, n, partials, variance);
  for (int64_t i = 0; i < n; ++i) variance[i] *= inverse;
  const float factor = norm->average_factor;
  const float* old_mean = leat_tensor_data(leat_kernel_input(c, 3), const float);
  const float* old_variance = leat_tensor_data(leat_kernel_input(c, 4), const float);
  for (int64_t i = 0; i < n; ++i) {
    if (factor == 1) {
      vectors[0][i] = mean[i];
      vectors[1][i] = variance[i] * adjust;
    } else {
      vectors[0][i] = (1 - factor) * old_mean[i] + factor * mean[i];
      vectors[1][i] = (1 - factor) * old_variance[i] + factor * adjust * variance[i];
    }
  }
}

typedef struct activated_map_s {
  batch_map_t_f32 map;
  const float* side;  // NULL: there is none
} activated_map_t;

// Normalises rows [begin, end), adds the side input and activates, some rows at a time, so that
// they stay in the first-level cache.
static void activated_rows(void* data, int64_t begin, int64_t end) {
  activated_map_t* m = data;
  const leat_elementwise_loop_t add =
      leat_binary_vector_loop(LEAT_BINARY_ADD, LEAT_DTYPE_FLOAT);
  const leat_elementwise_loop_t activate =
      LEAT_ISA_SELECT(leat_activation_loops)
          ->items[LEAT_ACTIVATION_RELU][leat_loop_type(LEAT_DTYPE_FLOAT)];
  const int64_t most = LEAT_MAX(4096 / m->map.n, 1);
  for (int64_t row = begin; row < end; row += most) {
    const int64_t last = LEAT_MIN(row + most, end), n = (last - row) * m->map.n;
    float* y = m->map.y + row * m->map.n;
    map_rows_f32(&m->map, row, last);
    if (m->side) (void)add((const void* const[]){y, m->side + row * m->map.n}, y, n);
    (void)activate((const void* const[]){y}, y, n);
  }
}

// |x|, |side| and |y| are float with the channels last; |side| has no elements where the node has
// no side input.
static leat_status_t run_forward(leat_kernel_context_t* c, const outputs_t* outputs,
                                 int64_t channels, const leat_tensor_t* x,
                                 const leat_tensor_t* side, leat_tensor_t* y) {
  const leat_batch_norm_t* norm = leat_kernel_state(c);
  const int64_t rows = x->shape.element_count / channels;
  leat_tensor_t scratch;
  LEAT_RETURN_IF_ERROR(allocate_scratch(c, BLOCKS + 1, channels, &scratch));
  float* factor = scratch.data;
  if (norm->is_training) {
    find_statistics(c, x->data, rows, channels, factor + channels, outputs->vectors);
  } else {
    for (int k = 0; k < 4; ++k) {
      memcpy(outputs->vectors[k], leat_kernel_input(c, 3 + k % 2)->data,
             (size_t)channels * sizeof(float));
    }
  }
  const float* scale = leat_tensor_data(leat_kernel_input(c, 1), const float);
  for (int64_t i = 0; i < channels; ++i) {
    factor[i] = scale[i] / sqrtf(outputs->vectors[3][i] + norm->epsilon);
  }
  activated_map_t job = {.map = {.x = x->data,
                                 .mean = outputs->vectors[2],
                                 .factor = factor,
                                 .offset = leat_kernel_input(c, 2)->data,
                                 .y = y->data,
                                 .n = channels},
                         .side = side->data};
  if (norm->activates) {
    leat_kernel_parallel_for(c, rows, 1.0 * (double)channels, activated_rows, &job);
  } else {
    map_f32(c, &job.map, rows);
  }
  leat_tensor_release(&scratch);
  return leat_ok_status();
}

// In training with factor 1 the kernel reads neither mean nor variance, so they may be empty.
static leat_status_t check_forward(const leat_kernel_context_t* c, int64_t* out_channels) {
  const leat_batch_norm_t* norm = leat_kernel_state(c);
  LEAT_RETURN_IF_ERROR(check_rank(c, leat_kernel_input(c, 0), out_channels));
  const int64_t statistics =
      norm->is_training && norm->average_factor == 1 ? -1 : *out_channels;
  LEAT_RETURN_IF_ERROR(check_vector(c, 1, "scale", *out_channels));
  LEAT_RETURN_IF_ERROR(check_vector(c, 2, "offset", *out_channels));
  LEAT_RETURN_IF_ERROR(check_vector(c, 3, "mean", statistics));
  LEAT_RETURN_IF_ERROR(check_vector(c, 4, "variance", statistics));
  const leat_shape_t* x = &leat_kernel_input(c, 0)->shape;
  if (!norm->has_side || leat_shape_equal(&leat_kernel_input(c, 5)->shape, x)) {
    return leat_ok_status();
  }
  return leat_kernel_invalid(c, "side_input is %s, must have the shape %s of x",
                             LEAT_SHAPE_TEXT(&leat_kernel_input(c, 5)->shape), LEAT_SHAPE_TEXT(x));
}

// A batch without elements has no mean: all statistics are NaN, as in TensorFlow.
static leat_status_t batch_norm__cpu(leat_kernel_context_t* c) {
  int64_t channels;
  outputs_t outputs;
  LEAT_RETURN_IF_ERROR(check_forward(c, &channels));
  LEAT_RETURN_IF_ERROR(allocate_forward(c, channels, &outputs));
  const leat_tensor_t* x = leat_kernel_input(c, 0);
  if (x->shape.element_count == 0) {
    for (int64_t i = 0; i < 4 * channels; ++i) outputs.vectors[i / channels][i % channels] = NAN;
    return leat_ok_status();
  }
  const leat_batch_norm_t* norm = leat_kernel_state(c);
  const bool is_transposed = norm->channels_first;
  leat_tensor_t wide_x = {0}, side = {0};
  leat_transposed_output_t y;
  leat_status_t status = leat_widen_transposed(c, is_transposed, x, &wide_x);
  if (!status && norm->has_side) {
    status = leat_widen_transposed(c, is_transposed, leat_kernel_input(c, 5), &side);
  }
  if (!status) status = leat_transposed_output_begin(c, is_transposed, outputs.y, &y);
  if (!status) {
    status = run_forward(c, &outputs, channels, &wide_x, &side, &y.wide);
    status = leat_transposed_output_end(c, &y, status);
  }
  leat_tensor_release(&side);
  leat_tensor_release(&wide_x);
  return status;
}

// ---- Gradient -----------------------------------------------------------------------------------

// Computes the three gradients; |dy|, |x| and |dx| are float with the channels last.
static leat_status_t run_gradient(leat_kernel_context_t* c, int64_t channels,
                                  const leat_tensor_t* dy, const leat_tensor_t* x, float* dscale,
                                  float* doffset, leat_tensor_t* dx) {
  const leat_batch_norm_t* norm = leat_kernel_state(c);
  const int64_t rows = x->shape.element_count / channels;
  const float* scale = leat_tensor_data(leat_kernel_input(c, 2), const float);
  const float* mean = leat_tensor_data(leat_kernel_input(c, 3), const float);
  const float* variance = leat_tensor_data(leat_kernel_input(c, 4), const float);
  leat_tensor_t scratch;
  LEAT_RETURN_IF_ERROR(allocate_scratch(c, BLOCKS + 3, channels, &scratch));
  float* factor = scratch.data;
  float *dy_mean = factor + channels, *slope = dy_mean + channels, *partials = slope + channels;
  sum_rows_f32(c, dy->data, NULL, NULL, rows, channels, partials, doffset);
  sum_rows_f32(c, x->data, dy->data, mean, rows, channels, partials, dscale);
  for (int64_t i = 0; i < channels; ++i) {
    const float inverse = 1 / sqrtf(variance[i] + norm->epsilon);
    factor[i] = scale[i] * inverse;
    // Frozen statistics do not depend on x, so no gradient goes through them.
    dy_mean[i] = norm->is_training ? doffset[i] / (float)rows : 0;
    slope[i] = norm->is_training ? inverse * inverse * (dscale[i] / (float)rows) : 0;
    dscale[i] *= inverse;
  }
  batch_map_t_f32 map = {.x = x->data,
                         .dy = dy->data,
                         .mean = mean,
                         .factor = factor,
                         .offset = dy_mean,
                         .slope = slope,
                         .y = dx->data,
                         .n = channels};
  map_f32(c, &map, rows);
  leat_tensor_release(&scratch);
  return leat_ok_status();
}

static leat_status_t check_gradient(const leat_kernel_context_t* c, int64_t* out_channels) {
  const leat_tensor_t* dy = leat_kernel_input(c, 0);
  const leat_tensor_t* x = leat_kernel_input(c, 1);
  LEAT_RETURN_IF_ERROR(check_rank(c, x, out_channels));
  if (!leat_shape_equal(&dy->shape, &x->shape)) {
    return leat_kernel_invalid(c, "x and y_backprop must have same shape, but they are %s and %s",
                               LEAT_SHAPE_TEXT(&x->shape), LEAT_SHAPE_TEXT(&dy->shape));
  }
  LEAT_RETURN_IF_ERROR(check_vector(c, 2, "scale", *out_channels));
  LEAT_RETURN_IF_ERROR(check_vector(c, 3, "reserve_space_1", *out_channels));
  return check_vector(c, 4, "reserve_space_2", *out_channels);
}

static leat_status_t batch_norm_grad__cpu(leat_kernel_context_t* c) {
  int64_t channels;
  LEAT_RETURN_IF_ERROR(check_gradient(c, &channels));
  const leat_shape_t vector = leat_shape_vector(channels), none = leat_shape_vector(0);
  leat_tensor_t *dx, *dscale, *doffset, *unused;
  LEAT_RETURN_IF_ERROR(
      leat_kernel_allocate_output(c, 0, &leat_kernel_input(c, 1)->shape, &dx));
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_output(c, 1, &vector, &dscale));
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_output(c, 2, &vector, &doffset));
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_output(c, 3, &none, &unused));
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_output(c, 4, &none, &unused));
  if (dx->shape.element_count == 0) {
    leat_tensor_fill_zero(dscale);
    leat_tensor_fill_zero(doffset);
    return leat_ok_status();
  }
  const bool is_transposed = ((const leat_batch_norm_t*)leat_kernel_state(c))->channels_first;
  leat_tensor_t dy = {0}, x = {0};
  leat_transposed_output_t transposed;
  leat_status_t status = leat_widen_transposed(c, is_transposed, leat_kernel_input(c, 0), &dy);
  if (!status) status = leat_widen_transposed(c, is_transposed, leat_kernel_input(c, 1), &x);
  if (!status) status = leat_transposed_output_begin(c, is_transposed, dx, &transposed);
  if (!status) {
    status = run_gradient(c, channels, &dy, &x, dscale->data, doffset->data, &transposed.wide);
    status = leat_transposed_output_end(c, &transposed, status);
  }
  leat_tensor_release(&x);
  leat_tensor_release(&dy);
  return status;
}

#define ROW(name, types, create_fn, compute_fn)                                             \
  LEAT_CPU_KERNEL(name, types, leat_batch_norm_t, create_fn, compute_fn, .expensive = true)
#define NARROW "T: half, bfloat16, float; U: float"

const leat_kernel_row_t leat_batch_norm_kernels_cpu[] = {
    ROW("FusedBatchNorm", "T: float", create_forward, batch_norm__cpu),
    ROW("FusedBatchNormV2", NARROW, create_forward, batch_norm__cpu),
    ROW("FusedBatchNormV3", NARROW, create_forward, batch_norm__cpu),
    ROW("_FusedBatchNormEx", NARROW, create_extended, batch_norm__cpu),
    ROW("FusedBatchNormGrad", "T: float", create_gradient, batch_norm_grad__cpu),
    ROW("FusedBatchNormGradV2", NARROW, create_gradient, batch_norm_grad__cpu),
    ROW("FusedBatchNormGradV3", NARROW, create_gradient, batch_norm_grad__cpu),
    LEAT_KERNEL_ROWS_END,
};
