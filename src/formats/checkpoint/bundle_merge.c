// Merging makes one bundle of several, as the last step of a sharded save: their data files become
// those of the merged bundle, by renaming, and their indexes are joined. No tensor is read. The
// target may exist already; it stays whole until leat_bundle_publish replaces it in one step, and
// where it is itself among the bundles to be merged, its data files are copied for that reason. The
// kernel of MergeV2Checkpoints is the caller.
#include "formats/checkpoint/bundle.h"
#include "formats/checkpoint/bundle_index.h"
#include "formats/checkpoint/table.h"
#include "formats/path.h"
#include "formats/wire/decode.h"

typedef struct merge_s {
  leat_file_system_t* fs;
  leat_allocator_t* allocator;
  leat_bundle_index_t index;  // keys and entries of all; its arena holds what entries point at
  leat_string_map_t numbers;  // path of a data file -> its number in the merged bundle
  leat_bundle_shard_t* shards;  // by number
  size_t capacity;
  bool is_target;  // the bundle being added is the one to be replaced
} merge_t;

// The number of |shard| of |prefix| among the merged data files.
static leat_status_t get_shard(merge_t* merge, const char* prefix, int shard, int shard_count,
                               int32_t* out_shard) {
  const char* path;
  uint64_t* number;
  bool added;
  LEAT_RETURN_IF_ERROR(
      leat_bundle_data_path(prefix, shard, shard_count, &merge->index.arena, &path));
  size_t next = merge->numbers.count;
  LEAT_RETURN_IF_ERROR(LEAT_GROW(merge->allocator, next + 1, &merge->shards, &merge->capacity));
  LEAT_RETURN_IF_ERROR(leat_string_map_insert(&merge->numbers, leat_string_view_from(path), next,
                                              &number, &added));
  *out_shard = (int32_t)*number;
  if (added) merge->shards[next] = (leat_bundle_shard_t){path, merge->is_target};
  return leat_ok_status();
}

// Takes one entry into the merged index, under the number that its data file has there. Several
// bundles may hold a tensor only as slices of it, and then the lists of slices are joined.
static leat_status_t add_entry(merge_t* merge, const char* prefix, int shard_count,
                               leat_string_view_t key, leat_string_view_t value) {
  leat_pb_bundle_entry_proto_t entry, *known;
  leat_arena_t* arena = &merge->index.arena;
  bool added;
  LEAT_RETURN_IF_ERROR(leat_arena_copy_string(arena, value, &value));
  LEAT_RETURN_IF_ERROR(leat_message_decode(&leat_pb_bundle_entry_proto_descriptor, value, arena,
                                           NULL, &entry));
  LEAT_RETURN_IF_ERROR(leat_bundle_index_get(&merge->index, key, &known, &added));
  if (added) {
    *known = entry;
    known->shard_id = 0;
    if (entry.slices.count > 0) return leat_ok_status();  // has no bytes of its own
    return get_shard(merge, prefix, entry.shard_id, shard_count, &known->shard_id);
  }
  if (known->slices.count == 0 || entry.slices.count == 0 || known->dtype != entry.dtype) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "Checkpoint merge failed for '%s': tensor %.*s is in another part too, "
                            "must be in one or in slices",
                            prefix, LEAT_SV_ARG(key));
  }
  leat_pb_tensor_slice_proto_list_t all = {.count = known->slices.count + entry.slices.count};
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, all.count, &all.items));
  memcpy(all.items, known->slices.items, known->slices.count * sizeof(all.items[0]));
  memcpy(all.items + known->slices.count, entry.slices.items,
         entry.slices.count * sizeof(all.items[0]));
  known->slices = all;
  return leat_ok_status();
}

// Reads the header, which is the value of the empty key and thus the first of the table.
static leat_status_t read_shard_count(merge_t* merge, const leat_table_cursor_t* cursor,
                                      const char* prefix, int* out_count) {
  leat_pb_bundle_header_proto_t header;
  if (!cursor->is_valid || cursor->key.size > 0) {
    return leat_make_status(LEAT_DATA_LOSS, "Checkpoint merge failed for '%s': the header is not "
                            "there", prefix);
  }
  LEAT_RETURN_IF_ERROR(leat_message_decode(&leat_pb_bundle_header_proto_descriptor, cursor->value,
                                           &merge->index.arena, NULL, &header));
  if (header.endianness != LEAT_PB_BUNDLE_HEADER_PROTO_ENDIANNESS_LITTLE) {
    return leat_make_status(LEAT_INVALID_ARGUMENT, "Checkpoint merge failed for '%s': byte order "
                            "is big-endian, must be little-endian", prefix);
  }
  *out_count = header.num_shards;
  return leat_ok_status();
}

static leat_status_t add_bundle(merge_t* merge, const char* prefix) {
  const char* path;
  leat_table_t* table = NULL;
  leat_table_cursor_t cursor = {0};
  int shard_count = 0;
  leat_status_t status = leat_ok_status();
  LEAT_RETURN_IF_ERROR(leat_bundle_index_path(prefix, &merge->index.arena, &path));
  LEAT_RETURN_IF_ERROR(leat_table_open(merge->fs, path, merge->allocator, &table));
  LEAT_GOTO_IF_ERROR(status, leat_table_cursor_initialize(table, &cursor));
  LEAT_GOTO_IF_ERROR(status, leat_table_cursor_seek(&cursor, LEAT_SV("")));
  LEAT_GOTO_IF_ERROR(status, read_shard_count(merge, &cursor, prefix, &shard_count));
  LEAT_GOTO_IF_ERROR(status, leat_table_cursor_next(&cursor));
  while (cursor.is_valid) {
    LEAT_GOTO_IF_ERROR(status,
                       add_entry(merge, prefix, shard_count, cursor.key, cursor.value));
    LEAT_GOTO_IF_ERROR(status, leat_table_cursor_next(&cursor));
  }
cleanup:
  leat_table_cursor_deinitialize(&cursor);
  leat_table_free(table);
  return status;
}

// The merged checkpoint is whole; what is left of its parts is only in the way.
static leat_status_t remove_indexes(merge_t* merge, const char* const* prefixes, size_t count,
                                    const char* target) {
  const char* path;
  bool is_target;
  leat_arena_t* arena = &merge->index.arena;
  for (size_t i = 0; i < count; ++i) {
    LEAT_RETURN_IF_ERROR(leat_bundle_same_path(prefixes[i], target, arena, &is_target));
    if (is_target) continue;
    LEAT_RETURN_IF_ERROR(leat_bundle_index_path(prefixes[i], arena, &path));
    leat_status_free(merge->fs->vtable->remove(merge->fs, path));
  }
  return leat_ok_status();
}

leat_status_t leat_bundle_merge(leat_file_system_t* fs, const char* const* prefixes, size_t count,
                                const char* prefix, leat_allocator_t* allocator) {
  merge_t merge = {.fs = fs, .allocator = allocator};
  leat_status_t status = leat_ok_status();
  const char* directory;
  leat_bundle_index_initialize(allocator, &merge.index);
  leat_string_map_initialize(allocator, &merge.numbers);
  LEAT_GOTO_IF_ERROR(status, leat_path_directory(prefix, &merge.index.arena, &directory));
  LEAT_GOTO_IF_ERROR(status, leat_file_make_directories(fs, directory));
  leat_file_sweep_temporaries(fs, directory);
  for (size_t i = 0; i < count; ++i) {
    LEAT_GOTO_IF_ERROR(status, leat_bundle_same_path(prefixes[i], prefix, &merge.index.arena,
                                                     &merge.is_target));
    LEAT_GOTO_IF_ERROR(status, add_bundle(&merge, prefixes[i]));
  }
  LEAT_GOTO_IF_ERROR(status, leat_bundle_publish(fs, &merge.index, prefix, merge.shards,
                                                 merge.numbers.count));
  status = remove_indexes(&merge, prefixes, count, prefix);
cleanup:
  leat_allocator_free(allocator, merge.shards);
  leat_string_map_deinitialize(&merge.numbers);
  leat_bundle_index_deinitialize(&merge.index);
  return status;
}
