// What the kernels of quantised numbers share: the ranges of integer types, and the conversions
// between integers over a range [min, max] and the numbers that they stand for.
//
// The integers of a type divide the range into equal steps, and min is rounded to a whole number of
// steps, so that 0 is an integer (the mode MIN_FIRST of QuantizeV2 and Dequantize). TensorFlow
// converts in two ways that differ in the last bit, and which of them an op uses decides about
// halves:
//
//   leat_number_line_t, leat_integer_line_t   coefficients worked out once, elements in float
//   leat_quantized_number, leat_quantized_of  one number at a time, in double
//
// The functions keep nothing and may be called from any thread.
#ifndef LEAT_OPS_QUANTIZE_QUANTIZED_RANGE_CPU_H_
#define LEAT_OPS_QUANTIZE_QUANTIZED_RANGE_CPU_H_

#include <float.h>
#include <math.h>

#include "base/checked.h"
#include "kernel/kernel.h"

// The least and the greatest integer of a type.
typedef struct leat_integers_s {
  int32_t min, max;
} leat_integers_t;

static inline leat_integers_t leat_integers_of(int dtype) {
  switch (dtype) {
    case LEAT_DTYPE_QINT8:
      return (leat_integers_t){INT8_MIN, INT8_MAX};
    case LEAT_DTYPE_QUINT8:
      return (leat_integers_t){0, UINT8_MAX};
    case LEAT_DTYPE_QINT16:
      return (leat_integers_t){INT16_MIN, INT16_MAX};
    case LEAT_DTYPE_QUINT16:
      return (leat_integers_t){0, UINT16_MAX};
    default:
      return (leat_integers_t){INT32_MIN, INT32_MAX};
  }
}

// The number of steps from the least integer to the greatest one.
static inline double leat_integers_steps(leat_integers_t n) {
  return (double)n.max - (double)n.min;
}

// The range that the integers of a type cover.
typedef struct leat_range_s {
  float min, max;
} leat_range_t;

// The range in the scalars at inputs |index| and |index| + 1. The op's contract must say that they
// are scalars.
static inline leat_range_t leat_range_input(const leat_kernel_context_t* c, int index) {
  return (leat_range_t){*leat_tensor_data(leat_kernel_input(c, index), const float),
                        *leat_tensor_data(leat_kernel_input(c, index + 1), const float)};
}

// Makes outputs |index| and |index| + 1 the scalars of |range|.
LEAT_MUST_USE static inline leat_status_t leat_range_output(leat_kernel_context_t* c, int index,
                                                            leat_range_t range) {
  leat_shape_t scalar = leat_shape_scalar();
  leat_tensor_t *min, *max;
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_output(c, index, &scalar, &min));
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_output(c, index + 1, &scalar, &max));
  *leat_tensor_data(min, float) = range.min;
  *leat_tensor_data(max, float) = range.max;
  return leat_ok_status();
}

// ---- One number at a time -----------------------------------------------------------------------

// The width of the range and one step more. Here and below the order of operations and the mixture
// of float and double are TensorFlow's, because a difference in the last bit of a scale moves
// halves, as the zero of a symmetric range is, to another integer.
static inline double leat_range_width(leat_integers_t n, leat_range_t r) {
  const double count = leat_integers_steps(n) + 1;
  return (double)(r.max - r.min) * (count / (count - 1));
}

// The number that |integer| stands for.
static inline float leat_quantized_number(leat_integers_t n, int64_t integer, leat_range_t r) {
  if (r.min == r.max) return r.min;
  const double step = leat_range_width(n, r) / (leat_integers_steps(n) + 1);
  const float min = roundf(r.min / (float)step) * (float)step;
  return (float)((double)min + (double)(integer - n.min) * step);
}

// A double as an int64; what does not fit becomes INT64_MIN, as the processor's instruction has it.
static inline int64_t leat_int64_of_double(double x) {
  return x >= -0x1p63 && x < 0x1p63 ? (int64_t)x : INT64_MIN;
}

// The integer that stands for |number|, perhaps beyond those of the type.
static inline int64_t leat_quantized_unlimited(leat_integers_t n, float number, leat_range_t r) {
  if (r.min == r.max) return n.min;
  const double scale = (leat_integers_steps(n) + 1) / leat_range_width(n, r);
  return leat_int64_of_double(round((double)number * scale) - round((double)r.min * scale) + n.min);
}

// The integer of the type that is nearest to |number|.
static inline int32_t leat_quantized_of(leat_integers_t n, float number, leat_range_t r) {
  const int64_t integer = leat_quantized_unlimited(n, number, r);
  return (int32_t)LEAT_MAX(LEAT_MIN(integer, n.max), n.min);
}

// The integer that stands for 0. It lies beyond those of the type where the range has no 0.
static inline int32_t leat_quantized_zero(leat_integers_t n, leat_range_t r) {
  return (int32_t)leat_quantized_unlimited(n, 0, r);
}

// The range of 32-bit integers that are sums of products of |a| and |b|: a step is the product of
// the steps of the factors.
static inline leat_range_t leat_range_of_products(leat_integers_t a, leat_range_t a_range,
                                                  leat_integers_t b, leat_range_t b_range) {
  const float step = (a_range.max - a_range.min) / (float)((int64_t)a.max - a.min) *
                     ((b_range.max - b_range.min) / (float)((int64_t)b.max - b.min));
  return (leat_range_t){step * (float)INT32_MIN, step * (float)INT32_MAX};
}

// ---- Many numbers -------------------------------------------------------------------------------

// TensorFlow computes with denormal numbers flushed to 0. That shows where a range is hardly wider
// than nothing, as that of a constant 0: a step of 0 makes all numbers NaN.
static inline float leat_flushed(float x) { return fabsf(x) < FLT_MIN ? 0 : x; }

// number = (integer + before) * scale + after
typedef struct leat_number_line_s {
  float before, scale, after;
} leat_number_line_t;

static inline leat_number_line_t leat_number_line(leat_integers_t n, leat_range_t r) {
  const float scale = leat_flushed((float)((r.max - r.min) / leat_integers_steps(n)));
  const float min = r.min == r.max ? r.min : roundf(r.min / scale) * scale;
  return (leat_number_line_t){.scale = scale, .after = min - (float)n.min * scale};
}

static inline float leat_number_at(const leat_number_line_t* line, float integer) {
  return (integer + line->before) * line->scale + line->after;
}

typedef enum leat_rounding_e {
  LEAT_ROUNDING_AWAY,  // to the nearest integer, halves away from zero
  LEAT_ROUNDING_EVEN,  // to the nearest integer, halves to the even one
  LEAT_ROUNDING_CUT,   // towards zero
} leat_rounding_t;

// integer = (rounded((clamp(number, min, max) - zero) * scale + before) + after), limited to
// [least, most]
typedef struct leat_integer_line_s {
  float min, max;
  float zero, scale, before, after;
  float least, most;
  leat_rounding_t rounding;
} leat_integer_line_t;

static inline leat_integer_line_t leat_integer_line(leat_integers_t n, leat_range_t r) {
  const float scale = r.min == r.max ? 0 : (float)(leat_integers_steps(n) / (r.max - r.min));
  // 2147483520 is the largest float that fits in an int32.
  return (leat_integer_line_t){.min = -INFINITY,
                               .max = INFINITY,
                               .scale = scale,
                               .after = (float)n.min - roundf(r.min * scale),
                               .least = (float)n.min,
                               .most = LEAT_MIN((float)n.max, 2147483520.0f)};
}

// Converts as the processor's instruction does, which gives INT32_MIN for what is out of range; in
// C that conversion is undefined.
static inline int32_t leat_int32_of_float(float x) {
  return x >= -2147483648.0f && x < 2147483648.0f ? (int32_t)x : INT32_MIN;
}

static inline int32_t leat_integer_at(const leat_integer_line_t* line, float x) {
  x = LEAT_MAX(LEAT_MIN(x, line->max), line->min);
  x = (x - line->zero) * line->scale + line->before;
  if (line->rounding == LEAT_ROUNDING_AWAY) x = roundf(x);
  if (line->rounding == LEAT_ROUNDING_EVEN) x = nearbyintf(x);
  return leat_int32_of_float(LEAT_MIN(LEAT_MAX(x + line->after, line->least), line->most));
}

#endif  // LEAT_OPS_QUANTIZE_QUANTIZED_RANGE_CPU_H_
