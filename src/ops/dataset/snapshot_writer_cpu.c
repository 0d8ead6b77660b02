// Writes the runs of snapshots (ops/dataset/snapshot_cpu.h). A component becomes a TensorProto in a
// TFRecord, and the components of an element follow each other in the file of its shard. The
// records of an element are put together first and written at once, so that an element which cannot
// be encoded leaves nothing of itself in the file.
#include "base/random.h"
#include "formats/record/compression.h"
#include "formats/record/snappy_file.h"
#include "ops/dataset/snapshot_cpu.h"
#include "ops/input/serialized_tensor_cpu.h"

void leat_snapshot_writer_initialize(leat_string_view_t path, const char* compression,
                                     leat_snapshot_writer_t* out_writer) {
  *out_writer = (leat_snapshot_writer_t){.path = path, .compression = compression};
  leat_string_builder_initialize(leat_allocator_system(), &out_writer->run);
  leat_string_builder_initialize(leat_allocator_system(), &out_writer->name);
  leat_string_builder_initialize(leat_allocator_system(), &out_writer->records);
  leat_word_map_initialize(leat_allocator_system(), &out_writer->places);
}

leat_status_t leat_snapshot_writer_begin(leat_snapshot_writer_t* w) {
  const leat_shape_t scalar = leat_shape_scalar();
  LEAT_DCHECK(!w->run.size && !w->file_count);
  LEAT_RETURN_IF_ERROR(leat_tensor_allocate(leat_buffer_source_host(), LEAT_DTYPE_STRING, &scalar,
                                            &w->text));
  leat_string_builder_print(&w->run, "%llu", (unsigned long long)leat_random_seed());
  leat_string_builder_print(&w->name, "%.*s/%s", LEAT_SV_ARG(w->path), w->run.data);
  LEAT_RETURN_IF_ERROR(leat_status_clone(w->name.status));
  return leat_file_make_directories(leat_file_system_default(), w->name.data);
}

leat_status_t leat_snapshot_open_file(const char* path, const char* compression,
                                      leat_file_t** out_file) {
  leat_compression_t kind;
  leat_file_t* file;
  LEAT_RETURN_IF_ERROR(leat_file_open(leat_file_system_default(), path, LEAT_FILE_WRITE,
                                      leat_allocator_system(), &file));
  if (!leat_compression_from_name(leat_string_view_from(compression), &kind)) {
    LEAT_DCHECK(leat_string_view_equals(leat_string_view_from(compression), "SNAPPY"));
    LEAT_RETURN_IF_ERROR(leat_snappy_file_create(file, leat_allocator_system(), &file));
  } else if (kind != LEAT_COMPRESSION_NONE) {
    LEAT_RETURN_IF_ERROR(leat_compressed_file_create(file, kind, leat_allocator_system(), &file));
  }
  *out_file = file;
  return leat_ok_status();
}

static leat_status_t open_file(leat_snapshot_writer_t* w, uint64_t shard, leat_file_t** out_file) {
  w->name.size = 0;
  leat_string_builder_print(&w->name, "%.*s/%s/%08llu.shard", LEAT_SV_ARG(w->path), w->run.data,
                            (unsigned long long)shard);
  LEAT_RETURN_IF_ERROR(leat_status_clone(w->name.status));
  LEAT_RETURN_IF_ERROR(leat_file_make_directories(leat_file_system_default(), w->name.data));
  leat_string_builder_append(&w->name, LEAT_SV("/00000000.snapshot"));
  LEAT_RETURN_IF_ERROR(leat_status_clone(w->name.status));
  return leat_snapshot_open_file(w->name.data, w->compression, out_file);
}

// The file of |shard|, which is made where it is new.
static leat_status_t find_file(leat_snapshot_writer_t* w, uint64_t shard,
                               leat_snapshot_file_t** out_file) {
  uint64_t place;
  leat_file_t* file;
  if (leat_word_map_get(&w->places, shard, &place)) {
    *out_file = &w->files[place];
    return leat_ok_status();
  }
  LEAT_RETURN_IF_ERROR(
      LEAT_GROW(leat_allocator_system(), w->file_count + 1, &w->files, &w->file_room));
  LEAT_RETURN_IF_ERROR(open_file(w, shard, &file));
  leat_status_t status = leat_word_map_set(&w->places, shard, w->file_count);
  if (status) return leat_status_join(status, leat_file_close(file));
  *out_file = &w->files[w->file_count++];
  (*out_file)->file = file;
  leat_record_writer_initialize(file, &(*out_file)->writer);
  return leat_ok_status();
}

leat_status_t leat_snapshot_writer_add(leat_snapshot_writer_t* w, uint64_t shard,
                                       const leat_tensor_t* element, int count) {
  leat_snapshot_file_t* to = NULL;
  LEAT_RETURN_IF_ERROR(find_file(w, shard, &to));
  w->records.size = 0;
  for (int i = 0; i < count; ++i) {
    LEAT_RETURN_IF_ERROR(leat_tensor_serialize(&element[i], true, &w->text, 0));
    leat_record_append(&w->records, leat_tensor_string_at(&w->text, 0));
  }
  LEAT_RETURN_IF_ERROR(leat_status_clone(w->records.status));
  LEAT_RETURN_IF_ERROR(
      leat_record_writer_add_encoded(&to->writer, leat_string_builder_view(&w->records)));
  ++w->count;
  return leat_ok_status();
}

leat_status_t leat_snapshot_writer_close(leat_snapshot_writer_t* w) {
  leat_status_t status = leat_ok_status();
  for (size_t i = 0; i < w->file_count; ++i) {
    leat_record_writer_deinitialize(&w->files[i].writer);
    status = leat_status_join(status, leat_file_close(w->files[i].file));
  }
  w->file_count = 0;
  return status;
}

void leat_snapshot_writer_deinitialize(leat_snapshot_writer_t* w) {
  LEAT_DCHECK(!w->file_count);
  leat_string_builder_deinitialize(&w->run);
  leat_string_builder_deinitialize(&w->name);
  leat_string_builder_deinitialize(&w->records);
  leat_tensor_release(&w->text);
  leat_word_map_deinitialize(&w->places);
  leat_allocator_free(leat_allocator_system(), w->files);
}

leat_status_t leat_snapshot_take_shard(leat_application_t* call, leat_pull_t* pull,
                                       uint64_t* out_shard) {
  leat_tensor_t number;
  LEAT_RETURN_IF_ERROR(leat_application_take(call, pull, &number));
  const bool is_number = number.dtype == LEAT_DTYPE_INT64 && number.shape.rank == 0;
  *out_shard = is_number ? *leat_tensor_data(&number, const uint64_t) : 0;
  leat_tensor_release(&number);
  if (is_number) return leat_ok_status();
  return leat_make_status(LEAT_INVALID_ARGUMENT, "`shard_func` must return a scalar int64.");
}
