// Many Philox groups at once, and the cheap distributions over their words, compiled for each
// instruction set in philox_isa.c. The functions neither allocate nor block; fill_cpu.c calls them
// block by block. A group is four words; the counter of the generator names it.
#ifndef LEAT_OPS_RANDOM_PHILOX_VECTORS_H_
#define LEAT_OPS_RANDOM_PHILOX_VECTORS_H_

#include "base/cpu.h"
#include "base/random.h"

typedef struct leat_philox_vectors_s {
  // Writes |count| groups, whose counters are |first|'s, that + |stride|, that + 2 |stride|, ...
  void (*words)(const leat_philox_t* first, uint64_t stride, int64_t count, uint32_t* out_words);
  // |n| uniform numbers in [0, 1): a float from the low 23 bits of a word; a double from 20 bits of
  // one word and all of the next.
  void (*uniform_f32)(const uint32_t* words, float* out, int64_t n);
  void (*uniform_f64)(const uint32_t* words, double* out, int64_t n);
  // low + word % range, with range > 0.
  void (*integer_32)(const uint32_t* words, int32_t low, uint32_t range, int32_t* out, int64_t n);
  // The first half of Box-Muller, for |n| pairs of words (u, v): radii sqrt(-2 log u), angles 2 pi
  // v.
  void (*polar_f32)(const uint32_t* words, float* out_radii, float* out_angles, int64_t n);
  // The second half, for |n| pairs: x[2i] = radius * sine, x[2i + 1] = radius * cosine.
  void (*pairs_f32)(const float* radii, const float* sines, const float* cosines, float* out,
                    int64_t n);
} leat_philox_vectors_t;
LEAT_ISA_DECLARE(leat_philox_vectors_t, leat_philox_vectors);

static inline const leat_philox_vectors_t* leat_philox_vectors(void) {
  return LEAT_ISA_SELECT(leat_philox_vectors);
}

#endif  // LEAT_OPS_RANDOM_PHILOX_VECTORS_H_
