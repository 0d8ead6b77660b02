// A hash table with chaining, whose entries also stand in a doubly linked list in the order of
// their coming and, where the map is by number, in a binary heap. Each entry knows its place in the
// heap, so that any entry, not only the smallest, can be removed in O(log n) steps. The list serves
// leat_tuple_map_first of a map without numbers, clearing, and the filling of a larger table. The
// table doubles when there is an entry per bucket; it never shrinks.
//
// An entry is one allocation: the struct, the tuple of |width| tensors, and the bytes of the key.
#include "ops/queue/tuple_map_cpu.h"

#include <string.h>

void leat_tuple_map_initialize(int width, bool by_number, leat_tuple_map_t* out_map) {
  *out_map = (leat_tuple_map_t){.width = width, .by_number = by_number};
}

static void free_entry(const leat_tuple_map_t* map, leat_tuple_entry_t* entry) {
  for (int i = 0; i < map->width; ++i) leat_tensor_release(&entry->tuple[i]);
  leat_allocator_free(leat_allocator_system(), entry);
}

void leat_tuple_map_clear(leat_tuple_map_t* map) {
  for (leat_tuple_entry_t *entry = map->first, *next; entry; entry = next) {
    next = entry->next;
    free_entry(map, entry);
  }
  if (map->bucket_count) memset(map->buckets, 0, map->bucket_count * sizeof *map->buckets);
  map->first = map->last = NULL;
  map->count = 0;
}

void leat_tuple_map_deinitialize(leat_tuple_map_t* map) {
  leat_tuple_map_clear(map);
  leat_allocator_free(leat_allocator_system(), map->buckets);
  leat_allocator_free(leat_allocator_system(), map->heap);
}

static leat_tuple_entry_t** bucket_of(const leat_tuple_map_t* map, uint64_t hash) {
  return &map->buckets[hash & (map->bucket_count - 1)];
}

leat_tuple_entry_t* leat_tuple_map_find(const leat_tuple_map_t* map, leat_string_view_t key) {
  if (map->count == 0) return NULL;
  uint64_t hash = leat_string_view_hash(key);
  leat_tuple_entry_t* entry = *bucket_of(map, hash);
  while (entry && !(entry->hash == hash && leat_string_view_equal(entry->key, key))) {
    entry = entry->next_in_bucket;
  }
  return entry;
}

// Makes sure that there are more buckets than entries.
static leat_status_t grow(leat_tuple_map_t* map) {
  if ((size_t)map->count < map->bucket_count) return leat_ok_status();
  size_t count = map->bucket_count ? map->bucket_count * 2 : 16;
  leat_tuple_entry_t** buckets;
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(leat_allocator_system(), count, &buckets));
  leat_allocator_free(leat_allocator_system(), map->buckets);
  map->buckets = buckets;
  map->bucket_count = count;
  for (leat_tuple_entry_t* entry = map->first; entry; entry = entry->next) {
    leat_tuple_entry_t** bucket = bucket_of(map, entry->hash);
    entry->next_in_bucket = *bucket;
    *bucket = entry;
  }
  return leat_ok_status();
}

// ---- The heap -----------------------------------------------------------------------------------

static void set_place(leat_tuple_map_t* map, int64_t place, leat_tuple_entry_t* entry) {
  map->heap[place] = entry;
  entry->place = place;
}

// Writes |entry| into the heap of |count| entries, of which the one at |place| is a hole. |entry|
// goes up or down from there, until its number fits between those above and below it.
static void settle(leat_tuple_map_t* map, int64_t place, leat_tuple_entry_t* entry, int64_t count) {
  while (place > 0 && map->heap[(place - 1) / 2]->number > entry->number) {
    set_place(map, place, map->heap[(place - 1) / 2]);
    place = (place - 1) / 2;
  }
  for (int64_t child; (child = 2 * place + 1) < count; place = child) {
    if (child + 1 < count && map->heap[child + 1]->number < map->heap[child]->number) ++child;
    if (map->heap[child]->number >= entry->number) break;
    set_place(map, place, map->heap[child]);
  }
  set_place(map, place, entry);
}

// ---- Entries ------------------------------------------------------------------------------------

// All memory is taken before the entry is linked anywhere.
leat_status_t leat_tuple_map_add(leat_tuple_map_t* map, leat_string_view_t key, int64_t number,
                                 leat_tuple_entry_t** out_entry) {
  leat_allocator_t* allocator = leat_allocator_system();
  leat_tuple_entry_t* entry;
  LEAT_RETURN_IF_ERROR(grow(map));
  if (map->by_number) {
    LEAT_RETURN_IF_ERROR(LEAT_GROW(allocator, (size_t)map->count + 1, &map->heap, &map->heap_room));
  }
  size_t tuple_bytes = (size_t)map->width * sizeof(leat_tensor_t);
  LEAT_RETURN_IF_ERROR(
      leat_allocator_allocate(allocator, sizeof *entry + tuple_bytes + key.size, (void**)&entry));
  char* text = (char*)entry->tuple + tuple_bytes;
  if (key.size) memcpy(text, key.data, key.size);
  entry->key = leat_string_view_make(text, key.size);
  entry->hash = leat_string_view_hash(key);
  entry->number = number;
  leat_tuple_entry_t** bucket = bucket_of(map, entry->hash);
  entry->next_in_bucket = *bucket;
  *bucket = entry;
  entry->previous = map->last;
  if (map->last) {
    map->last->next = entry;
  } else {
    map->first = entry;
  }
  map->last = entry;
  if (map->by_number) settle(map, map->count, entry, map->count + 1);
  ++map->count;
  *out_entry = entry;
  return leat_ok_status();
}

// The last entry of the heap fills the hole that the removed one leaves.
void leat_tuple_map_remove(leat_tuple_map_t* map, leat_tuple_entry_t* entry) {
  leat_tuple_entry_t** place = bucket_of(map, entry->hash);
  while (*place != entry) place = &(*place)->next_in_bucket;
  *place = entry->next_in_bucket;
  if (entry->next) {
    entry->next->previous = entry->previous;
  } else {
    map->last = entry->previous;
  }
  if (entry->previous) {
    entry->previous->next = entry->next;
  } else {
    map->first = entry->next;
  }
  --map->count;
  if (map->by_number && entry->place != map->count) {
    settle(map, entry->place, map->heap[map->count], map->count);
  }
  free_entry(map, entry);
}

leat_tuple_entry_t* leat_tuple_map_first(const leat_tuple_map_t* map) {
  if (map->count == 0) return NULL;
  return map->by_number ? map->heap[0] : map->first;
}
