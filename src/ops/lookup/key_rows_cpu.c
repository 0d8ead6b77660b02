// The hash table behind lookup tables and tensor maps. Keys and values lie densely in arrays of
// their own, by row; a table of row numbers with linear probing finds them:
//
//   places  [ 0 | 3 | 1 | 0 | 0 | 2 | ... ]    row + 1; 0 is free; at most half of them are taken
//                 │
//                 └▶ row 2:  keys[2], values[2 * value_count ...]
//
// Dense arrays make an export a copy, and keep the probed memory small: four bytes a place. A
// removal moves the entries behind the freed place up where their hash allows, as Knuth's algorithm
// for deletion with linear probing does, so that there are no tombstones and a table that changes
// for a long time does not get slower. The removed row's number goes to the last row.
//
// The hash is a fast one that everybody can compute, so whoever chooses the keys can give all of
// them one home (the place of their hash), or one home after another, and n of them would cost
// n * n / 2 steps. Therefore no key lies farther from its home than FARTHEST places, and no search
// goes on beyond. When the place of a new key would be farther, which chance does not bring about,
// the table changes to a slower hash with random words in it, and the limit falls.
#include "ops/lookup/key_rows_cpu.h"

#include <string.h>

#include "base/fingerprint.h"
#include "base/random.h"

#define FARTHEST 256
#define TOO_FAR SIZE_MAX

void leat_key_rows_initialize(int key_dtype, int value_dtype, int64_t value_count,
                              leat_key_rows_t* out_rows) {
  *out_rows = (leat_key_rows_t){
      .key_dtype = key_dtype, .value_dtype = value_dtype, .value_count = value_count};
}

static size_t key_bytes(const leat_key_rows_t* rows) { return leat_dtype_size(rows->key_dtype); }

static void* key_at(const leat_key_rows_t* rows, int64_t row) {
  return rows->keys + (size_t)row * key_bytes(rows);
}

void leat_key_rows_clear(leat_key_rows_t* rows) {
  leat_object_destroy(rows->key_dtype, rows->keys, (int64_t)rows->count);
  leat_object_destroy(rows->value_dtype, rows->values, (int64_t)rows->count * rows->value_count);
  if (rows->place_count) memset(rows->places, 0, rows->place_count * sizeof *rows->places);
  rows->count = 0;
}

void leat_key_rows_deinitialize(leat_key_rows_t* rows) {
  leat_key_rows_clear(rows);
  leat_allocator_free(leat_allocator_system(), rows->keys);
  leat_allocator_free(leat_allocator_system(), rows->values);
  leat_allocator_free(leat_allocator_system(), rows->places);
}

// ---- Keys ---------------------------------------------------------------------------------------

static leat_string_view_t string_at(const void* keys, int64_t index) {
  const TF_TString* string = &((const TF_TString*)keys)[index];
  return leat_string_view_make(TF_TString_GetDataPointer(string), TF_TString_GetSize(string));
}

// SipHash, of which nobody can tell which keys collide without the seed.
static uint64_t keyed_hash(const leat_key_rows_t* rows, const void* keys, int64_t index) {
  const char* key = (const char*)keys + (size_t)index * key_bytes(rows);
  return leat_fingerprint_keyed(rows->seed, rows->key_dtype == LEAT_DTYPE_STRING
                                                ? string_at(keys, index)
                                                : leat_string_view_make(key, key_bytes(rows)));
}

// Multiplying by an odd number spreads neighbouring integers over the high bits, and the shift
// brings those down to where the place is taken from.
static uint64_t hash_of(const leat_key_rows_t* rows, const void* keys, int64_t index) {
  const int dtype = rows->key_dtype;
  if (LEAT_UNLIKELY(rows->is_keyed)) return keyed_hash(rows, keys, index);
  uint64_t hash = dtype == LEAT_DTYPE_INT64   ? (uint64_t)((const int64_t*)keys)[index]
                  : dtype == LEAT_DTYPE_INT32 ? (uint64_t)((const int32_t*)keys)[index]
                                              : leat_string_view_hash(string_at(keys, index));
  hash *= UINT64_C(0x9e3779b97f4a7c15);
  return hash ^ hash >> 32;
}

// Whether the key of |row| equals key |index| of |keys|.
static bool same_key(const leat_key_rows_t* rows, int64_t row, const void* keys, int64_t index) {
  if (rows->key_dtype == LEAT_DTYPE_INT64) {
    return ((const int64_t*)rows->keys)[row] == ((const int64_t*)keys)[index];
  }
  if (rows->key_dtype == LEAT_DTYPE_INT32) {
    return ((const int32_t*)rows->keys)[row] == ((const int32_t*)keys)[index];
  }
  return leat_string_view_equal(string_at(rows->keys, row), string_at(keys, index));
}

// Returns the place of the key, or the free place where it belongs. There is always a free one, but
// without a keyed hash the search ends at TOO_FAR: no key lies farther from its home.
static size_t find_place(const leat_key_rows_t* rows, const void* keys, int64_t index) {
  const size_t mask = rows->place_count - 1;
  const size_t limit = rows->is_keyed ? SIZE_MAX : FARTHEST;
  size_t place = (size_t)hash_of(rows, keys, index) & mask;
  for (size_t steps = 0; rows->places[place]; ++steps) {
    if (same_key(rows, rows->places[place] - 1, keys, index)) return place;
    if (steps == limit) return TOO_FAR;
    place = (place + 1) & mask;
  }
  return place;
}

int64_t leat_key_rows_find(const leat_key_rows_t* rows, const void* keys, int64_t index) {
  if (rows->count == 0) return -1;
  const size_t place = find_place(rows, keys, index);
  return place == TOO_FAR ? -1 : (int64_t)rows->places[place] - 1;
}

// Enters all rows into the empty places. false: a row would lie too far from its home.
static bool enter_rows(leat_key_rows_t* rows) {
  for (size_t i = 0; i < rows->count; ++i) {
    const size_t place = find_place(rows, rows->keys, (int64_t)i);
    if (place == TOO_FAR) return false;
    rows->places[place] = (uint32_t)i + 1;
  }
  return true;
}

// Gives the hash its key, and enters all rows again.
static void key_hash(leat_key_rows_t* rows) {
  LEAT_DCHECK(!rows->is_keyed);
  rows->is_keyed = true;
  rows->seed[0] = leat_random_seed();
  rows->seed[1] = leat_random_seed();
  memset(rows->places, 0, rows->place_count * sizeof *rows->places);
  enter_rows(rows);
}

// ---- Growing ------------------------------------------------------------------------------------

// Makes the places twice as many as |count| at least, and enters all rows again.
static leat_status_t grow_places(leat_key_rows_t* rows, size_t count) {
  size_t places = rows->place_count ? rows->place_count : 16;
  while (places < count * 2) places *= 2;
  if (places == rows->place_count) return leat_ok_status();
  uint32_t* fresh;
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(leat_allocator_system(), places, &fresh));
  leat_allocator_free(leat_allocator_system(), rows->places);
  rows->places = fresh;
  rows->place_count = places;
  if (!enter_rows(rows)) key_hash(rows);
  return leat_ok_status();
}

static leat_status_t grow_array(char** array, size_t old_items, size_t new_items,
                                size_t item_bytes) {
  if (item_bytes == 0) return leat_ok_status();
  if (new_items > SIZE_MAX / 2 / item_bytes) {
    return leat_make_status(LEAT_RESOURCE_EXHAUSTED, "A table of %zu rows is too large", new_items);
  }
  void* memory = *array;
  LEAT_RETURN_IF_ERROR(leat_allocator_reallocate(leat_allocator_system(), old_items * item_bytes,
                                                 new_items * item_bytes, &memory));
  *array = memory;
  return leat_ok_status();
}

leat_status_t leat_key_rows_reserve(leat_key_rows_t* rows, size_t count) {
  if (count >= UINT32_MAX) {
    return leat_make_status(LEAT_RESOURCE_EXHAUSTED, "A table of %zu rows is too large", count);
  }
  LEAT_RETURN_IF_ERROR(grow_places(rows, count));
  if (count <= rows->room) return leat_ok_status();
  size_t room = rows->room * 2 > count ? rows->room * 2 : count;
  LEAT_RETURN_IF_ERROR(grow_array(&rows->keys, rows->room, room, key_bytes(rows)));
  LEAT_RETURN_IF_ERROR(
      grow_array(&rows->values, rows->room, room, leat_key_rows_row_bytes(rows)));
  rows->room = room;
  return leat_ok_status();
}

leat_status_t leat_key_rows_find_or_add(leat_key_rows_t* rows, const void* keys, int64_t index,
                                        int64_t* out_row, bool* out_added) {
  LEAT_RETURN_IF_ERROR(leat_key_rows_reserve(rows, rows->count + 1));
  size_t place = find_place(rows, keys, index);
  if (LEAT_UNLIKELY(place == TOO_FAR)) {
    key_hash(rows);
    place = find_place(rows, keys, index);
  }
  *out_row = (int64_t)rows->places[place] - 1;
  *out_added = *out_row < 0;
  if (!*out_added) return leat_ok_status();
  int64_t row = (int64_t)rows->count;
  char* key = key_at(rows, row);
  memset(key, 0, key_bytes(rows));
  LEAT_RETURN_IF_ERROR(leat_tensor_copy_elements(
      rows->key_dtype, (const char*)keys + (size_t)index * key_bytes(rows), key, 1));
  memset(leat_key_rows_values(rows, row), 0, leat_key_rows_row_bytes(rows));
  rows->places[place] = (uint32_t)row + 1;
  ++rows->count;
  *out_row = row;
  return leat_ok_status();
}

// ---- Removing -----------------------------------------------------------------------------------

// Frees |place|. An entry behind it moves up unless its home (the place of its hash) lies behind
// the gap, since a search that begins there would not find it any more. Without a keyed hash none
// has its home more than FARTHEST places before it, so that the search for one ends there.
static void free_place(leat_key_rows_t* rows, size_t place) {
  size_t mask = rows->place_count - 1;
  const size_t limit = rows->is_keyed ? SIZE_MAX : FARTHEST;
  for (size_t next = (place + 1) & mask; rows->places[next]; next = (next + 1) & mask) {
    if (((next - place) & mask) > limit) break;
    size_t home =
        (size_t)hash_of(rows, rows->keys, (int64_t)rows->places[next] - 1) & mask;
    if (((next - home) & mask) < ((next - place) & mask)) continue;
    rows->places[place] = rows->places[next];
    place = next;
  }
  rows->places[place] = 0;
}

void leat_key_rows_remove(leat_key_rows_t* rows, int64_t row) {
  int64_t last = (int64_t)rows->count - 1;
  size_t row_bytes = leat_key_rows_row_bytes(rows);
  free_place(rows, find_place(rows, rows->keys, row));
  size_t last_place = last != row ? find_place(rows, rows->keys, last) : 0;
  leat_object_destroy(rows->key_dtype, key_at(rows, row), 1);
  leat_object_destroy(rows->value_dtype, leat_key_rows_values(rows, row), rows->value_count);
  if (last != row) {
    memcpy(key_at(rows, row), key_at(rows, last), key_bytes(rows));
    if (row_bytes)
      memcpy(leat_key_rows_values(rows, row), leat_key_rows_values(rows, last), row_bytes);
    rows->places[last_place] = (uint32_t)row + 1;
  }
  --rows->count;
}
