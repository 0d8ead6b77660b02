// Philox 4x32-10 over vectors, compiled for each instruction set, and the cheap distributions that
// are made of its words (philox_vectors.h).
//
// Philox multiplies 32-bit words to 64 bits ten times over. x86 multiplies the lower halves of
// 64-bit lanes, so each word lives in the lower half of a lane; what is in the upper half does not
// matter, since the multiplication does not read it. That gives c1 = b below without a mask.
//
//   lane i of c0..c3  =  the counter of group i:  low + i * stride, high
//
// A round depends on the one before it, and a multiplication takes several cycles; so TURNS vectors
// go through the rounds side by side. Groups whose counters would carry into the upper half are
// made one at a time.
#include <math.h>

#include "device/cpu/vector_math.h"
#include "device/cpu/vector_math_lanes.h"
#include "ops/random/philox_vectors.h"

#if defined(__AVX512F__)
#define TURNS 4
#else
#define TURNS 2
#endif
#define BATCH (TURNS * HALF_LANES)

#define LOW_HALF 0xffffffffu

// The products of the lower halves of all lanes.
ALWAYS_INLINE ulongs_t multiply_low_halves(ulongs_t a, ulongs_t b) {
#if defined(__AVX512F__)
  return (ulongs_t)_mm512_mul_epu32((__m512i)a, (__m512i)b);
#elif defined(__AVX2__)
  return (ulongs_t)_mm256_mul_epu32((__m256i)a, (__m256i)b);
#elif defined(__x86_64__)
  return (ulongs_t)_mm_mul_epu32((__m128i)a, (__m128i)b);
#else
  return (a & LOW_HALF) * (b & LOW_HALF);
#endif
}

#define SPREAD(x) ((ulongs_t){0} + (uint64_t)(x))

// Stores the lanes of |a| and |b| alternately: a0 b0 a1 b1 ...
ALWAYS_INLINE void store_interleaved(ulongs_t a, ulongs_t b, uint32_t* out) {
#if HALF_LANES == 8
  ulongs_t first = __builtin_shufflevector(a, b, 0, 8, 1, 9, 2, 10, 3, 11);
  ulongs_t second = __builtin_shufflevector(a, b, 4, 12, 5, 13, 6, 14, 7, 15);
#elif HALF_LANES == 4
  ulongs_t first = __builtin_shufflevector(a, b, 0, 4, 1, 5);
  ulongs_t second = __builtin_shufflevector(a, b, 2, 6, 3, 7);
#else
  ulongs_t first = __builtin_shufflevector(a, b, 0, 2);
  ulongs_t second = __builtin_shufflevector(a, b, 1, 3);
#endif
  memcpy(out, &first, sizeof first);
  memcpy(out + VECTOR_BYTES / 4, &second, sizeof second);
}

// Makes BATCH groups; |low| and |high| are the halves of the first group's counter.
ALWAYS_INLINE void batch_words(uint64_t low, uint64_t high, uint64_t stride, const uint32_t* key,
                               uint32_t* out) {
  ulongs_t c0[TURNS], c1[TURNS], c2[TURNS], c3[TURNS];
  ulongs_t lanes;
  LEAT_UNROLL for (int i = 0; i < HALF_LANES; ++i) lanes[i] = (uint64_t)i * stride;
#pragma GCC unroll 4
  for (int t = 0; t < TURNS; ++t) {
    c0[t] = SPREAD(low + (uint64_t)t * HALF_LANES * stride) + lanes;
    c1[t] = c0[t] >> 32;
    c2[t] = SPREAD(high);
    c3[t] = SPREAD(high >> 32);
  }
  uint32_t key_a = key[0], key_b = key[1];
#pragma GCC unroll 10
  for (int round = 0; round < 10; ++round) {
    ulongs_t a_key = SPREAD(key_a), b_key = SPREAD(key_b);
#pragma GCC unroll 4
    for (int t = 0; t < TURNS; ++t) {
      ulongs_t a = multiply_low_halves(c0[t], SPREAD(0xd2511f53u));
      ulongs_t b = multiply_low_halves(c2[t], SPREAD(0xcd9e8d57u));
      c0[t] = (b >> 32) ^ c1[t] ^ a_key;
      c2[t] = (a >> 32) ^ c3[t] ^ b_key;
      c1[t] = b;
      c3[t] = a;
    }
    key_a += 0x9e3779b9u;
    key_b += 0xbb67ae85u;
  }
#pragma GCC unroll 4
  for (int t = 0; t < TURNS; ++t) {
    store_interleaved((c0[t] & LOW_HALF) | c1[t] << 32, (c2[t] & LOW_HALF) | c3[t] << 32,
                      out + t * HALF_LANES * 4);
  }
}

static void words(const leat_philox_t* first, uint64_t stride, int64_t count, uint32_t* out) {
  leat_philox_t philox = *first;
  uint64_t low = (uint64_t)philox.counter[1] << 32 | philox.counter[0];
  uint64_t high = (uint64_t)philox.counter[3] << 32 | philox.counter[2];
  uint64_t span;
  bool carries = !leat_checked_multiply((uint64_t)count, stride, &span) || low + span < low;
  int64_t i = 0;
  for (; !carries && i + BATCH <= count; i += BATCH, out += BATCH * 4) {
    batch_words(low + (uint64_t)i * stride, high, stride, philox.key, out);
  }
  leat_philox_skip(&philox, (uint64_t)i * stride);
  for (; i < count; ++i, out += 4) {
    leat_philox_next(&philox, out);
    leat_philox_skip(&philox, stride - 1);
  }
}

static void uniform_f32(const uint32_t* x, float* out, int64_t n) {
  for (int64_t i = 0; i < n; ++i) out[i] = (float)(int32_t)(x[i] & 0x7fffff) * 0x1p-23f;
}

static void uniform_f64(const uint32_t* x, double* out, int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    uint64_t bits = (uint64_t)1023 << 52 | (uint64_t)(x[2 * i] & 0xfffff) << 32 | x[2 * i + 1];
    double value;
    memcpy(&value, &bits, sizeof value);
    out[i] = value - 1;
  }
}

// Computes the remainder by two multiplications instead of a division (Lemire, Kaser, Kurz: "Faster
// remainder by direct computation", 2019).
static void integer_32(const uint32_t* x, int32_t low, uint32_t range, int32_t* out, int64_t n) {
  const uint64_t inverse = UINT64_MAX / range + 1;
  for (int64_t i = 0; i < n; ++i) {
    uint64_t fraction = inverse * x[i];
    uint32_t rest = (uint32_t)(((unsigned __int128)fraction * range) >> 64);
    out[i] = (int32_t)((uint32_t)low + rest);
  }
}

static void polar_f32(const uint32_t* x, float* radii, float* angles, int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    float u = (float)(int32_t)(x[2 * i] & 0x7fffff) * 0x1p-23f;
    float v = (float)(int32_t)(x[2 * i + 1] & 0x7fffff) * 0x1p-23f;
    radii[i] = u < 1e-7f ? 1e-7f : u;
    angles[i] = (float)(2 * M_PI * (double)v);
  }
  leat_vector_math()->log_f32(radii, radii, n);
  for (int64_t i = 0; i < n; ++i) radii[i] = sqrtf(-2.0f * radii[i]);
}

static void pairs_f32(const float* radii, const float* sines, const float* cosines, float* out,
                      int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    out[2 * i] = radii[i] * sines[i];
    out[2 * i + 1] = radii[i] * cosines[i];
  }
}

const leat_philox_vectors_t LEAT_ISA_NAME(leat_philox_vectors) = {
    .words = words,
    .uniform_f32 = uniform_f32,
    .uniform_f64 = uniform_f64,
    .integer_32 = integer_32,
    .polar_f32 = polar_f32,
    .pairs_f32 = pairs_f32,
};
