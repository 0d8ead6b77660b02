// The nodes of a graph by name. Names lie in the nodes; the index holds numbers only.
#ifndef LEAT_GRAPH_NODE_INDEX_H_
#define LEAT_GRAPH_NODE_INDEX_H_

#include "base/allocator.h"
#include "graph/node_name.h"

struct leat_node_s;

typedef struct leat_node_index_s {
  leat_allocator_t* allocator;
  uint32_t* slots;  // node + 1, and above it what bits are left of the hash; 0 = free
  size_t capacity;  // a power of two
  size_t count;
} leat_node_index_t;

void leat_node_index_initialize(leat_allocator_t* allocator, leat_node_index_t* out_index);
void leat_node_index_deinitialize(leat_node_index_t* index);
// Makes room for |count| nodes in all.
LEAT_MUST_USE leat_status_t leat_node_index_reserve(leat_node_index_t* index,
                                                    const struct leat_node_s* nodes, size_t count);
// -1 when none of |nodes| has that name; |hash| is leat_node_name_hash of it.
int32_t leat_node_index_find(const leat_node_index_t* index, const struct leat_node_s* nodes,
                             leat_string_view_t name, uint64_t hash);
// A node with that hash will be added: begins to fetch its place, which is seldom in a cache.
static inline void leat_node_index_prefetch(const leat_node_index_t* index, uint64_t hash) {
  __builtin_prefetch(&index->slots[hash & (index->capacity - 1)], 1);
}
// What a slot holds.
static inline uint32_t leat_node_index_slot(const leat_node_index_t* index, uint64_t hash,
                                            size_t node) {
  return ((uint32_t)(hash >> 32) & ~(uint32_t)(index->capacity - 1)) | ((uint32_t)node + 1);
}
bool leat_node_index_add_behind(leat_node_index_t* index, const struct leat_node_s* nodes,
                                uint64_t hash);
// Adds nodes[index->count], for which there is room. False when its name is taken. Most find their
// slot free.
static inline bool leat_node_index_add(leat_node_index_t* index, const struct leat_node_s* nodes,
                                       uint64_t hash) {
  uint32_t* slot = &index->slots[hash & (index->capacity - 1)];
  if (*slot) return leat_node_index_add_behind(index, nodes, hash);
  *slot = leat_node_index_slot(index, hash, index->count++);
  return true;
}
// Forgets all but the |count| nodes that were added first.
void leat_node_index_truncate(leat_node_index_t* index, const struct leat_node_s* nodes,
                              size_t count);

#endif  // LEAT_GRAPH_NODE_INDEX_H_
