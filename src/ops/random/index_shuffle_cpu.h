// A random permutation of [0, max_index] that needs no table (ops/random/shuffle_cpu.c): what
// RandomIndexShuffle gives, and the order of GlobalShuffleDataset.
#ifndef LEAT_OPS_RANDOM_INDEX_SHUFFLE_CPU_H_
#define LEAT_OPS_RANDOM_INDEX_SHUFFLE_CPU_H_

#include "kernel/step_check.h"

// Replaces |*inout_index|, at most |max_index|, by the place of the permutation that |seed| and
// |rounds| (even, at most 1024) choose. CANCELLED or DEADLINE_EXCEEDED when the step shall end.
LEAT_MUST_USE leat_status_t leat_index_shuffle(leat_step_pace_t* pace, const uint32_t seed[3],
                                               uint64_t max_index, int rounds,
                                               uint64_t* inout_index);

#endif  // LEAT_OPS_RANDOM_INDEX_SHUFFLE_CPU_H_
