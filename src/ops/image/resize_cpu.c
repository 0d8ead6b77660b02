// CPU kernels that resize images [batch, height, width, channels], and their gradients.
//
// Each output pixel is a weighted sum of a few input pixels ("taps"): one for the nearest
// neighbour, 2 x 2 for bilinear, 4 x 4 for bicubic. The weights are a product of one for the row
// and one for the column, so the taps are found once for each output row and once for each output
// column:
//
//   rows[y]     input rows at[0..3] and weights      y = 0 .. output height - 1
//   columns[x]  input columns at[0..3] and weights   x = 0 .. output width - 1
//
// Which input position an output position stands for depends on two attributes: align_corners maps
// the corner pixels onto each other, half_pixel_centers takes the middle of a pixel as its
// position.
//
// The bicubic kernel first mixes four input rows into one line and then mixes columns of the line,
// which costs about 4 + 4 multiplications instead of 16. The gradients spread each element over the
// same taps. Forward kernels share output rows among threads; gradients share images, because
// several elements of a gradient add to the same pixel. Positions and weights are computed in float
// exactly as TensorFlow does, since rounding decides which pixel is taken.
#include <float.h>
#include <math.h>

#include "base/checked.h"
#include "ops/array/types.h"
#include "ops/image/resize_cpu.h"
#include "ops/image/resize_lines_cpu.h"
#include "ops/kernel_rows.h"

typedef struct resize_s {
  bool align_corners;
  bool half_pixel_centers;
  leat_pixel_scaling_t scaling;  // of _ScaledResizeBilinear
} resize_t;

// A way of resizing: the number of taps along a dimension, and the function that finds the taps of
// |to| output positions over |from| input positions.
typedef struct method_s {
  int taps;
  void (*find)(const resize_t* r, int64_t from, int64_t to, leat_tap_t* taps);
} method_t;

static leat_status_t create(leat_kernel_creation_t* c, void* memory) {
  resize_t* r = memory;
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_bool(c, "align_corners", &r->align_corners));
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_bool(c, "half_pixel_centers", &r->half_pixel_centers));
  if (!r->align_corners || !r->half_pixel_centers) return leat_ok_status();
  return leat_make_status(LEAT_INVALID_ARGUMENT,
                          "If half_pixel_centers is True, align_corners must be False.");
}

static leat_status_t scaled_create(leat_kernel_creation_t* c, void* memory) {
  resize_t* r = memory;
  leat_string_view_t scaling;
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_string(c, "scaling", &scaling));
  r->scaling = leat_string_view_equals(scaling, "Mul") ? LEAT_PIXELS_MULTIPLIED
                                                       : LEAT_PIXELS_DIVIDED;
  return create(c, memory);
}

// Input positions for each output position.
static float scale_of(const resize_t* r, int64_t from, int64_t to) {
  return r->align_corners && to > 1 ? (float)(from - 1) / (float)(to - 1) : (float)from / (float)to;
}

// Limits a position to those of the input.
static int64_t within(int64_t place, int64_t size) {
  return LEAT_MAX(LEAT_MIN(place, size - 1), 0);
}

static void find_bilinear(const resize_t* r, int64_t from, int64_t to, leat_tap_t* taps) {
  float scale = scale_of(r, from, to);
  for (int64_t i = 0; i < to; ++i) {
    float at = r->half_pixel_centers ? ((float)i + 0.5f) * scale - 0.5f : (float)i * scale;
    float floor = floorf(at);
    taps[i] = (leat_tap_t){.at = {within((int64_t)floor, from), within((int64_t)ceilf(at), from)},
                      .weight = {1 - (at - floor), at - floor}};
  }
}
static const method_t kBilinear = {2, find_bilinear};

static void find_nearest(const resize_t* r, int64_t from, int64_t to, leat_tap_t* taps) {
  float scale = scale_of(r, from, to);
  for (int64_t i = 0; i < to; ++i) {
    float at = r->half_pixel_centers ? ((float)i + 0.5f) * scale : (float)i * scale;
    int64_t place = (int64_t)(r->align_corners ? roundf(at) : floorf(at));
    taps[i] = (leat_tap_t){.at = {within(place, from)}, .weight = {1}};
  }
}
static const method_t kNearest = {1, find_nearest};

// The kernel of cubic convolution (Keys, "Cubic convolution interpolation for digital image
// processing", 1981) at a distance |x| below 1, and between 1 and 2. |a| is its slope at 1.
static float cubic_near(double a, double x) { return (float)(((a + 2) * x - (a + 3)) * x * x + 1); }
static float cubic_far(double a, double x) {
  return (float)(((a * x - 5 * a) * x + 8 * a) * x - 4 * a);
}

// The taps of the input position |at|, whose fraction is rounded to 1/1024 as in TensorFlow.
// Positions beyond an edge take the edge's pixel; with half_pixel_centers they have no weight, and
// the weights that are left are scaled so that they sum to 1.
static leat_tap_t find_cubic_tap(const resize_t* r, int64_t from, float at) {
  double a = r->half_pixel_centers ? -0.5 : -0.75;
  int64_t floor = (int64_t)floorf(at);
  double x = (double)lrintf((at - (float)floor) * 1024) / 1024;
  leat_tap_t tap = {
      .weight = {cubic_far(a, 1 + x), cubic_near(a, x), cubic_near(a, 1 - x), cubic_far(a, 2 - x)}};
  float sum = 0;
  for (int i = 0; i < 4; ++i) {
    int64_t place = floor - 1 + i;
    tap.at[i] = within(place, from);
    if (r->half_pixel_centers && tap.at[i] != place) tap.weight[i] = 0;
    sum += tap.weight[i];
  }
  if (!r->half_pixel_centers || fabsf(sum) < 1000 * FLT_MIN) return tap;
  for (int i = 0; i < 4; ++i) tap.weight[i] *= 1 / sum;
  return tap;
}

static void find_bicubic(const resize_t* r, int64_t from, int64_t to, leat_tap_t* taps) {
  float scale = scale_of(r, from, to);
  for (int64_t i = 0; i < to; ++i) {
    float at = r->half_pixel_centers ? ((float)i + 0.5f) * scale - 0.5f : (float)i * scale;
    taps[i] = find_cubic_tap(r, from, at);
  }
}
static const method_t kBicubic = {4, find_bicubic};

// One resizing, or its gradient: then |input| is the gradient dy, and |output| the gradient of the
// images.
typedef struct sampling_s {
  leat_pixels_t input;
  const void* images;  // of QuantizedResizeBilinear; |input| has only their sizes
  leat_tensor_t* output;
  int64_t height, width;  // of the resized images, which have the taps
  int taps;
  leat_tap_t* rows;
  leat_tap_t* columns;
  leat_tensor_t lines;  // bicubic: a line of the input's width for each band of output rows
  // Used by gradients only.
  leat_tensor_t gradients;  // dy in double
  double* sums;
} sampling_t;

// Finds the taps of s->height rows and s->width columns. The caller frees them by free_taps.
static leat_status_t find_taps(const resize_t* r, const method_t* method, int64_t from_height,
                               int64_t from_width, sampling_t* s) {
  void* taps;
  LEAT_RETURN_IF_ERROR(leat_allocator_allocate_array(
      leat_allocator_system(), (size_t)(s->height + s->width), sizeof(leat_tap_t), &taps));
  s->rows = taps;
  s->columns = s->rows + s->height;
  s->taps = method->taps;
  method->find(r, from_height, s->height, s->rows);
  method->find(r, from_width, s->width, s->columns);
  return leat_ok_status();
}

static void free_taps(sampling_t* s) { leat_allocator_free(leat_allocator_system(), s->rows); }

// Reads the size of the images and the size that is asked for.
static leat_status_t measure(const leat_kernel_context_t* c, sampling_t* s) {
  LEAT_RETURN_IF_ERROR(leat_pixels_size(c, 0, "input", &s->input));
  LEAT_RETURN_IF_ERROR(leat_pixels_read_size(c, 1, "size", &s->height, &s->width));
  if (s->input.height <= 0 || s->input.width <= 0) {
    return leat_kernel_invalid(c, "input image must be of non-zero size");
  }
  if (s->input.channels == 0) {
    return leat_kernel_invalid(c, "image must have at least one channel");
  }
  return leat_ok_status();
}

// Measures, allocates the output and finds the taps.
static leat_status_t begin(leat_kernel_context_t* c, const method_t* method, sampling_t* s) {
  LEAT_RETURN_IF_ERROR(measure(c, s));
  LEAT_RETURN_IF_ERROR(leat_pixels_allocate(c, &s->input, s->height, s->width, &s->output));
  return find_taps(leat_kernel_state(c), method, s->input.height, s->input.width, s);
}

static double row_cost_ns(const sampling_t* s, double item_ns) {
  return 20 + item_ns * (double)(s->width * s->input.channels);
}

// ---- Forward ------------------------------------------------------------------------------------

// Bilinear: computes output rows [begin, end), counted over all images.
static void mix_rows(void* data, int64_t begin, int64_t end) {
  leat_resize_lines(data, begin, end);
}

// Fills s->output, once the taps are found, and releases them.
static void run_bilinear(leat_kernel_context_t* c, leat_pixel_scaling_t scaling, float factor,
                         sampling_t* s) {
  const leat_tensor_t* images = leat_kernel_input(c, 0);
  leat_resize_lines_t lines = {.images = images->data,
                               .dtype = images->dtype,
                               .scaling = scaling,
                               .factor = factor,
                               .height = s->input.height,
                               .width = s->input.width,
                               .channels = s->input.channels,
                               .to_height = s->height,
                               .to_width = s->width,
                               .rows = s->rows,
                               .columns = s->columns,
                               .output = s->output->data};
  leat_kernel_parallel_for(c, s->input.batch * s->height, row_cost_ns(s, 0.5), mix_rows, &lines);
  free_taps(s);
}

static leat_status_t bilinear__cpu(leat_kernel_context_t* c) {
  sampling_t s = {0};
  LEAT_RETURN_IF_ERROR(begin(c, &kBilinear, &s));
  run_bilinear(c, LEAT_PIXELS_AS_THEY_ARE, 1, &s);
  return leat_ok_status();
}

static leat_status_t scaled_bilinear__cpu(leat_kernel_context_t* c) {
  const resize_t* r = leat_kernel_state(c);
  const leat_tensor_t* factor = leat_kernel_input(c, 2);
  sampling_t s = {0};
  if (factor->shape.rank != 0) {
    return leat_kernel_invalid(c, "factor has shape %s, must be of rank 0",
                               LEAT_SHAPE_TEXT(&factor->shape));
  }
  LEAT_RETURN_IF_ERROR(begin(c, &kBilinear, &s));
  run_bilinear(c, r->scaling, *leat_tensor_data(factor, const float), &s);
  return leat_ok_status();
}

leat_status_t leat_resize_bilinear(leat_kernel_context_t* c, bool align_corners,
                                   leat_tensor_t* out_images) {
  const resize_t r = {.align_corners = align_corners};
  sampling_t s = {.output = out_images};
  leat_shape_t shape;
  LEAT_RETURN_IF_ERROR(measure(c, &s));
  const int64_t dims[] = {s.input.batch, s.height, s.width, s.input.channels};
  LEAT_RETURN_IF_ERROR(leat_shape_create(4, dims, &shape));
  LEAT_RETURN_IF_ERROR(
      leat_kernel_allocate_temporary(c, LEAT_DTYPE_FLOAT, &shape, out_images));
  const leat_status_t status = find_taps(&r, &kBilinear, s.input.height, s.input.width, &s);
  if (status) {
    leat_tensor_release(out_images);
  } else {
    run_bilinear(c, LEAT_PIXELS_AS_THEY_ARE, 1, &s);
  }
  return status;
}

// ---- QuantizedResizeBilinear --------------------------------------------------------------------
// A weighted mean of integers stands for the weighted mean of their numbers, whatever the range is,
// so that the integers are mixed as they are. The weights are integers too, of 7 bits for bytes and
// of 30 bits for words, and quotients are cut toward 0 where TensorFlow cuts them.

static leat_status_t quantized_create(leat_kernel_creation_t* c, void* memory) {
  resize_t* r = memory;
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_bool(c, "align_corners", &r->align_corners));
  return leat_kernel_attr_bool(c, "half_pixel_centers", &r->half_pixel_centers);
}

// The mean of four numbers; |x| and |y| are the weights of the right and the lower ones in units of
// 1 / |unit|. The numbers have 32 bits and |unit| is at most 2^30, so that nothing overflows.
static int64_t mix_integers(int64_t top_left, int64_t top_right, int64_t bottom_left,
                            int64_t bottom_right, int64_t x, int64_t y, int64_t unit) {
  LEAT_DCHECK(x >= 0 && x <= unit && y >= 0 && y <= unit);
  const int64_t top = (top_right - top_left) * x + top_left * unit;
  const int64_t bottom = (bottom_right - bottom_left) * x + bottom_left * unit;
  return (top + (bottom - top) / unit * y + unit / 2) / unit;
}

// Computes output rows [begin, end), counted over all images, of pixels of |type|.
#define MIX_QUANTIZED(type, unit)                                                                  \
  for (int64_t i = begin; i < end; ++i) {                                                          \
    const leat_tap_t* row = &s->rows[i % s->height];                                               \
    const type* image = (const type*)s->images + i / s->height * s->input.height * line;           \
    const type *upper = image + row->at[0] * line, *lower = image + row->at[1] * line;             \
    type* to = leat_tensor_data(s->output, type) + i * s->width * channels;                        \
    for (int64_t x = 0; x < s->width; ++x, to += channels) {                                       \
      const leat_tap_t* tap = &s->columns[x];                                                      \
      const int64_t left = tap->at[0] * channels, right = tap->at[1] * channels;                   \
      for (int64_t k = 0; k < channels; ++k) {                                                     \
        to[k] = (type)mix_integers(upper[left + k], upper[right + k], lower[left + k],             \
                                   lower[right + k], (int64_t)(tap->weight[1] * (unit)),           \
                                   (int64_t)(row->weight[1] * (unit)), unit);                      \
      }                                                                                            \
    }                                                                                              \
  }

static void mix_quantized(void* data, int64_t begin, int64_t end) {
  const sampling_t* s = data;
  const int64_t channels = s->input.channels, line = s->input.width * channels;
  if (s->output->dtype == LEAT_DTYPE_QUINT8) {
    MIX_QUANTIZED(uint8_t, 1 << 7)
  } else {
    MIX_QUANTIZED(int32_t, 1 << 30)
  }
}

static leat_status_t quantized_bilinear__cpu(leat_kernel_context_t* c) {
  leat_kernel_pass_input(c, 2, 1);
  leat_kernel_pass_input(c, 3, 2);
  if (leat_kernel_input(c, 0)->dtype == LEAT_DTYPE_FLOAT) return bilinear__cpu(c);
  sampling_t s = {.images = leat_kernel_input(c, 0)->data};
  LEAT_RETURN_IF_ERROR(begin(c, &kBilinear, &s));
  leat_kernel_parallel_for(c, s.input.batch * s.height, row_cost_ns(&s, 3), mix_quantized, &s);
  free_taps(&s);
  return leat_ok_status();
}

// ---- Bicubic and nearest ------------------------------------------------------------------------

// The bicubic kernel shares out bands of output rows. Each band has a line of memory, which would
// cost too much for each row.
#define BAND_ROWS 16

// Mixes the four input rows of output row |row| into |line|.
static void mix_line(const sampling_t* s, int64_t row, float* line) {
  const leat_tap_t* tap = &s->rows[row % s->height];
  int64_t size = s->input.width * s->input.channels;
  const float* image = s->input.values + row / s->height * s->input.height * size;
  const float *a = image + tap->at[0] * size, *b = image + tap->at[1] * size;
  const float *c = image + tap->at[2] * size, *d = image + tap->at[3] * size;
  const float* w = tap->weight;
  for (int64_t i = 0; i < size; ++i) {
    line[i] = a[i] * w[0] + b[i] * w[1] + c[i] * w[2] + d[i] * w[3];
  }
}

// Mixes the columns of |line| into one output row.
static void mix_columns(const sampling_t* s, const float* line, float* to) {
  int64_t channels = s->input.channels;
  for (int64_t x = 0; x < s->width; ++x, to += channels) {
    const int64_t* at = s->columns[x].at;
    const float* w = s->columns[x].weight;
    for (int64_t k = 0; k < channels; ++k) {
      to[k] = line[at[0] * channels + k] * w[0] + line[at[1] * channels + k] * w[1] +
              line[at[2] * channels + k] * w[2] + line[at[3] * channels + k] * w[3];
    }
  }
}

static void mix_bands(void* data, int64_t begin, int64_t end) {
  const sampling_t* s = data;
  int64_t rows = s->input.batch * s->height, width = s->width * s->input.channels;
  for (int64_t band = begin; band < end; ++band) {
    float* line = leat_tensor_data(&s->lines, float) + band * s->input.width * s->input.channels;
    for (int64_t i = band * BAND_ROWS; i < LEAT_MIN(rows, (band + 1) * BAND_ROWS); ++i) {
      mix_line(s, i, line);
      mix_columns(s, line, leat_tensor_data(s->output, float) + i * width);
    }
  }
}

static leat_status_t bicubic__cpu(leat_kernel_context_t* c) {
  sampling_t s = {0};
  LEAT_RETURN_IF_ERROR(begin(c, &kBicubic, &s));
  int64_t bands = (s.input.batch * s.height + BAND_ROWS - 1) / BAND_ROWS;
  leat_shape_t lines = leat_shape_vector(bands * s.input.width * s.input.channels);
  leat_status_t status = leat_pixels_read(c, 0, &s.input);
  if (!status) status = leat_kernel_allocate_temporary(c, LEAT_DTYPE_FLOAT, &lines, &s.lines);
  if (!status) {
    double cost_ns = row_cost_ns(&s, 4) + (double)(s.input.width * s.input.channels);
    leat_kernel_parallel_for(c, bands, BAND_ROWS * cost_ns, mix_bands, &s);
  }
  leat_tensor_release(&s.lines);
  leat_pixels_release(&s.input);
  free_taps(&s);
  return status;
}

// Nearest neighbour: copies the pixels of output rows [begin, end).
static void pick_rows(void* data, int64_t begin, int64_t end) {
  const sampling_t* s = data;
  size_t pixel = (size_t)s->input.channels * leat_dtype_size(s->output->dtype);
  size_t line = (size_t)s->input.width * pixel;
  const char* images = (const char*)s->input.values;
  for (int64_t i = begin; i < end; ++i) {
    int64_t row = i / s->height * s->input.height + s->rows[i % s->height].at[0];
    char* to = leat_tensor_data(s->output, char) + (size_t)(i * s->width) * pixel;
    for (int64_t x = 0; x < s->width; ++x, to += pixel) {
      memcpy(to, images + (size_t)row * line + (size_t)s->columns[x].at[0] * pixel, pixel);
    }
  }
}

static leat_status_t nearest__cpu(leat_kernel_context_t* c) {
  sampling_t s = {0};
  LEAT_RETURN_IF_ERROR(begin(c, &kNearest, &s));
  s.input.values = leat_kernel_input(c, 0)->data;  // of any type, since pixels are only copied
  leat_kernel_parallel_for(c, s.input.batch * s.height, row_cost_ns(&s, 0.5), pick_rows, &s);
  free_taps(&s);
  return leat_ok_status();
}

// ---- Gradients ----------------------------------------------------------------------------------

// Adds dy of images [begin, end) to their sums. An item is an image because several elements of dy
// may belong to the same pixel.
static void spread_images(void* data, int64_t begin, int64_t end) {
  const sampling_t* s = data;
  int64_t channels = s->input.channels, line = leat_shape_dim(&s->output->shape, 2) * channels;
  int64_t image = leat_shape_dim(&s->output->shape, 1) * line;
  const double* from =
      leat_tensor_data(&s->gradients, const double) + begin * s->height * s->width * channels;
  for (int64_t i = begin * s->height * s->width; i < end * s->height * s->width; ++i) {
    const leat_tap_t* row = &s->rows[i / s->width % s->height];
    const leat_tap_t* column = &s->columns[i % s->width];
    double* sums = s->sums + i / (s->height * s->width) * image;
    for (int tap = 0; tap < s->taps * s->taps; ++tap) {
      int y = tap / s->taps, x = tap % s->taps;
      double* to = sums + row->at[y] * line + column->at[x] * channels;
      for (int64_t k = 0; k < channels; ++k) to[k] += from[k] * row->weight[y] * column->weight[x];
    }
    from += channels;
  }
}

// Computes the gradient of images of |height| by |width|, where s->input is dy.
static leat_status_t spread(leat_kernel_context_t* c, const method_t* method, sampling_t* s,
                            int64_t height, int64_t width) {
  leat_tensor_t sums = {0};
  s->height = s->input.height;
  s->width = s->input.width;
  LEAT_RETURN_IF_ERROR(leat_pixels_allocate(c, &s->input, height, width, &s->output));
  LEAT_RETURN_IF_ERROR(find_taps(leat_kernel_state(c), method, height, width, s));
  leat_status_t status = leat_pixels_copy_doubles(c, 0, &s->gradients);
  if (!status) status = leat_sums_begin(c, s->output, &sums);
  if (!status) {
    s->sums = sums.data;
    double cost_ns = row_cost_ns(s, s->taps * s->taps) * (double)s->height;
    leat_kernel_parallel_for(c, s->input.batch, cost_ns, spread_images, s);
    leat_sums_end(&sums, s->output);
  }
  leat_tensor_release(&s->gradients);
  free_taps(s);
  return status;
}

// Input 1 is the images that were resized; only their shape counts.
static leat_status_t spread_over_original(leat_kernel_context_t* c, const method_t* method) {
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
  if (s.input.height == 0 || s.input.width == 0) {
    return leat_kernel_invalid(c, "resized dimensions must be positive");
  }
  return spread(c, method, &s, original.height, original.width);
}

static leat_status_t bilinear_grad__cpu(leat_kernel_context_t* c) {
  return spread_over_original(c, &kBilinear);
}

static leat_status_t bicubic_grad__cpu(leat_kernel_context_t* c) {
  return spread_over_original(c, &kBicubic);
}

static leat_status_t nearest_grad__cpu(leat_kernel_context_t* c) {
  sampling_t s = {0};
  int64_t height, width;
  LEAT_RETURN_IF_ERROR(leat_pixels_size(c, 0, "input", &s.input));
  LEAT_RETURN_IF_ERROR(leat_pixels_read_size(c, 1, "size", &height, &width));
  return spread(c, &kNearest, &s, height, width);
}

#define ROW(op_name, types, fn)                               \
  LEAT_CPU_KERNEL(op_name, "T: " types, resize_t, create, fn)

const leat_kernel_row_t leat_resize_kernels_cpu[] = {
    ROW("ResizeBicubic", LEAT_TYPES_REAL, bicubic__cpu),
    ROW("ResizeBicubicGrad", "float, double", bicubic_grad__cpu),
    ROW("ResizeBilinear", LEAT_TYPES_REAL, bilinear__cpu),
    LEAT_CPU_KERNEL("_ScaledResizeBilinear", NULL, resize_t, scaled_create, scaled_bilinear__cpu),
    LEAT_CPU_KERNEL("QuantizedResizeBilinear", NULL, resize_t, quantized_create,
                    quantized_bilinear__cpu),
    ROW("ResizeBilinearGrad", "float, bfloat16, half, double", bilinear_grad__cpu),
    ROW("ResizeNearestNeighbor", LEAT_TYPES_REAL, nearest__cpu),
    ROW("ResizeNearestNeighborGrad", LEAT_TYPES_REAL, nearest_grad__cpu),
    LEAT_KERNEL_ROWS_END,
};
