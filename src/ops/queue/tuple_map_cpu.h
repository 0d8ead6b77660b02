// A map from keys to tuples of tensors; barriers and staging maps keep their tuples in it. Entries
// are found by the bytes of their key, in constant time. leat_tuple_map_first returns the entry
// that was added first, or, in a map |by_number|, the one with the smallest number, so that the
// owner can serve those who ask for no particular key.
//
//   leat_tuple_map_add(&map, key, number, &entry);
//   entry->tuple[0] = leat_tensor_move(&tensor);
//
// The map owns its entries and their tensors. It has no lock: its owner calls it with the owner's
// lock held.
#ifndef LEAT_OPS_QUEUE_TUPLE_MAP_CPU_H_
#define LEAT_OPS_QUEUE_TUPLE_MAP_CPU_H_

#include "base/string_view.h"
#include "tensor/tensor.h"

// An entry. The owner reads |key| and |number| and moves tensors in and out of |tuple|; the other
// fields are the map's. An entry stays where it is until it is removed.
typedef struct leat_tuple_entry_s {
  struct leat_tuple_entry_s* next_in_bucket;
  struct leat_tuple_entry_s* next;
  struct leat_tuple_entry_s* previous;
  uint64_t hash;
  leat_string_view_t key;  // its bytes lie behind |tuple|, in the memory of the entry
  int64_t number;          // the owner's: the order in a map by number
  int64_t place;           // in the heap; only in a map by number
  leat_tensor_t tuple[];   // [width]; dtype 0 marks a component that is not there
} leat_tuple_entry_t;

typedef struct leat_tuple_map_s {
  int width;
  bool by_number;
  leat_tuple_entry_t** buckets;
  size_t bucket_count;  // a power of two, or 0
  leat_tuple_entry_t* first;
  leat_tuple_entry_t* last;
  leat_tuple_entry_t** heap;  // [count], the smallest |number| at 0; only where |by_number|
  size_t heap_room;
  int64_t count;
} leat_tuple_map_t;

// An empty map of tuples of |width| tensors, which allocates nothing yet.
void leat_tuple_map_initialize(int width, bool by_number, leat_tuple_map_t* out_map);
// Frees all entries with their tensors. leat_tuple_map_clear keeps the map usable.
void leat_tuple_map_deinitialize(leat_tuple_map_t* map);
void leat_tuple_map_clear(leat_tuple_map_t* map);
// Returns the entry of |key|, or NULL when there is none.
leat_tuple_entry_t* leat_tuple_map_find(const leat_tuple_map_t* map, leat_string_view_t key);
// Adds an entry with an empty tuple; the map must not have one of that key. Copies |key|. Where the
// map is not |by_number|, |number| is kept but means nothing. RESOURCE_EXHAUSTED without memory,
// and then nothing was added.
LEAT_MUST_USE leat_status_t leat_tuple_map_add(leat_tuple_map_t* map, leat_string_view_t key,
                                               int64_t number, leat_tuple_entry_t** out_entry);
// Frees the entry and the tensors that are left in its tuple.
void leat_tuple_map_remove(leat_tuple_map_t* map, leat_tuple_entry_t* entry);
// Returns the oldest entry, or the one of the smallest number (of equal ones any); NULL when the
// map is empty.
leat_tuple_entry_t* leat_tuple_map_first(const leat_tuple_map_t* map);

#endif  // LEAT_OPS_QUEUE_TUPLE_MAP_CPU_H_
