// The loops that measure a machine's limits, for one instruction set. Twelve independent chains
// hide the latency of a multiply-add (4 cycles, at 2 a cycle), and each has a register of its own
// on every set but the baseline.
#include "device/cpu/peak.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#if defined(__AVX512F__)
#define VECTOR_BYTES 64
#define MULTIPLY_ADD(a, b, c) ((vector_t)_mm512_fmadd_ps((__m512)(a), (__m512)(b), (__m512)(c)))
#elif defined(__FMA__)
#define VECTOR_BYTES 32
#define MULTIPLY_ADD(a, b, c) ((vector_t)_mm256_fmadd_ps((__m256)(a), (__m256)(b), (__m256)(c)))
#else
#define VECTOR_BYTES 16
#define MULTIPLY_ADD(a, b, c) ((a) * (b) + (c))
#endif
#define LANES (VECTOR_BYTES / 4)
#define CHAINS 12

typedef float vector_t __attribute__((vector_size(VECTOR_BYTES)));
typedef uint64_t words_t __attribute__((vector_size(VECTOR_BYTES), may_alias));

static double multiply_add(int64_t rounds) {
  vector_t sums[CHAINS];
  vector_t factor = (vector_t){0} + 0.999f, term = (vector_t){0} + 0.001f;
  LEAT_UNROLL for (int i = 0; i < CHAINS; ++i) sums[i] = (vector_t){0} + (float)i;
  for (int64_t r = 0; r < rounds; ++r) {
    LEAT_UNROLL for (int i = 0; i < CHAINS; ++i) sums[i] = MULTIPLY_ADD(sums[i], factor, term);
  }
  LEAT_UNROLL for (int i = 1; i < CHAINS; ++i) sums[0] += sums[i];
  volatile vector_t sink = sums[0];
  (void)sink;
  return 2.0 * LANES * CHAINS * (double)rounds;
}

static uint64_t read_all(const void* data, size_t size) {
  words_t sums[4] = {{0}};
  const words_t* words = data;
  const size_t count = size / sizeof(words_t);
  for (size_t i = 0; i + 4 <= count; i += 4) {
    LEAT_UNROLL for (size_t k = 0; k < 4; ++k) sums[k] += words[i + k];
  }
  sums[0] += sums[1] + sums[2] + sums[3];
  uint64_t sum = 0;
  for (size_t i = 0; i < sizeof(words_t) / 8; ++i) sum += sums[0][i];
  return sum;
}

const leat_peak_functions_t LEAT_ISA_NAME(leat_peak) = {multiply_add, read_all};
