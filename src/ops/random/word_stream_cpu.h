// The words of a Philox generator one at a time, as the candidate samplers take them. A stream
// belongs to one thread; all zero but for |philox|, it is at the generator's first word.
#ifndef LEAT_OPS_RANDOM_WORD_STREAM_CPU_H_
#define LEAT_OPS_RANDOM_WORD_STREAM_CPU_H_

#include "base/random.h"

typedef struct leat_word_stream_s {
  leat_philox_t philox;
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
// A uniform number of [0, count), where count > 0. A plain remainder would favour small numbers, so
// words below 2^bits mod count are thrown away: the words that are left are a multiple of |count|.
static inline uint32_t leat_word_stream_below(leat_word_stream_t* stream, uint32_t count) {
  uint32_t least = (count & (count - 1)) ? UINT32_MAX % count + 1 : 0;
  uint32_t word = leat_word_stream_next(stream);
  while (word < least) word = leat_word_stream_next(stream);
  return word % count;
}
static inline uint64_t leat_word_stream_below64(leat_word_stream_t* stream, uint64_t count) {
  uint64_t least = (count & (count - 1)) ? UINT64_MAX % count + 1 : 0;
  uint64_t word = leat_word_stream_next64(stream);
  while (word < least) word = leat_word_stream_next64(stream);
  return word % count;
}

#endif  // LEAT_OPS_RANDOM_WORD_STREAM_CPU_H_
