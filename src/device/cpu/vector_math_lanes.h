// Vectors of one instruction set, for files that are compiled once per set (*_isa.c; base/cpu.h
// tells how they are chosen). A vector has LANES floats or HALF_LANES doubles: 64, 32 or 16 bytes.
// A file writes its loop once over these types and functions and becomes AVX-512, AVX2 or baseline
// code by the flags that it is compiled with.
//
// Arithmetic is written with C's operators on vector types and never fused into multiply-adds, so
// that every set gives the same bits; multiply_add_floats is for code that gives that up for speed.
// Intrinsics are used only where the operators have no such
// operation, or compile badly. All functions are inlined. A comparison of vectors gives a mask: a
// lane has all bits set where it holds and none where it does not.
#ifndef LEAT_DEVICE_CPU_VECTOR_MATH_LANES_H_
#define LEAT_DEVICE_CPU_VECTOR_MATH_LANES_H_

#include <stdint.h>
#include <string.h>

#include "base/attributes.h"
#include "base/checked.h"
#include "base/cpu.h"

#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

#if defined(__AVX512F__)
#define VECTOR_BYTES 64
#elif defined(__AVX2__)
#define VECTOR_BYTES 32
#else
#define VECTOR_BYTES 16
#endif
#define LANES (VECTOR_BYTES / 4)
#define HALF_LANES (VECTOR_BYTES / 8)

// Inlined in debug builds too, where a call for each operation would make tests slow.
#define ALWAYS_INLINE static inline __attribute__((always_inline))

// The vector types: of numbers, and of integers of the same width for masks and bits. A cast
// between them keeps the bits.
typedef float floats_t __attribute__((vector_size(VECTOR_BYTES)));
typedef int32_t ints_t __attribute__((vector_size(VECTOR_BYTES)));
typedef uint32_t uints_t __attribute__((vector_size(VECTOR_BYTES)));
typedef double doubles_t __attribute__((vector_size(VECTOR_BYTES)));
typedef int64_t longs_t __attribute__((vector_size(VECTOR_BYTES)));
typedef uint64_t ulongs_t __attribute__((vector_size(VECTOR_BYTES)));
typedef float half_floats_t __attribute__((vector_size(VECTOR_BYTES / 2)));

// A vector whose lanes are all |x|. Subtracting a zero vector is how C spreads a number, and it
// keeps -0.
#define FLOATS(x) ((x) - (floats_t){0})
#define DOUBLES(x) ((x) - (doubles_t){0})

// |p| needs no alignment; the copy becomes one instruction.
ALWAYS_INLINE floats_t load_floats(const float* p) {
  floats_t v;
  memcpy(&v, p, sizeof v);
  return v;
}
// |p| needs no alignment.
ALWAYS_INLINE void store_floats(float* p, floats_t v) { memcpy(p, &v, sizeof v); }

// a * b + c, rounded once where the machine has such an instruction, and twice elsewhere.
ALWAYS_INLINE floats_t multiply_add_floats(floats_t a, floats_t b, floats_t c) {
#if defined(__AVX512F__)
  return (floats_t)_mm512_fmadd_ps((__m512)a, (__m512)b, (__m512)c);
#elif defined(__FMA__)
  return (floats_t)_mm256_fmadd_ps((__m256)a, (__m256)b, (__m256)c);
#elif defined(__aarch64__)
  return (floats_t)vfmaq_f32((float32x4_t)c, (float32x4_t)a, (float32x4_t)b);
#else
  return a * b + c;
#endif
}

// Lane by lane |a| where |mask| has all bits set, |b| where it has none.
ALWAYS_INLINE floats_t select_floats(ints_t mask, floats_t a, floats_t b) {
  return (floats_t)((mask & (ints_t)a) | (~mask & (ints_t)b));
}
// Selects with the mask x < |limit|. Compilers take masks of constant operands apart into slower
// code; the intrinsic does not allow that.
ALWAYS_INLINE floats_t select_less_floats(floats_t x, float limit, floats_t a, floats_t b) {
#if defined(__AVX512F__)
  const __mmask16 mask = _mm512_cmp_ps_mask((__m512)x, _mm512_set1_ps(limit), _CMP_LT_OQ);
  return (floats_t)_mm512_mask_blend_ps(mask, (__m512)b, (__m512)a);
#else
  return select_floats(x < limit, a, b);
#endif
}
// Selects doubles, with masks of 64 bits.
ALWAYS_INLINE doubles_t select_doubles(longs_t mask, doubles_t a, doubles_t b) {
  return (doubles_t)((mask & (longs_t)a) | (~mask & (longs_t)b));
}

// The number without its sign bit, of NaN too.
ALWAYS_INLINE floats_t absolute_floats(floats_t x) {
  return (floats_t)((ints_t)x & 0x7fffffff);
}
// The magnitude of one operand with the sign of the other, lane by lane, NaN and -0 included.
ALWAYS_INLINE floats_t copy_sign_floats(floats_t magnitude, floats_t sign) {
  return (floats_t)(((ints_t)magnitude & 0x7fffffff) | ((ints_t)sign & INT32_MIN));
}
// absolute_floats and copy_sign_floats for doubles.
ALWAYS_INLINE doubles_t absolute_doubles(doubles_t x) {
  return (doubles_t)((longs_t)x & INT64_MAX);
}
ALWAYS_INLINE doubles_t copy_sign_doubles(doubles_t magnitude, doubles_t sign) {
  return (doubles_t)(((longs_t)magnitude & INT64_MAX) | ((longs_t)sign & INT64_MIN));
}

// Correctly rounded, as the instruction gives it; not the fast estimate.
ALWAYS_INLINE floats_t square_root_floats(floats_t x) {
#if defined(__AVX512F__)
  return (floats_t)_mm512_sqrt_ps((__m512)x);
#elif defined(__AVX2__)
  return (floats_t)_mm256_sqrt_ps((__m256)x);
#elif defined(__x86_64__)
  return (floats_t)_mm_sqrt_ps((__m128)x);
#else
  LEAT_UNROLL for (int i = 0; i < LANES; ++i) x[i] = __builtin_sqrtf(x[i]);
  return x;
#endif
}

// The lesser of |x| and |limit|; NaN where |x| is NaN.
ALWAYS_INLINE floats_t limit_floats(floats_t x, float limit) {
#if defined(__AVX512F__)
  return (floats_t)_mm512_min_ps(_mm512_set1_ps(limit), (__m512)x);
#elif defined(__AVX2__)
  return (floats_t)_mm256_min_ps(_mm256_set1_ps(limit), (__m256)x);
#elif defined(__x86_64__)
  return (floats_t)_mm_min_ps(_mm_set1_ps(limit), (__m128)x);
#else
  return select_floats(x > limit, FLOATS(limit), x);
#endif
}

// The greater of |x| and |limit|; NaN where |x| is NaN.
ALWAYS_INLINE floats_t raise_floats(floats_t x, float limit) {
#if defined(__AVX512F__)
  return (floats_t)_mm512_max_ps(_mm512_set1_ps(limit), (__m512)x);
#elif defined(__AVX2__)
  return (floats_t)_mm256_max_ps(_mm256_set1_ps(limit), (__m256)x);
#elif defined(__x86_64__)
  return (floats_t)_mm_max_ps(_mm_set1_ps(limit), (__m128)x);
#else
  return select_floats(x < limit, FLOATS(limit), x);
#endif
}

// 1.5 * 2^23. Adding it to a number of magnitude below 2^22 rounds that to an integer, which is
// then in the low bits of the sum.
#define ROUNDING_F32 0x1.8p23f

// |x| 2^|n| for integers n in [-252, 254] and |x| near 1, rounded once, even to a denormal.
ALWAYS_INLINE floats_t scale_floats(floats_t x, floats_t n) {
#if defined(__AVX512F__)
  return (floats_t)_mm512_scalef_ps((__m512)x, (__m512)n);
#else
  const ints_t power = (ints_t)(n + ROUNDING_F32) - 0x4b400000;
  const ints_t first = power >> 1, second = power - first;
  return x * (floats_t)((first + 127) << 23) * (floats_t)((second + 127) << 23);
#endif
}

// The first and the last HALF_LANES lanes of |x| as doubles; join_doubles is the reverse.
ALWAYS_INLINE void split_floats(floats_t x, doubles_t* out_first, doubles_t* out_last) {
#if defined(__AVX512F__)
  *out_first = (doubles_t)_mm512_cvtps_pd(_mm512_castps512_ps256((__m512)x));
  *out_last = (doubles_t)_mm512_cvtps_pd(_mm512_extractf32x8_ps((__m512)x, 1));
#elif defined(__AVX2__)
  *out_first = (doubles_t)_mm256_cvtps_pd(_mm256_castps256_ps128((__m256)x));
  *out_last = (doubles_t)_mm256_cvtps_pd(_mm256_extractf128_ps((__m256)x, 1));
#else
  LEAT_UNROLL for (int i = 0; i < HALF_LANES; ++i) {
    (*out_first)[i] = x[i];
    (*out_last)[i] = x[i + HALF_LANES];
  }
#endif
}
// Rounds the doubles to floats and puts both halves into one vector.
ALWAYS_INLINE floats_t join_doubles(doubles_t first, doubles_t last) {
#if defined(__AVX512F__)
  const __m512 half = _mm512_castps256_ps512(_mm512_cvtpd_ps((__m512d)first));
  return (floats_t)_mm512_insertf32x8(half, _mm512_cvtpd_ps((__m512d)last), 1);
#elif defined(__AVX2__)
  return (floats_t)_mm256_set_m128(_mm256_cvtpd_ps((__m256d)last),
                                   _mm256_cvtpd_ps((__m256d)first));
#else
  floats_t x;
  LEAT_UNROLL for (int i = 0; i < HALF_LANES; ++i) {
    x[i] = (float)first[i];
    x[i + HALF_LANES] = (float)last[i];
  }
  return x;
#endif
}

// Whether any lane of |mask| is set. Loops use it to leave a rare case to slower code.
ALWAYS_INLINE int has_lane(ints_t mask) {
#if defined(__AVX512F__)
  return _mm512_movepi32_mask((__m512i)mask) != 0;
#elif defined(__AVX2__)
  return _mm256_movemask_ps((__m256)mask) != 0;
#elif defined(__x86_64__)
  return _mm_movemask_ps((__m128)mask) != 0;
#else
  int any = 0;
  LEAT_UNROLL for (int i = 0; i < LANES; ++i) any |= mask[i];
  return any;
#endif
}

#endif  // LEAT_DEVICE_CPU_VECTOR_MATH_LANES_H_
