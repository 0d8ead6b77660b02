// CPU kernels that make each output pixel of a span of input rows and a span of input columns, with
// a weight for each: ResizeArea, ScaleAndTranslate and the latter's gradient.
//
//   output[y, x] = sum over i, k of row_weight[y, i] column_weight[x, k]
//                                     input[row_start[y] + i, column_start[x] + k]
//
// A span of ResizeArea is what the output pixel covers of the input. One of ScaleAndTranslate is
// what lies within the radius of a kernel about the place where the output pixel comes from; with
// antialias the kernel is widened where the image shrinks. Spans are found in float, in the order
// of TensorFlow's operations, because rounding decides how long a span is. Forward kernels share
// output rows among threads, the gradient shares images.
#include <float.h>
#include <math.h>

#include "base/checked.h"
#include "kernel/step_check.h"
#include "ops/array/types.h"
#include "ops/image/pixels_cpu.h"
#include "ops/kernel_rows.h"

// The spans of |count| output positions along one dimension: position p takes input positions
// starts[p] to starts[p] + sizes[p], with weights from weights[p * longest] on.
typedef struct spans_s {
  int64_t count, longest;
  leat_tensor_t memory;  // of the three arrays
  int64_t *starts, *sizes;
  float* weights;
} spans_t;

static leat_status_t allocate_spans(leat_kernel_context_t* c, int64_t count, int64_t longest,
                                    spans_t* spans) {
  // Starts and sizes take 16 bytes of a position, a weight 4.
  int64_t bytes;
  if (!leat_checked_multiply(longest, 4, &bytes) || !leat_checked_add(bytes, 16, &bytes) ||
      !leat_checked_multiply(bytes, count, &bytes)) {
    return leat_kernel_invalid(c, "%lld output positions of %lld input positions are too many",
                               (long long)count, (long long)longest);
  }
  leat_shape_t shape = leat_shape_vector(bytes);
  LEAT_RETURN_IF_ERROR(
      leat_kernel_allocate_temporary(c, LEAT_DTYPE_UINT8, &shape, &spans->memory));
  spans->count = count;
  spans->longest = longest;
  spans->starts = spans->memory.data;
  spans->sizes = spans->starts + count;
  spans->weights = (float*)(spans->sizes + count);
  return leat_ok_status();
}

// A resampling. In the gradient |input| is that of the resampled images.
typedef struct sampling_s {
  leat_pixels_t input;
  leat_tensor_t* output;
  spans_t rows, columns;
  // Used by the gradient only.
  leat_tensor_t gradients;  // in double
  double* sums;
} sampling_t;

static leat_status_t end(sampling_t* s, leat_status_t status) {
  leat_tensor_release(&s->rows.memory);
  leat_tensor_release(&s->columns.memory);
  leat_tensor_release(&s->gradients);
  leat_pixels_release(&s->input);
  return status;
}

// Reads images and size, which must not be empty, and allocates the output.
static leat_status_t begin(leat_kernel_context_t* c, sampling_t* s, int64_t* out_height,
                           int64_t* out_width) {
  LEAT_RETURN_IF_ERROR(leat_pixels_size(c, 0, "input", &s->input));
  LEAT_RETURN_IF_ERROR(leat_pixels_read_size(c, 1, "size", out_height, out_width));
  if (s->input.height <= 0 || s->input.width <= 0 || s->input.channels <= 0) {
    return leat_kernel_invalid(c, "input image must be of non-zero size");
  }
  return leat_pixels_allocate(c, &s->input, *out_height, *out_width, &s->output);
}

// ---- Forward ------------------------------------------------------------------------------------

// Adds to |to| [channels] the columns of span |x| of the row |from|, times |weight|.
static void add_columns(const sampling_t* s, int64_t x, const float* from, float weight,
                        float* to) {
  const spans_t* columns = &s->columns;
  const int64_t channels = s->input.channels;
  for (int64_t k = 0; k < columns->sizes[x]; ++k) {
    const float factor = weight * columns->weights[x * columns->longest + k];
    const float* pixel = from + (columns->starts[x] + k) * channels;
    for (int64_t channel = 0; channel < channels; ++channel) to[channel] += factor * pixel[channel];
  }
}

// Computes output rows [begin, end), counted over all images.
static void mix_rows(void* data, int64_t begin, int64_t end) {
  const sampling_t* s = data;
  const int64_t channels = s->input.channels, line = s->input.width * channels;
  for (int64_t i = begin; i < end; ++i) {
    const int64_t y = i % s->rows.count;
    const float* image = s->input.values + i / s->rows.count * s->input.height * line;
    float* to = leat_tensor_data(s->output, float) + i * s->columns.count * channels;
    memset(to, 0, (size_t)(s->columns.count * channels) * sizeof(float));
    for (int64_t k = 0; k < s->rows.sizes[y]; ++k) {
      const float weight = s->rows.weights[y * s->rows.longest + k];
      for (int64_t x = 0; x < s->columns.count; ++x) {
        add_columns(s, x, image + (s->rows.starts[y] + k) * line, weight, to + x * channels);
      }
    }
  }
}

static double row_cost_ns(const sampling_t* s) {
  return 20 + (double)s->rows.longest * (double)s->columns.longest *
                  (double)(s->columns.count * s->input.channels);
}

static leat_status_t mix(leat_kernel_context_t* c, sampling_t* s) {
  LEAT_RETURN_IF_ERROR(leat_pixels_read(c, 0, &s->input));
  leat_kernel_parallel_for(c, s->input.batch * s->rows.count, row_cost_ns(s), mix_rows, s);
  return leat_ok_status();
}

// ---- Areas --------------------------------------------------------------------------------------

static leat_status_t create_area(leat_kernel_creation_t* c, void* memory) {
  return leat_kernel_attr_bool(c, "align_corners", memory);
}

// The spans of |to| output positions over |from| input positions. What lies beyond the last input
// position, by rounding or because of align_corners, counts for that position.
static leat_status_t find_areas(leat_kernel_context_t* c, int64_t from, int64_t to,
                                spans_t* spans) {
  const bool align_corners = *(const bool*)leat_kernel_state(c);
  const float scale = align_corners && to > 1 ? (float)(from - 1) / (float)(to - 1)
                                              : (float)from / (float)to;
  LEAT_RETURN_IF_ERROR(allocate_spans(c, to, LEAT_MIN(from, (int64_t)ceilf(scale) + 2), spans));
  leat_step_pace_t pace = leat_step_pace_of(c);
  for (int64_t i = 0; i < to; ++i) {
    LEAT_RETURN_IF_ERROR(leat_step_pace_count(&pace, 10 + scale));
    const float first = (float)i * scale, last = (float)(i + 1) * scale;
    const int64_t end = (int64_t)ceilf(last);
    int64_t at = (int64_t)floorf(first);
    float* weights = spans->weights + i * spans->longest;
    spans->starts[i] = LEAT_MAX(0, LEAT_MIN(at, from - 1));
    spans->sizes[i] = 0;
    // With align_corners, an input of one position is every output position.
    if (scale == 0) weights[spans->sizes[i]++] = 1;
    for (; at < end; ++at) {
      float covered = (float)at < first ? (float)(at + 1) > last ? scale : (float)(at + 1) - first
                      : (float)(at + 1) > last ? last - (float)at
                                               : 1.0f;
      const int64_t place = LEAT_MIN(at, from - 1) - spans->starts[i];
      if (place < 0 || place >= spans->longest) break;
      if (place >= spans->sizes[i]) weights[spans->sizes[i]++] = 0;
      weights[place] += covered / scale;
    }
  }
  return leat_ok_status();
}

static leat_status_t area__cpu(leat_kernel_context_t* c) {
  sampling_t s = {0};
  int64_t height, width;
  LEAT_RETURN_IF_ERROR(begin(c, &s, &height, &width));
  leat_status_t status = find_areas(c, s.input.height, height, &s.rows);
  if (!status) status = find_areas(c, s.input.width, width, &s.columns);
  if (!status) status = mix(c, &s);
  return end(&s, status);
}

// ---- Scale and translation ----------------------------------------------------------------------

#define PI 3.14159265359f

static float lanczos(float x, float radius) {
  if (x > radius) return 0;
  if (x <= 1e-3f) return 1;
  return radius * sinf(PI * x) * sinf(PI * x / radius) / (PI * PI * x * x);
}
static float lanczos1(float x) { return lanczos(x, 1); }
static float lanczos3(float x) { return lanczos(x, 3); }
static float lanczos5(float x) { return lanczos(x, 5); }
// The deviation is a third of the radius.
static float gaussian(float x) { return x >= 1.5f ? 0 : expf(-x * x / (2 * 0.5f * 0.5f)); }
static float box(float x) { return x < 0.5f ? 1 : x == 0.5f ? 0.5f : 0; }
static float triangle(float x) { return x < 1 ? 1 - x : 0; }
static float keys_cubic(float x) {
  if (x >= 2) return 0;
  if (x >= 1) return ((-0.5f * x + 2.5f) * x - 4) * x + 2;
  return ((1.5f * x - 2.5f) * x) * x + 1;
}
static float mitchell_cubic(float x) {
  if (x >= 2) return 0;
  if (x >= 1) return (((-7.0f / 18.0f) * x + 2) * x - 10.0f / 3.0f) * x + 16.0f / 9.0f;
  return (((7.0f / 6.0f) * x - 2) * x) * x + 8.0f / 9.0f;
}

typedef struct kernel_s {
  const char* name;
  float radius;
  float (*weight)(float distance);
} kernel_t;
static const kernel_t kKernels[] = {
    {"lanczos1", 1, lanczos1}, {"lanczos3", 3, lanczos3},     {"lanczos5", 5, lanczos5},
    {"gaussian", 1.5f, gaussian}, {"box", 1, box},            {"triangle", 1, triangle},
    {"keyscubic", 2, keys_cubic}, {"mitchellcubic", 2, mitchell_cubic},
};

typedef struct scaling_s {
  const kernel_t* kernel;
  bool antialias;
} scaling_t;

static leat_status_t create_scaling(leat_kernel_creation_t* c, void* memory) {
  scaling_t* scaling = memory;
  leat_string_view_t name;
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_bool(c, "antialias", &scaling->antialias));
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_string(c, "kernel_type", &name));
  for (size_t i = 0; i < sizeof kKernels / sizeof *kKernels; ++i) {
    if (leat_string_view_equal(name, leat_string_view_from(kKernels[i].name))) {
      scaling->kernel = &kKernels[i];
      return leat_ok_status();
    }
  }
  return leat_make_status(LEAT_INVALID_ARGUMENT, "Unrecognized kernel type: %.*s",
                          LEAT_SV_ARG(name));
}

// Finds the span of the output position that comes from |sample|, and its weights, which sum to 1.
// |widening| is how much wider the kernel is made.
static void find_scaled(const kernel_t* kernel, float widening, int64_t from, float sample,
                        spans_t* spans, int64_t i) {
  float* weights = spans->weights + i * spans->longest;
  const float reach = kernel->radius * widening, last = (float)(from - 1);
  spans->starts[i] = spans->sizes[i] = 0;
  if (!(sample >= 0 && sample <= (float)from)) return;
  const int64_t start = (int64_t)fminf(fmaxf(ceilf(sample - reach - 0.5f), 0), last);
  const int64_t end = (int64_t)fminf(fmaxf(floorf(sample + reach - 0.5f), 0), last) + 1;
  const int64_t size = LEAT_MIN(end - start, spans->longest);
  float sum = 0;
  for (int64_t k = 0; k < size; ++k) {
    weights[k] = kernel->weight(fabsf(((float)(start + k) + 0.5f - sample) * (1 / widening)));
    sum += weights[k];
  }
  if (!(fabsf(sum) >= 1000 * FLT_MIN)) return;
  for (int64_t k = 0; k < size; ++k) weights[k] *= 1 / sum;
  spans->starts[i] = start;
  spans->sizes[i] = LEAT_MAX(size, 0);
}

// The spans of |to| output positions over |from| input positions.
static leat_status_t find_spans(leat_kernel_context_t* c, int64_t from, int64_t to, float scale,
                                float translation, spans_t* spans) {
  const scaling_t* scaling = leat_kernel_state(c);
  const float inverse = (float)(1.0 / (double)scale), shift = -inverse * translation;
  const float widening = scaling->antialias ? fmaxf(inverse, 1) : 1;
  const float longest = 2 * ceilf(scaling->kernel->radius * widening) + 1;
  LEAT_RETURN_IF_ERROR(
      allocate_spans(c, to, longest < (float)from ? (int64_t)longest : from, spans));
  leat_step_pace_t pace = leat_step_pace_of(c);
  for (int64_t i = 0; i < to; ++i) {
    LEAT_RETURN_IF_ERROR(leat_step_pace_count(&pace, 10 * (double)spans->longest));
    find_scaled(scaling->kernel, widening, from, ((float)i + 0.5f) * inverse + shift, spans, i);
  }
  return leat_ok_status();
}

// Reads scale and translation, inputs |first| and |first| + 1, and finds the spans of images of
// |from_height| by |from_width| that become |height| by |width|.
static leat_status_t find_both(leat_kernel_context_t* c, int first, int64_t from_height,
                               int64_t from_width, int64_t height, int64_t width, sampling_t* s) {
  for (int i = first; i < first + 2; ++i) {
    const leat_shape_t* shape = &leat_kernel_input(c, i)->shape;
    if (shape->rank == 1 && shape->element_count == 2) continue;
    return leat_kernel_invalid(c, "%s has shape %s, must be [2]",
                               i == first ? "scale" : "translation", LEAT_SHAPE_TEXT(shape));
  }
  const float* scale = leat_tensor_data(leat_kernel_input(c, first), const float);
  const float* translation = leat_tensor_data(leat_kernel_input(c, first + 1), const float);
  if (!(scale[0] > 0 && scale[1] > 0)) {
    return leat_kernel_invalid(c, "Scale must be greater than zero. It is [%g, %g]", scale[0],
                               scale[1]);
  }
  LEAT_RETURN_IF_ERROR(find_spans(c, from_height, height, scale[0], translation[0], &s->rows));
  return find_spans(c, from_width, width, scale[1], translation[1], &s->columns);
}

static leat_status_t scale__cpu(leat_kernel_context_t* c) {
  sampling_t s = {0};
  int64_t height, width;
  LEAT_RETURN_IF_ERROR(begin(c, &s, &height, &width));
  leat_status_t status =
      find_both(c, 2, s.input.height, s.input.width, height, width, &s);
  if (!status) status = mix(c, &s);
  return end(&s, status);
}

// Adds the gradients of images [begin, end) to their sums.
static void spread_images(void* data, int64_t begin, int64_t end) {
  const sampling_t* s = data;
  const spans_t *rows = &s->rows, *columns = &s->columns;
  const int64_t channels = s->input.channels, width = leat_shape_dim(&s->output->shape, 2);
  const int64_t image = leat_shape_dim(&s->output->shape, 1) * width * channels;
  for (int64_t i = begin * rows->count; i < end * rows->count; ++i) {
    const int64_t y = i % rows->count;
    const double* from =
        leat_tensor_data(&s->gradients, const double) + i * columns->count * channels;
    for (int64_t k = 0; k < rows->sizes[y] * columns->count; ++k) {
      const int64_t row = k / columns->count, x = k % columns->count;
      const double weight = (double)rows->weights[y * rows->longest + row];
      double* to = s->sums + i / rows->count * image +
                   ((rows->starts[y] + row) * width + columns->starts[x]) * channels;
      for (int64_t place = 0; place < columns->sizes[x] * channels; ++place) {
        to[place] += weight * columns->weights[x * columns->longest + place / channels] *
                     from[x * channels + place % channels];
      }
    }
  }
}

static leat_status_t scale_grad__cpu(leat_kernel_context_t* c) {
  sampling_t s = {0};
  leat_pixels_t original;
  leat_tensor_t sums = {0};
  LEAT_RETURN_IF_ERROR(leat_pixels_size(c, 0, "input_grad", &s.input));
  LEAT_RETURN_IF_ERROR(leat_pixels_size(c, 1, "original_image", &original));
  if (original.batch != s.input.batch || original.channels != s.input.channels) {
    return leat_kernel_invalid(c, "original_image has shape %s, must have batch and channels of "
                               "grads, %s", LEAT_SHAPE_TEXT(&leat_kernel_input(c, 1)->shape),
                               LEAT_SHAPE_TEXT(&leat_kernel_input(c, 0)->shape));
  }
  if (original.height == 0 || original.width == 0 || s.input.height == 0 || s.input.width == 0) {
    return leat_kernel_invalid(c, "grads and original_image must be of non-zero size");
  }
  LEAT_RETURN_IF_ERROR(
      leat_pixels_allocate(c, &s.input, original.height, original.width, &s.output));
  leat_status_t status = find_both(c, 2, original.height, original.width, s.input.height,
                                   s.input.width, &s);
  if (!status) status = leat_pixels_copy_doubles(c, 0, &s.gradients);
  if (!status) status = leat_sums_begin(c, s.output, &sums);
  if (!status) {
    s.sums = sums.data;
    leat_kernel_parallel_for(c, s.input.batch, row_cost_ns(&s) * (double)s.rows.count,
                             spread_images, &s);
    leat_sums_end(&sums, s.output);
  }
  return end(&s, status);
}

const leat_kernel_row_t leat_resample_kernels_cpu[] = {
    LEAT_CPU_KERNEL("ResizeArea", "T: " LEAT_TYPES_REAL, bool, create_area, area__cpu),
    LEAT_CPU_KERNEL("ScaleAndTranslate", "T: " LEAT_TYPES_REAL, scaling_t, create_scaling,
                    scale__cpu),
    LEAT_CPU_KERNEL("ScaleAndTranslateGrad", "T: float", scaling_t, create_scaling,
                    scale_grad__cpu),
    LEAT_KERNEL_ROWS_END,
};
