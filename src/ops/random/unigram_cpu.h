// Distributions over classes by a weight for each class. The weights are known beforehand (fixed),
// or are counted while sampling goes on (learned). The candidate samplers own or share them.
#ifndef LEAT_OPS_RANDOM_UNIGRAM_CPU_H_
#define LEAT_OPS_RANDOM_UNIGRAM_CPU_H_

#include "kernel/kernel.h"
#include "kernel/resource.h"
#include "ops/random/word_stream_cpu.h"

// ---- Fixed --------------------------------------------------------------------------------------

// Belongs to one kernel, and is not changed after its creation, so that steps may draw from it at
// once.
typedef struct leat_fixed_unigrams_s leat_fixed_unigrams_t;
// Reads the attributes of FixedUnigramCandidateSampler, and the file that they may name (this
// blocks). INVALID_ARGUMENT unless there are |range| weights. *out_unigrams is to be freed even on
// failure.
LEAT_MUST_USE leat_status_t leat_fixed_unigrams_create(leat_kernel_creation_t* c, int64_t range,
                                                       leat_fixed_unigrams_t** out_unigrams);
void leat_fixed_unigrams_free(leat_fixed_unigrams_t* unigrams);  // NULL is allowed
int64_t leat_fixed_unigrams_draw(const leat_fixed_unigrams_t* unigrams,
                                 leat_word_stream_t* stream);
float leat_fixed_unigrams_probability(const leat_fixed_unigrams_t* unigrams, int64_t value);
// The number of classes with a weight above 0, which are those that can be drawn.
int64_t leat_fixed_unigrams_possible(const leat_fixed_unigrams_t* unigrams);

// ---- Learned ------------------------------------------------------------------------------------

// A resource that all plans of a session share which hold the same node. Each class counts once at
// the start. The functions below are called with |mutex| held.
typedef struct leat_learned_unigrams_s {
  leat_resource_t resource;
  leat_mutex_t mutex;
  int64_t range;
  int64_t leaf_count;  // the smallest power of two that is not below |range|
  // Node 1 is the root of a tree of sums, nodes 2n and 2n + 1 are the children of node n, and class
  // v is node leaf_count + v.
  int32_t weights[];
} leat_learned_unigrams_t;
// Finds or makes the resource of the node; the caller releases it. INVALID_ARGUMENT when |range| is
// 2^31 - 1 or more.
LEAT_MUST_USE leat_status_t leat_learned_unigrams_open(leat_kernel_creation_t* c, int64_t range,
                                                       leat_learned_unigrams_t** out_unigrams);
int64_t leat_learned_unigrams_draw(const leat_learned_unigrams_t* unigrams,
                                   leat_word_stream_t* stream);
float leat_learned_unigrams_probability(const leat_learned_unigrams_t* unigrams, int64_t value);
// Counts each of |values| once more, until the sum of all weights is 2^31 - 1.
void leat_learned_unigrams_count(leat_learned_unigrams_t* unigrams, const int64_t* values,
                                 int64_t count);

#endif  // LEAT_OPS_RANDOM_UNIGRAM_CPU_H_
