// Loops of one operand that vectors do not help, compiled once for the baseline: functions of the C
// library, complex numbers and bit counts. They are the elementwise engine's last choice, after the
// loops of unary_isa.c.
//
// A few complex functions are written out because the obvious formula loses digits: expm1 and log1p
// near 0, and the sign of numbers whose modulus would overflow. The float loops of complex expm1
// and log1p compute in double and round.
#include <complex.h>
#include <math.h>

#include "ops/math/elementwise_loops_cpu.h"
#include "ops/math/loops_cpu.h"

#ifndef CMPLX  // clang with the headers of glibc
#define CMPLX(real, imaginary) __builtin_complex((double)(real), (double)(imaginary))
#endif

#define FROM_C(name, function)                                   \
  LEAT_LOOP_UNARY(name##_f32, float, float, function##f(x))      \
  LEAT_LOOP_UNARY(name##_f64, double, double, function(x))
FROM_C(tan, tan)
LEAT_LOOP_UNARY(asin_f64, double, double, asin(x))
LEAT_LOOP_UNARY(acos_f64, double, double, acos(x))
LEAT_LOOP_UNARY(atan_f64, double, double, atan(x))
FROM_C(sinh, sinh)
FROM_C(cosh, cosh)
FROM_C(asinh, asinh)
FROM_C(acosh, acosh)
FROM_C(atanh, atanh)

#define COMPLEX_FROM_C(name, expression_f, expression)                               \
  LEAT_LOOP_UNARY(name##_c64, leat_complex64_t, leat_complex64_t, expression_f)      \
  LEAT_LOOP_UNARY(name##_c128, leat_complex128_t, leat_complex128_t, expression)
COMPLEX_FROM_C(sqrt, csqrtf(x), csqrt(x))
COMPLEX_FROM_C(rsqrt, 1 / csqrtf(x), 1 / csqrt(x))
COMPLEX_FROM_C(exp, cexpf(x), cexp(x))
COMPLEX_FROM_C(log, clogf(x), clog(x))
COMPLEX_FROM_C(tanh, ctanhf(x), ctanh(x))
COMPLEX_FROM_C(sigmoid, 1 / (1 + cexpf(-x)), 1 / (1 + cexp(-x)))
COMPLEX_FROM_C(sin, csinf(x), csin(x))
COMPLEX_FROM_C(cos, ccosf(x), ccos(x))
COMPLEX_FROM_C(tan, ctanf(x), ctan(x))
COMPLEX_FROM_C(asin, casinf(x), casin(x))
COMPLEX_FROM_C(acos, cacosf(x), cacos(x))
COMPLEX_FROM_C(atan, catanf(x), catan(x))
COMPLEX_FROM_C(sinh, csinhf(x), csinh(x))
COMPLEX_FROM_C(cosh, ccoshf(x), ccosh(x))
COMPLEX_FROM_C(asinh, casinhf(x), casinh(x))
COMPLEX_FROM_C(acosh, cacoshf(x), cacosh(x))
COMPLEX_FROM_C(atanh, catanhf(x), catanh(x))
COMPLEX_FROM_C(reciprocal, 1 / x, 1 / x)

// exp(a + bi) - 1 without the cancellation near 0: its real part is expm1(a) cos(b) - 2 sin(b/2)^2.
static double complex expm1_of(double complex x) {
  double a = creal(x), b = cimag(x), half = sin(b / 2), less = expm1(a);
  return CMPLX(less * cos(b) - 2 * half * half, (less + 1) * sin(b));
}
// log(1 + a + bi): half the log1p of |1 + x|^2 - 1 = a (2 + a) + b^2, and the angle.
static double complex log1p_of(double complex x) {
  double a = creal(x), b = cimag(x);
  if (fabs(a) > 0.5 || fabs(b) > 0.5) return clog(1 + x);
  return CMPLX(0.5 * log1p(a * (2 + a) + b * b), atan2(b, 1 + a));
}
COMPLEX_FROM_C(expm1, expm1_of(x), expm1_of(x))
COMPLEX_FROM_C(log1p, log1p_of(x), log1p_of(x))

// x / |x|, and 0 for 0. |x| is computed as max sqrt(1 + (min / max)^2), which neither overflows nor
// underflows.
#define SIGN(name, type, part, root, absolute)                                \
  static type name(type x) {                                                  \
    const part a = absolute(__real__ x), b = absolute(__imag__ x);            \
    const part large = a > b ? a : b, small = a > b ? b : a;                  \
    if (large == 0) return 0;                                                 \
    const part ratio = small / large;                                         \
    return x / (small == 0 ? large : large * root(1 + ratio * ratio));        \
  }
SIGN(sign_of_f, float complex, float, sqrtf, fabsf)
SIGN(sign_of, double complex, double, sqrt, fabs)
COMPLEX_FROM_C(sign, sign_of_f(x), sign_of(x))

LEAT_LOOP_UNARY(complex_abs_c64, leat_complex64_t, float, hypotf(crealf(x), cimagf(x)))
LEAT_LOOP_UNARY(complex_abs_c128, leat_complex128_t, double, hypot(creal(x), cimag(x)))
LEAT_LOOP_UNARY(angle_c64, leat_complex64_t, float, cargf(x))
LEAT_LOOP_UNARY(angle_c128, leat_complex128_t, double, carg(x))

#define POPULATION(suffix, DTYPE, type, wide, unsigned_type) \
  LEAT_LOOP_UNARY(population_count_##suffix, type, uint8_t,  \
                  __builtin_popcountll((unsigned_type)x))
POPULATION(i8, INT8, int8_t, uint32_t, uint8_t)
POPULATION(i16, INT16, int16_t, uint32_t, uint16_t)
POPULATION(i32, INT32, int32_t, uint32_t, uint32_t)
POPULATION(i64, INT64, int64_t, uint64_t, uint64_t)
POPULATION(u8, UINT8, uint8_t, uint32_t, uint8_t)
POPULATION(u16, UINT16, uint16_t, uint32_t, uint16_t)
POPULATION(u32, UINT32, uint32_t, uint32_t, uint32_t)
POPULATION(u64, UINT64, uint64_t, uint64_t, uint64_t)

#define FLOATS(name) LEAT_LOOP_FLOATS(LEAT_LOOP_ENTRY, name)
#define COMPLEXES(name) LEAT_LOOP_COMPLEXES(LEAT_LOOP_ENTRY, name)

const leat_elementwise_loops_t leat_unary_plain_loops[LEAT_UNARY_COUNT] = {
    [LEAT_UNARY_SIGN] = {COMPLEXES(sign)},
    [LEAT_UNARY_RECIPROCAL] = {COMPLEXES(reciprocal)},
    [LEAT_UNARY_SQRT] = {COMPLEXES(sqrt)},
    [LEAT_UNARY_RSQRT] = {COMPLEXES(rsqrt)},
    [LEAT_UNARY_EXP] = {COMPLEXES(exp)},
    [LEAT_UNARY_EXPM1] = {COMPLEXES(expm1)},
    [LEAT_UNARY_LOG] = {COMPLEXES(log)},
    [LEAT_UNARY_LOG1P] = {COMPLEXES(log1p)},
    [LEAT_UNARY_TANH] = {COMPLEXES(tanh)},
    [LEAT_UNARY_SIGMOID] = {COMPLEXES(sigmoid)},
    [LEAT_UNARY_SIN] = {COMPLEXES(sin)},
    [LEAT_UNARY_COS] = {COMPLEXES(cos)},
    [LEAT_UNARY_TAN] = {FLOATS(tan) COMPLEXES(tan)},
    [LEAT_UNARY_ASIN] = {[LEAT_LOOP_TYPE_DOUBLE] = asin_f64, COMPLEXES(asin)},
    [LEAT_UNARY_ACOS] = {[LEAT_LOOP_TYPE_DOUBLE] = acos_f64, COMPLEXES(acos)},
    [LEAT_UNARY_ATAN] = {[LEAT_LOOP_TYPE_DOUBLE] = atan_f64, COMPLEXES(atan)},
    [LEAT_UNARY_SINH] = {FLOATS(sinh) COMPLEXES(sinh)},
    [LEAT_UNARY_COSH] = {FLOATS(cosh) COMPLEXES(cosh)},
    [LEAT_UNARY_ASINH] = {FLOATS(asinh) COMPLEXES(asinh)},
    [LEAT_UNARY_ACOSH] = {FLOATS(acosh) COMPLEXES(acosh)},
    [LEAT_UNARY_ATANH] = {FLOATS(atanh) COMPLEXES(atanh)},
    [LEAT_UNARY_POPULATION_COUNT] = {LEAT_LOOP_INTEGERS(LEAT_LOOP_ENTRY, population_count)},
    [LEAT_UNARY_COMPLEX_ABS] = {COMPLEXES(complex_abs)},
    [LEAT_UNARY_ANGLE] = {COMPLEXES(angle)},
};
