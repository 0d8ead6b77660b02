// The index of a checkpoint while it is being made. The bundle writer adds an entry for each
// tensor, and leat_bundle_merge() the entries of several checkpoints; at the end the index is
// written as a table. A table takes its keys in order, while tensors come in the order of the
// program, so the entries are kept and sorted once when the index is written. A map finds the entry
// of a key that was added before: slices of one tensor share an entry, and a name that comes twice
// is an error.
//
// Keys and all that the entries point at lie in the index's arena, since the tensors and messages
// that they came from may be gone when the index is written. An entry's address is valid only until
// the next key is added.
#include "formats/checkpoint/bundle_index.h"

#include <stdlib.h>

#include "formats/checkpoint/table.h"
#include "formats/wire/encode.h"

leat_status_t leat_bundle_index_path(const char* prefix, leat_arena_t* arena,
                                     const char** out_path) {
  leat_string_view_t path = {0};
  leat_status_t status = leat_arena_print(arena, &path, "%s.index", prefix);
  *out_path = path.data;
  return status;
}

leat_status_t leat_bundle_data_path(const char* prefix, int shard, int shard_count,
                                    leat_arena_t* arena, const char** out_path) {
  leat_string_view_t path = {0};
  leat_status_t status =
      leat_arena_print(arena, &path, "%s.data-%05d-of-%05d", prefix, shard, shard_count);
  *out_path = path.data;
  return status;
}

void leat_bundle_index_initialize(leat_allocator_t* allocator, leat_bundle_index_t* out_index) {
  *out_index = (leat_bundle_index_t){0};
  leat_arena_initialize(allocator, 0, &out_index->arena);
  leat_string_map_initialize(allocator, &out_index->index_by_key);
}

void leat_bundle_index_deinitialize(leat_bundle_index_t* index) {
  leat_allocator_free(index->arena.allocator, index->items);
  leat_string_map_deinitialize(&index->index_by_key);
  leat_arena_deinitialize(&index->arena);
}

// Finds the entry of |key|, or adds an empty one; |*out_added| says which.
leat_status_t leat_bundle_index_get(leat_bundle_index_t* index, leat_string_view_t key,
                                    leat_pb_bundle_entry_proto_t** out_entry, bool* out_added) {
  uint64_t* position;
  *out_added = false;
  uint64_t found;
  if (leat_string_map_get(&index->index_by_key, key, &found)) {
    *out_entry = &index->items[found].entry;
    return leat_ok_status();
  }
  LEAT_RETURN_IF_ERROR(
      LEAT_GROW(index->arena.allocator, index->count + 1, &index->items, &index->capacity));
  leat_bundle_index_item_t* item = &index->items[index->count];
  *item = (leat_bundle_index_item_t){0};
  LEAT_RETURN_IF_ERROR(leat_arena_copy_string(&index->arena, key, &item->key));
  LEAT_RETURN_IF_ERROR(leat_string_map_insert(&index->index_by_key, item->key, index->count,
                                              &position, out_added));
  ++index->count;
  *out_entry = &item->entry;
  return leat_ok_status();
}

static int compare_items(const void* a, const void* b) {
  return leat_string_view_compare(((const leat_bundle_index_item_t*)a)->key,
                                  ((const leat_bundle_index_item_t*)b)->key);
}

// Encodes |message| into |bytes|, which is reused from entry to entry, and adds it to the table.
static leat_status_t write_entry(leat_table_writer_t* table, leat_string_builder_t* bytes,
                                 leat_string_view_t key,
                                 const leat_message_descriptor_t* descriptor,
                                 const void* message) {
  bytes->size = 0;
  LEAT_RETURN_IF_ERROR(leat_message_encode(descriptor, message, bytes));
  return leat_table_writer_add(table, key, leat_string_builder_view(bytes));
}

// Writes the header, whose empty key comes before all others, and then the entries in the order of
// their keys.
static leat_status_t write_table(leat_bundle_index_t* index, int first_shard, int shard_count,
                                 leat_file_t* file) {
  leat_table_writer_t table;
  leat_string_builder_t bytes;
  leat_pb_version_def_t version = {.producer = 1};
  leat_pb_bundle_header_proto_t header = {.num_shards = shard_count, .version = &version};
  leat_status_t status = leat_ok_status();
  leat_table_writer_initialize(file, 0, index->arena.allocator, &table);
  leat_string_builder_initialize(index->arena.allocator, &bytes);
  LEAT_GOTO_IF_ERROR(status, write_entry(&table, &bytes, LEAT_SV(""),
                                         &leat_pb_bundle_header_proto_descriptor, &header));
  if (index->count > 0) qsort(index->items, index->count, sizeof(index->items[0]), compare_items);
  for (size_t i = 0; i < index->count; ++i) {
    leat_pb_bundle_entry_proto_t entry = index->items[i].entry;
    // An entry that only lists slices has no bytes, but its shard is counted from |first_shard| as
    // well, because TensorFlow's merging of checkpoints expects that the numbered file exists.
    entry.shard_id += first_shard;
    LEAT_GOTO_IF_ERROR(status, write_entry(&table, &bytes, index->items[i].key,
                                           &leat_pb_bundle_entry_proto_descriptor, &entry));
  }
  LEAT_GOTO_IF_ERROR(status, leat_table_writer_finish(&table));
  status = file->vtable->sync(file);
cleanup:
  leat_table_writer_deinitialize(&table);
  leat_string_builder_deinitialize(&bytes);
  return status;
}

leat_status_t leat_bundle_index_write(leat_bundle_index_t* index, leat_file_system_t* fs,
                                      const char* path, int first_shard, int shard_count) {
  leat_file_t* file;
  LEAT_RETURN_IF_ERROR(
      leat_file_open(fs, path, LEAT_FILE_WRITE, index->arena.allocator, &file));
  leat_status_t status = write_table(index, first_shard, shard_count, file);
  return leat_status_join(status, leat_file_close(file));
}
