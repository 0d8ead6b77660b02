// Where shuffling and random datasets get the seeds of each pass: always the same two, or new ones
// that follow from the first two. They are drawn as TensorFlow draws them, so that the orders are
// TensorFlow's. A dataset opens its generator when it is made and asks it for two seeds whenever an
// iterator begins; several datasets that share a generator, by its handle, take seeds in turn.
#ifndef LEAT_OPS_DATASET_SEED_GENERATOR_CPU_H_
#define LEAT_OPS_DATASET_SEED_GENERATOR_CPU_H_

#include "base/random.h"
#include "kernel/kernel.h"
#include "kernel/resource.h"

// Gives the words of a Philox generator one by one. Belongs to one thread.
typedef struct leat_word_source_s {
  leat_philox_t philox;
  uint32_t words[4];
  int used;  // words already given; 4: the next ones have to be made
} leat_word_source_t;
leat_word_source_t leat_word_source_make(int64_t seed, int64_t seed2);
uint32_t leat_word_source_next(leat_word_source_t* source);

typedef struct leat_seed_generator_s leat_seed_generator_t;
extern const leat_resource_kind_t leat_seed_generator_kind;
// Makes a generator, which is a resource. Two seeds of 0 stand for seeds of the operating system.
// |reshuffle|: each pass gets new seeds.
LEAT_MUST_USE leat_status_t leat_seed_generator_create(int64_t seed, int64_t seed2, bool reshuffle,
                                                       leat_seed_generator_t** out_generator);
// Finds the generator for a kernel. It is the resource at input |handle_input|, or, where that is
// -1 or a dummy, a new one with the seeds at inputs |seed_input| and |seed_input| + 1 (-1: seeds of
// the operating system). The caller gets a reference.
LEAT_MUST_USE leat_status_t leat_seed_generator_open(leat_kernel_context_t* c, int seed_input,
                                                     int handle_input, bool reshuffle,
                                                     leat_seed_generator_t** out_generator);
// The generator as a resource, for its reference count.
static inline leat_resource_t* leat_seed_generator_resource(leat_seed_generator_t* generator) {
  return (leat_resource_t*)generator;
}
// Gives the seeds of another pass: the generator's own two, or with |reshuffle| new ones.
// Thread-safe.
void leat_seed_generator_next(leat_seed_generator_t* generator, int64_t* out_seed,
                              int64_t* out_seed2);

#endif  // LEAT_OPS_DATASET_SEED_GENERATOR_CPU_H_
