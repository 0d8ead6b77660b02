// The elementary functions in which networks spend time, in float arithmetic throughout: exp, log,
// log1p, tanh, sigmoid, erf and roots; and the table of functions of one instruction set. The file
// is compiled once per set, with the same operations in the same order and no fused multiply-add,
// so that every set gives the same bits.
//
//   exp(x)  = 2^n exp(r)        n = round(x / ln 2), |r| <= ln(2) / 2, a polynomial for exp(r)
//   log(x)  = e ln(2) + log(1 + f)      1 + f in [sqrt(1/2), sqrt(2))
//   tanh(x) = u / (u + 2)       u = exp(2 |x|) - 1
//   erf(x)  = x + x P(x^2)      or 1 - exp(Q(|x|)) from 0.9 on
//
// The polynomials are minimax fits that were computed for this library (vector_math_tables.h), with
// a relative error below 2^-26; the rest of the error is rounding, whose bounds are in
// vector_math.h. Constants are split in two (ln(2) in 9 bits and the rest) where a product must be
// exact.
#include "device/cpu/vector_math.h"

#include "device/cpu/half.h"
#include "device/cpu/vector_math_lanes.h"
#include "device/cpu/vector_math_tables.h"

// exp(x) = 2^n exp(r), |r| <= ln(2) / 2. 2^n may be a denormal or exceed the range when the result
// does not. A NaN passes through the clamps. |out_relative_error| is what the last sum lost to
// rounding, relative to the result.
ALWAYS_INLINE floats_t exp_with_error(floats_t x, floats_t* out_relative_error) {
  x = raise_floats(limit_floats(x, 89.0f), -104.0f);
  const floats_t n = (x * 0x1.715476p0f + ROUNDING_F32) - ROUNDING_F32;
  const floats_t high = x - n * 0.693359375f;  // ln(2) in 9 bits: exact
  const floats_t low = n * -0x1.bd0106p-13f;
  const floats_t r = high - low;
  const floats_t lost = (high - r) - low;
  floats_t p = EXP_4 * r + EXP_3;
  p = p * r + EXP_2;
  p = p * r + EXP_1;
  p = p * r + EXP_0;
  const floats_t rest = (p * (r * r) + lost) + r;
  const floats_t value = rest + 1.0f;
  *out_relative_error = ((1.0f - value) + rest) * (2.0f - value);  // 2 - v is nearly 1 / v
  return scale_floats(value, n);
}

ALWAYS_INLINE floats_t exp_core(floats_t x) {
  floats_t unused;
  return exp_with_error(x, &unused);
}

// exp(x) for x <= 0, where 2^n can be added to the exponent bits: 0 below the normal numbers, NaN
// for NaN. It takes two thirds of the operations of exp_core.
ALWAYS_INLINE floats_t exp_falling(floats_t x) {
  const floats_t shifted = x * 0x1.715476p0f + ROUNDING_F32;
  const floats_t n = shifted - ROUNDING_F32;
  const floats_t r = (x - n * 0.693359375f) - n * -0x1.bd0106p-13f;
  floats_t p = EXP_4 * r + EXP_3;
  p = p * r + EXP_2;
  p = p * r + EXP_1;
  p = p * r + EXP_0;
  const floats_t value = (p * (r * r) + r) + 1.0f;
  const ints_t scaled = (ints_t)((uints_t)value + ((uints_t)shifted << 23));
  return (floats_t)(scaled & ~(x < -87.3f));
}

// log(1 + f) - f + f^2 / 2 for 1 + f in [sqrt(1/2), sqrt(2)); |z| is f^2.
ALWAYS_INLINE floats_t log_rest(floats_t f, floats_t z) {
  floats_t p = LOG_8 * f + LOG_7;
  p = p * f + LOG_6;
  p = p * f + LOG_5;
  p = p * f + LOG_4;
  p = p * f + LOG_3;
  p = p * f + LOG_2;
  p = p * f + LOG_1;
  p = p * f + LOG_0;
  return p * (f * z);
}

// The logarithm of x / 2^|shift| for positive normal |x|.
ALWAYS_INLINE floats_t log_normal(floats_t x, ints_t shift) {
  const ints_t power = (ints_t)((uints_t)x - 0x3f3504f3u) >> 23;
  const floats_t f = (floats_t)((uints_t)x - ((uints_t)power << 23)) - 1.0f;
  const floats_t e = __builtin_convertvector(power - shift, floats_t);
  const floats_t z = f * f;
  const floats_t low = (log_rest(f, z) + e * -0x1.bd0106p-13f) - z * 0.5f;
  return (f + low) + e * 0.693359375f;
}

// The logarithm for a vector in which some |x| is not a positive normal number.
static LEAT_COLD floats_t log_special(floats_t x) {
  const ints_t is_small = x < 0x1p-126f;
  floats_t value = log_normal(select_floats(is_small, x * 0x1p23f, x), is_small & 23);
  value = select_floats(x == 0, FLOATS(-__builtin_inff()), value);
  value = select_floats(x < 0, FLOATS(__builtin_nanf("")), value);
  return select_floats(~(x < __builtin_inff()), x, value);  // infinity or NaN
}

ALWAYS_INLINE floats_t log_core(floats_t x) {
  const ints_t is_special = (uints_t)x - 0x00800000u >= 0x7f000000u;
  return LEAT_LIKELY(!has_lane(is_special)) ? log_normal(x, (ints_t){0}) : log_special(x);
}

// Corrects |value| for x = -1, x below it, infinity and NaN.
static LEAT_COLD floats_t log1p_special(floats_t x, floats_t value) {
  value = select_floats(x == -1.0f, FLOATS(-__builtin_inff()), value);
  value = select_floats(x < -1.0f, FLOATS(__builtin_nanf("")), value);
  return select_floats(~(x < __builtin_inff()), x, value);
}

// log(1 + x), as log_core of u, the rounded 1 + x. What rounding lost of x is added again, divided
// by u, and so is what the sum with e ln(2) loses. While e is 0, f is x itself and nothing is lost.
ALWAYS_INLINE floats_t log1p_core(floats_t x) {
  const floats_t u = x + 1.0f;
  const floats_t lost = x - (u - 1.0f);
  // 1 / u within 5 %, by subtracting the exponent bits.
  const floats_t inverse = (floats_t)(0x7ef311c7u - (uints_t)limit_floats(u, 0x1p60f));
  const ints_t power = (ints_t)((uints_t)u - 0x3f3504f3u) >> 23;
  const floats_t m = (floats_t)((uints_t)u - ((uints_t)power << 23));
  const floats_t f = select_floats(power == 0, x, m - 1.0f);
  const floats_t e = __builtin_convertvector(power, floats_t);
  const floats_t z = f * f;
  const floats_t back = (floats_t)((ints_t)(lost * inverse) & (power != 0));
  const floats_t low = ((log_rest(f, z) + back) + e * -0x1.bd0106p-13f) - z * 0.5f;
  const floats_t high = e * 0.693359375f;
  const floats_t sum = high + f;
  const floats_t value = copy_sign_floats(sum + ((f - (sum - high)) + low), x);
  const ints_t is_special = (uints_t)u - 1u >= 0x7f7fffffu;  // u is not in (0, infinity)
  return LEAT_LIKELY(!has_lane(is_special)) ? value : log1p_special(x, value);
}

// tanh is computed as the difference from a value near it: from 1, or from |x| where that is small.
// The difference is small then, and so are the errors of u, of the sum and of the quotient in it.
// That allows a ln(2) in one factor and a power of two without care for the range.
ALWAYS_INLINE floats_t tanh_core(floats_t x) {
  const floats_t magnitude = limit_floats(absolute_floats(x), 10.0f);  // tanh is 1 there
  const floats_t shifted = magnitude * 0x1.715476p1f + (ROUNDING_F32 + 127.0f);
  const floats_t twice = magnitude + magnitude;
  const floats_t r = twice - (shifted - (ROUNDING_F32 + 127.0f)) * 0x1.62e43p-1f;
  floats_t p = EXP_4 * r + EXP_3;
  p = p * r + EXP_2;
  p = p * r + EXP_1;
  p = p * r + EXP_0;
  const floats_t power = (floats_t)((uints_t)shifted << 23);
  const floats_t u = (p * (r * r) + r) * power + (power - 1.0f);
  const floats_t near = select_less_floats(magnitude, 0.625f, magnitude, FLOATS(1.0f));
  const floats_t small = (u - twice) - magnitude * u;
  const floats_t rest = select_less_floats(magnitude, 0.625f, small, FLOATS(-2.0f));
  const floats_t value = near + rest / (u + 2.0f);
  return (floats_t)((ints_t)value | ((ints_t)x & INT32_MIN));
}

// sigmoid as 1 / (1 + e) or e / (1 + e), so that nothing overflows. In the latter case the error of
// e would show in full; it is added again, times the derivative s (1 - s).
ALWAYS_INLINE floats_t sigmoid_core(floats_t x) {
  floats_t error;
  const ints_t is_negative = x < 0;
  const floats_t e = exp_with_error(-absolute_floats(x), &error);
  const floats_t s = select_floats(is_negative, e, FLOATS(1.0f)) / (1.0f + e);
  return s + (s - s * s) * (floats_t)(is_negative & (ints_t)error);
}

// Small arguments use x + x P(x^2), the others 1 - exp(Q(|x|)); the exponential is at most 0.21, so
// that its error counts little.
ALWAYS_INLINE floats_t erf_core(floats_t x) {
  const floats_t magnitude = limit_floats(absolute_floats(x), 4.0f);  // erf is 1 there
  const floats_t z = x * x;
  floats_t s = ERF_5 * z + ERF_4;
  s = s * z + ERF_3;
  s = s * z + ERF_2;
  s = s * z + ERF_1;
  s = s * z + ERF_0;
  floats_t q = LOG_ERFC_6 * magnitude + LOG_ERFC_5;
  q = q * magnitude + LOG_ERFC_4;
  q = q * magnitude + LOG_ERFC_3;
  q = q * magnitude + LOG_ERFC_2;
  q = q * magnitude + LOG_ERFC_1;
  q = q * magnitude + LOG_ERFC_0;
  const floats_t shifted = q * 0x1.715476p0f + (ROUNDING_F32 + 127.0f);
  const floats_t r = q - (shifted - (ROUNDING_F32 + 127.0f)) * 0x1.62e43p-1f;
  floats_t p = EXP_4 * r + EXP_3;
  p = p * r + EXP_2;
  p = p * r + EXP_1;
  p = p * r + EXP_0;
  const floats_t power = (floats_t)((uints_t)shifted << 23);
  const floats_t rest = ((p * (r * r) + r) + 1.0f) * power;
  const floats_t large = copy_sign_floats(1.0f - rest, x);
  return select_less_floats(absolute_floats(x), 0.9f, s * x + x, large);
}

ALWAYS_INLINE floats_t rsqrt_core(floats_t x) { return 1.0f / square_root_floats(x); }

#define NAME exp_f32
#define CORE exp_core
#include "device/cpu/vector_math_loop.inc"

#define NAME log_f32
#define CORE log_core
#include "device/cpu/vector_math_loop.inc"

#define NAME log1p_f32
#define CORE log1p_core
#include "device/cpu/vector_math_loop.inc"

#define NAME tanh_f32
#define CORE tanh_core
#include "device/cpu/vector_math_loop.inc"

#define NAME sigmoid_f32
#define CORE sigmoid_core
#include "device/cpu/vector_math_loop.inc"

#define NAME erf_f32
#define CORE erf_core
#include "device/cpu/vector_math_loop.inc"

#define NAME sqrt_f32
#define CORE square_root_floats
#include "device/cpu/vector_math_loop.inc"

#define NAME rsqrt_f32
#define CORE rsqrt_core
#include "device/cpu/vector_math_loop.inc"

// The sum of a softmax: element i is added to lane i % 16, whatever the width of a vector, and the
// lanes are added to a double every SUM_BLOCK elements in a fixed order.
#define SUM_LANES 16
#define SUM_BLOCK 4096
// The distance of prefetching: the next row of a softmax, when the second-level cache has room for
// both.
#define SUM_AHEAD 1280
#define SUM_AHEAD_MOST (32 * 1024)

static double exp_shifted_sum_f32(const float* x, float shift, float* y, int64_t n) {
  const floats_t shifts = FLOATS(shift);
  const int64_t ahead = n > SUM_AHEAD && n <= SUM_AHEAD_MOST ? n : SUM_AHEAD;
  double sum = 0;
  for (int64_t i = 0; i < n; i += SUM_BLOCK) {
    const int64_t end = LEAT_MIN(n, i + SUM_BLOCK);
    floats_t sums[SUM_LANES / LANES];
    LEAT_UNROLL for (int v = 0; v < SUM_LANES / LANES; ++v) sums[v] = (floats_t){0};
    int64_t j = i;
    for (; j + SUM_LANES <= end; j += SUM_LANES) {
      __builtin_prefetch(x + j + ahead, 0);
      __builtin_prefetch(y + j + ahead, 1);
      LEAT_UNROLL for (int v = 0; v < SUM_LANES / LANES; ++v) {
        const floats_t value = exp_falling(load_floats(x + j + v * LANES) - shifts);
        store_floats(y + j + v * LANES, value);
        sums[v] += value;
      }
    }
    float tail[SUM_LANES] = {0};
    if (j < end) {
      memcpy(tail, x + j, (size_t)(end - j) * sizeof(float));
      LEAT_UNROLL for (int v = 0; v < SUM_LANES / LANES; ++v) {
        store_floats(tail + v * LANES, exp_falling(load_floats(tail + v * LANES) - shifts));
      }
      memcpy(y + j, tail, (size_t)(end - j) * sizeof(float));
    }
    float lanes[SUM_LANES];
    memcpy(lanes, sums, sizeof lanes);
    for (int t = 0; t < SUM_LANES; ++t) sum += (double)lanes[t] + (j + t < end ? tail[t] : 0.0f);
  }
  return sum;
}

#if defined(__F16C__)
#define HALF_TO_FLOAT(x) _cvtsh_ss(x)
#define HALF_FROM_FLOAT(x) _cvtss_sh(x, 0)
#else
#define HALF_TO_FLOAT(x) leat_half_to_float(x)
#define HALF_FROM_FLOAT(x) leat_half_from_float(x)
#endif

static void half_to_float(const uint16_t* x, float* y, int64_t n) {
  int64_t i = 0;
#if defined(__AVX512F__)
  for (; i + 16 <= n; i += 16) {
    _mm512_storeu_ps(y + i, _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i*)(x + i))));
  }
#elif defined(__F16C__)
  for (; i + 8 <= n; i += 8) {
    _mm256_storeu_ps(y + i, _mm256_cvtph_ps(_mm_loadu_si128((const __m128i*)(x + i))));
  }
#endif
  for (; i < n; ++i) y[i] = HALF_TO_FLOAT(x[i]);
}

static void half_from_float(const float* x, uint16_t* y, int64_t n) {
  int64_t i = 0;
#if defined(__AVX512F__)
  for (; i + 16 <= n; i += 16) {
    _mm256_storeu_si256((__m256i*)(y + i), _mm512_cvtps_ph(_mm512_loadu_ps(x + i), 0));
  }
#elif defined(__F16C__)
  for (; i + 8 <= n; i += 8) {
    _mm_storeu_si128((__m128i*)(y + i), _mm256_cvtps_ph(_mm256_loadu_ps(x + i), 0));
  }
#endif
  for (; i < n; ++i) y[i] = HALF_FROM_FLOAT(x[i]);
}

static void bfloat16_to_float(const uint16_t* x, float* y, int64_t n) {
  for (int64_t i = 0; i < n; ++i) y[i] = leat_bfloat16_to_float(x[i]);
}

static void bfloat16_from_float(const float* x, uint16_t* y, int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    const uint32_t bits = leat_float_bits(x[i]);
    const uint32_t rounded = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
    const uint32_t quiet = bits >> 16 | 0x40;
    y[i] = (uint16_t)((bits & 0x7fffffff) > 0x7f800000 ? quiet : rounded);
  }
}

const leat_vector_math_t LEAT_ISA_NAME(leat_vector_math) = {
#define WIDE_F32(name) .name##_f32 = LEAT_ISA_NAME(leat_vector_##name##_f32),
    LEAT_VECTOR_MATH_WIDE_FUNCTIONS(WIDE_F32)
#define ANY_F64(name) .name##_f64 = leat_vector_##name##_f64,
        LEAT_VECTOR_MATH_FUNCTIONS(ANY_F64)
            .exp_f32 = exp_f32,
    .log_f32 = log_f32,
    .log1p_f32 = log1p_f32,
    .tanh_f32 = tanh_f32,
    .sigmoid_f32 = sigmoid_f32,
    .erf_f32 = erf_f32,
    .sqrt_f32 = sqrt_f32,
    .rsqrt_f32 = rsqrt_f32,
    .exp_shifted_sum_f32 = exp_shifted_sum_f32,
    .half_to_float = half_to_float,
    .half_from_float = half_from_float,
    .bfloat16_to_float = bfloat16_to_float,
    .bfloat16_from_float = bfloat16_from_float,
};
