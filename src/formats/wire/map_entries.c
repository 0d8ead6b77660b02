// Maps as lists of entries: keys that are repeated on the wire, and the order for writing.
//
// On the wire, a map is a list of entries, and a writer may repeat a key: the last entry with the
// key counts. Readers append all entries to a list while they read, since a message may go on for
// long, and call leat_map_entries_drop_repeated() once when the map is complete. The entries keep
// the order of their last occurrences. Lists of up to 16 entries, which nearly all are, are
// compared pairwise without any memory; longer ones go through a hash map, because pairwise
// comparison of a hostile list with a million entries would take hours.
//
// Writers ask leat_map_entries_order() for the order. It is a heap sort of indices, which needs no
// memory and no recursion and has no bad case.
#include "formats/wire/map_entries.h"

#include "base/map.h"
#include "base/sort.h"

// ---- Repeated keys ------------------------------------------------------------------------------

#define PAIRWISE_MAX 16

// A key that is not a string, as a word: integers and bools have at most 8 bytes.
static uint64_t key_word(const leat_message_field_t* key, const char* entry) {
  uint64_t word = 0;
  memcpy(&word, entry + key->offset, leat_message_field_size(key));
  return word;
}

static bool keys_equal(const leat_message_field_t* key, const char* a, const char* b) {
  if (key->kind != LEAT_FIELD_STRING) return key_word(key, a) == key_word(key, b);
  return leat_string_view_equal(*(const leat_string_view_t*)(a + key->offset),
                                *(const leat_string_view_t*)(b + key->offset));
}

// Keeps each entry whose key no later entry has.
static void drop_pairwise(const leat_message_descriptor_t* entry, leat_pb_list_t* list) {
  char* items = (char*)list->items;
  size_t size = entry->size_bytes, kept = 0;
  for (size_t i = 0; i < list->count; ++i) {
    bool repeated = false;
    for (size_t j = i + 1; j < list->count && !repeated; ++j) {
      repeated = keys_equal(&entry->fields[0], items + i * size, items + j * size);
    }
    if (repeated) continue;
    if (kept != i) memcpy(items + kept * size, items + i * size, size);
    ++kept;
  }
  list->count = kept;
}

// The map holds for each key the index of its last entry, and only entries at such an index are
// kept.
static leat_status_t drop_by_string(leat_allocator_t* allocator,
                                    const leat_message_descriptor_t* entry, leat_pb_list_t* list) {
  leat_string_map_t last;
  char* items = (char*)list->items;
  size_t size = entry->size_bytes, kept = 0;
  int32_t offset = entry->fields[0].offset;
  leat_status_t status = leat_ok_status();
  leat_string_map_initialize(allocator, &last);
  for (size_t i = 0; i < list->count; ++i) {
    leat_string_view_t key = *(leat_string_view_t*)(items + i * size + offset);
    LEAT_GOTO_IF_ERROR(status, leat_string_map_set(&last, key, i));
  }
  for (size_t i = 0; i < list->count; ++i) {
    leat_string_view_t key = *(leat_string_view_t*)(items + i * size + offset);
    uint64_t index;
    if (!leat_string_map_get(&last, key, &index) || index != i) continue;
    if (kept != i) memcpy(items + kept * size, items + i * size, size);
    ++kept;
  }
  list->count = kept;
cleanup:
  leat_string_map_deinitialize(&last);
  return status;
}

// Drops entries as drop_by_string does, for keys that are numbers.
static leat_status_t drop_by_word(leat_allocator_t* allocator,
                                  const leat_message_descriptor_t* entry, leat_pb_list_t* list) {
  leat_word_map_t last;
  char* items = (char*)list->items;
  size_t size = entry->size_bytes, kept = 0;
  leat_status_t status = leat_ok_status();
  leat_word_map_initialize(allocator, &last);
  for (size_t i = 0; i < list->count; ++i) {
    uint64_t key = key_word(&entry->fields[0], items + i * size);
    LEAT_GOTO_IF_ERROR(status, leat_word_map_set(&last, key, i));
  }
  for (size_t i = 0; i < list->count; ++i) {
    uint64_t key = key_word(&entry->fields[0], items + i * size), index;
    if (!leat_word_map_get(&last, key, &index) || index != i) continue;
    if (kept != i) memcpy(items + kept * size, items + i * size, size);
    ++kept;
  }
  list->count = kept;
cleanup:
  leat_word_map_deinitialize(&last);
  return status;
}

leat_status_t leat_map_entries_drop_repeated(leat_allocator_t* allocator,
                                             const leat_message_descriptor_t* entry,
                                             leat_pb_list_t* list) {
  if (list->count <= PAIRWISE_MAX) {
    drop_pairwise(entry, list);
    return leat_ok_status();
  }
  return entry->fields[0].kind == LEAT_FIELD_STRING ? drop_by_string(allocator, entry, list)
                                                    : drop_by_word(allocator, entry, list);
}

// ---- Order --------------------------------------------------------------------------------------

typedef struct sort_s {
  const leat_message_field_t* key;
  const char* keys;  // of entry 0
  size_t entry_bytes;
} sort_t;

static int compare_numbers(const leat_message_field_t* key, const char* a, const char* b) {
  if (key->kind == LEAT_FIELD_BOOL) return *(const bool*)a - *(const bool*)b;
  bool is_signed = key->kind == LEAT_FIELD_INT32 || key->kind == LEAT_FIELD_SINT32 ||
                   key->kind == LEAT_FIELD_SFIXED32 || key->kind == LEAT_FIELD_INT64 ||
                   key->kind == LEAT_FIELD_SINT64 || key->kind == LEAT_FIELD_SFIXED64;
  if (leat_message_field_size(key) == 8) {
    // The sign bit flipped, signed numbers compare as unsigned ones.
    uint64_t flip = is_signed ? UINT64_C(1) << 63 : 0;
    uint64_t x = *(const uint64_t*)a ^ flip, y = *(const uint64_t*)b ^ flip;
    return x < y ? -1 : x > y;
  }
  uint32_t flip = is_signed ? UINT32_C(1) << 31 : 0;
  uint32_t x = *(const uint32_t*)a ^ flip, y = *(const uint32_t*)b ^ flip;
  return x < y ? -1 : x > y;
}

// Compares two indices of entries by their keys, and those of equal keys by themselves.
static bool is_less(const void* context, const void* first, const void* second) {
  const sort_t* sort = context;
  const size_t i = *(const size_t*)first, j = *(const size_t*)second;
  const char* a = sort->keys + i * sort->entry_bytes;
  const char* b = sort->keys + j * sort->entry_bytes;
  int order = sort->key->kind == LEAT_FIELD_STRING
                  ? leat_string_view_compare(*(const leat_string_view_t*)a,
                                             *(const leat_string_view_t*)b)
                  : compare_numbers(sort->key, a, b);
  return order != 0 ? order < 0 : i < j;
}

void leat_map_entries_order(const leat_message_descriptor_t* entry, const leat_pb_list_t* list,
                            size_t* out_order) {
  size_t count = list->count;
  sort_t sort = {&entry->fields[0], (const char*)list->items + entry->fields[0].offset,
                 entry->size_bytes};
  bool sorted = true;
  for (size_t i = 0; i < count; ++i) {
    out_order[i] = i;
    sorted = sorted && (i == 0 || is_less(&sort, &out_order[i - 1], &out_order[i]));
  }
  if (!sorted) leat_sort(out_order, count, sizeof *out_order, is_less, &sort);
}
