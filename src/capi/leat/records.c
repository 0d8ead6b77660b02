// The record files of leat/files.h: TFRecord files (formats/record/record.h), read and written
// through the library's file system, perhaps compressed. A reader gives one record at a time; its
// bytes are valid until the next call. A writer's records are complete when leat_records_finish has
// returned OK: it syncs and closes the file and reports the first error of any write before. Both
// belong to one thread at a time.
#include "capi/handles.h"
#include "formats/record/compression.h"
#include "formats/record/file_stream.h"
#include "leat/files.h"

struct leat_records_t {
  leat_file_stream_t* stream;
  leat_record_reader_t reader;
};

// Opens a file for reading. The size of a decompressed record is limited, because a damaged length
// could ask for any amount of memory.
static leat_status_t open_records(const char* path, leat_string_view_t compression,
                                  leat_records_t** out_records) {
  leat_allocator_t* allocator = leat_allocator_system();
  leat_records_t* records;
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(allocator, 1, &records));
  leat_status_t status = leat_file_stream_open(leat_file_system_default(), path, compression,
                                               allocator, &records->stream);
  if (status) {
    leat_allocator_free(allocator, records);
    return status;
  }
  leat_record_reader_initialize(leat_file_stream_source(records->stream),
                                compression.size ? LEAT_COMPRESSION_MAX_BYTES : 0, allocator,
                                &records->reader);
  *out_records = records;
  return leat_ok_status();
}

leat_records_t* leat_records_open_compressed(const char* path, const char* compression,
                                             TF_Status* status) {
  leat_records_t* records = NULL;
  leat_string_view_t name = leat_string_view_from(compression ? compression : "");
  leat_capi_status_set(status, open_records(path, name, &records));
  return records;
}

leat_records_t* leat_records_open(const char* path, TF_Status* status) {
  return leat_records_open_compressed(path, NULL, status);
}

// Returns the next record, or NULL: at the end with OUT_OF_RANGE in |status|, otherwise with an
// error.
const void* leat_records_next(leat_records_t* records, size_t* out_size, TF_Status* status) {
  leat_string_view_t record = {NULL, 0};
  leat_status_t result = records ? leat_record_reader_next(&records->reader, &record)
                                 : leat_make_status(LEAT_FAILED_PRECONDITION,
                                                    "Reading a record failed: the file is not "
                                                    "open");
  if (result) {
    record = leat_string_view_make(NULL, 0);
  } else if (!record.data) {
    record.data = "";  // an empty record must not look like the end, which is NULL
  }
  leat_capi_status_set(status, result);
  *out_size = record.size;
  return record.data;
}

void leat_records_close(leat_records_t* records) {
  if (!records) return;
  leat_record_reader_deinitialize(&records->reader);
  leat_file_stream_close(records->stream);
  leat_allocator_free(leat_allocator_system(), records);
}

struct leat_records_writer_t {
  leat_file_t* file;  // perhaps a file that compresses into another one
  leat_record_writer_t records;
};

// Opens the file for writing. The compressing file takes the plain one over, also when it cannot be
// made.
static leat_status_t open_file(const char* path, leat_string_view_t name,
                               leat_file_t** out_file) {
  leat_compression_t compression;
  leat_file_t* file;
  if (!leat_compression_from_name(name, &compression)) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "compression is '%.*s', must be ZLIB, GZIP or empty",
                            LEAT_SV_ARG(name));
  }
  LEAT_RETURN_IF_ERROR(leat_file_open(leat_file_system_default(), path, LEAT_FILE_WRITE,
                                      leat_allocator_system(), &file));
  *out_file = file;
  if (compression == LEAT_COMPRESSION_NONE) return leat_ok_status();
  *out_file = NULL;
  return leat_compressed_file_create(file, compression, leat_allocator_system(), out_file);
}

// Opens a file for writing.
static leat_status_t create_records(const char* path, leat_string_view_t compression,
                                    leat_records_writer_t** out_writer) {
  leat_records_writer_t* writer;
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(leat_allocator_system(), 1, &writer));
  leat_status_t status = open_file(path, compression, &writer->file);
  if (status) {
    leat_allocator_free(leat_allocator_system(), writer);
    return status;
  }
  leat_record_writer_initialize(writer->file, &writer->records);
  *out_writer = writer;
  return leat_ok_status();
}

leat_records_writer_t* leat_records_create_compressed(const char* path, const char* compression,
                                                      TF_Status* status) {
  leat_records_writer_t* writer = NULL;
  leat_string_view_t name = leat_string_view_from(compression ? compression : "");
  leat_capi_status_set(status, create_records(path, name, &writer));
  return writer;
}

leat_records_writer_t* leat_records_create(const char* path, TF_Status* status) {
  return leat_records_create_compressed(path, NULL, status);
}

void leat_records_write(leat_records_writer_t* writer, const void* data, size_t size,
                        TF_Status* status) {
  leat_status_t result = writer ? leat_record_writer_add(&writer->records,
                                                         leat_string_view_make(data, size))
                                : leat_make_status(LEAT_FAILED_PRECONDITION,
                                                   "Writing a record failed: the file is not "
                                                   "open");
  leat_capi_status_set(status, result);
}

void leat_records_finish(leat_records_writer_t* writer, TF_Status* status) {
  leat_status_t result = leat_ok_status();
  if (writer) {
    // A file that a write left broken is not synced; the first error is reported again.
    result = leat_status_clone(writer->records.broken);
    if (!result) result = writer->file->vtable->sync(writer->file);
    result = leat_status_join(result, leat_file_close(writer->file));
    leat_record_writer_deinitialize(&writer->records);
    leat_allocator_free(leat_allocator_system(), writer);
  }
  leat_capi_status_set(status, result);
}
