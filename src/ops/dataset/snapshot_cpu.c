// The metadata of snapshots, and the names of compressions (ops/dataset/snapshot_cpu.h).
#include "ops/dataset/snapshot_cpu.h"

#include <string.h>

#include "base/clock.h"
#include "base/file_system.h"
#include "formats/wire/decode.h"
#include "formats/wire/encode.h"

static void append_path(leat_string_builder_t* out, leat_string_view_t path) {
  leat_string_builder_initialize(leat_allocator_system(), out);
  leat_string_builder_print(out, "%.*s/snapshot.metadata", LEAT_SV_ARG(path));
}

leat_status_t leat_snapshot_write_metadata(leat_string_view_t path,
                                           const leat_element_spec_t* spec,
                                           const leat_snapshot_description_t* description) {
  leat_arena_t arena;
  leat_string_builder_t name, bytes;
  leat_pb_snapshot_metadata_record_t metadata = {.graph_hash = description->graph_hash,
                                                 .run_id = description->run,
                                                 .creation_timestamp = leat_clock_wall_ns() / 1000,
                                                 .version = description->version,
                                                 .num_elements = description->count,
                                                 .finalized = description->is_final};
  leat_arena_initialize(leat_allocator_system(), 0, &arena);
  append_path(&name, path);
  leat_string_builder_initialize(leat_allocator_system(), &bytes);
  metadata.dtype.count = (size_t)spec->count;
  leat_status_t status = LEAT_NEW(&arena, (size_t)spec->count, &metadata.dtype.items);
  for (int i = 0; i < spec->count && !status; ++i) metadata.dtype.items[i] = spec->types[i];
  if (!status) {
    status = leat_message_encode(&leat_pb_snapshot_metadata_record_descriptor, &metadata, &bytes);
  }
  if (!status) status = leat_status_clone(name.status);
  if (!status) {
    status = leat_file_write_atomically(leat_file_system_default(), name.data, bytes.data,
                                        bytes.size);
  }
  leat_string_builder_deinitialize(&bytes);
  leat_string_builder_deinitialize(&name);
  leat_arena_deinitialize(&arena);
  return status;
}

// Reads the file |name| into |arena|.
static leat_status_t read_file(const char* name, leat_arena_t* arena,
                               leat_string_view_t* out_bytes) {
  char* data;
  size_t size;
  LEAT_RETURN_IF_ERROR(leat_file_read_all(leat_file_system_default(), name,
                                          leat_allocator_system(), &data, &size));
  leat_status_t status =
      leat_arena_copy_string(arena, leat_string_view_make(data, size), out_bytes);
  leat_allocator_free(leat_allocator_system(), data);
  return status;
}

leat_status_t leat_snapshot_read_metadata(leat_string_view_t path, leat_arena_t* arena,
                                          leat_pb_snapshot_metadata_record_t* out_metadata) {
  leat_string_builder_t name;
  leat_string_view_t bytes = {0};
  append_path(&name, path);
  leat_status_t status = leat_status_clone(name.status);
  if (!status) status = read_file(name.data, arena, &bytes);
  leat_string_builder_deinitialize(&name);
  if (leat_status_code(status) == LEAT_NOT_FOUND) {
    leat_status_free(status);
    return leat_make_status(LEAT_NOT_FOUND, "Could not find metadata file [%.*s]",
                            LEAT_SV_ARG(path));
  }
  if (status) return status;
  LEAT_RETURN_IF_ERROR(leat_message_decode(&leat_pb_snapshot_metadata_record_descriptor, bytes,
                                           arena, NULL, out_metadata));
  if (out_metadata->version >= 0 && out_metadata->version <= LEAT_SNAPSHOT_TF_RECORDS) {
    return leat_ok_status();
  }
  return leat_make_status(LEAT_UNIMPLEMENTED,
                          "the saved dataset in %.*s has version %lld, must have version 0, 1 or 2",
                          LEAT_SV_ARG(path), (long long)out_metadata->version);
}

leat_status_t leat_snapshot_compression_create(leat_kernel_creation_t* c,
                                               leat_snapshot_compression_t* out_compression) {
  static const char* const kNames[] = {"", "GZIP", "ZLIB", "SNAPPY"};
  leat_string_view_t name;
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_string(c, "compression", &name));
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(kNames); ++i) {
    if (!leat_string_view_equals(name, kNames[i])) continue;
    *out_compression = (leat_snapshot_compression_t){0};
    if (name.size) memcpy(out_compression->name, name.data, name.size);
    return leat_ok_status();
  }
  return leat_make_status(LEAT_INVALID_ARGUMENT,
                          "Kernel creation failed for node '%.*s' (%s): compression is '%.*s', "
                          "must be '', 'GZIP', 'ZLIB' or 'SNAPPY'",
                          LEAT_SV_ARG(c->kernel->node_name), c->kernel->row->op,
                          LEAT_SV_ARG(name));
}
