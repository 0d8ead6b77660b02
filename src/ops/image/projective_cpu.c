// CPU kernels of projective transforms of images. A transform (t0 ... t7) says where the pixel at
// (x, y) of the output comes from:
//
//   w = t6 x + t7 y + 1      input x = (t0 x + t1 y + t2) / w      input y = (t3 x + t4 y + t5) / w
//
// A place outside the image is brought inside as fill_mode says; a pixel that is outside even then,
// as all are under CONSTANT, has the fill value, 0 in the first version of the op. Places are
// computed in float for every type, as in TensorFlow. Output rows are shared among threads.
#include <math.h>

#include "base/checked.h"
#include "ops/image/pixels_cpu.h"
#include "ops/kernel_rows.h"

typedef enum fill_e { FILL_CONSTANT, FILL_REFLECT, FILL_WRAP, FILL_NEAREST } fill_t;
static const char* const kFills[] = {"CONSTANT", "REFLECT", "WRAP", "NEAREST"};

typedef struct projection_s {
  bool is_bilinear;
  fill_t fill;
} projection_t;

static leat_status_t create(leat_kernel_creation_t* c, void* memory) {
  projection_t* projection = memory;
  leat_string_view_t text;
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_string(c, "interpolation", &text));
  projection->is_bilinear = leat_string_view_equals(text, "BILINEAR");
  if (!projection->is_bilinear && !leat_string_view_equals(text, "NEAREST")) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "Invalid interpolation %.*s. Supported types: NEAREST, BILINEAR",
                            LEAT_SV_ARG(text));
  }
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_string(c, "fill_mode", &text));
  for (int i = FILL_CONSTANT; i <= FILL_NEAREST; ++i) {
    projection->fill = (fill_t)i;
    if (leat_string_view_equals(text, kFills[i])) return leat_ok_status();
  }
  return leat_make_status(LEAT_INVALID_ARGUMENT,
                          "Invalid mode %.*s. Supported types: REFLECT, WRAP, CONSTANT, NEAREST",
                          LEAT_SV_ARG(text));
}

// ---- Places -------------------------------------------------------------------------------------

// |x| without its fraction. What has no fraction because it is so large stays as it is.
static float whole(float x) { return truncf(x); }

static float reflected(float at, int64_t size) {
  const float length = (float)size, twice = 2 * length;
  if (at < 0) {
    if (size <= 1) return 0;
    if (at < twice) at += twice * whole(-at / twice);
    return at < -length ? at + twice : -at - 1;
  }
  if (at <= length - 1) return at;
  if (size <= 1) return 0;
  at -= twice * whole(at / twice);
  return at >= length ? twice - at - 1 : at;
}

static float wrapped(float at, int64_t size) {
  const float length = (float)size, last = length - 1;
  if (at >= 0 && at <= last) return at;
  if (size <= 1) return 0;
  return at < 0 ? at + length * (whole(-at / last) + 1) : at - length * whole(at / last);
}

// Brings the place |at| into an image of |size| positions, as far as |fill| does. NaN stays.
static float place_of(fill_t fill, float at, int64_t size) {
  if (fill == FILL_CONSTANT || isnan(at)) return at;
  if (fill == FILL_REFLECT) at = reflected(at, size);
  if (fill == FILL_WRAP) at = wrapped(at, size);
  return fminf(fmaxf(at, 0), (float)(size - 1));
}

// ---- Pixels -------------------------------------------------------------------------------------

typedef struct job_s {
  projection_t projection;
  leat_pixels_t images;
  int64_t height, width;  // of the output
  const float* transforms;
  int64_t transform_step;  // numbers between the transforms of two images; 0: one for all
  double fill_value;
  const leat_tensor_t* input;
  leat_tensor_t* output;
  leat_tensor_t values;  // of the images, in double; only where pixels are mixed
  double* mixed;         // the output's, likewise
} job_t;

// The element where pixel (y, x) of image |batch| begins, -1 outside. |y| and |x| are whole.
static int64_t pixel_at(const job_t* job, int64_t batch, float y, float x) {
  const leat_pixels_t* images = &job->images;
  if (!(y >= 0 && y < (float)images->height && x >= 0 && x < (float)images->width)) return -1;
  const int64_t row = (int64_t)y, column = (int64_t)x;
  if (row >= images->height || column >= images->width) return -1;
  return ((batch * images->height + row) * images->width + column) * images->channels;
}

// Where the pixel (y, x) of the output comes from; false where the transform has no such place.
static bool find_place(const job_t* job, int64_t batch, int64_t y, int64_t x, float out_place[2]) {
  const float* t = job->transforms + batch * job->transform_step;
  const float column = (float)x, row = (float)y;
  const float w = t[6] * column + t[7] * row + 1;
  if (w == 0) return false;
  const fill_t fill = job->projection.fill;
  out_place[0] = place_of(fill, (t[3] * column + t[4] * row + t[5]) / w, job->images.height);
  out_place[1] = place_of(fill, (t[0] * column + t[1] * row + t[2]) / w, job->images.width);
  return true;
}

static double value_at(const job_t* job, int64_t pixel, int64_t channel) {
  return pixel < 0 ? job->fill_value
                   : leat_tensor_data(&job->values, const double)[pixel + channel];
}

// Mixes the four pixels about |place| into the output's pixel |to|.
static void mix_pixel(const job_t* job, int64_t batch, const float place[2], double* to) {
  const float top = floorf(place[0]), left = floorf(place[1]);
  const float bottom = top + 1, right = left + 1;
  const int64_t corners[] = {pixel_at(job, batch, top, left), pixel_at(job, batch, top, right),
                             pixel_at(job, batch, bottom, left),
                             pixel_at(job, batch, bottom, right)};
  for (int64_t channel = 0; channel < job->images.channels; ++channel) {
    float rows[2];
    for (int i = 0; i < 2; ++i) {
      rows[i] = (right - place[1]) * (float)value_at(job, corners[2 * i], channel) +
                (place[1] - left) * (float)value_at(job, corners[2 * i + 1], channel);
    }
    to[channel] = (double)((bottom - place[0]) * rows[0] + (place[0] - top) * rows[1]);
  }
}

// Computes output rows [begin, end), counted over all images.
static void mix_rows(void* data, int64_t begin, int64_t end) {
  const job_t* job = data;
  const int64_t channels = job->images.channels;
  for (int64_t i = begin * job->width; i < end * job->width; ++i) {
    const int64_t row = i / job->width, batch = row / job->height;
    double* to = job->mixed + i * channels;
    float place[2];
    if (!find_place(job, batch, row % job->height, i % job->width, place)) {
      for (int64_t k = 0; k < channels; ++k) to[k] = job->fill_value;
    } else if (job->projection.is_bilinear) {
      mix_pixel(job, batch, place, to);
    } else {
      const int64_t pixel = pixel_at(job, batch, roundf(place[0]), roundf(place[1]));
      for (int64_t k = 0; k < channels; ++k) to[k] = value_at(job, pixel, k);
    }
  }
}

static leat_status_t read_inputs(leat_kernel_context_t* c, job_t* job) {
  const leat_tensor_t* transforms = leat_kernel_input(c, 1);
  const leat_shape_t* shape = &transforms->shape;
  LEAT_RETURN_IF_ERROR(leat_pixels_size(c, 0, "images", &job->images));
  if (shape->rank != 2 || leat_shape_dim(shape, 1) != 8 ||
      (leat_shape_dim(shape, 0) != 1 && leat_shape_dim(shape, 0) != job->images.batch)) {
    return leat_kernel_invalid(c, "Input transform should be num_images x 8 or 1 x 8, got shape %s",
                               LEAT_SHAPE_TEXT(shape));
  }
  job->transforms = transforms->data;
  job->transform_step = leat_shape_dim(shape, 0) == 1 ? 0 : 8;
  LEAT_RETURN_IF_ERROR(leat_pixels_read_size(c, 2, "output shape", &job->height, &job->width));
  if (leat_kernel_input_count(c) > 3) {
    const leat_tensor_t* fill = leat_kernel_input(c, 3);
    if (fill->shape.rank != 0) {
      return leat_kernel_invalid(c, "fill_value must be a scalar, got shape %s",
                                 LEAT_SHAPE_TEXT(&fill->shape));
    }
    job->fill_value = (double)*leat_tensor_data(fill, const float);
  }
  return leat_ok_status();
}

static leat_status_t project__cpu(leat_kernel_context_t* c) {
  job_t job = {.projection = *(const projection_t*)leat_kernel_state(c)};
  leat_tensor_t mixed = {0};
  LEAT_RETURN_IF_ERROR(read_inputs(c, &job));
  LEAT_RETURN_IF_ERROR(
      leat_pixels_allocate(c, &job.images, job.height, job.width, &job.output));
  if (job.output->shape.element_count == 0) return leat_ok_status();
  leat_status_t status = leat_pixels_copy_doubles(c, 0, &job.values);
  if (!status) status = leat_sums_begin(c, job.output, &mixed);
  if (!status) {
    job.mixed = mixed.data;
    const double row_ns = (double)job.width * (10 + 4 * (double)job.images.channels);
    leat_kernel_parallel_for(c, job.images.batch * job.height, row_ns, mix_rows, &job);
    leat_sums_end(&mixed, job.output);
  }
  leat_tensor_release(&job.values);
  return status;
}

#define TYPES "dtype: uint8, int32, int64, half, bfloat16, float, double"

const leat_kernel_row_t leat_projective_kernels_cpu[] = {
    LEAT_CPU_KERNEL("ImageProjectiveTransformV2", TYPES, projection_t, create, project__cpu),
    LEAT_CPU_KERNEL("ImageProjectiveTransformV3", TYPES, projection_t, create, project__cpu),
    LEAT_KERNEL_ROWS_END,
};
