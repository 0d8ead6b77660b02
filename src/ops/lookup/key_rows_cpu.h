// Rows of values by key, for tables: keys are int32, int64 or strings; a row is a fixed number of
// values of any type. Rows stand in the order in which their keys came, until one is removed: the
// last takes its place.
#ifndef LEAT_OPS_LOOKUP_KEY_ROWS_CPU_H_
#define LEAT_OPS_LOOKUP_KEY_ROWS_CPU_H_

#include "tensor/tensor.h"

typedef struct leat_key_rows_s {
  int key_dtype;
  int value_dtype;
  int64_t value_count;  // of a row
  char* keys;
  char* values;
  size_t count, room;
  uint32_t* places;  // row + 1 by hash; 0: free
  size_t place_count;  // a power of two, or 0
} leat_key_rows_t;

void leat_key_rows_initialize(int key_dtype, int value_dtype, int64_t value_count,
                              leat_key_rows_t* out_rows);
void leat_key_rows_deinitialize(leat_key_rows_t* rows);
void leat_key_rows_clear(leat_key_rows_t* rows);
// Room for |count| rows in all.
LEAT_MUST_USE leat_status_t leat_key_rows_reserve(leat_key_rows_t* rows, size_t count);
// The row of key |index| of an array of keys; -1 when there is none.
int64_t leat_key_rows_find(const leat_key_rows_t* rows, const void* keys, int64_t index);
// The row of that key, made with empty values when there is none.
LEAT_MUST_USE leat_status_t leat_key_rows_find_or_add(leat_key_rows_t* rows, const void* keys,
                                                      int64_t index, int64_t* out_row,
                                                      bool* out_added);
void leat_key_rows_remove(leat_key_rows_t* rows, int64_t row);
static inline size_t leat_key_rows_row_bytes(const leat_key_rows_t* rows) {
  return (size_t)rows->value_count * leat_dtype_size(rows->value_dtype);
}
static inline void* leat_key_rows_values(const leat_key_rows_t* rows, int64_t row) {
  return rows->values + (size_t)row * leat_key_rows_row_bytes(rows);
}

#endif  // LEAT_OPS_LOOKUP_KEY_ROWS_CPU_H_
