// Tuples by key: what a barrier and a staging map hold. Entries are found by the bytes of their key
// and listed in the order in which they came, or, where keys are numbers, by number.
#ifndef LEAT_OPS_QUEUE_TUPLE_MAP_CPU_H_
#define LEAT_OPS_QUEUE_TUPLE_MAP_CPU_H_

#include "base/string_view.h"
#include "tensor/tensor.h"

typedef struct leat_tuple_entry_s {
  struct leat_tuple_entry_s* next_in_bucket;
  struct leat_tuple_entry_s* next;
  struct leat_tuple_entry_s* previous;
  uint64_t hash;
  leat_string_view_t key;  // its bytes follow the tuple
  int64_t number;          // of whoever uses the map
  int64_t place;           // in a map by number
  leat_tensor_t tuple[];   // "no tensor" where nothing was put
} leat_tuple_entry_t;

typedef struct leat_tuple_map_s {
  int width;
  bool by_number;
  leat_tuple_entry_t** buckets;
  size_t bucket_count;  // a power of two, or 0
  leat_tuple_entry_t* first;
  leat_tuple_entry_t* last;
  leat_tuple_entry_t** heap;  // by |number|, where |by_number|
  size_t heap_room;
  int64_t count;
} leat_tuple_map_t;

void leat_tuple_map_initialize(int width, bool by_number, leat_tuple_map_t* out_map);
void leat_tuple_map_deinitialize(leat_tuple_map_t* map);
void leat_tuple_map_clear(leat_tuple_map_t* map);
// NULL when there is none.
leat_tuple_entry_t* leat_tuple_map_find(const leat_tuple_map_t* map, leat_string_view_t key);
// A new entry; there must be none of that key.
LEAT_MUST_USE leat_status_t leat_tuple_map_add(leat_tuple_map_t* map, leat_string_view_t key,
                                               int64_t number, leat_tuple_entry_t** out_entry);
// Frees the entry and what is left of its tuple.
void leat_tuple_map_remove(leat_tuple_map_t* map, leat_tuple_entry_t* entry);
// The oldest, or the one of the smallest number; NULL when the map is empty.
leat_tuple_entry_t* leat_tuple_map_first(const leat_tuple_map_t* map);

#endif  // LEAT_OPS_QUEUE_TUPLE_MAP_CPU_H_
