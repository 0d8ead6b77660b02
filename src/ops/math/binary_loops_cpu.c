// Loops of two operands that vectors do not help, compiled once for the baseline: functions of the
// C library, integer division, complex numbers and strings. They are the third choice of the
// elementwise engine, after the loops of binary_isa.c.
//
// Integer division must not trap: a divisor of 0 is reported as a fault, which the engine turns
// into a status, and the least integer divided by -1 wraps instead of raising SIGFPE. Shifts by a
// count outside of the type's width are cut to [0, bits - 1], as TensorFlow does. The gradient
// loops (tanh_grad and so on) take x as the forward op's output and y as its gradient.
#include <complex.h>
#include <math.h>

#include "device/cpu/half.h"
#include "ops/math/elementwise_loops_cpu.h"
#include "ops/math/loops_cpu.h"

#define REAL_LOOP(suffix, DTYPE, type, wide, name, expression) \
  LEAT_LOOP_BINARY(name##_##suffix, type, type, expression)

// ---- Integer division ---------------------------------------------------------------------------

#define DIVISION_LOOP(name, type, expression) \
  LEAT_LOOP_CHECKED(name, type, (y == 0), LEAT_ELEMENTWISE_DIVISION_BY_ZERO, expression)
#define DIVIDE_SIGNED(suffix, DTYPE, type, wide, name) \
  DIVISION_LOOP(name##_##suffix, type, y == -1 ? (type)(0 - (wide)x) : x / y)
#define DIVIDE_UNSIGNED(suffix, DTYPE, type, wide, name) \
  DIVISION_LOOP(name##_##suffix, type, x / y)
LEAT_LOOP_SIGNED(DIVIDE_SIGNED, truncate_div)
LEAT_LOOP_UNSIGNED(DIVIDE_UNSIGNED, truncate_div)

#define REMAINDER_SIGNED(suffix, DTYPE, type, wide, name) \
  DIVISION_LOOP(name##_##suffix, type, y == -1 ? 0 : x % y)
#define REMAINDER_UNSIGNED(suffix, DTYPE, type, wide, name) \
  DIVISION_LOOP(name##_##suffix, type, x % y)
LEAT_LOOP_SIGNED(REMAINDER_SIGNED, mod)
LEAT_LOOP_UNSIGNED(REMAINDER_UNSIGNED, mod)

// Division rounded down: C rounds toward zero, so that a quotient with a remainder of the other
// sign than the divisor is one too large.
#define FLOOR_SIGNED(suffix, DTYPE, type, wide, unused)                \
  static inline type divide_down_##suffix(type x, type y) {            \
    if (y == -1) return (type)(0 - (wide)x);                           \
    type quotient = (type)(x / y);                                     \
    return (type)(quotient - ((x % y != 0) && ((x < 0) != (y < 0))));  \
  }                                                                    \
  static inline type remainder_down_##suffix(type x, type y) {         \
    if (y == -1) return 0;                                             \
    type remainder = (type)(x % y);                                    \
    bool other_sign = remainder != 0 && (remainder < 0) != (y < 0);    \
    return (type)(other_sign ? remainder + y : remainder);             \
  }                                                                    \
  DIVISION_LOOP(floor_div_##suffix, type, divide_down_##suffix(x, y)) \
  DIVISION_LOOP(floor_mod_##suffix, type, remainder_down_##suffix(x, y))
LEAT_LOOP_SIGNED(FLOOR_SIGNED, )

// ---- Integer powers -----------------------------------------------------------------------------

// x to the power of y by squaring, in unsigned arithmetic, which wraps; y < 0 is a fault.
#define POWER(suffix, DTYPE, type, wide, name)                         \
  static inline type power_##suffix(type x, type y) {                  \
    wide base = (wide)x, result = 1;                                   \
    for (wide left = (wide)y; left; left >>= 1) {                      \
      if (left & 1) result *= base;                                    \
      base *= base;                                                    \
    }                                                                  \
    return (type)result;                                               \
  }                                                                    \
  LEAT_LOOP_CHECKED(pow_##suffix, type, (y < 0), LEAT_ELEMENTWISE_NEGATIVE_POWER, \
                    power_##suffix(x, y))
LEAT_LOOP_SIGNED(POWER, )

// The count of a shift, cut to the width of the type.
#define SHIFT_COUNT(type) \
  (y < 0 ? 0 : y > (type)(sizeof(type) * 8 - 1) ? (int)(sizeof(type) * 8 - 1) : (int)y)
#define SHIFTS(suffix, DTYPE, type, wide, name)                                              \
  LEAT_LOOP_BINARY(left_shift_##suffix, type, type, (wide)x << SHIFT_COUNT(type))            \
  LEAT_LOOP_BINARY(right_shift_##suffix, type, type, x >> SHIFT_COUNT(type))
LEAT_LOOP_SIGNED(SHIFTS, )
#undef SHIFT_COUNT
#define SHIFT_COUNT(type) (y > sizeof(type) * 8 - 1 ? sizeof(type) * 8 - 1 : y)
LEAT_LOOP_UNSIGNED(SHIFTS, )

// ---- Through the C library ----------------------------------------------------------------------

LEAT_LOOP_BINARY(pow_f32, float, float, powf(x, y))
LEAT_LOOP_BINARY(pow_f64, double, double, pow(x, y))
LEAT_LOOP_BINARY(mod_f32, float, float, fmodf(x, y))
LEAT_LOOP_BINARY(mod_f64, double, double, fmod(x, y))
LEAT_LOOP_BINARY(atan2_f32, float, float, atan2f(x, y))
LEAT_LOOP_BINARY(atan2_f64, double, double, atan2(x, y))
LEAT_LOOP_BINARY(next_after_f32, float, float, nextafterf(x, y))
LEAT_LOOP_BINARY(next_after_f64, double, double, nextafter(x, y))

// The remainder whose sign is the divisor's.
static inline double floor_remainder(double x, double y) {
  double remainder = fmod(x, y);
  return remainder != 0 && (remainder < 0) != (y < 0) ? remainder + y : remainder;
}
static inline float floor_remainder_f(float x, float y) {
  float remainder = fmodf(x, y);
  return remainder != 0 && (remainder < 0) != (y < 0) ? remainder + y : remainder;
}
LEAT_LOOP_BINARY(floor_mod_f32, float, float, floor_remainder_f(x, y))
LEAT_LOOP_BINARY(floor_mod_f64, double, double, floor_remainder(x, y))

// TensorFlow rounds the quotient of halves to half before it rounds to an integer: 16.97 can become
// 17.
#define HALF_QUOTIENT(name, type, function)                                                   \
  LEAT_LOOP_BINARY(name##_##type, uint16_t, uint16_t,                                         \
                   leat_##type##_from_float(function(leat_##type##_to_float(                  \
                       leat_##type##_from_float(leat_##type##_to_float(x) /                   \
                                                leat_##type##_to_float(y))))))
HALF_QUOTIENT(floor_div, half, floorf)
HALF_QUOTIENT(floor_div, bfloat16, floorf)
HALF_QUOTIENT(truncate_div, half, truncf)
HALF_QUOTIENT(truncate_div, bfloat16, truncf)

// ---- Complex numbers ----------------------------------------------------------------------------

LEAT_LOOP_COMPLEXES(REAL_LOOP, real_div, x / y)
LEAT_LOOP_COMPLEXES(REAL_LOOP, div_no_nan, y == 0 || x == 0 ? 0 : x / y)
LEAT_LOOP_COMPLEXES(REAL_LOOP, mul_no_nan, y == 0 ? 0 : x * y)
LEAT_LOOP_COMPLEXES(REAL_LOOP, xdivy, x == 0 ? 0 : x / y)
LEAT_LOOP_BINARY(xlogy_c64, leat_complex64_t, leat_complex64_t, x == 0 ? 0 : x * clogf(y))
LEAT_LOOP_BINARY(xlogy_c128, leat_complex128_t, leat_complex128_t, x == 0 ? 0 : x * clog(y))
LEAT_LOOP_BINARY(xlog1py_c64, leat_complex64_t, leat_complex64_t, x == 0 ? 0 : x * clogf(1 + y))
LEAT_LOOP_BINARY(xlog1py_c128, leat_complex128_t, leat_complex128_t, x == 0 ? 0 : x * clog(1 + y))
LEAT_LOOP_BINARY(pow_c64, leat_complex64_t, leat_complex64_t, cpowf(x, y))
LEAT_LOOP_BINARY(pow_c128, leat_complex128_t, leat_complex128_t, cpow(x, y))

LEAT_LOOP_COMPLEXES(REAL_LOOP, tanh_grad, y * (1 - x * x))
LEAT_LOOP_COMPLEXES(REAL_LOOP, sigmoid_grad, y * (x * (1 - x)))
LEAT_LOOP_COMPLEXES(REAL_LOOP, sqrt_grad, y == 0 ? 0 : 0.5f * y / ~x)
LEAT_LOOP_COMPLEXES(REAL_LOOP, rsqrt_grad, y == 0 ? 0 : -0.5f * (y * ~x) * (~x * ~x))
LEAT_LOOP_COMPLEXES(REAL_LOOP, reciprocal_grad, y == 0 ? 0 : -~x * ~x * y)

// ---- Strings ------------------------------------------------------------------------------------

LEAT_LOOP_STRINGS(join_strings, TF_TString,
                  (TF_TString_Copy(z, TF_TString_GetDataPointer(x), TF_TString_GetSize(x)),
                   TF_TString_AppendN(z, TF_TString_GetDataPointer(y), TF_TString_GetSize(y))))

#define FLOATS(name) LEAT_LOOP_FLOATS(LEAT_LOOP_ENTRY, name)
#define INTEGERS(name) LEAT_LOOP_INTEGERS(LEAT_LOOP_ENTRY, name)
#define SIGNED(name) LEAT_LOOP_SIGNED(LEAT_LOOP_ENTRY, name)
#define UNSIGNED(name) LEAT_LOOP_UNSIGNED(LEAT_LOOP_ENTRY, name)
#define COMPLEXES(name) LEAT_LOOP_COMPLEXES(LEAT_LOOP_ENTRY, name)
#define HALVES(name) \
  [LEAT_LOOP_TYPE_HALF] = name##_half, [LEAT_LOOP_TYPE_BFLOAT16] = name##_bfloat16,

const leat_elementwise_loops_t leat_binary_plain_loops[LEAT_BINARY_COUNT] = {
    [LEAT_BINARY_ADD] = {[LEAT_LOOP_TYPE_STRING] = join_strings},
    [LEAT_BINARY_REAL_DIV] = {COMPLEXES(real_div)},
    [LEAT_BINARY_DIV] = {COMPLEXES(real_div) INTEGERS(truncate_div)},
    [LEAT_BINARY_TRUNCATE_DIV] = {HALVES(truncate_div) INTEGERS(truncate_div)},
    [LEAT_BINARY_FLOOR_DIV] = {HALVES(floor_div) SIGNED(floor_div) UNSIGNED(truncate_div)},
    [LEAT_BINARY_MOD] = {FLOATS(mod) INTEGERS(mod)},
    [LEAT_BINARY_FLOOR_MOD] = {FLOATS(floor_mod) SIGNED(floor_mod) UNSIGNED(mod)},
    [LEAT_BINARY_POW] = {FLOATS(pow) SIGNED(pow) COMPLEXES(pow)},
    [LEAT_BINARY_DIV_NO_NAN] = {COMPLEXES(div_no_nan)},
    [LEAT_BINARY_MUL_NO_NAN] = {COMPLEXES(mul_no_nan)},
    [LEAT_BINARY_XDIVY] = {COMPLEXES(xdivy)},
    [LEAT_BINARY_XLOGY] = {COMPLEXES(xlogy)},
    [LEAT_BINARY_XLOG1PY] = {COMPLEXES(xlog1py)},
    [LEAT_BINARY_ATAN2] = {FLOATS(atan2)},
    [LEAT_BINARY_NEXT_AFTER] = {FLOATS(next_after)},
    [LEAT_BINARY_TANH_GRAD] = {COMPLEXES(tanh_grad)},
    [LEAT_BINARY_SIGMOID_GRAD] = {COMPLEXES(sigmoid_grad)},
    [LEAT_BINARY_SQRT_GRAD] = {COMPLEXES(sqrt_grad)},
    [LEAT_BINARY_RSQRT_GRAD] = {COMPLEXES(rsqrt_grad)},
    [LEAT_BINARY_RECIPROCAL_GRAD] = {COMPLEXES(reciprocal_grad)},
    [LEAT_BINARY_LEFT_SHIFT] = {INTEGERS(left_shift)},
    [LEAT_BINARY_RIGHT_SHIFT] = {INTEGERS(right_shift)},
};
