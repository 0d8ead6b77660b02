// CPU kernel of ExtractGlimpse: a window of each image, whose place is the image's offset. What of
// the window lies outside the image is noise, uniform over the range of the image or normal with
// the mean and deviation of each channel within its range, or zeros.
//
// Offsets are in pixels, or in sizes of the image where normalized. Where centered they are from
// the center, and half of the image's size is their unit. The first version of the op takes every
// offset as that of the window's center; the second does so only for centered and normalized ones.
#include <math.h>

#include "base/checked.h"
#include "ops/image/pixels_cpu.h"
#include "ops/kernel_rows.h"
#include "ops/random/fill_cpu.h"

typedef enum noise_e { NOISE_UNIFORM, NOISE_GAUSSIAN, NOISE_ZERO } noise_t;
static const char* const kNoises[] = {"uniform", "gaussian", "zero"};

typedef struct glimpse_s {
  bool is_second, is_centered, is_normalized;
  noise_t noise;
} glimpse_t;

static leat_status_t create(leat_kernel_creation_t* c, void* memory) {
  glimpse_t* g = memory;
  leat_string_view_t noise;
  bool is_uniform;
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_bool(c, "centered", &g->is_centered));
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_bool(c, "normalized", &g->is_normalized));
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_bool(c, "uniform_noise", &is_uniform));
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_string(c, "noise", &noise));
  if (is_uniform && noise.size > 0 && !leat_string_view_equals(noise, "uniform")) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "The uniform_noise and noise could not be specified at the same time");
  }
  g->noise = is_uniform ? NOISE_UNIFORM : NOISE_GAUSSIAN;
  for (int i = NOISE_UNIFORM; i <= NOISE_ZERO && noise.size > 0; ++i) {
    if (leat_string_view_equals(noise, kNoises[i])) {
      g->noise = (noise_t)i;
      return leat_ok_status();
    }
  }
  if (noise.size == 0) return leat_ok_status();
  return leat_make_status(LEAT_INVALID_ARGUMENT,
                          "The noise could only be uniform, gaussian, or zero, got %.*s",
                          LEAT_SV_ARG(noise));
}

static leat_status_t create_v2(leat_kernel_creation_t* c, void* memory) {
  LEAT_RETURN_IF_ERROR(create(c, memory));
  ((glimpse_t*)memory)->is_second = true;
  return leat_ok_status();
}

// Where a window of |size| begins in an image of |length|; far outside where the offset is.
static int64_t begin_of(const glimpse_t* g, float offset, int64_t length, int64_t size) {
  float at = g->is_normalized ? offset * (float)length : offset;
  const bool halves = g->is_centered && (g->is_normalized || !g->is_second);
  if (halves) at /= 2;
  if (g->is_centered) at += (float)length / 2;
  if (halves || !g->is_second) at -= (float)size / 2;
  const float limit = 1e9f;
  return (int64_t)(at >= -limit && at <= limit ? at : limit);
}

// ---- Noise --------------------------------------------------------------------------------------

typedef struct moments_s {
  double mean, deviation, least, most;
} moments_t;

// The moments of every |stride|-th of |count| values.
static moments_t moments_of(const float* values, int64_t count, int64_t stride) {
  moments_t m = {.least = INFINITY, .most = -INFINITY};
  double sum = 0, squares = 0;
  for (int64_t i = 0; i < count; ++i) {
    const double x = (double)values[i * stride];
    sum += x;
    m.least = fmin(m.least, x);
    m.most = fmax(m.most, x);
  }
  if (count == 0) return (moments_t){0};
  m.mean = sum / (double)count;
  for (int64_t i = 0; i < count; ++i) {
    const double x = (double)values[i * stride] - m.mean;
    squares += x * x;
  }
  m.deviation = sqrt(squares / (double)count);
  return m;
}

// Turns |count| pixels of standard noise at |to| into noise like the image's.
static void scale_noise(const glimpse_t* g, const leat_pixels_t* input, const float* image,
                        float* to, int64_t count) {
  const int64_t channels = input->channels, pixels = input->height * input->width;
  moments_t all = {0};
  if (g->noise == NOISE_UNIFORM) all = moments_of(image, pixels * channels, 1);
  for (int64_t channel = 0; channel < channels; ++channel) {
    const moments_t own =
        g->noise == NOISE_UNIFORM ? all : moments_of(image + channel, pixels, channels);
    for (int64_t i = channel; i < count * channels; i += channels) {
      const double value = g->noise == NOISE_UNIFORM
                               ? all.least + (double)to[i] * (all.most - all.least)
                               : own.mean + (double)to[i] * own.deviation;
      to[i] = (float)fmin(fmax(value, own.least), own.most);
    }
  }
}

// ---- The kernel ---------------------------------------------------------------------------------

typedef struct job_s {
  const glimpse_t* glimpse;
  leat_pixels_t input;
  int64_t height, width;
  const float* offsets;
  float* output;  // filled with standard noise, or zeros
} job_t;

static void cut_glimpses(void* data, int64_t begin, int64_t end) {
  const job_t* job = data;
  const leat_pixels_t* input = &job->input;
  const int64_t channels = input->channels;
  for (int64_t i = begin; i < end; ++i) {
    const float* image = input->values + i * input->height * input->width * channels;
    float* to = job->output + i * job->height * job->width * channels;
    const int64_t top = begin_of(job->glimpse, job->offsets[2 * i], input->height, job->height);
    const int64_t left = begin_of(job->glimpse, job->offsets[2 * i + 1], input->width, job->width);
    if (job->glimpse->noise != NOISE_ZERO) {
      scale_noise(job->glimpse, input, image, to, job->height * job->width);
    }
    const int64_t first = LEAT_MAX(left, 0);
    const int64_t count = LEAT_MIN(left + job->width, input->width) - first;
    for (int64_t y = LEAT_MAX(-top, 0); y < job->height && top + y < input->height; ++y) {
      if (count <= 0) break;
      memcpy(to + (y * job->width + first - left) * channels,
             image + ((top + y) * input->width + first) * channels,
             (size_t)(count * channels) * sizeof(float));
    }
  }
}

static leat_status_t read_inputs(const leat_kernel_context_t* c, job_t* job) {
  const leat_tensor_t *size = leat_kernel_input(c, 1), *offsets = leat_kernel_input(c, 2);
  LEAT_RETURN_IF_ERROR(leat_pixels_size(c, 0, "input", &job->input));
  job->input.values = leat_kernel_input(c, 0)->data;
  if (size->shape.rank != 1 || size->shape.element_count != 2) {
    return leat_kernel_invalid(c, "size must be a vector of size 2 (height, width), got shape %s",
                               LEAT_SHAPE_TEXT(&size->shape));
  }
  job->height = leat_tensor_index_at(size, 0);
  job->width = leat_tensor_index_at(size, 1);
  if (job->height < 0 || job->width < 0) {
    return leat_kernel_invalid(c, "Expected a non-negative size, got %lld by %lld",
                               (long long)job->height, (long long)job->width);
  }
  if (offsets->shape.rank != 2 || leat_shape_dim(&offsets->shape, 0) != job->input.batch ||
      leat_shape_dim(&offsets->shape, 1) != 2) {
    return leat_kernel_invalid(c, "offsets has shape %s, must be [batch, 2] (y, x)",
                               LEAT_SHAPE_TEXT(&offsets->shape));
  }
  job->offsets = offsets->data;
  return leat_ok_status();
}

static leat_status_t glimpse__cpu(leat_kernel_context_t* c) {
  job_t job = {.glimpse = leat_kernel_state(c)};
  leat_tensor_t* output;
  LEAT_RETURN_IF_ERROR(read_inputs(c, &job));
  LEAT_RETURN_IF_ERROR(leat_pixels_allocate(c, &job.input, job.height, job.width, &output));
  job.output = output->data;
  if (job.glimpse->noise == NOISE_ZERO) {
    leat_tensor_fill_zero(output);
  } else {
    const leat_random_fill_t fill = {
        .philox = leat_philox_make(leat_random_seed(), leat_random_seed()),
        .kind = job.glimpse->noise == NOISE_UNIFORM ? LEAT_RANDOM_UNIFORM : LEAT_RANDOM_NORMAL,
        .dtype = LEAT_DTYPE_FLOAT};
    leat_random_fill(c, &fill, output->data, output->shape.element_count);
  }
  const double image = (double)(job.input.height * job.input.width * job.input.channels);
  leat_kernel_parallel_for(c, job.input.batch, 20 + 3 * image, cut_glimpses, &job);
  return leat_ok_status();
}

const leat_kernel_row_t leat_glimpse_kernels_cpu[] = {
    LEAT_CPU_KERNEL("ExtractGlimpse", NULL, glimpse_t, create, glimpse__cpu),
    LEAT_CPU_KERNEL("ExtractGlimpseV2", NULL, glimpse_t, create_v2, glimpse__cpu),
    LEAT_KERNEL_ROWS_END,
};
