// CPU kernels of the ops on colours (colors.c). A pixel is converted to double, changed there, and
// converted back, so that one function serves the types. TensorFlow computes half and bfloat16 in
// their own precision, where the digits that are lost on the way are more than the result's last
// one, so every step of a conversion is rounded to the images' type (rounded). Pixels, and for the
// contrast images, are independent of each other: a shard is a range of them.
//
//   hue of (r, g, b): the largest of them says in which third of the circle it is, the difference
//   of the others, divided by that of the largest and the least (the spread), where in the third.
#include <math.h>

#include "device/cpu/half.h"
#include "ops/image/pixels_cpu.h"
#include "ops/kernel_rows.h"

typedef struct color_s {
  double x, y, z;  // red, green, blue, or hue, saturation, value
} color_t;

// A number as the type holds it; the wider types keep what double has.
static inline double rounded(leat_dtype_t dtype, double x) {
  switch (dtype) {
    case LEAT_DTYPE_HALF:
      return (double)leat_half_to_float(leat_half_from_float((float)x));
    case LEAT_DTYPE_BFLOAT16:
      return (double)leat_bfloat16_to_float(leat_bfloat16_from_float((float)x));
    default:
      return x;
  }
}

static double largest(color_t color) { return fmax(fmax(color.x, color.y), color.z); }

static double spread_of(leat_dtype_t dtype, color_t rgb) {
  return rounded(dtype, largest(rgb) - fmin(fmin(rgb.x, rgb.y), rgb.z));
}

static double hue_of(leat_dtype_t dtype, color_t rgb, double spread) {
  if (!(spread > 0)) return 0;
  const double value = largest(rgb);
  const double scale =
      rounded(dtype, rounded(dtype, 1 / spread) * rounded(dtype, 1. / 6));
  double third = 0, difference = rgb.y - rgb.z;
  if (value != rgb.x) {
    third = value == rgb.y ? 1. / 3 : 2. / 3;
    difference = value == rgb.y ? rgb.z - rgb.x : rgb.x - rgb.y;
  }
  double hue = rounded(dtype, scale * rounded(dtype, difference));
  hue = rounded(dtype, hue + rounded(dtype, third));
  return hue < 0 ? rounded(dtype, hue + 1) : hue;
}

static double clamp(double x) { return fmin(fmax(x, 0), 1); }

// How far red, green and blue lie above the least of them, where the spread is 1.
static color_t shares_of(leat_dtype_t dtype, double hue) {
  const double six = rounded(dtype, 6 * hue);
  return (color_t){
      clamp(rounded(dtype, fabs(rounded(dtype, six - 3)) - 1)),
      clamp(rounded(dtype, 2 - fabs(rounded(dtype, six - 2)))),
      clamp(rounded(dtype, 2 - fabs(rounded(dtype, six - 4))))};
}

static color_t hsv_of(leat_dtype_t dtype, color_t rgb) {
  const double value = largest(rgb), spread = spread_of(dtype, rgb);
  return (color_t){hue_of(dtype, rgb, spread), value > 0 ? rounded(dtype, spread / value) : 0,
                   value};
}

// One of red, green and blue, whose share is |share|.
static double part_of(leat_dtype_t dtype, color_t hsv, double white, double share) {
  return rounded(dtype, hsv.z * rounded(dtype, white + rounded(dtype, hsv.y * share)));
}

static color_t rgb_of(leat_dtype_t dtype, color_t hsv) {
  const color_t shares = shares_of(dtype, hsv.x);
  const double white = rounded(dtype, 1 - hsv.y);
  return (color_t){part_of(dtype, hsv, white, shares.x), part_of(dtype, hsv, white, shares.y),
                   part_of(dtype, hsv, white, shares.z)};
}

// |amount| is the op's scalar input, if it has one.
typedef color_t change_fn(leat_dtype_t dtype, color_t color, double amount);

static color_t to_hsv(leat_dtype_t dtype, color_t rgb, double unused) {
  (void)unused;
  return hsv_of(dtype, rgb);
}

static color_t to_rgb(leat_dtype_t dtype, color_t hsv, double unused) {
  (void)unused;
  return rgb_of(dtype, hsv);
}

// The largest and the least stay as they are, and no saturation is computed, since that of colours
// without a positive number is not defined.
static color_t turn_hue(leat_dtype_t dtype, color_t rgb, double delta) {
  const double spread = spread_of(dtype, rgb), least = largest(rgb) - spread;
  double hue = hue_of(dtype, rgb, spread) + delta;
  hue -= floor(hue);
  const color_t shares = shares_of(dtype, hue);
  return (color_t){least + spread * shares.x, least + spread * shares.y,
                   least + spread * shares.z};
}

static color_t scale_saturation(leat_dtype_t dtype, color_t rgb, double scale) {
  color_t hsv = hsv_of(dtype, rgb);
  hsv.y = clamp(hsv.y * scale);
  return rgb_of(dtype, hsv);
}

// ---- Pixels -------------------------------------------------------------------------------------

typedef struct job_s {
  change_fn* change;
  double amount;
  const void* input;
  void* output;
  leat_dtype_t dtype;
  int64_t pixels, channels;  // of an image, for the contrast
} job_t;

static double load(const job_t* job, int64_t i) {
  switch (job->dtype) {
    case LEAT_DTYPE_DOUBLE:
      return ((const double*)job->input)[i];
    case LEAT_DTYPE_HALF:
      return (double)leat_half_to_float(((const uint16_t*)job->input)[i]);
    case LEAT_DTYPE_BFLOAT16:
      return (double)leat_bfloat16_to_float(((const uint16_t*)job->input)[i]);
    default:
      return (double)((const float*)job->input)[i];
  }
}

static void store(const job_t* job, int64_t i, double value) {
  switch (job->dtype) {
    case LEAT_DTYPE_DOUBLE:
      ((double*)job->output)[i] = value;
      break;
    case LEAT_DTYPE_HALF:
      ((uint16_t*)job->output)[i] = leat_half_from_float((float)value);
      break;
    case LEAT_DTYPE_BFLOAT16:
      ((uint16_t*)job->output)[i] = leat_bfloat16_from_float((float)value);
      break;
    default:
      ((float*)job->output)[i] = (float)value;
  }
}

static void change_pixels(void* data, int64_t begin, int64_t end) {
  const job_t* job = data;
  for (int64_t i = begin; i < end; ++i) {
    color_t from = {load(job, 3 * i), load(job, 3 * i + 1), load(job, 3 * i + 2)};
    color_t to = job->change(job->dtype, from, job->amount);
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
  job->dtype = images->dtype;
  if (leat_kernel_input_count(c) > 1) {
    job->amount = (double)*leat_tensor_data(leat_kernel_input(c, 1), const float);
  }
  return leat_ok_status();
}

// |code| is the error's where the images have another number of channels.
static leat_status_t change(leat_kernel_context_t* c, change_fn* function,
                            leat_status_code_t code) {
  const leat_shape_t* shape = &leat_kernel_input(c, 0)->shape;
  job_t job = {.change = function};
  int64_t channels = leat_shape_dim(shape, shape->rank - 1);
  if (channels != 3) {
    return leat_kernel_error(c, code, "input must have 3 channels but instead has %lld channels",
                             (long long)channels);
  }
  LEAT_RETURN_IF_ERROR(begin(c, &job));
  leat_kernel_parallel_for(c, shape->element_count / 3, 20, change_pixels, &job);
  return leat_ok_status();
}

static leat_status_t to_hsv__cpu(leat_kernel_context_t* c) {
  return change(c, to_hsv, LEAT_FAILED_PRECONDITION);
}
static leat_status_t to_rgb__cpu(leat_kernel_context_t* c) {
  return change(c, to_rgb, LEAT_FAILED_PRECONDITION);
}
static leat_status_t hue__cpu(leat_kernel_context_t* c) {
  return change(c, turn_hue, LEAT_INVALID_ARGUMENT);
}
static leat_status_t saturation__cpu(leat_kernel_context_t* c) {
  return change(c, scale_saturation, LEAT_INVALID_ARGUMENT);
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
               .dtype = LEAT_DTYPE_DOUBLE};
  change_images(c, &job);
  for (int64_t i = 0; i < output->shape.element_count; ++i) {
    double value = leat_tensor_data(&values, const double)[i];
    if (value > numbers[2]) value = numbers[2];
    if (value < numbers[1]) value = numbers[1];
    leat_tensor_data(output, float)[i] = (float)value;  // a NaN is below and above nothing
  }
  leat_tensor_release(&values);
  return leat_ok_status();
}

#define FLOATS .device_type = "CPU", .constraints = "T: float"
#define FLOATING .device_type = "CPU", .constraints = "T: half, bfloat16, float, double"
const leat_kernel_row_t leat_colors_kernels_cpu[] = {
    {.op = "AdjustContrast", .device_type = "CPU", .compute = limited_contrast__cpu},
    {.op = "AdjustContrastv2", FLOATS, .compute = contrast__cpu},
    {.op = "AdjustHue", FLOATS, .compute = hue__cpu},
    {.op = "AdjustSaturation", FLOATS, .compute = saturation__cpu},
    {.op = "RGBToHSV", FLOATING, .compute = to_hsv__cpu},
    {.op = "HSVToRGB", FLOATING, .compute = to_rgb__cpu},
    LEAT_KERNEL_ROWS_END,
};
