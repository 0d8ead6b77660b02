// A heap sort of indices: no memory, no recursion, no bad case.
#include "formats/wire/map_order.h"

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

static bool is_less(const sort_t* sort, size_t i, size_t j) {
  const char* a = sort->keys + i * sort->entry_bytes;
  const char* b = sort->keys + j * sort->entry_bytes;
  int order = sort->key->kind == LEAT_FIELD_STRING
                  ? leat_string_view_compare(*(const leat_string_view_t*)a,
                                             *(const leat_string_view_t*)b)
                  : compare_numbers(sort->key, a, b);
  return order != 0 ? order < 0 : i < j;
}

static void sift_down(const sort_t* sort, size_t* heap, size_t root, size_t count) {
  size_t moved = heap[root];
  for (;;) {
    size_t child = 2 * root + 1;
    if (child >= count) break;
    if (child + 1 < count && is_less(sort, heap[child], heap[child + 1])) ++child;
    if (!is_less(sort, moved, heap[child])) break;
    heap[root] = heap[child];
    root = child;
  }
  heap[root] = moved;
}

void leat_map_order(const leat_message_descriptor_t* entry, const leat_pb_list_t* list,
                    size_t* out_order) {
  size_t count = list->count;
  sort_t sort = {&entry->fields[0], (const char*)list->items + entry->fields[0].offset,
                 entry->size_bytes};
  bool sorted = true;
  for (size_t i = 0; i < count; ++i) {
    out_order[i] = i;
    sorted = sorted && (i == 0 || is_less(&sort, i - 1, i));
  }
  if (sorted) return;
  for (size_t i = count / 2; i-- > 0;) sift_down(&sort, out_order, i, count);
  for (size_t last = count; --last > 0;) {
    size_t largest = out_order[0];
    out_order[0] = out_order[last];
    out_order[last] = largest;
    sift_down(&sort, out_order, 0, last);
  }
}
