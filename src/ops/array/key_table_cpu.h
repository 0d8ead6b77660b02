// A hash table of keys that are slices of a tensor [outer, count, inner] along the middle dimension
// (mostly single elements). Equal means equal as numbers: 0 is -0, a NaN is nothing, not even
// itself.
#ifndef LEAT_OPS_ARRAY_KEY_TABLE_CPU_H_
#define LEAT_OPS_ARRAY_KEY_TABLE_CPU_H_

#include "kernel/kernel.h"

typedef struct leat_keys_s {
  const leat_tensor_t* tensor;
  int64_t outer, count, inner;
} leat_keys_t;

typedef struct leat_key_table_s {
  leat_keys_t keys;
  leat_tensor_t slots;   // int32: 1 + number of the key, 0: free
  leat_tensor_t firsts;  // int32: by number, where the key is
  uint64_t mask;
  int32_t size;          // keys so far
} leat_key_table_t;

// Room for all of |keys| (less than 2^31).
LEAT_MUST_USE leat_status_t leat_key_table_initialize(leat_kernel_context_t* c, leat_keys_t keys,
                                                      leat_key_table_t* out_table);
void leat_key_table_deinitialize(leat_key_table_t* table);
// The number of key |at| of the table's keys, added when it is new.
int32_t leat_key_table_add(leat_key_table_t* table, int64_t at);
// Is key |at| of |keys| (of the same type and slice size) in the table?
bool leat_key_table_has(const leat_key_table_t* table, const leat_keys_t* keys, int64_t at);
static inline int64_t leat_key_table_first(const leat_key_table_t* table, int64_t number) {
  return leat_tensor_data(&table->firsts, const int32_t)[number];
}

#endif  // LEAT_OPS_ARRAY_KEY_TABLE_CPU_H_
