// CPU kernels that bring 32-bit integers over a wide range to 8 bits over a narrower one, and that
// find the range.
//
//   RequantizationRange, RequantizationRangePerChannel   input over a range -> the range it covers
//   Requantize, RequantizePerChannel                     input over a range -> 8 bits over another
//   QuantizeDownAndShrinkRange                           both in one
//
// A range a channel is one for each slice along the last dimension. There the integers have no
// minimum of their own: 0 stands for 0, and the larger end of the range for 2^31, so that a change
// of range is a multiplication.
#include <float.h>

#include "ops/kernel_rows.h"
#include "ops/quantize/quantized_range_cpu.h"

static const leat_integers_t kWide = {INT32_MIN, INT32_MAX};

// ---- One range ----------------------------------------------------------------------------------

// The least and the greatest of |count| > 0 integers.
static leat_integers_t extremes(const int32_t* from, int64_t count) {
  leat_integers_t n = {from[0], from[0]};
  for (int64_t i = 0; i < count; ++i) {
    n.min = LEAT_MIN(n.min, from[i]);
    n.max = LEAT_MAX(n.max, from[i]);
  }
  return n;
}

// The range that the numbers of |input|, which are over |range|, cover, with 0. An empty input
// covers what no integer does.
static leat_range_t used_range(const leat_tensor_t* input, leat_range_t range) {
  leat_integers_t used = {INT32_MAX, INT32_MIN};
  if (input->shape.element_count > 0) used = extremes(input->data, input->shape.element_count);
  const float min = leat_quantized_number(kWide, used.min, range);
  return (leat_range_t){min < 0 ? min : 0, leat_quantized_number(kWide, used.max, range)};
}

// A change of range to unsigned bytes is computed in fixed point with 16 bits behind the point, as
// TensorFlow does it: byte = (integer * scale / 2^32 + offset) / 2^16.
typedef struct fixed_line_s {
  int64_t scale, offset;
} fixed_line_t;

static fixed_line_t fixed_line(leat_range_t from, leat_range_t to) {
  const float from_width = from.max - from.min, to_width = to.max - to.min;
  const int64_t half = 1 << 15;
  if (to_width == 0) return (fixed_line_t){0, half};
  const float middle = (float)((double)(from.min + from.max) / 2.0);
  const float inverse = (float)(255.0 / (double)to_width);
  const int64_t from_offset = leat_int64_of_double((double)(middle * inverse * 65536));
  const int64_t to_offset =
      leat_int64_of_double(65536 * ((double)to.min * 255.0) / (double)to_width);
  return (fixed_line_t){
      .scale = leat_int64_of_double(255.0 * 65536 * (double)from_width / (double)to_width),
      .offset = (int64_t)((uint64_t)from_offset - (uint64_t)to_offset + (uint64_t)half)};
}

typedef struct change_s {
  const int32_t* from;
  void* to;
  fixed_line_t fixed;           // to unsigned bytes
  leat_number_line_t numbers;   // to signed bytes, by way of floats
  leat_integer_line_t integers;
} change_t;

static void to_unsigned_shard(void* data, int64_t begin, int64_t end) {
  const change_t* job = data;
  for (int64_t i = begin; i < end; ++i) {
    const int64_t product = (int64_t)((uint64_t)(int64_t)job->from[i] * (uint64_t)job->fixed.scale);
    const uint64_t sum = (uint64_t)(product >> 32) + (uint64_t)job->fixed.offset;
    const int64_t byte = (int64_t)sum >> 16;
    ((uint8_t*)job->to)[i] = (uint8_t)LEAT_MAX(LEAT_MIN(byte, UINT8_MAX), 0);
  }
}

static void to_signed_shard(void* data, int64_t begin, int64_t end) {
  const change_t* job = data;
  for (int64_t i = begin; i < end; ++i) {
    const float x = leat_number_at(&job->numbers, (float)job->from[i]);
    ((int8_t*)job->to)[i] = (int8_t)leat_integer_at(&job->integers, x);
  }
}

// Sets the outputs to input 0, over |from|, as integers over |to|.
static leat_status_t change_range(leat_kernel_context_t* c, leat_range_t from, leat_range_t to) {
  const leat_tensor_t* input = leat_kernel_input(c, 0);
  leat_tensor_t* output;
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_output(c, 0, &input->shape, &output));
  const leat_integers_t n = leat_integers_of(output->dtype);
  change_t job = {.from = input->data,
                  .to = output->data,
                  .fixed = fixed_line(from, to),
                  .numbers = leat_number_line(kWide, from),
                  .integers = leat_integer_line(n, to)};
  leat_kernel_parallel_for(c, input->shape.element_count, 2,
                           n.min == 0 ? to_unsigned_shard : to_signed_shard, &job);
  return leat_range_output(c, 1, to);
}

static leat_status_t shrink__cpu(leat_kernel_context_t* c) {
  const leat_range_t range = leat_range_input(c, 1);
  return change_range(c, range, used_range(leat_kernel_input(c, 0), range));
}

static leat_status_t range__cpu(leat_kernel_context_t* c) {
  return leat_range_output(c, 0, used_range(leat_kernel_input(c, 0), leat_range_input(c, 1)));
}

static leat_status_t requantize__cpu(leat_kernel_context_t* c) {
  const leat_range_t to = leat_range_input(c, 3);
  if (!(to.min <= 0)) {
    return leat_kernel_invalid(c, "requested_output_min must be <= 0, but got %g", (double)to.min);
  }
  if (!(to.max >= to.min)) {
    return leat_kernel_invalid(c, "requested_output_max must be >= requested_output_min, but got "
                               "%g and %g", (double)to.max, (double)to.min);
  }
  return change_range(c, leat_range_input(c, 1), to);
}

// ---- A range a channel --------------------------------------------------------------------------

// Checks that inputs 1 and 2 have an element for each channel of input 0 [batch, height, width,
// channels], and gives the number of channels.
static leat_status_t check_channels(const leat_kernel_context_t* c, int64_t* out_channels) {
  const leat_tensor_t *input = leat_kernel_input(c, 0), *min = leat_kernel_input(c, 1);
  const leat_tensor_t* max = leat_kernel_input(c, 2);
  *out_channels = leat_shape_dim(&input->shape, 3);
  if (min->shape.element_count == *out_channels && max->shape.element_count == *out_channels) {
    return leat_ok_status();
  }
  return leat_kernel_invalid(c, "input_min and input_max have shapes %s and %s, must have %lld "
                             "elements", LEAT_SHAPE_TEXT(&min->shape), LEAT_SHAPE_TEXT(&max->shape),
                             (long long)*out_channels);
}

// What the integer 2^31 of a channel stands for.
static float end_of_channel(const leat_kernel_context_t* c, int64_t channel) {
  const float min = leat_tensor_data(leat_kernel_input(c, 1), const float)[channel];
  const float max = leat_tensor_data(leat_kernel_input(c, 2), const float)[channel];
  return LEAT_MAX(fabsf(min), fabsf(max));
}

typedef struct clip_s {
  float most;
} clip_t;

static leat_status_t clip_create(leat_kernel_creation_t* c, void* state) {
  return leat_kernel_attr_float(c, "clip_value_max", &((clip_t*)state)->most);
}

static leat_status_t range_per_channel__cpu(leat_kernel_context_t* c) {
  const leat_tensor_t* input = leat_kernel_input(c, 0);
  const int32_t* from = input->data;
  int64_t channels;
  LEAT_RETURN_IF_ERROR(check_channels(c, &channels));
  float most = FLT_MIN;
  bool is_negative = false;
  for (int64_t k = 0; k < channels; ++k) {
    int64_t largest = 0;
    for (int64_t i = k; i < input->shape.element_count; i += channels) {
      if (from[i] < 0) is_negative = true;
      largest = LEAT_MAX(largest, llabs(from[i]));
    }
    const float range = end_of_channel(c, k) * (float)largest / 0x1p31f;
    most = LEAT_MAX(most, range);
  }
  most = LEAT_MIN(most, ((const clip_t*)leat_kernel_state(c))->most);
  return leat_range_output(c, 0, (leat_range_t){is_negative ? -most : 0, most});
}

typedef struct channels_s {
  const int32_t* from;
  uint8_t* to;
  leat_integers_t n;
  int64_t channels;
  const float* scales;
} channels_t;

static void channels_shard(void* data, int64_t begin, int64_t end) {
  const channels_t* job = data;
  for (int64_t row = begin; row < end; ++row) {
    for (int64_t k = 0; k < job->channels; ++k) {
      const int64_t at = row * job->channels + k;
      const float x = nearbyintf((float)job->from[at] * job->scales[k]);
      job->to[at] = (uint8_t)leat_int32_of_float(
          LEAT_MIN(LEAT_MAX(x, (float)job->n.min), (float)job->n.max));
    }
  }
}

static leat_status_t requantize_per_channel__cpu(leat_kernel_context_t* c) {
  const leat_tensor_t* input = leat_kernel_input(c, 0);
  const leat_range_t to = leat_range_input(c, 3);
  channels_t job = {.from = input->data};
  leat_tensor_t scales, *output;
  LEAT_RETURN_IF_ERROR(check_channels(c, &job.channels));
  if (c->kernel->output_types[0] == LEAT_DTYPE_QINT8 && !(to.min < 0)) {
    return leat_kernel_invalid(c, "requested_output_min is %g, must be negative for qint8",
                               (double)to.min);
  }
  leat_shape_t of_channels = leat_shape_vector(job.channels);
  LEAT_RETURN_IF_ERROR(leat_range_output(c, 1, to));
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_output(c, 0, &input->shape, &output));
  LEAT_RETURN_IF_ERROR(
      leat_kernel_allocate_temporary(c, LEAT_DTYPE_FLOAT, &of_channels, &scales));
  job.n = leat_integers_of(output->dtype);
  job.to = output->data;
  job.scales = scales.data;
  const float end = LEAT_MAX(fabsf(to.min), fabsf(to.max));
  for (int64_t k = 0; k < job.channels; ++k) {
    const float part = end_of_channel(c, k) / end / 0x1p31f;
    leat_tensor_data(&scales, float)[k] = (float)job.n.max * part;
  }
  const int64_t rows = job.channels ? input->shape.element_count / job.channels : 0;
  leat_kernel_parallel_for(c, rows, 2 * (double)job.channels, channels_shard, &job);
  leat_tensor_release(&scales);
  return leat_ok_status();
}

#define CPU_ROW(name, types, fn) \
  {.op = name, .device_type = "CPU", .constraints = types, .compute = fn}

const leat_kernel_row_t leat_requantize_kernels_cpu[] = {
    CPU_ROW("QuantizeDownAndShrinkRange", "Tinput: qint32; out_type: quint8", shrink__cpu),
    CPU_ROW("RequantizationRange", "Tinput: qint32", range__cpu),
    CPU_ROW("Requantize", "Tinput: qint32; out_type: quint8, qint8", requantize__cpu),
    LEAT_CPU_KERNEL("RequantizationRangePerChannel", "T: qint32", clip_t, clip_create,
                    range_per_channel__cpu),
    CPU_ROW("RequantizePerChannel", "T: qint32; out_type: quint8, qint8",
            requantize_per_channel__cpu),
    LEAT_KERNEL_ROWS_END,
};
