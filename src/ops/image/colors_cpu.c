// CPU kernels of the ops on colours (colors.c). A pixel is converted to double, changed there, and
// converted back, so that one function serves the types. Pixels, and for the contrast images, are
// independent of each other: a shard is a range of them.
//
//   hue of (r, g, b): the largest of them says in which third of the circle it is, the difference
//   of the others, divided by that of the largest and the least, where in the third.
#include <math.h>

#include "ops/image/pixels_cpu.h"
#include "ops/kernel_rows.h"

typedef struct color_s {
  double x, y, z;  // red, green, blue, or hue, saturation, value
} color_t;

static color_t hsv_of(color_t rgb) {
  double value = fmax(fmax(rgb.x, rgb.y), rgb.z);
  double spread = value - fmin(fmin(rgb.x, rgb.y), rgb.z);
  double hue = 0;
  if (spread > 0 && value == rgb.x) {
    hue = (rgb.y - rgb.z) / (6 * spread);
  } else if (spread > 0) {
    hue = value == rgb.y ? (rgb.z - rgb.x) / (6 * spread) + 1. / 3
                         : (rgb.x - rgb.y) / (6 * spread) + 2. / 3;
  }
  return (color_t){hue < 0 ? hue + 1 : hue, value > 0 ? spread / value : 0, value};
}

static double clamp(double x) { return fmin(fmax(x, 0), 1); }

static color_t rgb_of(color_t hsv) {
  double six = 6 * hsv.x, white = 1 - hsv.y;
  return (color_t){hsv.z * (white + hsv.y * clamp(fabs(six - 3) - 1)),
                   hsv.z * (white + hsv.y * clamp(2 - fabs(six - 2))),
                   hsv.z * (white + hsv.y * clamp(2 - fabs(six - 4)))};
}

// |amount| is the op's scalar input, if it has one.
typedef color_t change_fn(color_t color, double amount);

static color_t to_hsv(color_t rgb, double unused) {
  (void)unused;
  return hsv_of(rgb);
}

static color_t to_rgb(color_t hsv, double unused) {
  (void)unused;
  return rgb_of(hsv);
}

static color_t turn_hue(color_t rgb, double delta) {
  color_t hsv = hsv_of(rgb);
  hsv.x += delta;
  hsv.x -= floor(hsv.x);
  return rgb_of(hsv);
}

static color_t scale_saturation(color_t rgb, double scale) {
  color_t hsv = hsv_of(rgb);
  hsv.y = clamp(hsv.y * scale);
  return rgb_of(hsv);
}

// ---- Pixels -------------------------------------------------------------------------------------

typedef struct job_s {
  change_fn* change;
  double amount;
  const void* input;
  void* output;
  bool is_double;
  int64_t pixels, channels;  // of an image, for the contrast
} job_t;

static double load(const job_t* job, int64_t i) {
  return job->is_double ? ((const double*)job->input)[i] : (double)((const float*)job->input)[i];
}

static void store(const job_t* job, int64_t i, double value) {
  if (job->is_double) ((double*)job->output)[i] = value;
  else ((float*)job->output)[i] = (float)value;
}

static void change_pixels(void* data, int64_t begin, int64_t end) {
  const job_t* job = data;
  for (int64_t i = begin; i < end; ++i) {
    color_t from = {load(job, 3 * i), load(job, 3 * i + 1), load(job, 3 * i + 2)};
    color_t to = job->change(from, job->amount);
    store(job, 3 * i, to.x);
    store(job, 3 * i + 1, to.y);
    store(job, 3 * i + 2, to.z);
  }
}

static leat_status_t begin(leat_kernel_context_t* c, job_t* job) {
  const leat_tensor_t* images = leat_kernel_input(c, 0);
  leat_tensor_t* output;
  LEAT_RETURN_IF_ERROR(leat_kernel_forward_or_allocate(c, 0, 0, &images->shape, &output));
  job->input = images->data;
  job->output = output->data;
  job->is_double = images->dtype == LEAT_DTYPE_DOUBLE;
  if (leat_kernel_input_count(c) > 1) {
    job->amount = (double)*leat_tensor_data(leat_kernel_input(c, 1), const float);
  }
  return leat_ok_status();
}

static leat_status_t change(leat_kernel_context_t* c, change_fn* function) {
  const leat_shape_t* shape = &leat_kernel_input(c, 0)->shape;
  job_t job = {.change = function};
  int64_t channels = leat_shape_dim(shape, shape->rank - 1);
  if (channels != 3) {
    return leat_kernel_invalid(c, "input must have 3 channels but instead has %lld channels",
                               (long long)channels);
  }
  LEAT_RETURN_IF_ERROR(begin(c, &job));
  leat_kernel_parallel_for(c, shape->element_count / 3, 20, change_pixels, &job);
  return leat_ok_status();
}

static leat_status_t to_hsv__cpu(leat_kernel_context_t* c) { return change(c, to_hsv); }
static leat_status_t to_rgb__cpu(leat_kernel_context_t* c) { return change(c, to_rgb); }
static leat_status_t hue__cpu(leat_kernel_context_t* c) { return change(c, turn_hue); }
static leat_status_t saturation__cpu(leat_kernel_context_t* c) {
  return change(c, scale_saturation);
}

// ---- Contrast -----------------------------------------------------------------------------------

// A shard is a range of channels of images.
static void change_contrast(void* data, int64_t begin, int64_t end) {
  const job_t* job = data;
  for (int64_t k = begin; k < end; ++k) {
    int64_t first = k / job->channels * job->pixels * job->channels + k % job->channels;
    double sum = 0;
    for (int64_t i = 0; i < job->pixels; ++i) sum += load(job, first + i * job->channels);
    double mean = sum / (double)job->pixels;
    for (int64_t i = 0; i < job->pixels; ++i) {
      int64_t at = first + i * job->channels;
      store(job, at, (load(job, at) - mean) * job->amount + mean);
    }
  }
}

// Changes all images of input 0, whose elements are job->input.
static void change_images(leat_kernel_context_t* c, job_t* job) {
  const leat_shape_t* shape = &leat_kernel_input(c, 0)->shape;
  if (shape->element_count == 0) return;
  job->pixels = leat_shape_product(shape, shape->rank - 3, shape->rank - 1);
  job->channels = leat_shape_dim(shape, shape->rank - 1);
  const int64_t images = leat_shape_product(shape, 0, shape->rank - 3);
  leat_kernel_parallel_for(c, images * job->channels, 4 * (double)job->pixels, change_contrast,
                           job);
}

static leat_status_t contrast__cpu(leat_kernel_context_t* c) {
  job_t job = {0};
  LEAT_RETURN_IF_ERROR(begin(c, &job));
  change_images(c, &job);
  return leat_ok_status();
}

// The first version of the op takes more types, and limits the result, which is float. It works in
// place on a copy of the images in double.
static leat_status_t limited_contrast__cpu(leat_kernel_context_t* c) {
  double numbers[3];  // the factor, the least and the greatest value
  for (int i = 0; i < 3; ++i) {
    numbers[i] = (double)*leat_tensor_data(leat_kernel_input(c, 1 + i), const float);
  }
  leat_tensor_t *output, values;
  LEAT_RETURN_IF_ERROR(
      leat_kernel_allocate_output(c, 0, &leat_kernel_input(c, 0)->shape, &output));
  LEAT_RETURN_IF_ERROR(leat_pixels_copy_doubles(c, 0, &values));
  job_t job = {.amount = numbers[0], .input = values.data, .output = values.data,
               .is_double = true};
  change_images(c, &job);
  for (int64_t i = 0; i < output->shape.element_count; ++i) {
    const double value = leat_tensor_data(&values, const double)[i];
    leat_tensor_data(output, float)[i] = (float)fmax(fmin(value, numbers[2]), numbers[1]);
  }
  leat_tensor_release(&values);
  return leat_ok_status();
}

#define FLOATS .device_type = "CPU", .constraints = "T: float"
#define BOTH .device_type = "CPU", .constraints = "T: float, double"
const leat_kernel_row_t leat_colors_kernels_cpu[] = {
    {.op = "AdjustContrast", .device_type = "CPU", .compute = limited_contrast__cpu},
    {.op = "AdjustContrastv2", FLOATS, .compute = contrast__cpu},
    {.op = "AdjustHue", FLOATS, .compute = hue__cpu},
    {.op = "AdjustSaturation", FLOATS, .compute = saturation__cpu},
    {.op = "RGBToHSV", BOTH, .compute = to_hsv__cpu},
    {.op = "HSVToRGB", BOTH, .compute = to_rgb__cpu},
    LEAT_KERNEL_ROWS_END,
};
