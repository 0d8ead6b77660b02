// Records (TFRecord), read from a source of bytes and written to a file. Event files and the record
// files of leat/files.h are written here; these two, the ops of readers and the datasets read here.
//
// The reader keeps a window of the source in memory. The window grows to the size of the record
// being read, but never by more than what has arrived so far: a record that states a false size
// costs at most twice the bytes that are there. The writer never leaves a torn record behind: when
// a write fails in the middle, it cuts the file back to the last whole one.
#include "formats/record/record.h"

#include "base/crc32c.h"
#include "formats/wire/wire.h"

#define HEAD_BYTES 12
#define FOOT_BYTES 4
#define WINDOW_BYTES ((size_t)256 * 1024)

static leat_status_t read_file(leat_record_source_t* self, void* data, size_t size,
                               size_t* out_read) {
  leat_record_file_source_t* source = (leat_record_file_source_t*)self;
  *out_read = 0;
  LEAT_RETURN_IF_ERROR(
      source->file->vtable->read_at(source->file, source->offset, data, size, out_read));
  source->offset += *out_read;
  return leat_ok_status();
}

void leat_record_file_source_initialize(leat_file_t* file, uint64_t offset,
                                        leat_record_file_source_t* out_source) {
  *out_source = (leat_record_file_source_t){{read_file}, file, offset};
}

static leat_status_t bytes_source_read(leat_record_source_t* self, void* data, size_t size,
                                       size_t* out_read) {
  leat_record_bytes_source_t* source = (leat_record_bytes_source_t*)self;
  *out_read = size < source->rest.size ? size : source->rest.size;
  if (*out_read) memcpy(data, source->rest.data, *out_read);
  source->rest = leat_string_view_from_index(source->rest, *out_read);
  return leat_ok_status();
}

void leat_record_bytes_source_initialize(leat_string_view_t bytes,
                                         leat_record_bytes_source_t* out_source) {
  *out_source = (leat_record_bytes_source_t){{bytes_source_read}, bytes};
}

void leat_record_reader_initialize(leat_record_source_t* source, uint64_t max_record_bytes,
                                   leat_allocator_t* allocator,
                                   leat_record_reader_t* out_reader) {
  *out_reader = (leat_record_reader_t){
      .source = source,
      .allocator = allocator,
      .max_record_bytes = max_record_bytes ? max_record_bytes : UINT64_MAX};
}

void leat_record_reader_deinitialize(leat_record_reader_t* reader) {
  leat_allocator_free(reader->allocator, reader->buffer);
  reader->buffer = NULL;
  reader->capacity = reader->begin = reader->end = 0;
}

// Moves the bytes that were not returned yet to the front of the window, which is doubled when they
// fill it.
static leat_status_t make_room(leat_record_reader_t* reader) {
  size_t left = reader->end - reader->begin;
  if (left < reader->capacity) {
    if (reader->begin > 0) memmove(reader->buffer, reader->buffer + reader->begin, left);
  } else {
    char* grown;
    size_t capacity = reader->capacity ? reader->capacity * 2 : WINDOW_BYTES;
    LEAT_RETURN_IF_ERROR(leat_allocator_allocate_uninitialized(reader->allocator, 16, capacity,
                                                               (void**)&grown));
    if (left > 0) memcpy(grown, reader->buffer, left);
    leat_allocator_free(reader->allocator, reader->buffer);
    reader->buffer = grown;
    reader->capacity = capacity;
  }
  reader->begin = 0;
  reader->end = left;
  return leat_ok_status();
}

// Reads until the window holds |size| bytes or the source ends; |*out_there| says how many it
// holds.
static leat_status_t fill(leat_record_reader_t* reader, uint64_t size, uint64_t* out_there) {
  while (reader->end - reader->begin < size) {
    size_t got = 0;
    if (reader->end == reader->capacity) LEAT_RETURN_IF_ERROR(make_room(reader));
    LEAT_RETURN_IF_ERROR(reader->source->read(reader->source, reader->buffer + reader->end,
                                              reader->capacity - reader->end, &got));
    if (got == 0) break;
    reader->end += got;
  }
  *out_there = reader->end - reader->begin;
  return leat_ok_status();
}

static leat_status_t corrupt(const leat_record_reader_t* reader, const char* what) {
  return leat_make_status(LEAT_DATA_LOSS, "Record read failed: %s at byte %llu", what,
                          (unsigned long long)reader->offset);
}

leat_status_t leat_record_reader_next(leat_record_reader_t* reader,
                                      leat_string_view_t* out_record) {
  uint64_t there, size;
  *out_record = leat_string_view_make(NULL, 0);
  LEAT_RETURN_IF_ERROR(fill(reader, HEAD_BYTES, &there));
  // A head that is cut short counts as the end of the file, as in TensorFlow: a writer may still be
  // writing it.
  if (there < HEAD_BYTES) {
    return leat_make_status(LEAT_OUT_OF_RANGE, "Record read failed: end of file");
  }
  const char* head = reader->buffer + reader->begin;
  if (leat_crc32c_mask(leat_crc32c(head, 8)) != leat_wire_load32(head + 8)) {
    return corrupt(reader, "corrupted record (checksum of its size)");
  }
  size = leat_wire_load64(head);
  if (size > reader->max_record_bytes || size > SIZE_MAX / 4) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "Record read failed: size is %llu bytes at byte %llu, must be within "
                            "the limit",
                            (unsigned long long)size, (unsigned long long)reader->offset);
  }
  LEAT_RETURN_IF_ERROR(fill(reader, HEAD_BYTES + size + FOOT_BYTES, &there));
  if (there < HEAD_BYTES + size + FOOT_BYTES) return corrupt(reader, "truncated record");
  const char* data = reader->buffer + reader->begin + HEAD_BYTES;
  if (leat_crc32c_mask(leat_crc32c(data, (size_t)size)) != leat_wire_load32(data + size)) {
    return corrupt(reader, "corrupted record (checksum of its bytes)");
  }
  reader->begin += HEAD_BYTES + (size_t)size + FOOT_BYTES;
  reader->offset += HEAD_BYTES + size + FOOT_BYTES;
  *out_record = leat_string_view_make(data, (size_t)size);
  return leat_ok_status();
}

static void make_ends(leat_string_view_t record, char head[HEAD_BYTES], char foot[FOOT_BYTES]) {
  leat_wire_store64(head, record.size);
  leat_wire_store32(head + 8, leat_crc32c_mask(leat_crc32c(head, 8)));
  leat_wire_store32(foot, leat_crc32c_mask(leat_crc32c(record.data, record.size)));
}

void leat_record_writer_initialize(leat_file_t* file, leat_record_writer_t* out_writer) {
  *out_writer = (leat_record_writer_t){.file = file};
}

void leat_record_writer_deinitialize(leat_record_writer_t* writer) {
  leat_status_free(writer->broken);
  writer->broken = leat_ok_status();
}

// Writes the pieces one behind the other, or nothing.
static leat_status_t add_pieces(leat_record_writer_t* writer, const leat_string_view_t* pieces,
                                size_t count) {
  leat_file_t* file = writer->file;
  leat_status_t status = leat_status_clone(writer->broken);
  LEAT_RETURN_IF_ERROR(status);
  uint64_t size = writer->size;
  for (size_t i = 0; i < count && !status; size += pieces[i++].size) {
    if (pieces[i].size > 0) status = file->vtable->write(file, pieces[i].data, pieces[i].size);
  }
  if (!status) {
    writer->size = size;
    return status;
  }
  leat_status_t cut = leat_file_truncate(file, writer->size);
  if (cut) writer->broken = leat_status_clone(status);
  leat_status_free(cut);  // |status| is the cause
  return status;
}

leat_status_t leat_record_writer_add(leat_record_writer_t* writer, leat_string_view_t record) {
  char head[HEAD_BYTES], foot[FOOT_BYTES];
  make_ends(record, head, foot);
  leat_string_view_t pieces[] = {leat_string_view_make(head, sizeof(head)), record,
                                 leat_string_view_make(foot, sizeof(foot))};
  return add_pieces(writer, pieces, LEAT_ARRAY_SIZE(pieces));
}

leat_status_t leat_record_writer_add_encoded(leat_record_writer_t* writer,
                                             leat_string_view_t records) {
  return add_pieces(writer, &records, 1);
}

void leat_record_append(leat_string_builder_t* out, leat_string_view_t record) {
  char head[HEAD_BYTES], foot[FOOT_BYTES];
  make_ends(record, head, foot);
  leat_string_builder_append(out, leat_string_view_make(head, sizeof(head)));
  leat_string_builder_append(out, record);
  leat_string_builder_append(out, leat_string_view_make(foot, sizeof(foot)));
}
