// Loops of one operand, compiled once per instruction set: those that the compiler vectorizes by
// itself (negation, rounding, comparisons, ...), those that vector_math.h has (exp, log, tanh, ...)
// and the inverse trigonometric functions of float. A table per op and type at the end collects
// them; a NULL entry makes unary_cpu.c fall back to the plain loops of unary_loops_cpu.c.
//
// Integers wrap: they are negated, squared and made absolute as unsigned numbers of the same width,
// where C defines overflow. Complex numbers are loops over pairs of reals. Inputs and output may be
// the same array, so that each element is read before it is written.
#include "device/cpu/vector_math.h"
#include "ops/math/elementwise_loops_cpu.h"
#include "ops/math/loops_cpu.h"

#define LOOP(suffix, DTYPE, type, wide, name, expression) \
  LEAT_LOOP_UNARY(name##_##suffix, type, type, expression)
#define TEST(suffix, DTYPE, type, wide, name, expression) \
  LEAT_LOOP_UNARY(name##_##suffix, type, uint8_t, expression)

LEAT_LOOP_FLOATS(LOOP, neg, -x)
LEAT_LOOP_FLOATS(LOOP, sign, x != x ? x : (x > 0) - (x < 0))
LEAT_LOOP_FLOATS(LOOP, square, x * x)
LEAT_LOOP_FLOATS(LOOP, reciprocal, 1 / x)
LEAT_LOOP_ISA_SIGNED(LOOP, sign, (x > 0) - (x < 0))
LEAT_LOOP_UNARY(abs_f32, float, float, __builtin_fabsf(x))
LEAT_LOOP_UNARY(abs_f64, double, double, __builtin_fabs(x))
LEAT_LOOP_UNARY(floor_f32, float, float, __builtin_floorf(x))
LEAT_LOOP_UNARY(floor_f64, double, double, __builtin_floor(x))
LEAT_LOOP_UNARY(ceil_f32, float, float, __builtin_ceilf(x))
LEAT_LOOP_UNARY(ceil_f64, double, double, __builtin_ceil(x))
LEAT_LOOP_UNARY(round_f32, float, float, __builtin_rintf(x))
LEAT_LOOP_UNARY(round_f64, double, double, __builtin_rint(x))
LEAT_LOOP_FLOATS(TEST, is_nan, x != x)
LEAT_LOOP_FLOATS(TEST, is_inf, x - x != x - x && x == x)
LEAT_LOOP_FLOATS(TEST, is_finite, x - x == x - x)
LEAT_LOOP_UNARY(not_bool, uint8_t, uint8_t, x == 0)

#define WRAPPING(suffix, DTYPE, type, wide, name, expression) \
  static inline type name##_of_##suffix(wide x) { return (type)(expression); } \
  LEAT_LOOP_UNARY(name##_##suffix, type, type, name##_of_##suffix((wide)x))
LEAT_LOOP_ISA_SIGNED(WRAPPING, neg, 0 - x)
LEAT_LOOP_ISA_INTEGERS(WRAPPING, square, x * x)
#define ABSOLUTE(suffix, DTYPE, type, wide, name) \
  LEAT_LOOP_UNARY(name##_##suffix, type, type, x < 0 ? 0 - (wide)x : (wide)x)
LEAT_LOOP_ISA_SIGNED(ABSOLUTE, abs)
LEAT_LOOP_ISA_SIGNED(LOOP, round, x)
LEAT_LOOP_ISA_INTEGERS(LOOP, invert, ~x)

#define PAIRS(suffix, DTYPE, type, part, name, re, im)                           \
  static int name##_##suffix(const void* const inputs[], void* output, int64_t n) { \
    const part* xs = inputs[0];                                                  \
    part* zs = output;                                                           \
    LEAT_LOOP_INDEPENDENT                                                        \
    for (int64_t i = 0; i < n; ++i) {                                            \
      const part a = xs[2 * i], b = xs[2 * i + 1];                               \
      zs[2 * i] = (re);                                                          \
      zs[2 * i + 1] = (im);                                                      \
    }                                                                            \
    return 0;                                                                    \
  }
LEAT_LOOP_COMPLEXES(PAIRS, neg, -a, -b)
LEAT_LOOP_COMPLEXES(PAIRS, conj, a, -b)
LEAT_LOOP_COMPLEXES(PAIRS, square, a * a - b * b, a * b + a * b)

#define PART(suffix, DTYPE, type, part, name, index)                             \
  static int name##_##suffix(const void* const inputs[], void* output, int64_t n) { \
    const part* xs = inputs[0];                                                  \
    part* zs = output;                                                           \
    for (int64_t i = 0; i < n; ++i) zs[i] = xs[2 * i + index];                   \
    return 0;                                                                    \
  }
LEAT_LOOP_COMPLEXES(PART, real, 0)
LEAT_LOOP_COMPLEXES(PART, imag, 1)

#define VECTOR_MATH(suffix, DTYPE, type, wide, name)                             \
  static int name##_##suffix(const void* const inputs[], void* output, int64_t n) { \
    LEAT_ISA_NAME(leat_vector_math).name##_##suffix(inputs[0], output, n);       \
    return 0;                                                                    \
  }
LEAT_LOOP_FLOATS(VECTOR_MATH, exp)
LEAT_LOOP_FLOATS(VECTOR_MATH, expm1)
LEAT_LOOP_FLOATS(VECTOR_MATH, log)
LEAT_LOOP_FLOATS(VECTOR_MATH, log1p)
LEAT_LOOP_FLOATS(VECTOR_MATH, tanh)
LEAT_LOOP_FLOATS(VECTOR_MATH, sigmoid)
LEAT_LOOP_FLOATS(VECTOR_MATH, erf)
LEAT_LOOP_FLOATS(VECTOR_MATH, erfc)
LEAT_LOOP_FLOATS(VECTOR_MATH, sin)
LEAT_LOOP_FLOATS(VECTOR_MATH, cos)
LEAT_LOOP_FLOATS(VECTOR_MATH, sqrt)
LEAT_LOOP_FLOATS(VECTOR_MATH, rsqrt)

#define HALF_PI 1.57079632679489661923f
#define HALF_PI_REST -4.37113882867379e-8f
// Inverse trigonometric functions of float, within 2.5 units of the last place. Minimax polynomials
// that were computed for this file approximate atan on [0, 1] and asin on [0, 1/2]; identities
// reduce other arguments to these: atan(x) = pi/2 - atan(1/x), asin(x) = pi/2 - 2 asin(sqrt((1 - x)
// / 2)). pi/2 is the sum of two floats.
static inline float atan_of(float x) {
  const float size = __builtin_fabsf(x);
  const float t = size > 1 ? 1 / size : size, z = t * t;
  float p = -0x1.cbc6acp-10f;
  p = p * z + 0x1.5f7f3cp-7f;
  p = p * z - 0x1.f8b302p-6f;
  p = p * z + 0x1.d77716p-5f;
  p = p * z - 0x1.572266p-4f;
  p = p * z + 0x1.c02f78p-4f;
  p = p * z - 0x1.24159ap-3f;
  p = p * z + 0x1.999082p-3f;
  p = p * z - 0x1.555534p-2f;
  const float inner = t + t * (z * p);
  const float y = size > 1 ? (HALF_PI - inner) + HALF_PI_REST : inner;
  return __builtin_copysignf(y, x);
}
// asin(size) for size <= 1/2, else asin(sqrt((1 - size) / 2)), for size in [0, 1].
static inline float asin_part(float size) {
  const float half = (1 - size) * 0.5f;
  const float z = size > 0.5f ? half : size * size;
  const float s = size > 0.5f ? __builtin_sqrtf(half) : size;
  float p = 0x1.5d4544p-5f;
  p = p * z + 0x1.86e49cp-6f;
  p = p * z + 0x1.7525a4p-5f;
  p = p * z + 0x1.32f8d8p-4f;
  p = p * z + 0x1.5555fcp-3f;
  return s + s * (z * p);
}
static inline float asin_of(float x) {
  const float size = __builtin_fabsf(x), part = asin_part(size);
  return __builtin_copysignf(size > 0.5f ? HALF_PI - (part + part) : part, x);
}
static inline float acos_of(float x) {
  const float size = __builtin_fabsf(x), part = asin_part(size);
  const float outer = x > 0 ? part + part : 2 * HALF_PI - (part + part);
  return size > 0.5f ? outer : HALF_PI - (x > 0 ? part : -part);
}
LEAT_LOOP_UNARY(atan_f32, float, float, atan_of(x))
LEAT_LOOP_UNARY(asin_f32, float, float, asin_of(x))
LEAT_LOOP_UNARY(acos_f32, float, float, acos_of(x))

#define FLOATS(name) LEAT_LOOP_FLOATS(LEAT_LOOP_ENTRY, name)
#define SIGNED(name) LEAT_LOOP_ISA_SIGNED(LEAT_LOOP_ENTRY, name)
#define INTEGERS(name) LEAT_LOOP_ISA_INTEGERS(LEAT_LOOP_ENTRY, name)
#define COMPLEXES(name) LEAT_LOOP_COMPLEXES(LEAT_LOOP_ENTRY, name)

extern const leat_unary_loops_t LEAT_ISA_NAME(leat_unary_loops);
const leat_unary_loops_t LEAT_ISA_NAME(leat_unary_loops) = {.items = {
    [LEAT_UNARY_NEG] = {FLOATS(neg) SIGNED(neg) COMPLEXES(neg)},
    [LEAT_UNARY_ABS] = {FLOATS(abs) SIGNED(abs)},
    [LEAT_UNARY_SIGN] = {FLOATS(sign) SIGNED(sign)},
    [LEAT_UNARY_SQUARE] = {FLOATS(square) INTEGERS(square) COMPLEXES(square)},
    [LEAT_UNARY_RECIPROCAL] = {FLOATS(reciprocal)},
    [LEAT_UNARY_FLOOR] = {FLOATS(floor)},
    [LEAT_UNARY_CEIL] = {FLOATS(ceil)},
    [LEAT_UNARY_ROUND] = {FLOATS(round) SIGNED(round)},
    [LEAT_UNARY_SQRT] = {FLOATS(sqrt)},
    [LEAT_UNARY_RSQRT] = {FLOATS(rsqrt)},
    [LEAT_UNARY_EXP] = {FLOATS(exp)},
    [LEAT_UNARY_EXPM1] = {FLOATS(expm1)},
    [LEAT_UNARY_LOG] = {FLOATS(log)},
    [LEAT_UNARY_LOG1P] = {FLOATS(log1p)},
    [LEAT_UNARY_TANH] = {FLOATS(tanh)},
    [LEAT_UNARY_SIGMOID] = {FLOATS(sigmoid)},
    [LEAT_UNARY_ERF] = {FLOATS(erf)},
    [LEAT_UNARY_ERFC] = {FLOATS(erfc)},
    [LEAT_UNARY_SIN] = {FLOATS(sin)},
    [LEAT_UNARY_COS] = {FLOATS(cos)},
    [LEAT_UNARY_ASIN] = {[LEAT_LOOP_TYPE_FLOAT] = asin_f32},
    [LEAT_UNARY_ACOS] = {[LEAT_LOOP_TYPE_FLOAT] = acos_f32},
    [LEAT_UNARY_ATAN] = {[LEAT_LOOP_TYPE_FLOAT] = atan_f32},
    [LEAT_UNARY_IS_NAN] = {FLOATS(is_nan)},
    [LEAT_UNARY_IS_INF] = {FLOATS(is_inf)},
    [LEAT_UNARY_IS_FINITE] = {FLOATS(is_finite)},
    [LEAT_UNARY_NOT] = {[LEAT_LOOP_TYPE_BOOL] = not_bool},
    [LEAT_UNARY_INVERT] = {INTEGERS(invert)},
    [LEAT_UNARY_CONJ] = {COMPLEXES(conj)},
    [LEAT_UNARY_REAL] = {COMPLEXES(real)},
    [LEAT_UNARY_IMAG] = {COMPLEXES(imag)},
}};
