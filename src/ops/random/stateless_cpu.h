// Generators of the stateless random ops: from a seed of two numbers, which is scrambled, or from a
// key and a counter, which are taken as they are. A kernel makes its generator in each step from
// its inputs; equal inputs give equal numbers, on every machine and with any number of threads.
// INVALID_ARGUMENT when the inputs are no such thing.
#ifndef LEAT_OPS_RANDOM_STATELESS_CPU_H_
#define LEAT_OPS_RANDOM_STATELESS_CPU_H_

#include "base/random.h"
#include "kernel/kernel.h"

// Input |index| is the seed, a vector of two int32 or int64.
LEAT_MUST_USE leat_status_t leat_stateless_from_seed(const leat_kernel_context_t* c, int index,
                                                     leat_philox_t* out_philox);
// Inputs |index| to |index| + 2 are key [1], counter [2 or more] and algorithm [].
LEAT_MUST_USE leat_status_t leat_stateless_from_key(const leat_kernel_context_t* c, int index,
                                                    leat_philox_t* out_philox);

// Checks such inputs; a counter has at least |least| words.
LEAT_MUST_USE leat_status_t leat_stateless_check_key(const leat_kernel_context_t* c, int index,
                                                     int least);

// TensorFlow's numbers of algorithms; only Philox is made here.
#define LEAT_STATELESS_PHILOX 1
#define LEAT_STATELESS_THREEFRY 2
#define LEAT_STATELESS_AUTO_SELECT 3

#endif  // LEAT_OPS_RANDOM_STATELESS_CPU_H_
