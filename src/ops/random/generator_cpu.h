// The generator of a stateful random op. It moves on with every run of its node; all plans of a
// session that hold the node share it, as they do in TensorFlow.
#ifndef LEAT_OPS_RANDOM_GENERATOR_CPU_H_
#define LEAT_OPS_RANDOM_GENERATOR_CPU_H_

#include "base/random.h"
#include "kernel/kernel.h"

typedef struct leat_generator_s leat_generator_t;
// Seeded by attributes "seed" and "seed2"; when both are 0, by the operating system.
LEAT_MUST_USE leat_status_t leat_generator_open(leat_kernel_creation_t* c,
                                                leat_generator_t** out_generator);
void leat_generator_release(leat_generator_t* generator);  // NULL is allowed
// The generator as it is now, which then moves on by |samples| groups. Thread-safe.
leat_philox_t leat_generator_reserve(leat_generator_t* generator, uint64_t samples);

// State of kernels that need nothing else, with their create and destroy.
typedef struct leat_generator_state_s {
  leat_generator_t* generator;
} leat_generator_state_t;
LEAT_MUST_USE leat_status_t leat_generator_state_create(leat_kernel_creation_t* c, void* state);
void leat_generator_state_destroy(void* state);
// Their row (ops/family.h); further fields may follow |compute_fn|.
#define LEAT_GENERATOR_KERNEL(op_name, types, ...)                                                \
  LEAT_CPU_KERNEL(op_name, types, leat_generator_state_t, leat_generator_state_create,            \
                  __VA_ARGS__, .destroy = leat_generator_state_destroy)

#endif  // LEAT_OPS_RANDOM_GENERATOR_CPU_H_
