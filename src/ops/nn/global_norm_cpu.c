// CPU kernels of BatchNormWithGlobalNormalization, the form that batch normalisation had in the
// first release of TensorFlow. Mean m and variance v are inputs here, and the gradient op gives
// their gradients as well. For each channel, with w = v + epsilon and g = gamma, or 1 unless
// scale_after_normalization:
//
//   result = (t - m) g / sqrt(w) + beta
//   dx = dy g / sqrt(w)         db = sum dy             dg = sum dy (t - m) / sqrt(w)
//   dm = -db g / sqrt(w)        dv = -1/2 sum dy (t - m) g / w^(3/2)
//
// The sums and maps over rows are those of batch_norm_steps.inc. Half is computed in float.
#include <math.h>
#include <string.h>

#include "base/checked.h"
#include "ops/kernel_rows.h"
#include "ops/nn/batch_norm_cpu.h"
#include "ops/nn/widen_cpu.h"

#define BLOCKS 64

typedef struct leat_global_norm_s {
  float epsilon;
  bool scales;
} leat_global_norm_t;

static leat_status_t create(leat_kernel_creation_t* c, void* state) {
  leat_global_norm_t* norm = state;
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_float(c, "variance_epsilon", &norm->epsilon));
  return leat_kernel_attr_bool(c, "scale_after_normalization", &norm->scales);
}

#define REAL float
#define SUFFIX(name) name##_f32
#include "ops/nn/batch_norm_steps.inc"
#define REAL double
#define SUFFIX(name) name##_f64
#include "ops/nn/batch_norm_steps.inc"

#define TYPE float
#define SUFFIX(name) name##_f32
#define ROOT sqrtf
#include "ops/nn/global_norm_steps.inc"
#define TYPE double
#define SUFFIX(name) name##_f64
#define ROOT sqrt
#include "ops/nn/global_norm_steps.inc"

static leat_status_t check_channels(const leat_kernel_context_t* c, int end, int64_t channels) {
  for (int i = 1; i < end; ++i) {
    const leat_shape_t* shape = &leat_kernel_input(c, i)->shape;
    if (shape->element_count == channels) continue;
    return leat_kernel_invalid(c, "input %d is %s, must have as many elements as there are "
                               "channels, %lld", i, LEAT_SHAPE_TEXT(shape), (long long)channels);
  }
  return leat_ok_status();
}

#define MOST_OUTPUTS 5

static void release_all(leat_tensor_t* tensors, int count) {
  while (count > 0) leat_tensor_release(&tensors[--count]);
}

// Allocates |count| outputs: the first is as large as input 0, the others are vectors of the
// channels. Each gets a second tensor to compute in where its type is narrow.
static leat_status_t allocate(leat_kernel_context_t* c, int count, int64_t channels,
                              leat_tensor_t** out_narrow, leat_tensor_t* out_wide) {
  const leat_shape_t vector = leat_shape_vector(channels);
  for (int i = 0; i < count; ++i) {
    leat_status_t status = leat_kernel_allocate_output(
        c, i, i == 0 ? &leat_kernel_input(c, 0)->shape : &vector, &out_narrow[i]);
    if (!status) status = leat_widen_output(c, out_narrow[i], &out_wide[i]);
    if (status) {
      release_all(out_wide, i);
      return status;
    }
  }
  return leat_ok_status();
}

// |count| is 1 for the forward op, else it is the gradient.
static void run(const leat_kernel_context_t* c, const leat_wide_t* in, int64_t channels,
                void* scratch, leat_tensor_t* wide, int count) {
  const int64_t rows = wide[0].shape.element_count / channels;
  const bool is_double = wide[0].dtype == LEAT_DTYPE_DOUBLE;
  void* outputs[MOST_OUTPUTS];
  for (int i = 0; i < count; ++i) outputs[i] = wide[i].data;
  if (count == 1) {
    if (is_double) forward_f64(c, in, rows, channels, scratch, outputs[0]);
    else forward_f32(c, in, rows, channels, scratch, outputs[0]);
  } else {
    if (is_double) backward_f64(c, in, rows, channels, scratch, outputs);
    else backward_f32(c, in, rows, channels, scratch, outputs);
  }
}

static leat_status_t compute(leat_kernel_context_t* c, int count) {
  const int64_t channels = leat_shape_dim(&leat_kernel_input(c, 0)->shape, 3);
  leat_tensor_t* narrow[MOST_OUTPUTS];
  leat_tensor_t wide[MOST_OUTPUTS], scratch;
  LEAT_RETURN_IF_ERROR(check_channels(c, count == 1 ? 5 : 4, channels));
  LEAT_RETURN_IF_ERROR(allocate(c, count, channels, narrow, wide));
  const leat_shape_t flat = leat_shape_vector((BLOCKS + 2) * LEAT_MAX(channels, 1));
  leat_wide_t inputs;
  leat_status_t status = leat_wide_begin(c, &inputs);
  if (!status) {
    status = leat_kernel_allocate_temporary(c, wide[0].dtype, &flat, &scratch);
    if (!status && wide[0].shape.element_count > 0) {
      run(c, &inputs, channels, scratch.data, wide, count);
      for (int i = 0; i < count; ++i) leat_narrow(c, &wide[i], narrow[i]);
    } else if (!status) {
      for (int i = 0; i < count; ++i) leat_tensor_fill_zero(narrow[i]);
    }
    if (!status) leat_tensor_release(&scratch);
    leat_wide_end(&inputs);
  }
  release_all(wide, count);
  return status;
}

static leat_status_t global_norm__cpu(leat_kernel_context_t* c) { return compute(c, 1); }
static leat_status_t global_norm_grad__cpu(leat_kernel_context_t* c) {
  return compute(c, MOST_OUTPUTS);
}

#define ROW(name, compute_fn)                                                             \
  LEAT_CPU_KERNEL(name, "T: half, float, double", leat_global_norm_t, create, compute_fn)

const leat_kernel_row_t leat_global_norm_kernels_cpu[] = {
    ROW("BatchNormWithGlobalNormalization", global_norm__cpu),
    ROW("BatchNormWithGlobalNormalizationGrad", global_norm_grad__cpu),
    LEAT_KERNEL_ROWS_END,
};
