// Writes checkpoints of TensorFlow's first version, for the op Save. The file is one sorted table:
// the empty key holds a message with the names, shapes and slices of all tensors, and each slice
// has a key of its own whose value is a message with its elements.
//
// Each slice is encoded into memory when it is added, because its tensor may change afterwards.
// Nothing is written before leat_checkpoint_v1_writer_finish(), since a table takes its keys in
// order and the empty key, which comes first, needs to know all slices. The writer therefore holds
// the whole checkpoint in memory; the second version (bundle_writer.c) does not, and is the one to
// use for large models.
//
// The file is published whole or not at all: it is written under a temporary name, synced, renamed,
// and the directory is synced.
#include <stdlib.h>

#include "base/map.h"
#include "formats/checkpoint/checkpoint_v1.h"
#include "formats/checkpoint/table.h"
#include "formats/generated/checkpoint.h"
#include "formats/generated/graph.h"
#include "formats/path.h"
#include "formats/wire/encode.h"
#include "formats/wire/shape_proto.h"
#include "formats/wire/tensor_proto.h"

#define CHECKPOINT_VERSION 1
#define MAX_MESSAGE_BYTES ((size_t)1 << 31)

typedef struct entry_s {
  leat_string_builder_t key;
  leat_string_builder_t value;
} entry_t;

struct leat_checkpoint_v1_writer_s {
  leat_allocator_t* allocator;
  leat_file_system_t* fs;
  leat_arena_t arena;
  leat_string_view_t path;
  leat_string_map_t index_by_name;
  leat_pb_saved_tensor_slice_meta_t meta;
  entry_t* entries;
  size_t count;
  size_t capacity;
};

leat_status_t leat_checkpoint_v1_writer_create(leat_file_system_t* fs, const char* path,
                                               leat_allocator_t* allocator,
                                               leat_checkpoint_v1_writer_t** out_writer) {
  leat_checkpoint_v1_writer_t* writer;
  *out_writer = NULL;
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(allocator, 1, &writer));
  writer->allocator = allocator;
  writer->fs = fs;
  leat_arena_initialize(allocator, 0, &writer->arena);
  leat_string_map_initialize(allocator, &writer->index_by_name);
  leat_status_t status =
      leat_arena_copy_string(&writer->arena, leat_string_view_from(path), &writer->path);
  if (status) {
    leat_checkpoint_v1_writer_free(writer);
    return status;
  }
  *out_writer = writer;
  return leat_ok_status();
}

void leat_checkpoint_v1_writer_free(leat_checkpoint_v1_writer_t* writer) {
  if (!writer) return;
  for (size_t i = 0; i < writer->count; ++i) {
    leat_string_builder_deinitialize(&writer->entries[i].key);
    leat_string_builder_deinitialize(&writer->entries[i].value);
  }
  leat_allocator_free(writer->allocator, writer->entries);
  leat_string_map_deinitialize(&writer->index_by_name);
  leat_arena_deinitialize(&writer->arena);
  leat_allocator_free(writer->allocator, writer);
}

// ---- Adding -------------------------------------------------------------------------------------

// All slices of a tensor must state one dtype and one full shape.
static leat_status_t check_same(const leat_pb_saved_slice_meta_t* meta,
                                const leat_shape_t* full_shape, int dtype) {
  leat_shape_t shape;
  LEAT_RETURN_IF_ERROR(leat_shape_from_proto(meta->shape, &shape));
  bool same = leat_shape_equal(&shape, full_shape) && meta->type == dtype;
  leat_status_t status = leat_ok_status();
  if (!same) {
    status = leat_make_status(LEAT_INTERNAL,
                              "Checkpoint write failed for '%.*s': slices are of %s %s, must be of "
                              "%s %s as before",
                              LEAT_SV_ARG(meta->name), leat_dtype_name(dtype),
                              LEAT_SHAPE_TEXT(full_shape), leat_dtype_name(meta->type),
                              LEAT_SHAPE_TEXT(&shape));
  }
  leat_shape_release(&shape);
  return status;
}

// The description of tensor |name| in the table's first message, which is added when the tensor is
// new.
static leat_status_t find_meta(leat_checkpoint_v1_writer_t* writer, leat_string_view_t name,
                               const leat_shape_t* full_shape, int dtype,
                               leat_pb_saved_slice_meta_t** out_meta) {
  uint64_t index;
  leat_arena_t* arena = &writer->arena;
  if (leat_string_map_get(&writer->index_by_name, name, &index)) {
    *out_meta = &writer->meta.tensor.items[index];
    return check_same(*out_meta, full_shape, dtype);
  }
  void* item;
  LEAT_RETURN_IF_ERROR(leat_message_list_append(arena, &writer->meta.tensor,
                                                sizeof(leat_pb_saved_slice_meta_t), &item));
  leat_pb_saved_slice_meta_t* meta = item;
  meta->type = dtype;
  LEAT_RETURN_IF_ERROR(leat_arena_copy_string(arena, name, &meta->name));
  LEAT_RETURN_IF_ERROR(
      leat_partial_shape_to_proto(leat_partial_shape_of(full_shape), arena, &meta->shape));
  LEAT_RETURN_IF_ERROR(leat_string_map_set(&writer->index_by_name, meta->name,
                                           writer->meta.tensor.count - 1));
  *out_meta = meta;
  return leat_ok_status();
}

// Refuses dtypes that the format lacks, and values that might make a message larger than the 2 GiB
// that protocol buffers allow.
static leat_status_t check_value(leat_string_view_t name, const leat_tensor_t* tensor) {
  static const leat_dtype_set_t kTypes =
      LEAT_DTYPE_BIT(FLOAT) | LEAT_DTYPE_BIT(DOUBLE) | LEAT_DTYPE_BIT(INT32) |
      LEAT_DTYPE_BIT(UINT8) | LEAT_DTYPE_BIT(INT16) | LEAT_DTYPE_BIT(INT8) |
      LEAT_DTYPE_BIT(COMPLEX64) | LEAT_DTYPE_BIT(INT64) | LEAT_DTYPE_BIT(BOOL) |
      LEAT_DTYPE_BIT(QINT8) | LEAT_DTYPE_BIT(QUINT8) | LEAT_DTYPE_BIT(QINT32) |
      LEAT_DTYPE_BIT(QINT16) | LEAT_DTYPE_BIT(QUINT16) | LEAT_DTYPE_BIT(UINT16) |
      LEAT_DTYPE_BIT(COMPLEX128) | LEAT_DTYPE_BIT(HALF) | LEAT_DTYPE_BIT(STRING);
  if (!leat_dtype_in(tensor->dtype, kTypes)) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "Checkpoint write failed for '%.*s': dtype is %s, which checkpoints of "
                            "the first version lack",
                            LEAT_SV_ARG(name), leat_dtype_name(tensor->dtype));
  }
  if (leat_tensor_size_bytes(tensor) > MAX_MESSAGE_BYTES / 2) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "Checkpoint write failed for '%.*s': value has %zu bytes, must be "
                            "below 2^30 (use SaveV2)",
                            LEAT_SV_ARG(name), leat_tensor_size_bytes(tensor));
  }
  return leat_ok_status();
}

static leat_status_t encode_slice(leat_arena_t* arena, leat_string_view_t name,
                                  const leat_tensor_slice_t* slice, const leat_tensor_t* tensor,
                                  leat_string_builder_t* out) {
  leat_pb_tensor_slice_proto_t slice_proto = {0};
  leat_pb_tensor_proto_t data = {0};
  LEAT_RETURN_IF_ERROR(leat_tensor_slice_to_proto(slice, arena, &slice_proto));
  LEAT_RETURN_IF_ERROR(leat_tensor_elements_to_proto(tensor, arena, &data));
  leat_pb_saved_slice_t saved = {.name = name, .slice = &slice_proto, .data = &data};
  leat_pb_saved_tensor_slices_t slices = {.data = &saved};
  return leat_message_encode(&leat_pb_saved_tensor_slices_descriptor, &slices, out);
}

leat_status_t leat_checkpoint_v1_writer_add(leat_checkpoint_v1_writer_t* writer,
                                            leat_string_view_t name,
                                            const leat_shape_t* full_shape,
                                            const leat_tensor_slice_t* slice,
                                            const leat_tensor_t* tensor) {
  leat_pb_saved_slice_meta_t* meta;
  void* item;
  LEAT_RETURN_IF_ERROR(check_value(name, tensor));
  LEAT_RETURN_IF_ERROR(find_meta(writer, name, full_shape, tensor->dtype, &meta));
  LEAT_RETURN_IF_ERROR(leat_message_list_append(&writer->arena, &meta->slice,
                                                sizeof(leat_pb_tensor_slice_proto_t), &item));
  LEAT_RETURN_IF_ERROR(leat_tensor_slice_to_proto(slice, &writer->arena, item));
  LEAT_RETURN_IF_ERROR(
      LEAT_GROW(writer->allocator, writer->count + 1, &writer->entries, &writer->capacity));
  entry_t* entry = &writer->entries[writer->count++];
  leat_string_builder_initialize(writer->allocator, &entry->key);
  leat_string_builder_initialize(writer->allocator, &entry->value);
  leat_tensor_slice_append_key(name, slice, &entry->key);
  LEAT_RETURN_IF_ERROR(leat_status_clone(entry->key.status));
  leat_arena_t arena;  // holds the message's lists of values until they are encoded
  leat_arena_initialize(writer->allocator, 0, &arena);
  leat_status_t status = encode_slice(&arena, name, slice, tensor, &entry->value);
  leat_arena_deinitialize(&arena);
  return status;
}

// ---- Writing ------------------------------------------------------------------------------------

static int compare_entries(const void* a, const void* b) {
  return leat_string_view_compare(leat_string_builder_view(&((const entry_t*)a)->key),
                                  leat_string_builder_view(&((const entry_t*)b)->key));
}

static leat_status_t write_meta(leat_checkpoint_v1_writer_t* writer, leat_table_writer_t* table) {
  leat_pb_version_def_t versions = {.producer = CHECKPOINT_VERSION};
  writer->meta.versions = &versions;
  leat_pb_saved_tensor_slices_t slices = {.meta = &writer->meta};
  leat_string_builder_t bytes;
  leat_string_builder_initialize(writer->allocator, &bytes);
  leat_status_t status =
      leat_message_encode(&leat_pb_saved_tensor_slices_descriptor, &slices, &bytes);
  if (!status) {
    status = leat_table_writer_add(table, LEAT_SV(""), leat_string_builder_view(&bytes));
  }
  leat_string_builder_deinitialize(&bytes);
  writer->meta.versions = NULL;
  return status;
}

static leat_status_t write_table(leat_checkpoint_v1_writer_t* writer, leat_file_t* file) {
  leat_table_writer_t table;
  leat_table_writer_initialize(file, 0, writer->allocator, &table);
  leat_status_t status = write_meta(writer, &table);
  for (size_t i = 0; !status && i < writer->count; ++i) {
    // A table may not hold a key twice, so a slice that was added twice is written once.
    if (i > 0 && compare_entries(&writer->entries[i - 1], &writer->entries[i]) == 0) continue;
    status = leat_table_writer_add(&table, leat_string_builder_view(&writer->entries[i].key),
                                   leat_string_builder_view(&writer->entries[i].value));
  }
  if (!status) status = leat_table_writer_finish(&table);
  leat_table_writer_deinitialize(&table);
  return status;
}

static leat_status_t publish(leat_checkpoint_v1_writer_t* writer) {
  const char *directory, *temporary;
  leat_file_t* file;
  leat_file_system_t* fs = writer->fs;
  LEAT_RETURN_IF_ERROR(leat_path_directory(writer->path.data, &writer->arena, &directory));
  LEAT_RETURN_IF_ERROR(leat_file_temporary_path(writer->path.data, &writer->arena, &temporary));
  leat_file_sweep_temporaries(fs, directory);
  LEAT_RETURN_IF_ERROR(
      leat_file_open(fs, temporary, LEAT_FILE_WRITE, writer->allocator, &file));
  leat_status_t status = write_table(writer, file);
  if (!status) status = file->vtable->sync(file);
  status = leat_status_join(status, leat_file_close(file));
  if (!status) status = fs->vtable->rename(fs, temporary, writer->path.data);
  if (status) {
    leat_status_free(fs->vtable->remove(fs, temporary));
    return status;
  }
  return fs->vtable->sync_directory(fs, directory);
}

leat_status_t leat_checkpoint_v1_writer_finish(leat_checkpoint_v1_writer_t* writer) {
  if (writer->count) qsort(writer->entries, writer->count, sizeof(entry_t), compare_entries);
  return publish(writer);
}
