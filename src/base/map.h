// Open-addressing hash maps: string -> word and word -> word. Keys of a string map are borrowed:
// they must outlive the map (arena or literal). A string map keeps insertion order.
#ifndef LEAT_BASE_MAP_H_
#define LEAT_BASE_MAP_H_

#include "base/allocator.h"
#include "base/string_view.h"

typedef struct leat_string_map_entry_s {
  leat_string_view_t key;
  uint64_t hash;
  uint64_t value;
} leat_string_map_entry_t;

typedef struct leat_string_map_s {
  leat_allocator_t* allocator;
  leat_string_map_entry_t* entries;  // insertion order
  size_t count;
  size_t entry_capacity;
  uint32_t* table;  // entry index + 1; 0 = free
  size_t table_capacity;  // a power of two
} leat_string_map_t;

void leat_string_map_initialize(leat_allocator_t* allocator, leat_string_map_t* out_map);
void leat_string_map_deinitialize(leat_string_map_t* map);
LEAT_MUST_USE leat_status_t leat_string_map_reserve(leat_string_map_t* map, size_t count);
// Replaces the value of an existing key.
LEAT_MUST_USE leat_status_t leat_string_map_set(leat_string_map_t* map, leat_string_view_t key,
                                                uint64_t value);
// Adds |key| with |value| unless present; |out_value| is the value then in the map (pointer valid
// until the next insertion).
LEAT_MUST_USE leat_status_t leat_string_map_insert(leat_string_map_t* map, leat_string_view_t key,
                                                   uint64_t value, uint64_t** out_value,
                                                   bool* out_inserted);
// Forgets all but the |count| entries that were added first.
void leat_string_map_truncate(leat_string_map_t* map, size_t count);
bool leat_string_map_get(const leat_string_map_t* map, leat_string_view_t key,
                         uint64_t* out_value);

typedef struct leat_word_map_s {
  leat_allocator_t* allocator;
  uint64_t* keys;
  uint64_t* values;
  uint8_t* used;
  size_t count;
  size_t capacity;  // a power of two
} leat_word_map_t;

void leat_word_map_initialize(leat_allocator_t* allocator, leat_word_map_t* out_map);
void leat_word_map_deinitialize(leat_word_map_t* map);
void leat_word_map_clear(leat_word_map_t* map);
LEAT_MUST_USE leat_status_t leat_word_map_set(leat_word_map_t* map, uint64_t key, uint64_t value);
bool leat_word_map_get(const leat_word_map_t* map, uint64_t key, uint64_t* out_value);
bool leat_word_map_erase(leat_word_map_t* map, uint64_t key);

#endif  // LEAT_BASE_MAP_H_
