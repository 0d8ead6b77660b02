// Philox 4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", 2011), the
// generator of TensorFlow's seeded random ops, and a source of true seeds for unseeded ones. Philox
// is a function from a counter to four random words. The n-th number of a sequence is therefore
// computed without those before it, and threads share one sequence by skipping to their part of it:
//
//   leat_philox_t mine = leat_philox_make(seed, seed2);
//   leat_philox_skip(&mine, first_index / 4);
//   leat_philox_next(&mine, words);
#ifndef LEAT_BASE_RANDOM_H_
#define LEAT_BASE_RANDOM_H_

#include <stdint.h>

// A plain value: copying it forks the sequence. The counter's words are little-endian, counter[0]
// first, and wrap at 2^128.
typedef struct leat_philox_s {
  uint32_t counter[4];
  uint32_t key[2];
} leat_philox_t;

// As TensorFlow seeds it: key from |seed_lo|, counter's upper half from |seed_hi|.
leat_philox_t leat_philox_make(uint64_t seed_lo, uint64_t seed_hi);
// The next four words of the sequence; the counter moves on by one.
void leat_philox_next(leat_philox_t* philox, uint32_t out_words[4]);
// Moves the counter on by |count| groups of four.
void leat_philox_skip(leat_philox_t* philox, uint64_t count);

// Unpredictable bits from the operating system, for unseeded ops and unique names.
uint64_t leat_random_seed(void);

#endif  // LEAT_BASE_RANDOM_H_
