// The nodes of a graph by name: an open-addressing hash table whose slots hold node numbers only.
// Names stay in the nodes, so the index needs the node array at every call, and a name is stored
// once. leat_graph_t owns the only index (graph.c); import adds nodes to it in great numbers, which
// is why the usual case of an addition is inline:
//
//   leat_node_index_reserve(&index, nodes, index.count + 1);
//   bool is_new = leat_node_index_add(&index, nodes, leat_node_name_hash(nodes[index.count].name));
//
// The index knows the first |count| nodes of the array, which are added in order and never removed
// but from the end. It has no lock: whoever changes the graph serialises the calls. Which names a
// node may have, and the hash by which the index finds it, are here too.
#ifndef LEAT_GRAPH_NODE_INDEX_H_
#define LEAT_GRAPH_NODE_INDEX_H_

#include "base/allocator.h"
#include "base/string_view.h"

// ---- Names (node_name.c) ------------------------------------------------------------------------

// Whether a node may be called |name|: [A-Za-z0-9.][A-Za-z0-9_./-]*, perhaps several such texts
// joined by '>'. Nodes of the runtime (|may_be_internal|) may begin with '_'.
bool leat_node_name_is_valid(leat_string_view_t name, bool may_be_internal);
// Does the same and gives the hash in one pass over the text. |*out_hash| has no meaning when it
// returns false.
bool leat_node_name_read(leat_string_view_t name, bool may_be_internal, uint64_t* out_hash);
uint64_t leat_node_name_hash(leat_string_view_t name);

// ---- The index ----------------------------------------------------------------------------------

struct leat_node_s;

typedef struct leat_node_index_s {
  leat_allocator_t* allocator;
  uint32_t* slots;  // node + 1 and, above its bits, upper bits of the hash; 0 = free
  size_t capacity;  // a power of two
  size_t count;
} leat_node_index_t;

// An empty index, which allocates nothing yet. Only leat_node_index_reserve allocates.
void leat_node_index_initialize(leat_allocator_t* allocator, leat_node_index_t* out_index);
void leat_node_index_deinitialize(leat_node_index_t* index);
// Makes room for |count| nodes in all. The names of the nodes that are in the index must not have
// changed, because a larger table is filled anew from them. RESOURCE_EXHAUSTED without memory; the
// index is then as before.
LEAT_MUST_USE leat_status_t leat_node_index_reserve(leat_node_index_t* index,
                                                    const struct leat_node_s* nodes, size_t count);
// The node called |name|, whose leat_node_name_hash is |hash|, or -1 when there is none.
int32_t leat_node_index_find(const leat_node_index_t* index, const struct leat_node_s* nodes,
                             leat_string_view_t name, uint64_t hash);
// Prefetches the slot of a name that is added soon: in a large graph it is seldom in the cache. The
// index must have had a reserve.
static inline void leat_node_index_prefetch(const leat_node_index_t* index, uint64_t hash) {
  __builtin_prefetch(&index->slots[hash & (index->capacity - 1)], 1);
}
// What the slot of |node|, whose name has |hash|, holds. For this header and node_index.c.
static inline uint32_t leat_node_index_slot(const leat_node_index_t* index, uint64_t hash,
                                            size_t node) {
  return ((uint32_t)(hash >> 32) & ~(uint32_t)(index->capacity - 1)) | ((uint32_t)node + 1);
}
// leat_node_index_add where the first slot is taken.
bool leat_node_index_add_behind(leat_node_index_t* index, const struct leat_node_s* nodes,
                                uint64_t hash);
// Adds nodes[index->count], for which there must be room. False when its name is taken. Most nodes
// find their first slot free.
static inline bool leat_node_index_add(leat_node_index_t* index, const struct leat_node_s* nodes,
                                       uint64_t hash) {
  uint32_t* slot = &index->slots[hash & (index->capacity - 1)];
  if (*slot) return leat_node_index_add_behind(index, nodes, hash);
  *slot = leat_node_index_slot(index, hash, index->count++);
  return true;
}
// Forgets all but the |count| nodes that were added first, in time linear in the table: an import
// that failed is undone by it.
void leat_node_index_truncate(leat_node_index_t* index, const struct leat_node_s* nodes,
                              size_t count);

#endif  // LEAT_GRAPH_NODE_INDEX_H_
