// A worker's registered graphs by handle. An entry is found without a lock, by a thread that may
// hold a handle from long ago, so entries are never freed before the table. They are used again
// instead: there are never more than graphs were registered at one time. A handle is the number of
// the entry and, above it, how often the entry has been used, so that an old handle does not name a
// new graph:
//
//   bits of a handle    63 ............ 32 | 31 ............ 0
//                       uses of the entry  | number of the entry
//
// The table knows nothing of what an entry holds. The worker's own struct begins with
// leat_graph_entry_t and has its own lock and state behind it.
#ifndef LEAT_WORKER_GRAPH_TABLE_H_
#define LEAT_WORKER_GRAPH_TABLE_H_

#include "base/allocator.h"
#include "base/sync.h"

// The owner's entries begin with this.
typedef struct leat_graph_entry_s {
  uint64_t handle;
  struct leat_graph_entry_s* next_free;
} leat_graph_entry_t;

typedef struct leat_graph_table_s {
  leat_allocator_t* allocator;
  size_t entry_bytes;
  leat_mutex_t mutex;  // of taking and giving back
  leat_graph_entry_t* free_entries;
  _Atomic(struct leat_graph_places_s*) places;
  _Atomic(size_t) count;  // of entries, free ones too
} leat_graph_table_t;

void leat_graph_table_initialize(leat_allocator_t* allocator, size_t entry_bytes,
                                 leat_graph_table_t* out_table);
// Frees the entries; what they hold is the owner's to end before.
void leat_graph_table_deinitialize(leat_graph_table_t* table);

// An entry that nobody uses: zeroed when it is new, else as it was given back. Its handle is that
// of its last use; the owner calls leat_graph_entry_renew, under whatever guards its entries.
// RESOURCE_EXHAUSTED without memory.
LEAT_MUST_USE leat_status_t leat_graph_table_take(leat_graph_table_t* table,
                                                  leat_graph_entry_t** out_entry);
// The entry may be taken again. Threads may still find it by its old handle.
void leat_graph_table_give_back(leat_graph_table_t* table, leat_graph_entry_t* entry);

#define LEAT_GRAPH_NUMBER_BITS 32  // of a handle
// Gives the entry the handle of its next use.
static inline void leat_graph_entry_renew(leat_graph_entry_t* entry) {
  entry->handle += UINT64_C(1) << LEAT_GRAPH_NUMBER_BITS;
}

// From any thread, without a lock. NULL when there never was such an entry; the caller looks under
// its own lock whether the entry is in use, and still under |handle|.
leat_graph_entry_t* leat_graph_table_find(const leat_graph_table_t* table, uint64_t handle);
// Number |index| of |count|, for a walk over all entries, free ones too.
leat_graph_entry_t* leat_graph_table_at(const leat_graph_table_t* table, size_t index);

#endif  // LEAT_WORKER_GRAPH_TABLE_H_
