// Linear probing in a table that is at most five eighths full. A slot has half of its node's hash,
// which decides nearly every comparison: a probe that misses touches no node.
#include "graph/node_index.h"

#include "base/pages.h"
#include "graph/graph.h"

#define MIN_CAPACITY 16
#define PRESENT_BYTES ((size_t)1 << 20)  // a larger table may be the claim of a hostile file

void leat_node_index_initialize(leat_allocator_t* allocator, leat_node_index_t* out_index) {
  *out_index = (leat_node_index_t){.allocator = allocator};
}

void leat_node_index_deinitialize(leat_node_index_t* index) {
  leat_allocator_free(index->allocator, index->slots);
}

static size_t home_of(const leat_node_index_t* index, uint64_t slot) {
  return (slot >> 32) & (index->capacity - 1);
}

static void put(leat_node_index_t* index, uint64_t slot) {
  size_t mask = index->capacity - 1;
  size_t at = home_of(index, slot);
  while (index->slots[at]) at = (at + 1) & mask;
  index->slots[at] = slot;
}

leat_status_t leat_node_index_reserve(leat_node_index_t* index, size_t count) {
  if (LEAT_LIKELY(count <= index->capacity / 8 * 5)) return leat_ok_status();
  leat_node_index_t grown = *index;
  if (grown.capacity < MIN_CAPACITY) grown.capacity = MIN_CAPACITY;
  while (grown.capacity / 8 * 5 < count) grown.capacity *= 2;
  void* slots = NULL;
  size_t bytes = grown.capacity * sizeof(uint64_t);
  LEAT_RETURN_IF_ERROR(leat_allocator_allocate(index->allocator, bytes, &slots));
  // Nodes fall all over the table.
  if (bytes <= PRESENT_BYTES) leat_pages_advise(slots, bytes, LEAT_PAGES_PRESENT);
  grown.slots = slots;
  for (size_t i = 0; i < index->capacity; ++i) {
    if (index->slots[i]) put(&grown, index->slots[i]);
  }
  leat_allocator_free(index->allocator, index->slots);
  *index = grown;
  return leat_ok_status();
}

// Where |name| is, or the free slot where it belongs. The table must not be empty.
static inline size_t find_slot(const leat_node_index_t* index, const leat_node_t* nodes,
                               leat_string_view_t name, uint64_t hash) {
  size_t mask = index->capacity - 1;
  size_t at = home_of(index, hash);
  for (uint64_t slot; (slot = index->slots[at]); at = (at + 1) & mask) {
    if ((slot ^ hash) >> 32) continue;
    if (LEAT_LIKELY(leat_string_view_equal(nodes[(uint32_t)slot - 1].name, name))) break;
  }
  return at;
}

int32_t leat_node_index_find(const leat_node_index_t* index, const leat_node_t* nodes,
                             leat_string_view_t name, uint64_t hash) {
  if (index->count == 0) return -1;
  return (int32_t)(uint32_t)index->slots[find_slot(index, nodes, name, hash)] - 1;
}

bool leat_node_index_add(leat_node_index_t* index, const leat_node_t* nodes, uint64_t hash) {
  size_t at = find_slot(index, nodes, nodes[index->count].name, hash);
  if (LEAT_UNLIKELY(index->slots[at])) return false;
  index->slots[at] = (hash >> 32 << 32) | ++index->count;
  return true;
}

void leat_node_index_truncate(leat_node_index_t* index, const leat_node_t* nodes, size_t count) {
  if (count >= index->count) return;
  memset(index->slots, 0, index->capacity * sizeof(uint64_t));
  index->count = count;
  for (size_t i = 0; i < count; ++i) {
    put(index, (leat_node_name_hash(nodes[i].name) >> 32 << 32) | (i + 1));
  }
}
