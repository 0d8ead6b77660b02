// The elementary functions of float that compute in double inside: expm1, softplus and erfc, and
// the reduction of the angle for sin and cos. One rounding at the end makes them nearly exact, and
// the conversion handles overflow, denormals and infinities. That costs half the speed of float
// arithmetic, which is acceptable for functions in which little time is spent.
//
//   float x ─▶ double ─▶ reduce (n ln 2 + r; 2^e m; quadrant + r) ─▶ series ─▶ float
//
// The file is compiled once per instruction set, without fused multiply-add, so that all sets give
// the same bits. sin and cos go on in float after the reduction; angles above 2^17 take an exact
// reduction (Payne and Hanek), lane by lane, since no program should need it often.
#include "device/cpu/vector_math_lanes.h"
#include "device/cpu/vector_math_tables.h"

#define ROUNDING_F64 0x1.8p52
#define MAGIC_BITS 0x4338000000000000

// The reduction x = n ln(2) + r with 2^n as a double; |x| < 700.
typedef struct reduced_s {
  doubles_t r, power;
} reduced_t;

ALWAYS_INLINE reduced_t reduce_exp(doubles_t x) {
  const doubles_t shifted = x * 0x1.71547652b82fep0 + ROUNDING_F64;
  const doubles_t n = shifted - ROUNDING_F64;
  const doubles_t r = (x - n * 0x1.62e42feep-1) - n * 0x1.a39ef35793c76p-33;
  const ulongs_t power = (ulongs_t)shifted - MAGIC_BITS;
  return (reduced_t){r, (doubles_t)((power + 1023) << 52)};
}

// exp(r) - 1 for |r| <= ln(2) / 2 by Taylor's series; the relative error is 2e-11.
ALWAYS_INLINE doubles_t expm1_reduced(doubles_t r) {
  doubles_t p = r * (1.0 / 362880) + 1.0 / 40320;
  p = p * r + 1.0 / 5040;
  p = p * r + 1.0 / 720;
  p = p * r + 1.0 / 120;
  p = p * r + 1.0 / 24;
  p = p * r + 1.0 / 6;
  p = p * r + 1.0 / 2;
  return p * (r * r) + r;
}

// Beyond 200 the result as a float is infinity or 0 anyway; NaN passes.
ALWAYS_INLINE doubles_t clamp_exp(doubles_t x) {
  x = select_doubles(x > 200.0, DOUBLES(200.0), x);
  return select_doubles(x < -200.0, DOUBLES(-200.0), x);
}

ALWAYS_INLINE doubles_t exp_wide(doubles_t x) {
  const reduced_t reduced = reduce_exp(clamp_exp(x));
  return (expm1_reduced(reduced.r) + 1.0) * reduced.power;
}

ALWAYS_INLINE doubles_t expm1_wide(doubles_t x) {
  const reduced_t reduced = reduce_exp(clamp_exp(x));
  const doubles_t value = expm1_reduced(reduced.r) * reduced.power + (reduced.power - 1.0);
  return select_doubles(x == 0, x, value);
}

// log(1 + x) for x > -1 by the series of 2 atanh(f / (2 + f)), where 1 + f is 1 + x divided by a
// power of two. While that power is 1, f is x itself and loses nothing.
ALWAYS_INLINE doubles_t log1p_finite(doubles_t x) {
  const doubles_t u = x + 1.0;
  const ulongs_t biased = ((ulongs_t)u + (0x3ff0000000000000 - 0x3fe6a09e667f3bcd)) >> 52;
  const doubles_t e = (doubles_t)(biased | 0x4330000000000000) - (0x1p52 + 1023);
  const doubles_t m = (doubles_t)((ulongs_t)u - ((biased - 1023) << 52));
  const doubles_t f = select_doubles(e == 0, x, m - 1.0);
  const doubles_t s = f / (f + 2.0);
  const doubles_t z = s * s;
  doubles_t p = z * (2.0 / 11) + 2.0 / 9;
  p = p * z + 2.0 / 7;
  p = p * z + 2.0 / 5;
  p = p * z + 2.0 / 3;
  p = p * z + 2.0;
  return p * s + e * 0x1.62e42fefa39efp-1;
}

ALWAYS_INLINE doubles_t softplus_wide(doubles_t x) {
  const doubles_t positive = select_doubles(x < 0, DOUBLES(0.0), x);
  return positive + log1p_finite(exp_wide(-absolute_doubles(x)));
}

// erfc(x) for x >= 0: exp(-x^2) times a polynomial in (x - 2.5) / (x + 2.5); the relative error is
// 3e-11.
ALWAYS_INLINE doubles_t erfc_positive(doubles_t x) {
  x = select_doubles(x > 10.5, DOUBLES(10.5), x);
  const doubles_t t = (x - 2.5) / (x + 2.5);
  doubles_t p = t * 0x1.9615c4d55a2a3p-18 + 0x1.01760ca960fd6p-16;
  p = p * t + -0x1.1c78af799ffbbp-15;
  p = p * t + -0x1.0a453a3cb2cd4p-13;
  p = p * t + 0x1.df2f35990b53ap-13;
  p = p * t + 0x1.caefae677aec4p-11;
  p = p * t + -0x1.5a58a081b0759p-9;
  p = p * t + -0x1.05b9c328e03efp-8;
  p = p * t + 0x1.470ba47a3c3dfp-5;
  p = p * t + -0x1.001154fa1f354p-3;
  p = p * t + 0x1.01c11a71b2f36p-2;
  p = p * t + -0x1.7ca88dea40ad5p-2;
  p = p * t + 0x1.afbb3f3b6f2f8p-3;
  return p * exp_wide(-(x * x));
}

ALWAYS_INLINE doubles_t erfc_wide(doubles_t x) {
  const doubles_t value = erfc_positive(absolute_doubles(x));
  return select_doubles(x < 0, 2.0 - value, value);
}

// The bits of 2 / pi, after 64 zeros.
static const uint64_t two_over_pi[5] = {0, 0xa2f9836e4e441529, 0xfc2757d1f534ddc0,
                                        0xdb6295993c439041, 0xfe5163abdebbc561};

// Reduces a huge angle (Payne and Hanek): |x| = m 2^e is an integer multiple of a power of two, so
// that only the bits of 2/pi that matter modulo 4, and 126 bits below them, are multiplied. Returns
// r in [-pi/4, pi/4] and the quadrant.
static double reduce_huge(float x, int64_t* out_quadrant) {
  uint32_t bits;
  memcpy(&bits, &x, sizeof bits);
  const int exponent = (int)(bits >> 23 & 0xff) - 150;
  const uint64_t m = (bits & 0x7fffff) | 0x800000;
  const int position = exponent - 2 + 64;
  const int word = position / 64, shift = position % 64;
  unsigned __int128 window = (unsigned __int128)two_over_pi[word] << 64 | two_over_pi[word + 1];
  if (shift > 0) window = window << shift | two_over_pi[word + 2] >> (64 - shift);
  const unsigned __int128 turns = window * m;  // 2^126 stands for a quadrant
  const uint64_t quadrant = ((uint64_t)(turns >> 125) + 1) >> 1;
  const __int128 rest = (__int128)(turns - ((unsigned __int128)quadrant << 126));
  const double r = (double)rest * (0x1.921fb54442d18p0 * 0x1p-126);
  *out_quadrant = x < 0 ? -(int64_t)quadrant : (int64_t)quadrant;
  return x < 0 ? -r : r;
}

// Reduces the lanes that |huge| marks, one by one; an infinite angle gives NaN.
static LEAT_COLD floats_t reduce_huge_lanes(ints_t huge, floats_t x, floats_t r,
                                            uints_t* inout_quadrant) {
  for (int i = 0; i < LANES; ++i) {
    if (!huge[i]) continue;
    int64_t turns = 0;
    r[i] = __builtin_isinf(x[i]) ? __builtin_nanf("") : (float)reduce_huge(x[i], &turns);
    (*inout_quadrant)[i] = (uint32_t)turns;
  }
  return r;
}

// Reduces an angle: x = r + |*out_quadrant| pi/2 (modulo 4), with r in [-pi/4, pi/4] or just
// outside. pi/2 is the sum of two doubles.
ALWAYS_INLINE floats_t reduce_angle(floats_t x, uints_t* out_quadrant) {
  const floats_t shifted = x * 0x1.45f306p-1f + ROUNDING_F32;
  doubles_t first, last, n_first, n_last;
  split_floats(x, &first, &last);
  split_floats(shifted - ROUNDING_F32, &n_first, &n_last);
  first = (first - n_first * 0x1.921fb544p0) - n_first * 0x1.0b4611a626331p-34;
  last = (last - n_last * 0x1.921fb544p0) - n_last * 0x1.0b4611a626331p-34;
  floats_t r = join_doubles(first, last);
  uints_t quadrant = (uints_t)shifted;
  const ints_t huge = absolute_floats(x) > 0x1p17f;
  if (LEAT_UNLIKELY(has_lane(huge))) {
    uints_t corrected = quadrant;
    r = reduce_huge_lanes(huge, x, r, &corrected);
    quadrant = corrected;
  }
  *out_quadrant = quadrant;
  return r;
}

// sin(x + |quarter| pi/2); a quarter of 1 gives the cosine.
ALWAYS_INLINE floats_t sin_turned(floats_t x, uint32_t quarter) {
  uints_t quadrant;
  const floats_t r = reduce_angle(x, &quadrant);
  quadrant += quarter;
  const floats_t z = r * r;
  const floats_t s = ((SIN_2 * z + SIN_1) * z + SIN_0) * z * r + r;
  const floats_t half = z * 0.5f;
  const floats_t high = 1.0f - half;
  const floats_t c = high + (((1.0f - high) - half) + ((COS_2 * z + COS_1) * z + COS_0) * (z * z));
  const floats_t value = select_floats((ints_t)(0u - (quadrant & 1)), c, s);
  return (floats_t)((uints_t)value ^ (quadrant & 2) << 30);
}

ALWAYS_INLINE floats_t sin_core(floats_t x) { return select_floats(x == 0, x, sin_turned(x, 0)); }
ALWAYS_INLINE floats_t cos_core(floats_t x) { return sin_turned(x, 1); }

#define NAME sin_loop
#define CORE sin_core
#include "device/cpu/vector_math_loop.inc"

#define NAME cos_loop
#define CORE cos_core
#include "device/cpu/vector_math_loop.inc"

void LEAT_ISA_NAME(leat_vector_sin_f32)(const float* x, float* y, int64_t n) { sin_loop(x, y, n); }
void LEAT_ISA_NAME(leat_vector_cos_f32)(const float* x, float* y, int64_t n) { cos_loop(x, y, n); }

// The float functions over arrays, half a vector at a time.
#define NAME LEAT_ISA_NAME(leat_vector_expm1_f32)
#define CORE expm1_wide
#include "device/cpu/vector_math_wide_loop.inc"

#define NAME LEAT_ISA_NAME(leat_vector_softplus_f32)
#define CORE softplus_wide
#include "device/cpu/vector_math_wide_loop.inc"

#define NAME LEAT_ISA_NAME(leat_vector_erfc_f32)
#define CORE erfc_wide
#include "device/cpu/vector_math_wide_loop.inc"
