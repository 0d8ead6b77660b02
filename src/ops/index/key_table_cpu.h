// A hash table of keys, for Unique and ListDiff. A key is a slice of a tensor [outer, count, inner]
// along the middle dimension, mostly a single element. The table numbers different keys in the
// order in which they first appear:
//
//   keys     7 7 3 7 9 3
//   numbers  0 0 1 0 2 1      firsts 0 2 4 (by number, where the key first appears)
//
// Keys are equal when their elements are equal as numbers: 0 and -0 are, and a NaN equals nothing,
// not even itself. The table borrows the tensor of its keys, and is used by one thread.
#ifndef LEAT_OPS_INDEX_KEY_TABLE_CPU_H_
#define LEAT_OPS_INDEX_KEY_TABLE_CPU_H_

#include "kernel/kernel.h"

// The keys of a tensor [outer, count, inner], which is borrowed.
typedef struct leat_keys_s {
  const leat_tensor_t* tensor;
  int64_t outer, count, inner;
} leat_keys_t;

typedef struct leat_key_table_s {
  leat_keys_t keys;
  // uint64 each: a tag in the high 32 bits, the key's number + 1 in the low ones; 0 is a free slot.
  leat_tensor_t slots;
  leat_tensor_t firsts;  // int32: by number, the index of the key's first appearance
  uint64_t mask;         // the number of slots, a power of two, less 1
  int32_t size;          // different keys so far
} leat_key_table_t;

// Makes an empty table for |keys|, of which there must be less than 2^31. Its memory is the step's;
// leat_key_table_deinitialize releases it.
LEAT_MUST_USE leat_status_t leat_key_table_initialize(leat_kernel_context_t* c, leat_keys_t keys,
                                                      leat_key_table_t* out_table);
void leat_key_table_deinitialize(leat_key_table_t* table);
// Adds all of the table's keys. |out_numbers| (int32 or int64 [count], or NULL) gets the number of
// each. Fails only for want of memory.
LEAT_MUST_USE leat_status_t leat_key_table_add_all(leat_key_table_t* table,
                                                   leat_kernel_context_t* c,
                                                   leat_tensor_t* out_numbers);
// Says whether key |at| of |keys|, which have the same type and slice size, is in the table.
bool leat_key_table_has(const leat_key_table_t* table, const leat_keys_t* keys, int64_t at);
// Returns the index at which key |number| first appears.
static inline int64_t leat_key_table_first(const leat_key_table_t* table, int64_t number) {
  return leat_tensor_data(&table->firsts, const int32_t)[number];
}

#endif  // LEAT_OPS_INDEX_KEY_TABLE_CPU_H_
