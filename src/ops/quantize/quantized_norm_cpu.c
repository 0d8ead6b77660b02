// CPU kernels that normalise quantised images [batch, height, width, channels].
//
//   QuantizedInstanceNorm                      each channel of each image by its own mean and
//                                              variance; the output is over the range it covers
//   QuantizedBatchNormWithGlobalNormalization  each channel by a given mean, variance, beta and
//                                              gamma; the output is over a fixed range
//
// The instance norm is computed in floats. The batch norm is computed in 32-bit integers over a
// range of 2^21 whose step is about 1/2048: that is coarse, and the results are TensorFlow's only
// because its roundings and its overflows are repeated one by one.
#include "ops/kernel_rows.h"
#include "ops/quantize/quantized_range_cpu.h"

static const leat_integers_t kBytes = {0, UINT8_MAX};
static const leat_integers_t kWide = {INT32_MIN, INT32_MAX};

// ---- QuantizedInstanceNorm ----------------------------------------------------------------------

typedef struct instance_norm_s {
  bool has_range;
  leat_range_t range;  // given for the output
  float epsilon, separation;
} instance_norm_t;

static leat_status_t instance_norm_create(leat_kernel_creation_t* c, void* memory) {
  instance_norm_t* s = memory;
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_bool(c, "output_range_given", &s->has_range));
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_float(c, "given_y_min", &s->range.min));
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_float(c, "given_y_max", &s->range.max));
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_float(c, "variance_epsilon", &s->epsilon));
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_float(c, "min_separation", &s->separation));
  if (!s->has_range || s->range.min < s->range.max) return leat_ok_status();
  return leat_make_status(LEAT_INVALID_ARGUMENT,
                          "given_y_min is %g, must be less than given_y_max, %g",
                          (double)s->range.min, (double)s->range.max);
}

// A channel of an image, and its line: normalised = (integer - mean) * scale. A
// channel of equal integers gives exactly 0, however large the scale is.
typedef struct instance_s {
  float mean, scale;
  leat_range_t range;  // that the normalised numbers cover
} instance_t;

typedef struct instances_s {
  const uint8_t* x;
  uint8_t* y;
  int64_t pixels, channels;
  leat_number_line_t numbers;
  float epsilon;
  instance_t* instances;  // [batch * channels]
  leat_integer_line_t integers;
} instances_t;

static void measure_shard(void* data, int64_t begin, int64_t end) {
  const instances_t* job = data;
  for (int64_t index = begin; index < end; ++index) {
    const int64_t image = index / job->channels, k = index % job->channels;
    const uint8_t* x = job->x + image * job->pixels * job->channels + k;
    double sum = 0, squares = 0;
    leat_integers_t used = {UINT8_MAX, 0};
    for (int64_t i = 0; i < job->pixels; ++i) {
      const int32_t at = x[i * job->channels];
      used.min = LEAT_MIN(used.min, at);
      used.max = LEAT_MAX(used.max, at);
      sum += at;
    }
    const double mean = sum / (double)job->pixels, step = (double)job->numbers.scale;
    for (int64_t i = 0; i < job->pixels; ++i) {
      const double off = x[i * job->channels] - mean;
      squares += off * off;
    }
    const double variance = squares / (double)job->pixels * step * step;
    const float scale = (float)(1 / sqrt(variance + (double)job->epsilon));
    instance_t* instance = &job->instances[index];
    *instance = (instance_t){.mean = (float)mean, .scale = (float)step * scale};
    instance->range.min = ((float)used.min - instance->mean) * instance->scale;
    instance->range.max = ((float)used.max - instance->mean) * instance->scale;
  }
}

static void normalise_shard(void* data, int64_t begin, int64_t end) {
  const instances_t* job = data;
  for (int64_t pixel = begin; pixel < end; ++pixel) {
    const instance_t* instances = job->instances + pixel / job->pixels * job->channels;
    for (int64_t k = 0; k < job->channels; ++k) {
      const int64_t at = pixel * job->channels + k;
      const float x = ((float)job->x[at] - instances[k].mean) * instances[k].scale;
      job->y[at] = (uint8_t)leat_integer_at(&job->integers, x);
    }
  }
}

// The range of the output: that of all instances together, at least |separation| wide.
static leat_range_t range_of_instances(const instance_t* instances, int64_t count,
                                       float separation) {
  leat_range_t range = {INFINITY, -INFINITY};
  for (int64_t i = 0; i < count; ++i) {
    range.min = LEAT_MIN(range.min, instances[i].range.min);
    range.max = LEAT_MAX(range.max, instances[i].range.max);
  }
  range.max = LEAT_MAX(range.max, range.min + separation);
  return range;
}

static leat_status_t instance_norm__cpu(leat_kernel_context_t* c) {
  const instance_norm_t* state = leat_kernel_state(c);
  const leat_tensor_t* x = leat_kernel_input(c, 0);
  const leat_range_t x_range = leat_range_input(c, 1);
  const int64_t pixels = leat_shape_product(&x->shape, 1, 3);
  const int64_t channels = leat_shape_dim(&x->shape, 3);
  if (!(x_range.min < x_range.max)) {
    return leat_kernel_invalid(c, "x_min is %g, must be less than x_max, %g", (double)x_range.min,
                               (double)x_range.max);
  }
  const int64_t count = leat_shape_dim(&x->shape, 0) * channels;
  leat_tensor_t *y, memory;
  leat_shape_t bytes = leat_shape_vector(count * (int64_t)sizeof(instance_t));
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_output(c, 0, &x->shape, &y));
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_temporary(c, LEAT_DTYPE_UINT8, &bytes, &memory));
  instances_t job = {.x = x->data,
                     .y = y->data,
                     .pixels = pixels,
                     .channels = channels,
                     .numbers = leat_number_line(kBytes, x_range),
                     .epsilon = state->epsilon,
                     .instances = memory.data};
  leat_kernel_parallel_for_unbroken(c, count, 3 * (double)pixels, measure_shard, &job);
  leat_range_t range = state->has_range
                           ? state->range
                           : range_of_instances(job.instances, count, state->separation);
  job.integers = leat_integer_line(kBytes, range);
  leat_kernel_parallel_for(c, leat_shape_product(&x->shape, 0, 3), 4 * (double)channels,
                           normalise_shard, &job);
  leat_tensor_release(&memory);
  return leat_range_output(c, 1, range);
}

// ---- QuantizedBatchNormWithGlobalNormalization --------------------------------------------------

typedef struct batch_norm_s {
  float epsilon;
  bool scales;  // by gamma
} batch_norm_t;

static leat_status_t batch_norm_create(leat_kernel_creation_t* c, void* memory) {
  batch_norm_t* s = memory;
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_float(c, "variance_epsilon", &s->epsilon));
  return leat_kernel_attr_bool(c, "scale_after_normalization", &s->scales);
}

static const leat_range_t kFixedRange = {-(1 << 20), 1 << 20};

static int32_t fixed_of(float number) { return leat_quantized_of(kWide, number, kFixedRange); }

typedef struct channels_s {
  const uint8_t* x;
  int32_t* y;
  int64_t channels;
  int32_t terms[256];  // the integers of the input over the fixed range
  int32_t* scales;     // [channels], then the offsets
} channels_t;

static void channels_shard(void* data, int64_t begin, int64_t end) {
  const channels_t* job = data;
  const int32_t one = fixed_of(1);
  for (int64_t pixel = begin; pixel < end; ++pixel) {
    for (int64_t k = 0; k < job->channels; ++k) {
      const int64_t at = pixel * job->channels + k;
      const uint32_t product = (uint32_t)job->terms[job->x[at]] * (uint32_t)job->scales[k];
      const int32_t scaled = (int32_t)product / one;
      job->y[at] = (int32_t)((uint32_t)scaled + (uint32_t)job->scales[job->channels + k]);
    }
  }
}

// The number at |index| of the vector at input |input|, whose range is in the next two.
static float number_of(const leat_kernel_context_t* c, int input, int64_t index) {
  const uint8_t integer = leat_tensor_data(leat_kernel_input(c, input), const uint8_t)[index];
  return leat_quantized_number(kBytes, integer, leat_range_input(c, input + 1));
}

static leat_status_t batch_norm__cpu(leat_kernel_context_t* c) {
  const batch_norm_t* state = leat_kernel_state(c);
  const leat_tensor_t* x = leat_kernel_input(c, 0);
  const leat_range_t x_range = leat_range_input(c, 1);
  channels_t job = {.x = x->data, .channels = leat_shape_dim(&x->shape, 3)};
  leat_tensor_t *y, memory;
  leat_shape_t of_channels = leat_shape_vector(2 * job.channels);
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_output(c, 0, &x->shape, &y));
  LEAT_RETURN_IF_ERROR(leat_range_output(c, 1, kFixedRange));
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_temporary(c, LEAT_DTYPE_INT32, &of_channels, &memory));
  job.y = y->data;
  job.scales = memory.data;
  for (int64_t k = 0; k < job.channels; ++k) {
    float scale = 1 / sqrtf(number_of(c, 6, k) + state->epsilon);
    if (state->scales) scale *= number_of(c, 12, k);
    job.scales[k] = fixed_of(scale);
    job.scales[job.channels + k] = fixed_of(-number_of(c, 3, k) * scale + number_of(c, 9, k));
  }
  for (int bits = 0; bits < 256; ++bits) {
    job.terms[bits] = fixed_of(leat_quantized_number(kBytes, bits, x_range));
  }
  leat_kernel_parallel_for(c, leat_shape_product(&x->shape, 0, 3), 2 * (double)job.channels,
                           channels_shard, &job);
  leat_tensor_release(&memory);
  return leat_ok_status();
}

const leat_kernel_row_t leat_quantized_norm_kernels_cpu[] = {
    LEAT_CPU_KERNEL("QuantizedInstanceNorm", "T: quint8", instance_norm_t, instance_norm_create,
                    instance_norm__cpu),
    LEAT_CPU_KERNEL("QuantizedBatchNormWithGlobalNormalization",
                    "Tinput: quint8; out_type: qint32", batch_norm_t, batch_norm_create,
                    batch_norm__cpu),
    LEAT_KERNEL_ROWS_END,
};
