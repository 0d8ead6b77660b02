// The record files of leat/files.h: TFRecord files (formats/record/record.h), read and written
// through the library's file system, perhaps compressed. A reader gives one record at a time; its
// bytes are valid until the next call. A writer's records are complete when leat_records_finish has
// returned OK: it ends the compressed stream, syncs and closes the file, and reports the first
// error of any write before. The stream ends before the sync, because a sync of an open stream
// would write a flush into it, which TensorFlow's files do not have. Readers and writers belong to
// one thread at a time.
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
  leat_file_t* file;  // a file that compresses into another one where |is_compressed|
  bool is_compressed;
  leat_record_writer_t records;
};

// The options of the interface as those of a compressed file.
static leat_status_t read_options(const leat_zlib_options_t* from,
                                  leat_compression_options_t* out_options) {
  if (from->flush_mode < LEAT_CODEC_RUN || from->flush_mode > LEAT_CODEC_BLOCK_FLUSH ||
      from->flush_mode == LEAT_CODEC_FINISH) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "flush_mode is %d, must be 0 or one of zlib's flushes: 1, 2, 3, 5",
                            from->flush_mode);
  }
  if (from->input_bytes < 1 || (uint64_t)from->input_bytes > SIZE_MAX) {
    return leat_make_status(LEAT_INVALID_ARGUMENT, "input_bytes is %lld, must be at least 1",
                            (long long)from->input_bytes);
  }
  *out_options = (leat_compression_options_t){
      .codec = {.level = from->level,
                .window_bits = from->window_bits,
                .memory_level = from->memory_level,
                .strategy = from->strategy},
      .flush_mode = (leat_codec_mode_t)from->flush_mode,
      .input_bytes = (size_t)from->input_bytes,
  };
  return leat_ok_status();
}

// Opens the file for writing. The compressing file takes the plain one over, also when it cannot be
// made. |zlib| may be NULL for the default.
static leat_status_t open_file(const char* path, leat_string_view_t name,
                               const leat_zlib_options_t* zlib, leat_file_t** out_file,
                               bool* out_is_compressed) {
  leat_compression_t compression;
  leat_compression_options_t options;
  leat_file_t* file;
  if (!leat_compression_from_name(name, &compression)) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "compression is '%.*s', must be ZLIB, GZIP or empty",
                            LEAT_SV_ARG(name));
  }
  *out_is_compressed = compression != LEAT_COMPRESSION_NONE;
  if (*out_is_compressed) {
    options = leat_compression_default(compression);
    if (zlib) LEAT_RETURN_IF_ERROR(read_options(zlib, &options));
  }
  LEAT_RETURN_IF_ERROR(leat_file_open(leat_file_system_default(), path, LEAT_FILE_WRITE,
                                      leat_allocator_system(), &file));
  *out_file = file;
  if (!*out_is_compressed) return leat_ok_status();
  *out_file = NULL;
  return leat_compressed_file_create_with(file, &options, leat_allocator_system(), out_file);
}

// Opens a file for writing.
static leat_status_t create_records(const char* path, leat_string_view_t compression,
                                    const leat_zlib_options_t* options,
                                    leat_records_writer_t** out_writer) {
  leat_records_writer_t* writer;
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(leat_allocator_system(), 1, &writer));
  leat_status_t status =
      open_file(path, compression, options, &writer->file, &writer->is_compressed);
  if (status) {
    leat_allocator_free(leat_allocator_system(), writer);
    return status;
  }
  leat_record_writer_initialize(writer->file, &writer->records);
  *out_writer = writer;
  return leat_ok_status();
}

leat_zlib_options_t leat_zlib_options_default(const char* compression) {
  leat_compression_t format;
  // any other name is refused when a file is made, whatever the options are
  if (!leat_compression_from_name(leat_string_view_from(compression ? compression : ""), &format) ||
      format == LEAT_COMPRESSION_NONE) {
    format = LEAT_COMPRESSION_ZLIB;
  }
  const leat_compression_options_t options = leat_compression_default(format);
  return (leat_zlib_options_t){.level = options.codec.level,
                               .window_bits = options.codec.window_bits,
                               .memory_level = options.codec.memory_level,
                               .strategy = options.codec.strategy,
                               .flush_mode = (int)options.flush_mode,
                               .input_bytes = (int64_t)options.input_bytes};
}

leat_records_writer_t* leat_records_create_with_options(const char* path, const char* compression,
                                                        const leat_zlib_options_t* options,
                                                        TF_Status* status) {
  leat_records_writer_t* writer = NULL;
  leat_string_view_t name = leat_string_view_from(compression ? compression : "");
  leat_capi_status_set(status, create_records(path, name, options, &writer));
  return writer;
}

leat_records_writer_t* leat_records_create_compressed(const char* path, const char* compression,
                                                      TF_Status* status) {
  return leat_records_create_with_options(path, compression, NULL, status);
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

void leat_records_flush(leat_records_writer_t* writer, TF_Status* status) {
  leat_status_t result =
      !writer ? leat_make_status(LEAT_FAILED_PRECONDITION,
                                 "Flushing records failed: the file is not open")
      : writer->records.broken ? leat_status_clone(writer->records.broken)
                               : leat_file_flush(writer->file);
  leat_capi_status_set(status, result);
}

void leat_records_finish(leat_records_writer_t* writer, TF_Status* status) {
  leat_status_t result = leat_ok_status();
  if (writer) {
    // A file that a write left broken is not synced; the first error is reported again.
    result = leat_status_clone(writer->records.broken);
    if (!result && writer->is_compressed) result = leat_compressed_file_finish(writer->file);
    if (!result) result = writer->file->vtable->sync(writer->file);
    result = leat_status_join(result, leat_file_close(writer->file));
    leat_record_writer_deinitialize(&writer->records);
    leat_allocator_free(leat_allocator_system(), writer);
  }
  leat_capi_status_set(status, result);
}
