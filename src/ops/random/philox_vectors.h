// Many Philox groups at once, and what cheap distributions make of their words.
#ifndef LEAT_OPS_RANDOM_PHILOX_VECTORS_H_
#define LEAT_OPS_RANDOM_PHILOX_VECTORS_H_

#include "base/cpu.h"
#include "base/random.h"

typedef struct leat_philox_vectors_s {
  // |count| groups of four words, whose counters are |first|'s, + |stride|, + 2 |stride|, ...
  void (*words)(const leat_philox_t* first, uint64_t stride, int64_t count, uint32_t* out_words);
  // Uniform in [0, 1): the low 23 bits of a word; 20 bits of one word and the next one.
  void (*uniform_f32)(const uint32_t* words, float* out, int64_t n);
  void (*uniform_f64)(const uint32_t* words, double* out, int64_t n);
  // low + word % range; range > 0.
  void (*integer_32)(const uint32_t* words, int32_t low, uint32_t range, int32_t* out, int64_t n);
  // For pairs of words (Box-Muller): radii sqrt(-2 log u) and angles 2 pi v; n pairs.
  void (*polar_f32)(const uint32_t* words, float* out_radii, float* out_angles, int64_t n);
  // x[2i] = radius * sine, x[2i + 1] = radius * cosine.
  void (*pairs_f32)(const float* radii, const float* sines, const float* cosines, float* out,
                    int64_t n);
} leat_philox_vectors_t;
LEAT_ISA_DECLARE(leat_philox_vectors_t, leat_philox_vectors);

static inline const leat_philox_vectors_t* leat_philox_vectors(void) {
  return LEAT_ISA_SELECT(leat_philox_vectors);
}

#endif  // LEAT_OPS_RANDOM_PHILOX_VECTORS_H_
