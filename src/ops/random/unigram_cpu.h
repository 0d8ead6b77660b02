// Distributions over classes by a weight for each class, for the ops that draw negative samples in
// the training of large vocabularies. The weights are known beforehand (fixed:
// FixedUnigramCandidateSampler), or are counted while sampling goes on (learned:
// LearnedUnigramCandidateSampler). The candidate samplers own or share them:
//
//   leat_word_stream_t stream = {0};
//   ... leat_generator_reserve(c, generator, groups, &stream.philox) ...
//   int64_t class = leat_fixed_unigrams_draw(unigrams, &stream);
//
// The words come from the op's generator in the order in which TensorFlow takes them, so that the
// same seed draws the same classes. A class is a number in [0, range), and a probability is the
// class's weight over the sum of all.
#ifndef LEAT_OPS_RANDOM_UNIGRAM_CPU_H_
#define LEAT_OPS_RANDOM_UNIGRAM_CPU_H_

#include "base/random.h"
#include "kernel/kernel.h"
#include "kernel/resource.h"

// ---- Words --------------------------------------------------------------------------------------

// The words of a Philox generator one at a time, as the candidate samplers take them. A stream
// belongs to one thread; all zero but for |philox|, it is at the generator's first word.
typedef struct leat_word_stream_s {
  leat_philox_t philox;
  // The group that was made last.
  uint32_t words[4];
  int left;  // how many of |words| have not been taken
} leat_word_stream_t;

// The next word; a group of four is made when the last one is used up.
static inline uint32_t leat_word_stream_next(leat_word_stream_t* stream) {
  if (stream->left == 0) {
    leat_philox_next(&stream->philox, stream->words);
    stream->left = 4;
  }
  return stream->words[4 - stream->left--];
}
// Two words as one number, the lower half first.
static inline uint64_t leat_word_stream_next64(leat_word_stream_t* stream) {
  uint64_t low = leat_word_stream_next(stream);
  return low | (uint64_t)leat_word_stream_next(stream) << 32;
}
// A uniform number of [0, 1), from 23 bits of a word.
static inline float leat_word_stream_fraction(leat_word_stream_t* stream) {
  return (float)(leat_word_stream_next(stream) & 0x7fffff) * 0x1p-23f;
}
// A uniform number of [0, count), where count > 0. A plain remainder would favour small numbers, so
// words below 2^bits mod count are thrown away: the words that are left are a multiple of |count|.
static inline uint32_t leat_word_stream_below(leat_word_stream_t* stream, uint32_t count) {
  uint32_t least = (count & (count - 1)) ? UINT32_MAX % count + 1 : 0;
  uint32_t word = leat_word_stream_next(stream);
  while (word < least) word = leat_word_stream_next(stream);
  return word % count;
}
// Draws from two words, for a |count| that may exceed 2^32.
static inline uint64_t leat_word_stream_below64(leat_word_stream_t* stream, uint64_t count) {
  uint64_t least = (count & (count - 1)) ? UINT64_MAX % count + 1 : 0;
  uint64_t word = leat_word_stream_next64(stream);
  while (word < least) word = leat_word_stream_next64(stream);
  return word % count;
}

// ---- Fixed --------------------------------------------------------------------------------------

// Belongs to one kernel, and is not changed after its creation, so that steps may draw from it at
// once.
typedef struct leat_fixed_unigrams_s leat_fixed_unigrams_t;
// Makes a distribution of |count| weights, which it copies. *out_unigrams is to be freed even on
// failure.
LEAT_MUST_USE leat_status_t leat_fixed_unigrams_of(const float* weights, int64_t count,
                                                   leat_fixed_unigrams_t** out_unigrams);
// Reads the attributes of FixedUnigramCandidateSampler, and the file that they may name (this
// blocks). INVALID_ARGUMENT unless there are |range| weights. *out_unigrams is to be freed even on
// failure.
LEAT_MUST_USE leat_status_t leat_fixed_unigrams_create(leat_kernel_creation_t* c, int64_t range,
                                                       leat_fixed_unigrams_t** out_unigrams);
void leat_fixed_unigrams_free(leat_fixed_unigrams_t* unigrams);  // NULL is allowed
// Draws a class in constant time; the probability of a class, which must be in range.
int64_t leat_fixed_unigrams_draw(const leat_fixed_unigrams_t* unigrams,
                                 leat_word_stream_t* stream);
float leat_fixed_unigrams_probability(const leat_fixed_unigrams_t* unigrams, int64_t value);
// The number of classes with a weight above 0, which are those that can be drawn.
int64_t leat_fixed_unigrams_possible(const leat_fixed_unigrams_t* unigrams);
// The number of all classes.
int64_t leat_fixed_unigrams_count(const leat_fixed_unigrams_t* unigrams);

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
// Draws a class in log2(range) steps; the probability of a class as of now.
int64_t leat_learned_unigrams_draw(const leat_learned_unigrams_t* unigrams,
                                   leat_word_stream_t* stream);
float leat_learned_unigrams_probability(const leat_learned_unigrams_t* unigrams, int64_t value);
// Counts each of |values| once more, until the sum of all weights is 2^31 - 1.
void leat_learned_unigrams_count(leat_learned_unigrams_t* unigrams, const int64_t* values,
                                 int64_t count);

#endif  // LEAT_OPS_RANDOM_UNIGRAM_CPU_H_
