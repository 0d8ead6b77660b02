// The index of a graph's nodes by name (node_index.h): linear probing in a table of 32-bit slots
// that is at most five eighths full. With a capacity of 2^c a slot holds the node's number plus 1
// in its lower c bits and the upper bits of the hash's upper half above them:
//
//   | 32 - c bits of the hash | node + 1, c bits |
//
// Small slots keep the table in the processor's cache. The bits of the hash make a probe that
// misses end in the slot: a node's name is compared almost only when it is the one that is sought.
// Nodes are never removed one by one, so that there are no tombstones; undoing an import fills the
// table again.
#include "graph/node_index.h"

#include "base/checked.h"
#include "base/pages.h"
#include "graph/graph.h"

#define MIN_CAPACITY 16
#define PRESENT_BYTES ((size_t)1 << 20)  // not above: a hostile file may claim any number of nodes

void leat_node_index_initialize(leat_allocator_t* allocator, leat_node_index_t* out_index) {
  *out_index = (leat_node_index_t){.allocator = allocator};
}

void leat_node_index_deinitialize(leat_node_index_t* index) {
  leat_allocator_free(index->allocator, index->slots);
}

static inline size_t node_of(const leat_node_index_t* index, uint32_t slot) {
  LEAT_DCHECK((slot & (index->capacity - 1)) != 0);
  return (slot & (index->capacity - 1)) - 1;
}

// Adds all nodes to an empty table.
static void fill(leat_node_index_t* index, const leat_node_t* nodes) {
  // A search ends at a free slot, and some are always left.
  LEAT_DCHECK(index->count <= index->capacity / 8 * 5);
  size_t mask = index->capacity - 1;
  for (size_t i = 0; i < index->count; ++i) {
    uint64_t hash = leat_node_name_hash(nodes[i].name);
    size_t at = hash & mask;
    while (index->slots[at]) at = (at + 1) & mask;
    index->slots[at] = leat_node_index_slot(index, hash, i);
  }
}

leat_status_t leat_node_index_reserve(leat_node_index_t* index, const leat_node_t* nodes,
                                      size_t count) {
  if (LEAT_LIKELY(count <= index->capacity / 8 * 5)) return leat_ok_status();
  size_t capacity = LEAT_MAX(index->capacity, (size_t)MIN_CAPACITY);
  while (capacity / 8 * 5 < count) capacity *= 2;
  void* slots = NULL;
  size_t bytes = capacity * sizeof(uint32_t);
  LEAT_RETURN_IF_ERROR(leat_allocator_allocate(index->allocator, bytes, &slots));
  // Nodes fall all over the table, so every page will be used: they are mapped in one call.
  if (bytes <= PRESENT_BYTES) leat_pages_advise(slots, bytes, LEAT_PAGES_PRESENT);
  leat_allocator_free(index->allocator, index->slots);
  index->slots = slots;
  index->capacity = capacity;
  fill(index, nodes);
  return leat_ok_status();
}

// The slot of |name|, or the free slot where it belongs. The table must not be empty.
static inline size_t find_slot(const leat_node_index_t* index, const leat_node_t* nodes,
                               leat_string_view_t name, uint64_t hash) {
  LEAT_DCHECK(index->capacity > 0 && (index->capacity & (index->capacity - 1)) == 0);
  size_t mask = index->capacity - 1;
  size_t at = hash & mask;
  for (uint32_t slot; (slot = index->slots[at]); at = (at + 1) & mask) {
    if ((slot ^ (uint32_t)(hash >> 32)) & ~(uint32_t)mask) continue;
    if (LEAT_LIKELY(leat_string_view_equal(nodes[node_of(index, slot)].name, name))) break;
  }
  return at;
}

int32_t leat_node_index_find(const leat_node_index_t* index, const leat_node_t* nodes,
                             leat_string_view_t name, uint64_t hash) {
  if (index->count == 0) return -1;
  uint32_t slot = index->slots[find_slot(index, nodes, name, hash)];
  return slot ? (int32_t)node_of(index, slot) : -1;
}

bool leat_node_index_add_behind(leat_node_index_t* index, const leat_node_t* nodes, uint64_t hash) {
  size_t at = find_slot(index, nodes, nodes[index->count].name, hash);
  if (LEAT_UNLIKELY(index->slots[at])) return false;
  LEAT_DCHECK(index->count < index->capacity / 8 * 5);
  index->slots[at] = leat_node_index_slot(index, hash, index->count++);
  return true;
}

void leat_node_index_truncate(leat_node_index_t* index, const leat_node_t* nodes, size_t count) {
  if (count >= index->count) return;
  memset(index->slots, 0, index->capacity * sizeof(uint32_t));
  index->count = count;
  fill(index, nodes);
}
