// The random order in which RecordInput reads files and gives records: the generator behind it, and
// the shuffle of the files. Both are TensorFlow's, number by number, so that a seed means the same
// order there and here wherever TensorFlow's own does not depend on which of its threads is faster.
#ifndef LEAT_OPS_INPUT_RECORD_ORDER_CPU_H_
#define LEAT_OPS_INPUT_RECORD_ORDER_CPU_H_

#include <stddef.h>
#include <stdint.h>

// MT19937-64 (Nishimura, "Tables of 64-bit Mersenne twisters", 2000).
enum { LEAT_TWISTER_WORDS = 312 };
typedef struct leat_twister_s {
  uint64_t words[LEAT_TWISTER_WORDS];
  int next;  // of |words|; LEAT_TWISTER_WORDS: new ones are to be made
} leat_twister_t;
void leat_twister_initialize(uint64_t seed, leat_twister_t* out_twister);
uint64_t leat_twister_next(leat_twister_t* twister);

// Shuffles |order|, the numbers of |count| files (below 2^32), for one of the epochs, which count
// from 1.
void leat_record_order_shuffle(uint64_t seed, int64_t epoch, uint32_t* order, size_t count);

#endif  // LEAT_OPS_INPUT_RECORD_ORDER_CPU_H_
