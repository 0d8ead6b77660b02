// The generator of a stateful random op. It moves on with every run of its node; all plans of a
// session that hold the node share it, as they do in TensorFlow.
//
// A kernel reserves as many groups as it may need, which takes a lock for a moment, and then works
// with a copy of the generator on any number of threads. Steps that run at once thus get different
// numbers.
#ifndef LEAT_OPS_RANDOM_GENERATOR_CPU_H_
#define LEAT_OPS_RANDOM_GENERATOR_CPU_H_

#include "base/random.h"
#include "kernel/kernel.h"

typedef struct leat_generator_s leat_generator_t;
// Gives the node's generator, which the caller releases. It is seeded by the attributes "seed" and
// "seed2", or by the operating system when both are 0.
LEAT_MUST_USE leat_status_t leat_generator_open(leat_kernel_creation_t* c,
                                                leat_generator_t** out_generator);
void leat_generator_release(leat_generator_t* generator);  // NULL is allowed
// Gives the generator as it is now, and moves it on by |samples| groups. Where the step of |c| runs
// for an iterator, that is a seeded generator as the iterator has left it (kernel/draw_counts.h).
// May be called from any thread.
LEAT_MUST_USE leat_status_t leat_generator_reserve(const leat_kernel_context_t* c,
                                                   leat_generator_t* generator, uint64_t samples,
                                                   leat_philox_t* out_philox);

// The state of kernels that need nothing but a generator, with its create and destroy functions.
typedef struct leat_generator_state_s {
  leat_generator_t* generator;
} leat_generator_state_t;
LEAT_MUST_USE leat_status_t leat_generator_state_create(leat_kernel_creation_t* c, void* state);
void leat_generator_state_destroy(void* state);
// A row of such a kernel; further fields of the row may follow the compute function.
#define LEAT_GENERATOR_KERNEL(op_name, types, ...)                                                \
  LEAT_CPU_KERNEL(op_name, types, leat_generator_state_t, leat_generator_state_create,            \
                  __VA_ARGS__, .destroy = leat_generator_state_destroy)

#endif  // LEAT_OPS_RANDOM_GENERATOR_CPU_H_
