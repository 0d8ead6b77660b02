// Two hash maps with open addressing and linear probing: from strings to words, and from words to
// words. Importing a graph of a million nodes is mostly look-ups here, so both avoid touching
// memory that they do not need.
//
// The string map keeps its entries in one array in the order of insertion, and a table of their
// indices beside it. Iteration is therefore deterministic, and growing the table moves no entry.
// The table is at most five eighths full. Each entry stores its hash, which decides almost every
// comparison, so that a probe which meets another key does not touch that key's bytes. Keys are
// borrowed; single keys cannot be erased, but the entries added last can be.
//
//   table    [ 0 | 2 | 0 | 1 | 3 | 0 | 0 | 0 ]     index of the entry + 1; 0: free
//   entries  [ "x" | "w" | "b" ]                   in the order of insertion
//
// The word map has keys, values and marks of use in three arrays of one block and is at most half
// full. Erasing a key moves the entries that follow it in its run back over the hole, so that there
// are no tombstones and a map that is filled and emptied for years stays as fast as a new one.
#include "base/map.h"

#include <string.h>

#include "base/checked.h"

#define MAP_INITIAL_CAPACITY 16

void leat_string_map_initialize(leat_allocator_t* allocator, leat_string_map_t* out_map) {
  memset(out_map, 0, sizeof(*out_map));
  out_map->allocator = allocator;
}

void leat_string_map_deinitialize(leat_string_map_t* map) {
  leat_allocator_free(map->allocator, map->entries);
  leat_allocator_free(map->allocator, map->table);
  leat_string_map_initialize(map->allocator, map);
}

static size_t table_limit(const leat_string_map_t* map) { return map->table_capacity / 8 * 5; }

// Makes a table of |capacity| slots, a power of two, from the stored hashes; no key is read.
static leat_status_t rebuild_table(leat_string_map_t* map, size_t capacity) {
  void* memory = NULL;
  LEAT_RETURN_IF_ERROR(
      leat_allocator_allocate_array(map->allocator, capacity, sizeof(uint32_t), &memory));
  uint32_t* table = memory;
  for (size_t i = 0; i < map->count; ++i) {
    size_t slot = map->entries[i].hash & (capacity - 1);
    while (table[slot]) slot = (slot + 1) & (capacity - 1);
    table[slot] = (uint32_t)i + 1;
  }
  leat_allocator_free(map->allocator, map->table);
  map->table = table;
  map->table_capacity = capacity;
  return leat_ok_status();
}

// The new entries are not zeroed: a page that is never filled is then never touched, and the kernel
// never has to provide it.
static leat_status_t reserve_entries(leat_string_map_t* map, size_t count) {
  if (count <= map->entry_capacity) return leat_ok_status();
  size_t capacity = LEAT_MAX(count, LEAT_MAX((size_t)8, 2 * map->entry_capacity));
  void* entries = map->entries;
  size_t entry_bytes = sizeof(leat_string_map_entry_t);
  LEAT_RETURN_IF_ERROR(leat_allocator_reallocate(
      map->allocator, map->entry_capacity * entry_bytes, capacity * entry_bytes, &entries));
  map->entries = entries;
  map->entry_capacity = capacity;
  return leat_ok_status();
}

leat_status_t leat_string_map_reserve(leat_string_map_t* map, size_t count) {
  if (count >= UINT32_MAX) {
    return leat_make_status(LEAT_RESOURCE_EXHAUSTED,
                            "Growing a map failed: count is %zu, must be below %u", count,
                            UINT32_MAX);
  }
  LEAT_RETURN_IF_ERROR(reserve_entries(map, count));
  if (count <= table_limit(map)) return leat_ok_status();
  size_t capacity = LEAT_MAX(map->table_capacity, (size_t)MAP_INITIAL_CAPACITY);
  while (capacity / 8 * 5 < count) capacity *= 2;
  return rebuild_table(map, capacity);
}

// The slot of |key|, or the free one where it belongs. The table must not be empty.
static inline size_t find_slot(const leat_string_map_t* map, leat_string_view_t key,
                               uint64_t hash) {
  size_t mask = map->table_capacity - 1;
  size_t slot = hash & mask;
  for (; map->table[slot]; slot = (slot + 1) & mask) {
    const leat_string_map_entry_t* entry = &map->entries[map->table[slot] - 1];
    if (entry->hash == hash && leat_string_view_equal(entry->key, key)) break;
  }
  return slot;
}

leat_status_t leat_string_map_insert(leat_string_map_t* map, leat_string_view_t key,
                                     uint64_t value, uint64_t** out_value, bool* out_inserted) {
  if (out_value) *out_value = NULL;
  if (out_inserted) *out_inserted = false;
  if (LEAT_UNLIKELY(map->count >= map->entry_capacity || map->count >= table_limit(map))) {
    LEAT_RETURN_IF_ERROR(leat_string_map_reserve(map, map->count + 1));
  }
  uint64_t hash = leat_string_view_hash(key);
  size_t slot = find_slot(map, key, hash);
  bool inserted = !map->table[slot];
  if (inserted) {
    map->entries[map->count] = (leat_string_map_entry_t){key, hash, value};
    map->table[slot] = (uint32_t)++map->count;
  }
  if (out_value) *out_value = &map->entries[map->table[slot] - 1].value;
  if (out_inserted) *out_inserted = inserted;
  return leat_ok_status();
}

leat_status_t leat_string_map_set(leat_string_map_t* map, leat_string_view_t key, uint64_t value) {
  uint64_t* place = NULL;
  LEAT_RETURN_IF_ERROR(leat_string_map_insert(map, key, value, &place, NULL));
  *place = value;
  return leat_ok_status();
}

void leat_string_map_truncate(leat_string_map_t* map, size_t count) {
  if (count >= map->count) return;
  map->count = count;
  memset(map->table, 0, map->table_capacity * sizeof(uint32_t));
  for (size_t i = 0; i < count; ++i) {
    size_t slot = map->entries[i].hash & (map->table_capacity - 1);
    while (map->table[slot]) slot = (slot + 1) & (map->table_capacity - 1);
    map->table[slot] = (uint32_t)i + 1;
  }
}

bool leat_string_map_get(const leat_string_map_t* map, leat_string_view_t key,
                         uint64_t* out_value) {
  if (map->count == 0) return false;
  uint32_t index = map->table[find_slot(map, key, leat_string_view_hash(key))];
  if (index && out_value) *out_value = map->entries[index - 1].value;
  return index != 0;
}

void leat_word_map_initialize(leat_allocator_t* allocator, leat_word_map_t* out_map) {
  memset(out_map, 0, sizeof(*out_map));
  out_map->allocator = allocator;
}

// Keys, values and marks share one block that begins with the keys.
void leat_word_map_deinitialize(leat_word_map_t* map) {
  leat_allocator_free(map->allocator, map->keys);
  leat_word_map_initialize(map->allocator, map);
}

void leat_word_map_clear(leat_word_map_t* map) {
  if (map->capacity) memset(map->used, 0, map->capacity);
  map->count = 0;
}

static size_t word_home(const leat_word_map_t* map, uint64_t key) {
  uint64_t hash = (key ^ (key >> 32)) * 0x9e3779b97f4a7c15ull;
  return (hash ^ (hash >> 32)) & (map->capacity - 1);
}

static size_t find_word(const leat_word_map_t* map, uint64_t key) {
  size_t slot = word_home(map, key);
  while (map->used[slot] && map->keys[slot] != key) slot = (slot + 1) & (map->capacity - 1);
  return slot;
}

// Doubles the table. A key, its value and its mark take 8 + 8 + 1 bytes of the block.
static leat_status_t grow_words(leat_word_map_t* map) {
  leat_word_map_t grown = *map;
  grown.capacity = map->capacity ? 2 * map->capacity : MAP_INITIAL_CAPACITY;
  void* memory = NULL;
  LEAT_RETURN_IF_ERROR(
      leat_allocator_allocate_array(map->allocator, grown.capacity, 17, &memory));
  grown.keys = memory;
  grown.values = grown.keys + grown.capacity;
  grown.used = (uint8_t*)(grown.values + grown.capacity);
  for (size_t i = 0; i < map->capacity; ++i) {
    if (!map->used[i]) continue;
    size_t slot = find_word(&grown, map->keys[i]);
    grown.used[slot] = 1;
    grown.keys[slot] = map->keys[i];
    grown.values[slot] = map->values[i];
  }
  leat_allocator_free(map->allocator, map->keys);
  *map = grown;
  return leat_ok_status();
}

leat_status_t leat_word_map_set(leat_word_map_t* map, uint64_t key, uint64_t value) {
  if (map->count >= map->capacity / 2) LEAT_RETURN_IF_ERROR(grow_words(map));
  size_t slot = find_word(map, key);
  if (!map->used[slot]) {
    map->used[slot] = 1;
    map->keys[slot] = key;
    ++map->count;
  }
  map->values[slot] = value;
  return leat_ok_status();
}

bool leat_word_map_get(const leat_word_map_t* map, uint64_t key, uint64_t* out_value) {
  if (map->count == 0) return false;
  size_t slot = find_word(map, key);
  if (map->used[slot] && out_value) *out_value = map->values[slot];
  return map->used[slot];
}

bool leat_word_map_erase(leat_word_map_t* map, uint64_t key) {
  if (map->count == 0) return false;
  size_t mask = map->capacity - 1;
  size_t hole = find_word(map, key);
  if (!map->used[hole]) return false;
  for (size_t next = (hole + 1) & mask; map->used[next]; next = (next + 1) & mask) {
    // An entry may move into the hole only if that is not before its home.
    size_t home = word_home(map, map->keys[next]);
    if (((next - home) & mask) < ((next - hole) & mask)) continue;
    map->keys[hole] = map->keys[next];
    map->values[hole] = map->values[next];
    hole = next;
  }
  map->used[hole] = 0;
  --map->count;
  return true;
}
