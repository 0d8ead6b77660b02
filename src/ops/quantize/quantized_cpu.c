// CPU kernels of QuantizeV2 and Dequantize: floats of a range as integers of 8, 16 or 32 bits, and
// back.
//
//   QuantizeV2  input float, min_range, max_range -> output T, output_min, output_max
//   Dequantize  input T, min_range, max_range -> output float or bfloat16
//
// There are three modes, and each of them is a straight line between numbers and integers:
//
//   MIN_COMBINED  the range maps onto all integers of the type
//   MIN_FIRST     the same, but min is rounded to a whole number of steps first
//   SCALED        0 maps to 0, and the scale is the largest that keeps both ends
//
// The coefficients of the line (leat_number_line_t, leat_integer_line_t) are worked out once for
// each slice along the axis; one loop over elements then serves every mode. What differs between
// modes, which end is exact and what is rounded when, follows TensorFlow's order of operations and
// its mixture of float and double, because a difference in the last bit of a scale moves integers
// by one.
//
// Elements are shared among threads; a thread's range is cut into runs that lie within one slice.
#include <float.h>
#include <math.h>

#include "base/checked.h"
#include "device/cpu/half.h"
#include "ops/kernel_rows.h"
#include "ops/quantize/quantized_range_cpu.h"

typedef enum range_mode_e { MIN_COMBINED, MIN_FIRST, SCALED } range_mode_t;

typedef struct options_s {
  range_mode_t mode;
  bool is_narrow, rounds_to_even;
  int64_t axis;
  float least_range;  // the smallest width of a range, as a part of its larger end
} options_t;

static leat_status_t read_mode(leat_kernel_creation_t* c, options_t* options) {
  leat_string_view_t mode;
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_string(c, "mode", &mode));
  if (leat_string_view_equals(mode, "MIN_FIRST")) options->mode = MIN_FIRST;
  if (leat_string_view_equals(mode, "SCALED")) options->mode = SCALED;
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_bool(c, "narrow_range", &options->is_narrow));
  return leat_kernel_attr_int(c, "axis", &options->axis);
}

// INVALID_ARGUMENT: the mode must be |rule| where the node has |field|.
static leat_status_t refuse_mode(const leat_kernel_creation_t* c, const char* field,
                                 const char* rule) {
  return leat_make_status(LEAT_INVALID_ARGUMENT,
                          "Creation failed for node '%.*s' (%.*s): mode is another with %s, must "
                          "be %s",
                          LEAT_SV_ARG(c->kernel->node_name), LEAT_SV_ARG(c->kernel->op->name),
                          field, rule);
}

static leat_status_t dequantize_create(leat_kernel_creation_t* c, void* state) {
  options_t* options = state;
  LEAT_RETURN_IF_ERROR(read_mode(c, options));
  if (c->kernel->output_types[0] == LEAT_DTYPE_FLOAT || options->mode == MIN_COMBINED) {
    return leat_ok_status();
  }
  return refuse_mode(c, "dtype bfloat16", "MIN_COMBINED");
}

static leat_status_t quantize_create(leat_kernel_creation_t* c, void* state) {
  options_t* options = state;
  leat_string_view_t rounding;
  LEAT_RETURN_IF_ERROR(read_mode(c, options));
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_string(c, "round_mode", &rounding));
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_float(c, "ensure_minimum_range", &options->least_range));
  options->rounds_to_even = leat_string_view_equals(rounding, "HALF_TO_EVEN");
  if (!options->rounds_to_even || options->mode == SCALED) return leat_ok_status();
  return refuse_mode(c, "round_mode HALF_TO_EVEN", "SCALED");
}

// The numbers as [outer, count, inner]; each of the |count| slices has a line.
typedef struct slices_s {
  const leat_tensor_t* input;
  leat_tensor_t* output;
  const float* min;
  const float* max;
  int64_t count, inner;
  leat_tensor_t lines;  // a tensor of bytes that holds leat_number_line_t or leat_integer_line_t
} slices_t;

// Reads the inputs, checks the ranges, and allocates output 0 and |line_size| bytes for each slice.
// The caller releases s->lines, even on failure.
static leat_status_t divide(leat_kernel_context_t* c, size_t line_size, slices_t* s) {
  const options_t* options = leat_kernel_state(c);
  const leat_tensor_t *min = leat_kernel_input(c, 1), *max = leat_kernel_input(c, 2);
  s->input = leat_kernel_input(c, 0);
  const leat_shape_t* shape = &s->input->shape;
  if (options->axis >= shape->rank) {
    return leat_kernel_invalid(c, "Axis must be less than input dimension(%d), got %lld",
                               shape->rank, (long long)options->axis);
  }
  bool is_whole = options->axis < 0;
  s->count = is_whole ? 1 : leat_shape_dim(shape, (int)options->axis);
  s->inner = leat_shape_product(shape, is_whole ? 0 : (int)options->axis + 1, shape->rank);
  const bool are_vectors = min->shape.rank == 1 && max->shape.rank == 1;
  if (min->shape.element_count != s->count || max->shape.element_count != s->count ||
      !(is_whole || are_vectors)) {
    return leat_kernel_invalid(c,
                               "min_range and max_range have shapes %s and %s, must have %lld "
                               "elements, and be vectors where an axis is given",
                               LEAT_SHAPE_TEXT(&min->shape), LEAT_SHAPE_TEXT(&max->shape),
                               (long long)s->count);
  }
  if (s->count != 1 && options->mode == MIN_FIRST) {
    return leat_kernel_error(c, LEAT_UNIMPLEMENTED, "mode is MIN_FIRST, must be another with axis");
  }
  s->min = min->data;
  s->max = max->data;
  leat_shape_t bytes = leat_shape_vector(s->count * (int64_t)line_size);
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_temporary(c, LEAT_DTYPE_UINT8, &bytes, &s->lines));
  return leat_kernel_allocate_output(c, 0, shape, &s->output);
}

// Converts |count| elements from |begin| on, all of which are of |slice|.
typedef void (*convert_fn_t)(const slices_t* s, int64_t slice, int64_t begin, int64_t count);

// Calls |convert| for each run of elements [begin, end) that lie in one slice.
static void convert_runs(const slices_t* s, convert_fn_t convert, int64_t begin, int64_t end) {
  while (begin < end) {
    int64_t run = begin / s->inner, stop = LEAT_MIN(end, (run + 1) * s->inner);
    convert(s, run % s->count, begin, stop - begin);
    begin = stop;
  }
}

// ---- Dequantize ---------------------------------------------------------------------------------

// The line of one slice, whose range is [min, max].
static leat_number_line_t number_line(const options_t* options, leat_integers_t n, float min,
                                      float max) {
  if (options->mode == SCALED) {
    float scale = max / (float)n.max;
    int32_t lowest = n.min + options->is_narrow;
    return (leat_number_line_t){.scale = n.min == 0 ? scale : LEAT_MAX(min / (float)lowest, scale)};
  }
  if (options->mode == MIN_FIRST) return leat_number_line(n, (leat_range_t){min, max});
  float half = n.min == 0 ? 0 : ((float)n.max - (float)n.min + 1) / 2;
  return (leat_number_line_t){half, (max - min) / ((float)n.max - (float)n.min), min};
}

#define NUMBERS_CASE(DTYPE, type)                                                              \
  case LEAT_DTYPE_##DTYPE: {                                                                   \
    const type* from = leat_tensor_data(s->input, const type) + at;                            \
    for (int64_t i = 0; i < count; ++i) to[i] = leat_number_at(&line, (float)from[i]);         \
    break;                                                                                     \
  }

// Converts |count| integers from |at| on to floats.
static void to_floats(const slices_t* s, leat_number_line_t line, int64_t at, int64_t count,
                      float* to) {
  switch (s->input->dtype) {
    NUMBERS_CASE(QINT8, int8_t)
    NUMBERS_CASE(QUINT8, uint8_t)
    NUMBERS_CASE(QINT16, int16_t)
    NUMBERS_CASE(QUINT16, uint16_t)
    NUMBERS_CASE(QINT32, int32_t)
    default:
      break;
  }
}

// Bfloat16 goes through blocks of floats on the stack.
static void to_numbers(const slices_t* s, int64_t slice, int64_t at, int64_t count) {
  leat_number_line_t line = leat_tensor_data(&s->lines, const leat_number_line_t)[slice];
  if (s->output->dtype == LEAT_DTYPE_FLOAT) {
    to_floats(s, line, at, count, leat_tensor_data(s->output, float) + at);
    return;
  }
  float block[256];
  for (int64_t size; count; at += size, count -= size) {
    size = LEAT_MIN(count, (int64_t)LEAT_ARRAY_SIZE(block));
    to_floats(s, line, at, size, block);
    uint16_t* to = leat_tensor_data(s->output, uint16_t) + at;
    for (int64_t i = 0; i < size; ++i) to[i] = leat_bfloat16_from_float(block[i]);
  }
}

static void dequantize_shard(void* data, int64_t begin, int64_t end) {
  convert_runs(data, to_numbers, begin, end);
}

static leat_status_t dequantize__cpu(leat_kernel_context_t* c) {
  slices_t s = {0};
  leat_status_t status = divide(c, sizeof(leat_number_line_t), &s);
  if (!status) {
    leat_integers_t n = leat_integers_of(s.input->dtype);
    leat_number_line_t* lines = s.lines.data;
    for (int64_t i = 0; i < s.count; ++i) {
      lines[i] = number_line(leat_kernel_state(c), n, s.min[i], s.max[i]);
    }
    leat_kernel_parallel_for(c, s.input->shape.element_count, 0.4, dequantize_shard, &s);
  }
  leat_tensor_release(&s.lines);
  return status;
}

// ---- QuantizeV2 ---------------------------------------------------------------------------------

// SCALED: |min| and |max| become what the least and greatest integer stand for.
static leat_integer_line_t scaled_line(const options_t* options, leat_integers_t n, float* min,
                                       float* max) {
  float lowest = (float)(n.min + options->is_narrow), highest = (float)n.max;
  float from_min = lowest * *min > 0 ? lowest / *min : FLT_MAX;
  float from_max = highest * *max > 0 ? highest / *max : FLT_MAX;
  float scale = LEAT_MIN(from_min, from_max);
  *min = leat_flushed(lowest / scale);
  *max = leat_flushed(highest / scale);
  return (leat_integer_line_t){.min = *min,
                               .max = *max,
                               .scale = scale,
                               .least = -INFINITY,
                               .most = INFINITY,
                               .rounding = options->rounds_to_even ? LEAT_ROUNDING_EVEN
                                                                   : LEAT_ROUNDING_AWAY};
}

// MIN_COMBINED: unsigned types round by adding 1/2 and cutting off, signed ones away from zero.
static leat_integer_line_t combined_line(leat_integers_t n, float min, float max) {
  bool is_signed = n.min < 0;
  float half = -(float)((leat_integers_steps(n) + 1) / 2);
  return (leat_integer_line_t){.min = min,
                               .max = max,
                               .zero = min,
                               .scale = (float)(leat_integers_steps(n) / (max - min)),
                               .before = is_signed ? half : 0.5f,
                               .least = -INFINITY,
                               .most = INFINITY,
                               .rounding = is_signed ? LEAT_ROUNDING_AWAY : LEAT_ROUNDING_CUT};
}

// The line of one slice. |*min| and |*max| become the ends of the range that the integers cover: it
// is widened to contain 0, and to the least width.
static leat_integer_line_t integer_line(const options_t* options, leat_integers_t n, float* min,
                                        float* max) {
  float largest = LEAT_MAX(1.0f, LEAT_MAX(fabsf(*min), fabsf(*max)));
  *min = LEAT_MIN(0.0f, *min);
  *max = LEAT_MAX(0.0f, LEAT_MAX(*max, *min + largest * options->least_range));
  if (options->mode == SCALED) return scaled_line(options, n, min, max);
  if (options->mode == MIN_FIRST) return leat_integer_line(n, (leat_range_t){*min, *max});
  return combined_line(n, *min, *max);
}

#define INTEGERS_CASE(size, type)                                                  \
  case size:                                                                       \
    for (int64_t i = begin; i < begin + count; ++i) {                              \
      leat_tensor_data(s->output, type)[i] = (type)leat_integer_at(line, from[i]); \
    }                                                                              \
    break;

static void to_integers(const slices_t* s, int64_t slice, int64_t begin, int64_t count) {
  const leat_integer_line_t* line = leat_tensor_data(&s->lines, const leat_integer_line_t) + slice;
  const float* from = s->input->data;
  switch (leat_dtype_size(s->output->dtype)) {
    INTEGERS_CASE(1, int8_t)
    INTEGERS_CASE(2, int16_t)
    INTEGERS_CASE(4, int32_t)
  }
}

static void quantize_shard(void* data, int64_t begin, int64_t end) {
  convert_runs(data, to_integers, begin, end);
}

static leat_status_t quantize(leat_kernel_context_t* c, slices_t* s) {
  leat_tensor_t *min, *max;
  leat_shape_t scalar = leat_shape_scalar();
  const leat_shape_t* range = s->count == 1 ? &scalar : &leat_kernel_input(c, 1)->shape;
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_output(c, 1, range, &min));
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_output(c, 2, range, &max));
  leat_integers_t n = leat_integers_of(s->output->dtype);
  leat_integer_line_t* lines = s->lines.data;
  for (int64_t i = 0; i < s->count; ++i) {
    float low = s->min[i], high = s->max[i];
    if (high < low) {
      return leat_kernel_invalid(c, "input_max_range is %g, must be at least input_min_range, %g",
                                 (double)high, (double)low);
    }
    lines[i] = integer_line(leat_kernel_state(c), n, &low, &high);
    leat_tensor_data(min, float)[i] = low;
    leat_tensor_data(max, float)[i] = high;
  }
  leat_kernel_parallel_for(c, s->input->shape.element_count, 4, quantize_shard, s);
  return leat_ok_status();
}

static leat_status_t quantize__cpu(leat_kernel_context_t* c) {
  slices_t s = {0};
  leat_status_t status = divide(c, sizeof(leat_integer_line_t), &s);
  if (!status) status = quantize(c, &s);
  leat_tensor_release(&s.lines);
  return status;
}

const leat_kernel_row_t leat_quantized_kernels_cpu[] = {
    LEAT_CPU_KERNEL("QuantizeV2", NULL, options_t, quantize_create, quantize__cpu),
    LEAT_CPU_KERNEL("Dequantize", NULL, options_t, dequantize_create, dequantize__cpu),
    LEAT_KERNEL_ROWS_END,
};
