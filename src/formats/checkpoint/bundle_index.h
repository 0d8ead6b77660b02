// What the writer of a checkpoint and the merging of several share: the index of the checkpoint
// while it is being made (entries by key, and writing them as a table), and publishing it.
#ifndef LEAT_FORMATS_CHECKPOINT_BUNDLE_INDEX_H_
#define LEAT_FORMATS_CHECKPOINT_BUNDLE_INDEX_H_

#include "base/map.h"
#include "formats/checkpoint/bundle.h"

typedef struct leat_bundle_index_item_s {
  leat_string_view_t key;
  leat_pb_bundle_entry_proto_t entry;
} leat_bundle_index_item_t;

// Keys are names of tensors and keys of slices. The entries may come in any order, and are sorted
// when the table is written. One thread at a time.
typedef struct leat_bundle_index_s {
  // Holds the keys and what entries point at.
  leat_arena_t arena;
  // Places in |items|.
  leat_string_map_t index_by_key;
  leat_bundle_index_item_t* items;
  size_t count;
  size_t capacity;
} leat_bundle_index_t;

// An empty index; |allocator| must outlive it.
void leat_bundle_index_initialize(leat_allocator_t* allocator, leat_bundle_index_t* out_index);
void leat_bundle_index_deinitialize(leat_bundle_index_t* index);
// Finds the entry of |key|, or adds an empty one; |*out_added| says which. The entry's address is
// valid until the next key is added.
LEAT_MUST_USE leat_status_t leat_bundle_index_get(leat_bundle_index_t* index,
                                                  leat_string_view_t key,
                                                  leat_pb_bundle_entry_proto_t** out_entry,
                                                  bool* out_added);
// Writes the table of the index to |path| and syncs it. The header states |shard_count|; the shards
// that entries name are counted from |first_shard| on.
LEAT_MUST_USE leat_status_t leat_bundle_index_write(leat_bundle_index_t* index,
                                                    leat_file_system_t* fs, const char* path,
                                                    int first_shard, int shard_count);

// ---- Publishing (bundle_publish.c) --------------------------------------------------------------
// The data files of a bundle and its index come to their final names in an order in which a process
// that dies at any moment leaves the old checkpoint of the prefix or the new one whole.

// A file that becomes data file number |i| of the bundle, where |i| is its place in the list. It
// must be synced.
typedef struct leat_bundle_shard_s {
  const char* path;
  bool is_kept;  // it is copied, not renamed, because it belongs to the checkpoint being replaced
} leat_bundle_shard_t;

// Makes |shards| and |index| the checkpoint |prefix|. Entries of the index name shards by their
// place in the list. After an error the old checkpoint stands, or, when it was the last rename that
// failed or syncing after it, the old or the new one; renamed shards are back under their old names
// where nothing can refer to the new ones.
//
// Saves under one prefix in this process wait for each other. Two processes must not save under one
// prefix at once: each would take the other's data for leftovers.
LEAT_MUST_USE leat_status_t leat_bundle_publish(leat_file_system_t* fs, leat_bundle_index_t* index,
                                                const char* prefix,
                                                const leat_bundle_shard_t* shards,
                                                size_t count);

// Whether two paths name one file, as far as their text tells ("a//b" and "./a/b" do).
LEAT_MUST_USE leat_status_t leat_bundle_same_path(const char* a, const char* b,
                                                  leat_arena_t* arena, bool* out_same);

#endif  // LEAT_FORMATS_CHECKPOINT_BUNDLE_INDEX_H_
