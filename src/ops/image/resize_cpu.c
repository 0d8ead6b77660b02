// CPU kernels of resizing. Where a pixel of the output comes from is worked out once for each row
// and each column.
#include <math.h>

#include "base/checked.h"
#include "ops/array/types.h"
#include "ops/family.h"
#include "ops/image/pixels_cpu.h"

typedef struct resize_s {
  bool align_corners;
  bool half_pixel_centers;
} resize_t;

// One or two places of the input and the weight of the second.
typedef struct tap_s {
  int64_t low, high;
  float weight;
} tap_t;

static leat_status_t create(leat_kernel_creation_t* c, void* memory) {
  resize_t* r = memory;
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_bool(c, "align_corners", &r->align_corners));
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_bool(c, "half_pixel_centers", &r->half_pixel_centers));
  if (!r->align_corners || !r->half_pixel_centers) return leat_ok_status();
  return leat_make_status(LEAT_INVALID_ARGUMENT,
                          "If half_pixel_centers is True, align_corners must be False.");
}

static float scale_of(const resize_t* r, int64_t from, int64_t to) {
  return r->align_corners && to > 1 ? (float)(from - 1) / (float)(to - 1) : (float)from / (float)to;
}

static void find_bilinear(const resize_t* r, int64_t from, int64_t to, tap_t* taps) {
  float scale = scale_of(r, from, to);
  for (int64_t i = 0; i < to; ++i) {
    float at = r->half_pixel_centers ? ((float)i + 0.5f) * scale - 0.5f : (float)i * scale;
    float floor = floorf(at);
    int64_t low = LEAT_MAX((int64_t)floor, 0), high = (int64_t)ceilf(at);
    taps[i] = (tap_t){LEAT_MIN(low, from - 1), LEAT_MAX(LEAT_MIN(high, from - 1), 0), at - floor};
  }
}

static void find_nearest(const resize_t* r, int64_t from, int64_t to, tap_t* taps) {
  float scale = scale_of(r, from, to);
  for (int64_t i = 0; i < to; ++i) {
    float at = r->half_pixel_centers ? ((float)i + 0.5f) * scale : (float)i * scale;
    int64_t place = (int64_t)(r->align_corners ? roundf(at) : floorf(at));
    taps[i].low = LEAT_MAX(LEAT_MIN(place, from - 1), 0);
  }
}

typedef void (*find_fn_t)(const resize_t* r, int64_t from, int64_t to, tap_t* taps);

// From images of one size to images of another: taps by row and, behind them, by column.
typedef struct sampling_s {
  leat_pixels_t input;
  leat_tensor_t* output;
  int64_t height, width;  // of the larger side of the taps: the output's, or the gradient's
  tap_t* rows;
  tap_t* columns;
  // Of gradients.
  leat_tensor_t gradients;  // of doubles
  double* sums;
} sampling_t;

static leat_status_t find_taps(const resize_t* r, find_fn_t find, int64_t from_height,
                               int64_t from_width, sampling_t* s) {
  void* taps;
  LEAT_RETURN_IF_ERROR(leat_allocator_allocate_array(
      leat_allocator_system(), (size_t)(s->height + s->width), sizeof(tap_t), &taps));
  s->rows = taps;
  s->columns = s->rows + s->height;
  find(r, from_height, s->height, s->rows);
  find(r, from_width, s->width, s->columns);
  return leat_ok_status();
}

static void free_taps(sampling_t* s) { leat_allocator_free(leat_allocator_system(), s->rows); }

// The images, what is asked for and the output.
static leat_status_t begin(leat_kernel_context_t* c, find_fn_t find, sampling_t* s) {
  LEAT_RETURN_IF_ERROR(leat_pixels_size(c, 0, "input", &s->input));
  LEAT_RETURN_IF_ERROR(leat_pixels_read_size(c, 1, "size", &s->height, &s->width));
  if (s->input.height <= 0 || s->input.width <= 0) {
    return leat_kernel_invalid(c, "input image must be of non-zero size");
  }
  LEAT_RETURN_IF_ERROR(leat_pixels_allocate(c, &s->input, s->height, s->width, &s->output));
  return find_taps(leat_kernel_state(c), find, s->input.height, s->input.width, s);
}

static double row_cost_ns(const sampling_t* s, double item_ns) {
  return 20 + item_ns * (double)(s->width * s->input.channels);
}

// ---- Forward ------------------------------------------------------------------------------------

// Items are rows of the output.
static void mix_rows(void* data, int64_t begin, int64_t end) {
  const sampling_t* s = data;
  int64_t channels = s->input.channels, line = s->input.width * channels;
  for (int64_t i = begin; i < end; ++i) {
    const tap_t* row = &s->rows[i % s->height];
    const float* image = s->input.values + i / s->height * s->input.height * line;
    const float *upper = image + row->low * line, *lower = image + row->high * line;
    float* to = leat_tensor_data(s->output, float) + i * s->width * channels;
    for (int64_t x = 0; x < s->width; ++x, to += channels) {
      int64_t left = s->columns[x].low * channels, right = s->columns[x].high * channels;
      float weight = s->columns[x].weight;
      for (int64_t k = 0; k < channels; ++k) {
        float top = upper[left + k] + (upper[right + k] - upper[left + k]) * weight;
        float bottom = lower[left + k] + (lower[right + k] - lower[left + k]) * weight;
        to[k] = top + (bottom - top) * row->weight;
      }
    }
  }
}

static leat_status_t bilinear__cpu(leat_kernel_context_t* c) {
  sampling_t s = {0};
  LEAT_RETURN_IF_ERROR(begin(c, find_bilinear, &s));
  leat_status_t status = leat_pixels_read(c, 0, &s.input);
  if (!status) {
    leat_kernel_parallel_for(c, s.input.batch * s.height, row_cost_ns(&s, 1.5), mix_rows, &s);
  }
  leat_pixels_release(&s.input);
  free_taps(&s);
  return status;
}

static void pick_rows(void* data, int64_t begin, int64_t end) {
  const sampling_t* s = data;
  size_t pixel = (size_t)s->input.channels * leat_dtype_size(s->output->dtype);
  size_t line = (size_t)s->input.width * pixel;
  const char* images = (const char*)s->input.values;
  for (int64_t i = begin; i < end; ++i) {
    int64_t row = i / s->height * s->input.height + s->rows[i % s->height].low;
    char* to = leat_tensor_data(s->output, char) + (size_t)(i * s->width) * pixel;
    for (int64_t x = 0; x < s->width; ++x, to += pixel) {
      memcpy(to, images + (size_t)row * line + (size_t)s->columns[x].low * pixel, pixel);
    }
  }
}

static leat_status_t nearest__cpu(leat_kernel_context_t* c) {
  sampling_t s = {0};
  LEAT_RETURN_IF_ERROR(begin(c, find_nearest, &s));
  s.input.values = leat_kernel_input(c, 0)->data;  // of any type: only moved
  leat_kernel_parallel_for(c, s.input.batch * s.height, row_cost_ns(&s, 0.5), pick_rows, &s);
  free_taps(&s);
  return leat_ok_status();
}

// ---- Gradients ----------------------------------------------------------------------------------

// Items are images: several pixels of a gradient may belong to one of the image.
static void spread_bilinear(void* data, int64_t begin, int64_t end) {
  const sampling_t* s = data;
  int64_t channels = s->input.channels, line = leat_shape_dim(&s->output->shape, 2) * channels;
  int64_t image = leat_shape_dim(&s->output->shape, 1) * line;
  for (int64_t i = begin * s->height; i < end * s->height; ++i) {
    const tap_t* row = &s->rows[i % s->height];
    double* upper = s->sums + i / s->height * image + row->low * line;
    double* lower = s->sums + i / s->height * image + row->high * line;
    const double* from = leat_tensor_data(&s->gradients, const double) + i * s->width * channels;
    for (int64_t x = 0; x < s->width; ++x, from += channels) {
      int64_t left = s->columns[x].low * channels, right = s->columns[x].high * channels;
      float weight = s->columns[x].weight;
      for (int64_t k = 0; k < channels; ++k) {
        upper[left + k] += from[k] * (1 - row->weight) * (1 - weight);
        upper[right + k] += from[k] * (1 - row->weight) * weight;
        lower[left + k] += from[k] * row->weight * (1 - weight);
        lower[right + k] += from[k] * row->weight * weight;
      }
    }
  }
}

static void spread_nearest(void* data, int64_t begin, int64_t end) {
  const sampling_t* s = data;
  int64_t channels = s->input.channels, line = leat_shape_dim(&s->output->shape, 2) * channels;
  int64_t image = leat_shape_dim(&s->output->shape, 1) * line;
  for (int64_t i = begin * s->height; i < end * s->height; ++i) {
    double* row = s->sums + i / s->height * image + s->rows[i % s->height].low * line;
    const double* from = leat_tensor_data(&s->gradients, const double) + i * s->width * channels;
    for (int64_t x = 0; x < s->width; ++x, from += channels) {
      for (int64_t k = 0; k < channels; ++k) row[s->columns[x].low * channels + k] += from[k];
    }
  }
}

// The gradient of an image of |height| by |width|, whose gradients are |s->input|.
static leat_status_t spread(leat_kernel_context_t* c, sampling_t* s, int64_t height, int64_t width,
                            find_fn_t find, leat_shard_fn_t fn) {
  leat_tensor_t sums = {0};
  s->height = s->input.height;
  s->width = s->input.width;
  LEAT_RETURN_IF_ERROR(leat_pixels_allocate(c, &s->input, height, width, &s->output));
  LEAT_RETURN_IF_ERROR(find_taps(leat_kernel_state(c), find, height, width, s));
  leat_status_t status = leat_pixels_copy_doubles(c, 0, &s->gradients);
  if (!status) status = leat_sums_begin(c, s->output, &sums);
  if (!status) {
    s->sums = sums.data;
    double cost_ns = row_cost_ns(s, 4) * (double)s->height;
    leat_kernel_parallel_for(c, s->input.batch, cost_ns, fn, s);
    leat_sums_end(&sums, s->output);
  }
  leat_tensor_release(&s->gradients);
  free_taps(s);
  return status;
}

static leat_status_t bilinear_grad__cpu(leat_kernel_context_t* c) {
  sampling_t s = {0};
  leat_pixels_t original;
  LEAT_RETURN_IF_ERROR(leat_pixels_size(c, 0, "input_grad", &s.input));
  LEAT_RETURN_IF_ERROR(leat_pixels_size(c, 1, "original_image", &original));
  if (original.batch != s.input.batch || original.channels != s.input.channels) {
    return leat_kernel_invalid(c,
                               "original_image has shape %s, must have batch and channels of "
                               "grads, %s",
                               LEAT_SHAPE_TEXT(&leat_kernel_input(c, 1)->shape),
                               LEAT_SHAPE_TEXT(&leat_kernel_input(c, 0)->shape));
  }
  if (original.height <= 0 || original.width <= 0) {
    return leat_kernel_invalid(c, "original_image must be of non-zero size");
  }
  return spread(c, &s, original.height, original.width, find_bilinear, spread_bilinear);
}

static leat_status_t nearest_grad__cpu(leat_kernel_context_t* c) {
  sampling_t s = {0};
  int64_t height, width;
  LEAT_RETURN_IF_ERROR(leat_pixels_size(c, 0, "input", &s.input));
  LEAT_RETURN_IF_ERROR(leat_pixels_read_size(c, 1, "size", &height, &width));
  return spread(c, &s, height, width, find_nearest, spread_nearest);
}

#define ROW(op_name, types, fn)                               \
  LEAT_CPU_KERNEL(op_name, "T: " types, resize_t, create, fn)

const leat_kernel_row_t leat_resize_kernels_cpu[] = {
    ROW("ResizeBilinear", LEAT_TYPES_REAL, bilinear__cpu),
    ROW("ResizeBilinearGrad", "float, bfloat16, half, double", bilinear_grad__cpu),
    ROW("ResizeNearestNeighbor", LEAT_TYPES_REAL, nearest__cpu),
    ROW("ResizeNearestNeighborGrad", LEAT_TYPES_REAL, nearest_grad__cpu),
    LEAT_KERNEL_ROWS_END,
};
