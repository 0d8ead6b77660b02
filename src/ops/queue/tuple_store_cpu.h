// The container of a queue's tuples, each of which is a row of |width| tensors. It is used either
// as a ring, whose row 0 is the oldest, or as a binary heap by priority. Tensors are moved in and
// out, never copied: after a push the caller's tuple is empty, and after a pop the tensors are the
// caller's. Queues, staging areas and barriers' queues keep their tuples in it.
//
// A caller reserves room before it pushes, so that nothing can fail between the two. The array
// doubles when it is full and never shrinks. The store has no lock: its owner (a queue, a staging
// area) calls it with the owner's lock held.
#ifndef LEAT_OPS_QUEUE_TUPLE_STORE_CPU_H_
#define LEAT_OPS_QUEUE_TUPLE_STORE_CPU_H_

#include "tensor/tensor.h"

typedef struct leat_tuple_store_s {
  int width;
  leat_tensor_t* tensors;  // [room * width]
  int64_t* keys;           // [room]: the rows' priorities; NULL unless |has_keys|
  bool has_keys;
  int64_t room;            // a power of two, or 0
  int64_t first;           // where row 0 of the ring lies; always 0 in a heap
  int64_t count;
} leat_tuple_store_t;

// An empty store, which allocates nothing yet. |has_keys| makes it a heap.
void leat_tuple_store_initialize(int width, bool has_keys, leat_tuple_store_t* out_store);
// Releases all tensors that are still in the store.
void leat_tuple_store_deinitialize(leat_tuple_store_t* store);
// Makes room for one more row, so that the next push cannot fail. RESOURCE_EXHAUSTED without
// memory.
LEAT_MUST_USE leat_status_t leat_tuple_store_reserve(leat_tuple_store_t* store);
// Borrows row |index| of a ring until the next change.
leat_tensor_t* leat_tuple_store_row(const leat_tuple_store_t* store, int64_t index);
// Push after a reserve, or pop from a store that is not empty; each takes constant time.
void leat_tuple_store_push_back(leat_tuple_store_t* store, leat_tensor_t* tuple);
void leat_tuple_store_push_front(leat_tuple_store_t* store, leat_tensor_t* tuple);
void leat_tuple_store_pop_front(leat_tuple_store_t* store, leat_tensor_t* out_tuple);
// Takes row |index| out of the ring; the last row moves to its place, so the order is lost.
void leat_tuple_store_pop_at(leat_tuple_store_t* store, int64_t index, leat_tensor_t* out_tuple);
// The store as a heap: the smallest key comes out first. A store is used either with these two
// functions or with the push and pop functions above, never with both.
void leat_tuple_store_push_key(leat_tuple_store_t* store, int64_t key, leat_tensor_t* tuple);
void leat_tuple_store_pop_key(leat_tuple_store_t* store, leat_tensor_t* out_tuple);

#endif  // LEAT_OPS_QUEUE_TUPLE_STORE_CPU_H_
