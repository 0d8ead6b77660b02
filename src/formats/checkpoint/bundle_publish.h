// Publishing a bundle: its data files and its index come to their final names in an order in which
// a process that dies at any moment leaves the old checkpoint of the prefix or the new one whole.
#ifndef LEAT_FORMATS_CHECKPOINT_BUNDLE_PUBLISH_H_
#define LEAT_FORMATS_CHECKPOINT_BUNDLE_PUBLISH_H_

#include "formats/checkpoint/bundle_index.h"

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

#endif  // LEAT_FORMATS_CHECKPOINT_BUNDLE_PUBLISH_H_
