// Open-addressing hash maps: from strings to words and from words to words. A word is 64 bits: an
// index, or a pointer that was cast. Importing, placing and rewriting graphs look names and numbers
// up in them.
//
// The string map borrows its keys: they must outlive the map (they lie in an arena or are
// literals). It keeps the order of insertion, so walking over |entries| is the same in each run:
//
//   for (size_t i = 0; i < map.count; ++i) use(map.entries[i].key, map.entries[i].value);
//
// A map of all zero bytes lacks only its allocator. Looking things up allocates nothing and may
// happen on several threads at once; whoever changes a map must be alone with it.
#ifndef LEAT_BASE_MAP_H_
#define LEAT_BASE_MAP_H_

#include "base/allocator.h"
#include "base/string_view.h"

// An entry keeps the hash of its key, so that growing the table reads no keys.
typedef struct leat_string_map_entry_s {
  leat_string_view_t key;
  uint64_t hash;
  uint64_t value;
} leat_string_map_entry_t;

typedef struct leat_string_map_s {
  leat_allocator_t* allocator;
  // In the order of insertion. Walking over them is allowed; changing a key is not.
  leat_string_map_entry_t* entries;
  size_t count;
  size_t entry_capacity;
  // Indices of entries, each + 1; 0 is a free slot. A map therefore holds fewer than 2^32 - 1
  // entries.
  uint32_t* table;
  size_t table_capacity;  // a power of two
} leat_string_map_t;

// Allocates nothing yet. |allocator| must outlive the map.
void leat_string_map_initialize(leat_allocator_t* allocator, leat_string_map_t* out_map);
// Frees the map's memory. The map is empty afterwards and may be filled again.
void leat_string_map_deinitialize(leat_string_map_t* map);
// Makes room for |count| entries in all, so that adding up to so many cannot fail and moves
// nothing.
LEAT_MUST_USE leat_status_t leat_string_map_reserve(leat_string_map_t* map, size_t count);
// Sets the value of |key|, whether it is in the map or not. RESOURCE_EXHAUSTED without memory; the
// map is then unchanged.
LEAT_MUST_USE leat_status_t leat_string_map_set(leat_string_map_t* map, leat_string_view_t key,
                                                uint64_t value);
// Adds |key| with |value| unless |key| is present. |*out_value| points at the value that is then in
// the map, and is valid until the next insertion; |*out_inserted| says whether |value| was added.
// Either may be NULL. One look-up does what a get and a set would do in two.
LEAT_MUST_USE leat_status_t leat_string_map_insert(leat_string_map_t* map, leat_string_view_t key,
                                                   uint64_t value, uint64_t** out_value,
                                                   bool* out_inserted);
// Forgets all but the |count| entries that were added first. It costs as much as filling the table
// anew.
void leat_string_map_truncate(leat_string_map_t* map, size_t count);
// false when |key| is absent; |*out_value| is then unchanged. |out_value| may be NULL.
bool leat_string_map_get(const leat_string_map_t* map, leat_string_view_t key,
                         uint64_t* out_value);

// Unlike the string map, it can erase single keys and keeps no order. Any key is allowed, 0 too,
// because |used| tells which slots are taken.
typedef struct leat_word_map_s {
  leat_allocator_t* allocator;
  // One block that begins with the keys: |capacity| keys, as many values, as many marks.
  uint64_t* keys;
  uint64_t* values;
  uint8_t* used;
  size_t count;
  size_t capacity;  // a power of two
} leat_word_map_t;

void leat_word_map_initialize(leat_allocator_t* allocator, leat_word_map_t* out_map);
void leat_word_map_deinitialize(leat_word_map_t* map);
// Forgets all entries and keeps the memory. It costs one byte written for each slot.
void leat_word_map_clear(leat_word_map_t* map);
// Sets the value of |key|, whether it is in the map or not. RESOURCE_EXHAUSTED without memory; the
// map is then unchanged. The map grows by doubling when it is half full and never shrinks.
LEAT_MUST_USE leat_status_t leat_word_map_set(leat_word_map_t* map, uint64_t key, uint64_t value);
// false when |key| is absent; |*out_value| is then unchanged. |out_value| may be NULL.
bool leat_word_map_get(const leat_word_map_t* map, uint64_t key, uint64_t* out_value);
// false when |key| was absent. Leaves no tombstone, so a map that is filled and emptied for ever
// stays as fast as a new one.
bool leat_word_map_erase(leat_word_map_t* map, uint64_t key);

#endif  // LEAT_BASE_MAP_H_
