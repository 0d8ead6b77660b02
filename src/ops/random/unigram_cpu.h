// Distributions over classes by how often each occurs: known beforehand (fixed), or counted while
// sampling goes on (learned).
#ifndef LEAT_OPS_RANDOM_UNIGRAM_CPU_H_
#define LEAT_OPS_RANDOM_UNIGRAM_CPU_H_

#include "kernel/kernel.h"
#include "kernel/resource.h"
#include "ops/random/word_stream_cpu.h"

// ---- Fixed --------------------------------------------------------------------------------------

typedef struct leat_fixed_unigrams_s leat_fixed_unigrams_t;
// From the attributes of FixedUnigramCandidateSampler; INVALID_ARGUMENT unless there are |range|
// weights.
LEAT_MUST_USE leat_status_t leat_fixed_unigrams_create(leat_kernel_creation_t* c, int64_t range,
                                                       leat_fixed_unigrams_t** out_unigrams);
void leat_fixed_unigrams_free(leat_fixed_unigrams_t* unigrams);  // NULL is allowed
int64_t leat_fixed_unigrams_draw(const leat_fixed_unigrams_t* unigrams,
                                 leat_word_stream_t* stream);
float leat_fixed_unigrams_probability(const leat_fixed_unigrams_t* unigrams, int64_t value);
// How many classes can be drawn at all.
int64_t leat_fixed_unigrams_possible(const leat_fixed_unigrams_t* unigrams);

// ---- Learned ------------------------------------------------------------------------------------

// Shared by all plans of a session that hold the node. Every class counts once at the start. The
// functions below are called with |mutex| held.
typedef struct leat_learned_unigrams_s {
  leat_resource_t resource;
  leat_mutex_t mutex;
  int64_t range;
  int64_t leaf_count;  // the least power of two that is not below |range|
  // Node 1 is the root of a tree of sums, 2n and 2n + 1 are the children of n, and class v is node
  // leaf_count + v.
  int32_t weights[];
} leat_learned_unigrams_t;
LEAT_MUST_USE leat_status_t leat_learned_unigrams_open(leat_kernel_creation_t* c, int64_t range,
                                                       leat_learned_unigrams_t** out_unigrams);
int64_t leat_learned_unigrams_draw(const leat_learned_unigrams_t* unigrams,
                                   leat_word_stream_t* stream);
float leat_learned_unigrams_probability(const leat_learned_unigrams_t* unigrams, int64_t value);
// Counts each of |values| once more, until the sum of all is 2^31 - 1.
void leat_learned_unigrams_count(leat_learned_unigrams_t* unigrams, const int64_t* values,
                                 int64_t count);

#endif  // LEAT_OPS_RANDOM_UNIGRAM_CPU_H_
