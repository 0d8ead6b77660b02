// Where a queue keeps its tuples: a ring of rows, each of |width| tensors. Row 0 is the oldest.
#ifndef LEAT_OPS_QUEUE_TUPLE_STORE_CPU_H_
#define LEAT_OPS_QUEUE_TUPLE_STORE_CPU_H_

#include "tensor/tensor.h"

typedef struct leat_tuple_store_s {
  int width;
  leat_tensor_t* tensors;  // [room * width]
  int64_t* keys;           // [room]: priorities; only where there are any
  bool has_keys;
  int64_t room;            // a power of two, or 0
  int64_t first;
  int64_t count;
} leat_tuple_store_t;

void leat_tuple_store_initialize(int width, bool has_keys, leat_tuple_store_t* out_store);
void leat_tuple_store_deinitialize(leat_tuple_store_t* store);
// Makes room for one more row; what follows then cannot fail. Tensors are moved in and out.
LEAT_MUST_USE leat_status_t leat_tuple_store_reserve(leat_tuple_store_t* store);
leat_tensor_t* leat_tuple_store_row(const leat_tuple_store_t* store, int64_t index);
void leat_tuple_store_push_back(leat_tuple_store_t* store, leat_tensor_t* tuple);
void leat_tuple_store_push_front(leat_tuple_store_t* store, leat_tensor_t* tuple);
void leat_tuple_store_pop_front(leat_tuple_store_t* store, leat_tensor_t* out_tuple);
// Takes row |index|; the last row takes its place.
void leat_tuple_store_pop_at(leat_tuple_store_t* store, int64_t index, leat_tensor_t* out_tuple);
// A heap by |key|. A store is used with these two or with those above.
void leat_tuple_store_push_key(leat_tuple_store_t* store, int64_t key, leat_tensor_t* tuple);
void leat_tuple_store_pop_key(leat_tuple_store_t* store, leat_tensor_t* out_tuple);

#endif  // LEAT_OPS_QUEUE_TUPLE_STORE_CPU_H_
