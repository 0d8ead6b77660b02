// A hash table from keys (int32, int64 or strings) to rows, each of which has a fixed number of
// values of any type. The rows are numbered from 0 in the order in which their keys were added;
// removing one moves the last row to its number. The hash tables of the lookup ops and the tensor
// maps (ops/list) are made of it:
//
//   leat_key_rows_find_or_add(&rows, keys->data, i, &row, &added);
//   memcpy(leat_key_rows_values(&rows, row), value, leat_key_rows_row_bytes(&rows));
//
// Keys are given as element |index| of an array of the key's type, the data of a tensor for
// example, and are copied. Strings and other objects in keys and values belong to the table. Memory
// comes from the system's allocator and grows by doubling; it never shrinks. The owner provides the
// lock: functions that take a const table may run together, all others alone. The order of the rows
// depends on no hash.
#ifndef LEAT_OPS_LOOKUP_KEY_ROWS_CPU_H_
#define LEAT_OPS_LOOKUP_KEY_ROWS_CPU_H_

#include "tensor/tensor.h"

// The fields are read-only for callers, which go through all rows by |keys|, |values| and |count|.
typedef struct leat_key_rows_s {
  int key_dtype;
  int value_dtype;
  int64_t value_count;  // in a row
  char* keys;           // [count] of |key_dtype|
  char* values;         // [count, value_count] of |value_dtype|
  size_t count, room;
  uint32_t* places;    // [place_count]: row + 1, at or behind its key's hash; 0: free
  size_t place_count;  // a power of two, or 0
  bool is_keyed;       // the hash depends on |seed|
  uint64_t seed[2];
} leat_key_rows_t;

// An empty table, which allocates nothing yet. Any dtype may be that of the values; keys are int32,
// int64 or strings.
void leat_key_rows_initialize(int key_dtype, int value_dtype, int64_t value_count,
                              leat_key_rows_t* out_rows);
void leat_key_rows_deinitialize(leat_key_rows_t* rows);
// Removes all rows and keeps the memory of the arrays.
void leat_key_rows_clear(leat_key_rows_t* rows);
// Makes room for |count| rows in all. RESOURCE_EXHAUSTED without memory, or above 2^32 - 2 rows.
LEAT_MUST_USE leat_status_t leat_key_rows_reserve(leat_key_rows_t* rows, size_t count);
// Returns the row of key |index| of an array of keys, or -1 when there is none.
int64_t leat_key_rows_find(const leat_key_rows_t* rows, const void* keys, int64_t index);
// Finds the row of that key, or adds one whose values are zero bytes; |*out_added| tells which.
// RESOURCE_EXHAUSTED as above, and then nothing was added.
LEAT_MUST_USE leat_status_t leat_key_rows_find_or_add(leat_key_rows_t* rows, const void* keys,
                                                      int64_t index, int64_t* out_row,
                                                      bool* out_added);
// Removes row |row|, which must be there. The number of the last row becomes |row|.
void leat_key_rows_remove(leat_key_rows_t* rows, int64_t row);
static inline size_t leat_key_rows_row_bytes(const leat_key_rows_t* rows) {
  return (size_t)rows->value_count * leat_dtype_size(rows->value_dtype);
}
// The values of a row, which may be changed in place; borrowed until rows are added or removed.
static inline void* leat_key_rows_values(const leat_key_rows_t* rows, int64_t row) {
  return rows->values + (size_t)row * leat_key_rows_row_bytes(rows);
}

#endif  // LEAT_OPS_LOOKUP_KEY_ROWS_CPU_H_
