// The store of a queue's tuples: a ring or a heap of rows, each of |width| tensors, in one array
// whose size is a power of two. Row i of the ring is at place (first + i) mod room, so that tuples
// can be added and taken at both ends without moving the others:
//
//   place    0    1    2    3    4    5    6    7          first = 6, count = 4, room = 8
//   row     [2]  [3]   .    .    .    .   [0]  [1]
//
// A full array is replaced by one of twice the size, in which row 0 lies at place 0 again. A heap
// never takes from the front, so that its |first| stays 0 and places equal rows. Its keys lie in a
// second array, because sifting compares keys many times for each row that it moves. A row is moved
// by copying the bytes of its tensors. What remains in the old place is not released, since the
// tensors belong to the new one.
#include "ops/queue/tuple_store_cpu.h"

#include <string.h>

#include "base/checked.h"

void leat_tuple_store_initialize(int width, bool has_keys, leat_tuple_store_t* out_store) {
  *out_store = (leat_tuple_store_t){.width = width, .has_keys = has_keys};
}

leat_tensor_t* leat_tuple_store_row(const leat_tuple_store_t* s, int64_t index) {
  return &s->tensors[((s->first + index) & (s->room - 1)) * s->width];
}

static size_t row_bytes(const leat_tuple_store_t* s) {
  return (size_t)s->width * sizeof(leat_tensor_t);
}

void leat_tuple_store_deinitialize(leat_tuple_store_t* store) {
  for (int64_t i = 0; i < store->count; ++i) {
    leat_tensor_t* row = leat_tuple_store_row(store, i);
    for (int k = 0; k < store->width; ++k) leat_tensor_release(&row[k]);
  }
  leat_allocator_free(leat_allocator_system(), store->tensors);
  leat_allocator_free(leat_allocator_system(), store->keys);
}

leat_status_t leat_tuple_store_reserve(leat_tuple_store_t* store) {
  if (LEAT_LIKELY(store->count < store->room)) return leat_ok_status();
  leat_allocator_t* allocator = leat_allocator_system();
  int64_t room = store->room ? store->room * 2 : 8;
  leat_tensor_t* tensors;
  int64_t* keys = NULL;
  LEAT_RETURN_IF_ERROR(leat_allocator_allocate_array(allocator, (size_t)room, row_bytes(store),
                                                     (void**)&tensors));
  if (store->has_keys) {
    leat_status_t status = LEAT_ALLOCATE(allocator, (size_t)room, &keys);
    if (status) {
      leat_allocator_free(allocator, tensors);
      return status;
    }
    if (store->count) memcpy(keys, store->keys, (size_t)store->count * sizeof(int64_t));
  }
  for (int64_t i = 0; i < store->count; ++i) {
    memcpy(&tensors[i * store->width], leat_tuple_store_row(store, i), row_bytes(store));
  }
  leat_allocator_free(allocator, store->tensors);
  leat_allocator_free(allocator, store->keys);
  store->tensors = tensors;
  store->keys = keys;
  store->room = room;
  store->first = 0;
  return leat_ok_status();
}

// Moves the tensors of |tuple| into row |index|; |tuple| is then empty.
static void move_in(leat_tuple_store_t* store, int64_t index, leat_tensor_t* tuple) {
  memcpy(leat_tuple_store_row(store, index), tuple, row_bytes(store));
  memset((void*)tuple, 0, row_bytes(store));
}

static void move_out(leat_tuple_store_t* store, int64_t index, leat_tensor_t* out_tuple) {
  memcpy(out_tuple, leat_tuple_store_row(store, index), row_bytes(store));
}

void leat_tuple_store_push_back(leat_tuple_store_t* store, leat_tensor_t* tuple) {
  move_in(store, store->count++, tuple);
}

void leat_tuple_store_push_front(leat_tuple_store_t* store, leat_tensor_t* tuple) {
  store->first = (store->first - 1) & (store->room - 1);
  ++store->count;
  move_in(store, 0, tuple);
}

void leat_tuple_store_pop_front(leat_tuple_store_t* store, leat_tensor_t* out_tuple) {
  move_out(store, 0, out_tuple);
  store->first = (store->first + 1) & (store->room - 1);
  --store->count;
}

void leat_tuple_store_pop_at(leat_tuple_store_t* store, int64_t index, leat_tensor_t* out_tuple) {
  move_out(store, index, out_tuple);
  --store->count;
  if (index != store->count) {
    memcpy(leat_tuple_store_row(store, index), leat_tuple_store_row(store, store->count),
           row_bytes(store));
  }
}

// ---- The heap -----------------------------------------------------------------------------------
// Rows of equal keys come out in the order in which the C++ library's heap, with which TensorFlow
// is built, gives them. A pop therefore works as that library does: a hole sinks to a leaf (to the
// right child where both keys are equal), and the last row rises from there.

static void move_row(leat_tuple_store_t* s, int64_t from, int64_t to) {
  memcpy(&s->tensors[to * s->width], &s->tensors[from * s->width], row_bytes(s));
  s->keys[to] = s->keys[from];
}

// Moves ancestors with larger keys than |key| down until |hole| is where a row of |key| belongs,
// and returns that place.
static int64_t rise(leat_tuple_store_t* s, int64_t hole, int64_t key) {
  while (hole > 0 && s->keys[(hole - 1) / 2] > key) {
    move_row(s, (hole - 1) / 2, hole);
    hole = (hole - 1) / 2;
  }
  return hole;
}

void leat_tuple_store_push_key(leat_tuple_store_t* store, int64_t key, leat_tensor_t* tuple) {
  int64_t hole = rise(store, store->count++, key);
  store->keys[hole] = key;
  move_in(store, hole, tuple);
}

void leat_tuple_store_pop_key(leat_tuple_store_t* store, leat_tensor_t* out_tuple) {
  move_out(store, 0, out_tuple);
  int64_t last = --store->count, hole = 0;
  if (last == 0) return;
  for (int64_t child; (child = 2 * hole + 2) <= last; hole = child) {
    if (child == last || store->keys[child] > store->keys[child - 1]) --child;
    move_row(store, child, hole);
  }
  int64_t key = store->keys[last];
  leat_tensor_t* row = &store->tensors[last * store->width];
  hole = rise(store, hole, key);
  store->keys[hole] = key;
  if (hole != last) memcpy(&store->tensors[hole * store->width], row, row_bytes(store));
}
