// Generators of the stateless random ops: from a seed of two numbers (scrambled), or from a key
// and a counter.
#ifndef LEAT_OPS_RANDOM_STATELESS_CPU_H_
#define LEAT_OPS_RANDOM_STATELESS_CPU_H_

#include "base/random.h"
#include "kernel/kernel.h"

// Input |index|: a vector of two int32 or int64.
LEAT_MUST_USE leat_status_t leat_stateless_from_seed(const leat_kernel_context_t* c, int index,
                                                     leat_philox_t* out_philox);
// Inputs |index| to |index| + 2: key, counter, algorithm.
LEAT_MUST_USE leat_status_t leat_stateless_from_key(const leat_kernel_context_t* c, int index,
                                                    leat_philox_t* out_philox);

#define LEAT_STATELESS_PHILOX 1       // algorithms
#define LEAT_STATELESS_THREEFRY 2
#define LEAT_STATELESS_AUTO_SELECT 3

#endif  // LEAT_OPS_RANDOM_STATELESS_CPU_H_
