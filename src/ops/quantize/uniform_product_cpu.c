// CPU kernels of UniformQuantizedDot, UniformQuantizedConvolution and their hybrid forms.
//
// A dot is a convolution without spatial dimensions, so that all four are one: the product of the
// matrix of windows, [output positions, window], and the kernel, [window, output features]
// (quantized_product_cpu.h), whose 32-bit sums are then brought to the output.
//
//   8 bits  sums times lhs_scale * rhs_scale / output_scale, as integers over the output's scale
//   hybrid  lhs are floats. Each slice along the batch dimension is brought to 8 bits over the
//           range that it covers, and the sums times both scales are the output
//
// Groups: output feature f sees the lhs features of one group, the f * groups / features-th, and
// the batches of one batch group. The features are therefore computed in runs that share both.
// Dimensions may be in any order: the kernel is copied to [output features, window] once, windows
// are gathered with strides, and the output is written with strides.
#include <math.h>
#include <string.h>

#include "base/checked.h"
#include "ops/array/index_cpu.h"
#include "ops/kernel_rows.h"
#include "ops/quantize/quantized_product_cpu.h"
#include "ops/quantize/quantized_range_cpu.h"
#include "ops/quantize/uniform_scale_cpu.h"
#include "ops/quantize/uniform_window.h"

typedef struct state_s {
  bool is_dot, is_hybrid;
  leat_uniform_attrs_t lhs, rhs, output;  // lhs and output are unused in hybrid forms
  leat_uniform_window_t window;  // of a convolution, perhaps for any rank
} state_t;

static leat_status_t create(leat_kernel_creation_t* c, bool is_dot, bool is_hybrid, state_t* s) {
  *s = (state_t){.is_dot = is_dot, .is_hybrid = is_hybrid};
  if (!is_dot) {
    LEAT_RETURN_IF_ERROR(leat_uniform_window_read(c->attrs, c->attr_count, &s->window));
  }
  LEAT_RETURN_IF_ERROR(leat_uniform_attrs_read(c, "rhs_", &s->rhs));
  if (is_hybrid) return leat_ok_status();
  LEAT_RETURN_IF_ERROR(leat_uniform_attrs_read(c, "lhs_", &s->lhs));
  LEAT_RETURN_IF_ERROR(leat_uniform_attrs_read(c, "output_", &s->output));
  if (s->lhs.axis == -1) return leat_ok_status();
  return leat_make_status(LEAT_INVALID_ARGUMENT,
                          "lhs_quantization_axis Attr must be -1 (per-tensor).");
}
static leat_status_t dot_create(leat_kernel_creation_t* c, void* s) {
  return create(c, true, false, s);
}
static leat_status_t dot_hybrid_create(leat_kernel_creation_t* c, void* s) {
  return create(c, true, true, s);
}
static leat_status_t convolution_create(leat_kernel_creation_t* c, void* s) {
  return create(c, false, false, s);
}
static leat_status_t convolution_hybrid_create(leat_kernel_creation_t* c, void* s) {
  return create(c, false, true, s);
}

// A convolution over tensors whose shapes are known.
typedef struct convolution_s {
  leat_quantized_product_t product;  // first: the callback gets it
  const state_t* state;
  leat_uniform_window_t window;
  int64_t lhs_dims[LEAT_SHAPE_MAX_RANK], rhs_dims[LEAT_SHAPE_MAX_RANK];
  int64_t out_dims[LEAT_SHAPE_MAX_RANK];
  int64_t lhs_strides[LEAT_SHAPE_MAX_RANK], rhs_strides[LEAT_SHAPE_MAX_RANK];
  int64_t out_strides[LEAT_SHAPE_MAX_RANK];
  int64_t taps, in_features;        // of the kernel
  leat_tensor_t lhs, kernel, sums;  // 8 bits, 8 bits [features, window], 32 bits
  // The scales of lhs: one, or in hybrid forms one for each batch, which are in |memory|.
  const float* lhs_scales;
  const int32_t* lhs_zeros;
  leat_multiplier_t* multipliers;  // to the output's scale, one for each feature, in |memory|
  leat_tensor_t memory;
  leat_uniform_scale_t rhs_scale, out_scale;
  leat_tensor_t* output;
  int64_t first_feature;  // of the run that is being computed
  int64_t first_channel;  // the first lhs feature that it sees
  int64_t first_batch;    // and the first batch
} convolution_t;

static leat_status_t allocate(leat_kernel_context_t* c, int dtype, int64_t rows, int64_t columns,
                              leat_tensor_t* out_tensor) {
  const int64_t dims[] = {rows, columns};
  leat_shape_t shape;
  LEAT_RETURN_IF_ERROR(leat_shape_create(2, dims, &shape));
  leat_status_t status = leat_kernel_allocate_temporary(c, dtype, &shape, out_tensor);
  leat_shape_release(&shape);
  return status;
}

// ---- Geometry -----------------------------------------------------------------------------------

// Reads the shapes and finds the window and the sizes of the output.
static leat_status_t measure(const leat_kernel_context_t* c, convolution_t* g) {
  const leat_shape_t* lhs = &leat_kernel_input(c, 0)->shape;
  const leat_shape_t* rhs = &leat_kernel_input(c, 1)->shape;
  if (lhs->rank != rhs->rank) {
    return leat_kernel_invalid(c, "lhs and rhs have shapes %s and %s, must have the same rank",
                               LEAT_SHAPE_TEXT(lhs), LEAT_SHAPE_TEXT(rhs));
  }
  for (int d = 0; d < lhs->rank; ++d) {
    g->lhs_dims[d] = leat_shape_dim(lhs, d);
    g->rhs_dims[d] = leat_shape_dim(rhs, d);
  }
  leat_shape_strides(lhs, g->lhs_strides);
  leat_shape_strides(rhs, g->rhs_strides);
  leat_uniform_window_t* w = &g->window;
  if (g->state->is_dot) {
    *w = (leat_uniform_window_t){.lhs = {0, 1, {0}}, .rhs = {1, 0, {0}}, .output = {0, 1, {0}},
                                 .feature_groups = 1, .batch_groups = 1};
  } else {
    *w = g->state->window;
    LEAT_RETURN_IF_ERROR(leat_uniform_window_fit(w, lhs->rank));
  }
  LEAT_RETURN_IF_ERROR(leat_uniform_window_measure(w, g->lhs_dims, g->rhs_dims, g->out_dims));
  g->in_features = g->rhs_dims[w->rhs.feature];
  g->taps = 1;
  for (int i = 0; i < w->spatial; ++i) g->taps *= g->rhs_dims[w->rhs.spatial[i]];
  return leat_ok_status();
}

// Splits |index|, which counts in row-major order over dimensions |dims| in the order |spatial|,
// into |place|; returns what is left over, the batch.
static int64_t place_of(const leat_uniform_window_t* w, const int64_t* dims, const int* spatial,
                        int64_t index, int64_t* place) {
  for (int i = w->spatial - 1; i >= 0; --i) {
    place[i] = index % dims[spatial[i]];
    index /= dims[spatial[i]];
  }
  return index;
}

// Where the features of input position |at| + |tap| of a window begin, as an offset in lhs; -1
// where the position lies in the padding or between dilated positions.
static int64_t input_of_tap(const convolution_t* g, const int64_t* at, const int64_t* tap) {
  const leat_uniform_window_t* w = &g->window;
  int64_t offset = 0;
  for (int i = 0; i < w->spatial; ++i) {
    const leat_uniform_axis_t* axis = &w->axes[i];
    const int64_t place = at[i] * axis->stride + tap[i] * axis->rhs_dilation - axis->before;
    const int dim = w->lhs.spatial[i];
    if (place < 0 || place % axis->lhs_dilation != 0) return -1;
    if (place / axis->lhs_dilation >= g->lhs_dims[dim]) return -1;
    offset += place / axis->lhs_dilation * g->lhs_strides[dim];
  }
  return offset;
}

// Writes the window of output position |index|: for each tap of the kernel the features.
static void row_of_window(const leat_quantized_product_t* p, int64_t index, void* to) {
  const convolution_t* g = (const convolution_t*)p;
  const leat_uniform_window_t* w = &g->window;
  int64_t at[LEAT_UNIFORM_MAX_SPATIAL], tap[LEAT_UNIFORM_MAX_SPATIAL];
  const int64_t batch =
      g->first_batch + place_of(w, g->out_dims, w->output.spatial, index, at);
  const int64_t stride = g->lhs_strides[w->lhs.feature];
  const int64_t base = batch * g->lhs_strides[w->lhs.batch] + g->first_channel * stride;
  const size_t tap_bytes = (size_t)g->in_features * p->loops->size;
  char* line = to;
  for (int64_t t = 0; t < g->taps; ++t, line += tap_bytes) {
    place_of(w, g->rhs_dims, w->rhs.spatial, t, tap);
    const int64_t offset = input_of_tap(g, at, tap);
    if (offset < 0) {
      memset(line, 0, tap_bytes);
      continue;
    }
    p->loops->centre((const char*)g->lhs.data + base + offset, stride, true,
                     g->lhs_zeros[g->state->is_hybrid ? batch : 0], g->in_features, line);
  }
}

// Copies the kernel to [output features, taps, input features].
static void gather_kernel(const convolution_t* g, const leat_tensor_t* rhs) {
  const leat_uniform_window_t* w = &g->window;
  const int8_t* from = rhs->data;
  int8_t* to = g->kernel.data;
  int64_t tap[LEAT_UNIFORM_MAX_SPATIAL];
  for (int64_t f = 0; f < g->rhs_dims[w->rhs.batch]; ++f) {
    for (int64_t t = 0; t < g->taps; ++t) {
      place_of(w, g->rhs_dims, w->rhs.spatial, t, tap);
      int64_t at = f * g->rhs_strides[w->rhs.batch];
      for (int i = 0; i < w->spatial; ++i) at += tap[i] * g->rhs_strides[w->rhs.spatial[i]];
      for (int64_t k = 0; k < g->in_features; ++k) {
        *to++ = from[at + k * g->rhs_strides[w->rhs.feature]];
      }
    }
  }
}

// ---- Hybrid: lhs to 8 bits ----------------------------------------------------------------------

// The scale and zero point for numbers in [min, max], which contains 0. The zero point follows from
// the end of the range at which it is more exact.
static void choose_scale(float min, float max, float* out_scale, int32_t* out_zero) {
  const double scale = ((double)max - (double)min) / 255;
  *out_scale = 1;
  *out_zero = 0;
  if (!(scale > 0) || isinf(scale)) return;
  const double below = (double)min / scale, above = (double)max / scale;
  const double zero = 128 + fabs(below) < 127 + fabs(above) ? -128 - below : 127 - above;
  *out_scale = (float)scale;
  *out_zero = (int32_t)LEAT_MAX(LEAT_MIN(round(zero), 127), -128);
}

typedef struct lowering_s {
  const convolution_t* g;
  const leat_tensor_t* numbers;
  float* scales;
  int32_t* zeros;
} lowering_t;

static void lower_shard(void* data, int64_t begin, int64_t end) {
  const lowering_t* job = data;
  const convolution_t* g = job->g;
  const float* x = job->numbers->data;
  int8_t* y = g->lhs.data;
  const int64_t count = job->numbers->shape.element_count;
  // The elements of a batch lie in blocks of |size|, one in each |step|.
  const int dim = g->window.lhs.batch;
  const int64_t size = g->lhs_strides[dim], step = size * g->lhs_dims[dim];
  for (int64_t b = begin; b < end; ++b) {
    float min = 0, max = 0;
    for (int64_t block = b * size; block < count; block += step) {
      for (int64_t at = block; at < block + size; ++at) {
        min = x[at] < min ? x[at] : min;
        max = x[at] > max ? x[at] : max;
      }
    }
    choose_scale(min, max, &job->scales[b], &job->zeros[b]);
    const float inverse = 1 / job->scales[b];
    for (int64_t block = b * size; block < count; block += step) {
      for (int64_t at = block; at < block + size; ++at) {
        const int64_t integer =
            (int64_t)leat_int32_of_float(floorf(x[at] * inverse + 0.5f)) + job->zeros[b];
        y[at] = (int8_t)LEAT_MAX(LEAT_MIN(integer, INT8_MAX), INT8_MIN);
      }
    }
  }
}

static leat_status_t lower(leat_kernel_context_t* c, convolution_t* g) {
  const leat_tensor_t* numbers = leat_kernel_input(c, 0);
  const int64_t batches = g->lhs_dims[g->window.lhs.batch];
  const int64_t count = numbers->shape.element_count;
  LEAT_RETURN_IF_ERROR(allocate(c, LEAT_DTYPE_INT32, 2, batches, &g->memory));
  LEAT_RETURN_IF_ERROR(allocate(c, LEAT_DTYPE_INT8, 1, count, &g->lhs));
  lowering_t job = {.g = g,
                    .numbers = numbers,
                    .scales = g->memory.data,
                    .zeros = leat_tensor_data(&g->memory, int32_t) + batches};
  g->lhs_scales = job.scales;
  g->lhs_zeros = job.zeros;
  leat_kernel_parallel_for_unbroken(c, batches, 4 * (double)count / (double)LEAT_MAX(batches, 1),
                                    lower_shard, &job);
  return leat_ok_status();
}

// ---- The output ---------------------------------------------------------------------------------

static leat_status_t make_multipliers(leat_kernel_context_t* c, convolution_t* g) {
  const int64_t features = g->out_dims[g->window.output.feature];
  LEAT_RETURN_IF_ERROR(allocate(c, LEAT_DTYPE_UINT8, features, sizeof(leat_multiplier_t),
                                &g->memory));
  g->multipliers = g->memory.data;
  for (int64_t f = 0; f < features; ++f) {
    const float rhs = g->rhs_scale.scales[g->rhs_scale.count == 1 ? 0 : f];
    const float output = g->out_scale.scales[g->out_scale.count == 1 ? 0 : f];
    LEAT_RETURN_IF_ERROR(leat_multiplier_make(
        c, (double)g->lhs_scales[0] * (double)rhs / (double)output, &g->multipliers[f]));
  }
  return leat_ok_status();
}

// The output at |target| is the sum |total| of feature |f| and lhs batch |batch|, in its scale.
static void write_element(const convolution_t* g, int64_t target, int64_t f, int64_t batch,
                          int32_t total) {
  if (g->state->is_hybrid) {
    const float rhs = g->rhs_scale.scales[g->rhs_scale.count == 1 ? 0 : f];
    leat_tensor_data(g->output, float)[target] = (float)total * (g->lhs_scales[batch] * rhs);
    return;
  }
  const uint32_t zero = (uint32_t)g->out_scale.zeros[g->out_scale.count == 1 ? 0 : f];
  const uint32_t steps = (uint32_t)leat_multiplier_apply(g->multipliers[f], total);
  leat_tensor_data(g->output, int32_t)[target] =
      leat_uniform_limit(&g->state->output, (int32_t)(steps + zero));
}

// Writes the sums of one run of features into the output.
static void write_shard(void* data, int64_t begin, int64_t end) {
  const convolution_t* g = data;
  const leat_uniform_window_t* w = &g->window;
  const int64_t columns = g->product.columns;
  int64_t at[LEAT_UNIFORM_MAX_SPATIAL];
  for (int64_t row = begin; row < end; ++row) {
    const int32_t* totals = leat_tensor_data(&g->sums, const int32_t) + row * columns;
    const int64_t batch = place_of(w, g->out_dims, w->output.spatial, row, at);
    int64_t to = batch * g->out_strides[w->output.batch];
    for (int i = 0; i < w->spatial; ++i) to += at[i] * g->out_strides[w->output.spatial[i]];
    for (int64_t j = 0; j < columns; ++j) {
      const int64_t f = g->first_feature + j;
      write_element(g, to + f * g->out_strides[w->output.feature], f, g->first_batch + batch,
                    totals[j]);
    }
  }
}

// Computes the features [first, first + count) of the output, which share their groups.
static leat_status_t compute_run(leat_kernel_context_t* c, convolution_t* g, int64_t first,
                                 int64_t count) {
  const leat_uniform_window_t* w = &g->window;
  const int64_t features = g->out_dims[w->output.feature], batches = g->out_dims[w->output.batch];
  leat_quantized_product_t* p = &g->product;
  leat_tensor_t kernel = g->kernel;
  kernel.data = (char*)kernel.data + first * g->taps * g->in_features;
  g->first_feature = first;
  g->first_channel = first / (features / w->feature_groups) * g->in_features;
  g->first_batch = first / (features / w->batch_groups) * batches;
  *p = (leat_quantized_product_t){
      .rows = p->rows, .columns = count, .depth = g->taps * g->in_features, .row = row_of_window};
  // Zero points of lhs that are far off make the differences of both factors wide.
  p->a = (leat_quantized_factor_t){&g->lhs, g->state->is_hybrid ? 0 : g->lhs_zeros[0], NULL};
  p->b = (leat_quantized_factor_t){&kernel, g->rhs_scale.zeros[0],
                                   g->rhs_scale.count == 1 ? NULL : g->rhs_scale.zeros + first};
  p->out = g->sums.data;
  leat_status_t status = leat_quantized_product_pack(c, p, p->depth, 1);
  if (!status) status = leat_quantized_product_run(c, p);
  if (!status) leat_kernel_parallel_for(c, p->rows, 20 * (double)count, write_shard, g);
  leat_quantized_product_end(p);
  return status;
}

// Reads the scales. That of the output has an axis only where that of rhs has one too.
static leat_status_t read_scales(const leat_kernel_context_t* c, convolution_t* g,
                                 const leat_shape_t* output) {
  const state_t* s = g->state;
  const leat_shape_t* lhs = &leat_kernel_input(c, 0)->shape;
  const leat_shape_t* rhs = &leat_kernel_input(c, 1)->shape;
  leat_uniform_scale_t of_lhs;
  if (s->rhs.axis != -1 && s->rhs.axis != g->window.rhs.batch) {
    return leat_kernel_invalid(c, "rhs_quantization_axis is %lld, must be -1 or the dimension of "
                               "output features, %d", (long long)s->rhs.axis, g->window.rhs.batch);
  }
  LEAT_RETURN_IF_ERROR(
      leat_uniform_scale_read(c, s->is_hybrid ? 2 : 4, &s->rhs, rhs, true, &g->rhs_scale));
  if (s->is_hybrid) return leat_ok_status();
  const bool is_feature = s->output.axis == g->window.output.feature && s->rhs.axis != -1;
  if (s->output.axis != -1 && !is_feature) {
    return leat_kernel_invalid(c, "output_quantization_axis is %lld, must be -1 or, where rhs has "
                               "an axis, the dimension of features, %d",
                               (long long)s->output.axis, g->window.output.feature);
  }
  LEAT_RETURN_IF_ERROR(leat_uniform_scale_read(c, 2, &s->lhs, lhs, true, &of_lhs));
  g->lhs_scales = of_lhs.scales;
  g->lhs_zeros = of_lhs.zeros;
  return leat_uniform_scale_read(c, 6, &s->output, output, true, &g->out_scale);
}

static leat_status_t compute(leat_kernel_context_t* c, convolution_t* g,
                             const leat_shape_t* output) {
  const leat_uniform_window_t* w = &g->window;
  const leat_tensor_t* rhs = leat_kernel_input(c, 1);
  const int64_t features = g->out_dims[w->output.feature];
  LEAT_RETURN_IF_ERROR(read_scales(c, g, output));
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_output(c, 0, output, &g->output));
  if (output->element_count == 0) return leat_ok_status();
  g->product.rows = output->element_count / features;
  leat_shape_strides(output, g->out_strides);
  if (g->state->is_hybrid) {
    LEAT_RETURN_IF_ERROR(lower(c, g));
  } else {
    g->lhs = leat_tensor_share(leat_kernel_input(c, 0));
    LEAT_RETURN_IF_ERROR(make_multipliers(c, g));
  }
  LEAT_RETURN_IF_ERROR(allocate(c, LEAT_DTYPE_QINT8, 1, rhs->shape.element_count, &g->kernel));
  gather_kernel(g, rhs);
  // Runs end where the group or the batch group changes.
  const int64_t group = features / w->feature_groups, batch_group = features / w->batch_groups;
  LEAT_RETURN_IF_ERROR(allocate(c, LEAT_DTYPE_INT32, g->product.rows, LEAT_MIN(group, batch_group),
                                &g->sums));
  for (int64_t first = 0; first < features;) {
    const int64_t end =
        LEAT_MIN((first / group + 1) * group, (first / batch_group + 1) * batch_group);
    LEAT_RETURN_IF_ERROR(compute_run(c, g, first, end - first));
    first = end;
  }
  return leat_ok_status();
}

static leat_status_t convolution__cpu(leat_kernel_context_t* c) {
  convolution_t g = {.state = leat_kernel_state(c)};
  leat_shape_t shape;
  LEAT_RETURN_IF_ERROR(measure(c, &g));
  LEAT_RETURN_IF_ERROR(leat_shape_create(g.window.spatial + 2, g.out_dims, &shape));
  leat_status_t status = compute(c, &g, &shape);
  leat_tensor_release(&g.lhs);
  leat_tensor_release(&g.kernel);
  leat_tensor_release(&g.sums);
  leat_tensor_release(&g.memory);
  leat_shape_release(&shape);
  return status;
}

const leat_kernel_row_t leat_uniform_product_kernels_cpu[] = {
    LEAT_CPU_KERNEL("UniformQuantizedDot", NULL, state_t, dot_create, convolution__cpu,
                    .expensive = true),
    LEAT_CPU_KERNEL("UniformQuantizedDotHybrid", NULL, state_t, dot_hybrid_create,
                    convolution__cpu, .expensive = true),
    LEAT_CPU_KERNEL("UniformQuantizedConvolution", NULL, state_t, convolution_create,
                    convolution__cpu, .expensive = true),
    LEAT_CPU_KERNEL("UniformQuantizedConvolutionHybrid", NULL, state_t, convolution_hybrid_create,
                    convolution__cpu, .expensive = true),
    LEAT_KERNEL_ROWS_END,
};
