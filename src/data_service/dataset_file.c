#include "data_service/dataset_file.h"

#include "formats/record/record.h"
#include "formats/wire/decode.h"
#include "formats/wire/encode.h"

leat_status_t leat_dataset_file_write(const char* path, const leat_pb_dataset_def_t* def) {
  leat_string_builder_t message, record;
  leat_string_builder_initialize(leat_allocator_system(), &message);
  leat_string_builder_initialize(leat_allocator_system(), &record);
  leat_status_t status = leat_message_encode(&leat_pb_dataset_def_descriptor, def, &message);
  if (!status) status = leat_status_clone(message.status);
  if (!status) leat_record_append(&record, leat_string_builder_view(&message));
  if (!status) status = leat_status_clone(record.status);
  if (!status) {
    status = leat_file_write_atomically(leat_file_system_default(), path, record.data, record.size);
  }
  leat_string_builder_deinitialize(&message);
  leat_string_builder_deinitialize(&record);
  return status;
}

static leat_status_t read_record(leat_string_view_t bytes, leat_arena_t* arena,
                                 leat_string_view_t* out_record) {
  leat_record_bytes_source_t source;
  leat_record_reader_t reader;
  leat_string_view_t record;
  leat_record_bytes_source_initialize(bytes, &source);
  leat_record_reader_initialize(&source.base, 0, leat_allocator_system(), &reader);
  leat_status_t status = leat_record_reader_next(&reader, &record);
  if (!status) status = leat_arena_copy_string(arena, record, out_record);
  leat_record_reader_deinitialize(&reader);
  return status;
}

leat_status_t leat_dataset_file_read(leat_string_view_t path, leat_arena_t* arena,
                                     leat_pb_dataset_def_t* out_def) {
  leat_string_view_t name, record;
  char* bytes;
  size_t size;
  LEAT_RETURN_IF_ERROR(leat_arena_print(arena, &name, "%.*s", LEAT_SV_ARG(path)));
  LEAT_RETURN_IF_ERROR(leat_file_read_all(leat_file_system_default(), name.data,
                                          leat_allocator_system(), &bytes, &size));
  leat_status_t status = read_record(leat_string_view_make(bytes, size), arena, &record);
  leat_allocator_free(leat_allocator_system(), bytes);
  LEAT_RETURN_IF_ERROR(status);
  return leat_message_decode(&leat_pb_dataset_def_descriptor, record, arena, NULL, out_def);
}
