// A hash table of keys that are slices of a tensor [outer, count, inner] along the middle dimension
// (mostly single elements). Equal means equal as numbers: 0 is -0, a NaN is nothing, not even
// itself.
#ifndef LEAT_OPS_INDEX_KEY_TABLE_CPU_H_
#define LEAT_OPS_INDEX_KEY_TABLE_CPU_H_

#include "kernel/kernel.h"

typedef struct leat_keys_s {
  const leat_tensor_t* tensor;
  int64_t outer, count, inner;
} leat_keys_t;

typedef struct leat_key_table_s {
  leat_keys_t keys;
  leat_tensor_t slots;   // uint64: a tag of 32 bits above 1 + the key's number; 0: free
  leat_tensor_t firsts;  // int32: by number, where the key is
  uint64_t mask;         // of the number of a slot
  int32_t size;          // keys so far
} leat_key_table_t;

// An empty table for |keys| (less than 2^31 of them).
LEAT_MUST_USE leat_status_t leat_key_table_initialize(leat_kernel_context_t* c, leat_keys_t keys,
                                                      leat_key_table_t* out_table);
void leat_key_table_deinitialize(leat_key_table_t* table);
// Adds all of the table's keys; |out_numbers| (int32 or int64, or NULL) gets each one's number,
// which counts different keys as they first appear.
LEAT_MUST_USE leat_status_t leat_key_table_add_all(leat_key_table_t* table,
                                                   leat_kernel_context_t* c,
                                                   leat_tensor_t* out_numbers);
// Is key |at| of |keys| (of the same type and slice size) in the table?
bool leat_key_table_has(const leat_key_table_t* table, const leat_keys_t* keys, int64_t at);
static inline int64_t leat_key_table_first(const leat_key_table_t* table, int64_t number) {
  return leat_tensor_data(&table->firsts, const int32_t)[number];
}

#endif  // LEAT_OPS_INDEX_KEY_TABLE_CPU_H_
