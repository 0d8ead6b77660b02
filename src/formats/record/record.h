// Files of records (TFRecord): each record is its size as u64, the masked crc32c of the size, the
// bytes, and the masked crc32c of the bytes; numbers are little-endian.
//
//   | size, 8 bytes | crc of size, 4 | bytes ... | crc of bytes, 4 | size | ...
//
// Records are read from any source of bytes, so that a compressed file is read like another. Event
// files, the readers of section 4.5 and the datasets use this. A reader and a writer belong to one
// thread at a time and borrow their file or source.
#ifndef LEAT_FORMATS_RECORD_RECORD_H_
#define LEAT_FORMATS_RECORD_RECORD_H_

#include "base/file_system.h"
#include "base/string_builder.h"
#include "base/string_view.h"

// A source of bytes, which is a file, bytes in memory, or a decompressor over another source.
typedef struct leat_record_source_s leat_record_source_t;
struct leat_record_source_s {
  // Reads up to |size| bytes that follow; |*out_read| < |size| only at the end.
  leat_status_t (*read)(leat_record_source_t* self, void* data, size_t size, size_t* out_read);
};

// A file from |offset| on.
typedef struct leat_record_file_source_s {
  leat_record_source_t base;
  leat_file_t* file;  // borrowed
  uint64_t offset;
} leat_record_file_source_t;
void leat_record_file_source_initialize(leat_file_t* file, uint64_t offset,
                                        leat_record_file_source_t* out_source);

// Bytes in memory.
typedef struct leat_record_bytes_source_s {
  leat_record_source_t base;
  leat_string_view_t rest;  // borrowed
} leat_record_bytes_source_t;
void leat_record_bytes_source_initialize(leat_string_view_t bytes,
                                         leat_record_bytes_source_t* out_source);

// Reads one record after the other. The fields are the reader's own, but |offset| may be read: the
// op TFRecordReader makes the key of a record of it.
typedef struct leat_record_reader_s {
  leat_record_source_t* source;
  leat_allocator_t* allocator;
  char* buffer;
  size_t capacity;
  // The bytes of |buffer| from |begin| to |end| were read and not yet given out.
  size_t begin;
  size_t end;
  // Where the next record begins, counted in the source's bytes.
  uint64_t offset;
  uint64_t max_record_bytes;
} leat_record_reader_t;

// |source| is borrowed. Records over |max_record_bytes| are refused (0: only those that memory
// refuses; a record's size is trusted no further than bytes follow).
void leat_record_reader_initialize(leat_record_source_t* source, uint64_t max_record_bytes,
                                   leat_allocator_t* allocator, leat_record_reader_t* out_reader);
void leat_record_reader_deinitialize(leat_record_reader_t* reader);
// The next record, valid until the next call. OUT_OF_RANGE at the end of the file, also inside a
// record's head; DATA_LOSS when a checksum does not match or the file ends inside a record's bytes
// (the reader stays before that record, so that a file that grows may be read on).
LEAT_MUST_USE leat_status_t leat_record_reader_next(leat_record_reader_t* reader,
                                                    leat_string_view_t* out_record);

// Appends records to a file so that the file always ends with a whole one. A write that fails in
// the middle (a full disk) leaves a torn record, behind which no reader finds anything; so it is
// cut off again, and the next write may succeed. Where the file cannot be cut, every later write
// fails with the same error.
typedef struct leat_record_writer_s {
  leat_file_t* file;  // borrowed
  // The bytes of the whole records that the writer has added.
  uint64_t size;
  // Why nothing can be written any more; OK while all is well.
  leat_status_t broken;
} leat_record_writer_t;

// |file| was opened for writing and is empty. The caller closes it after the writer has ended.
void leat_record_writer_initialize(leat_file_t* file, leat_record_writer_t* out_writer);
void leat_record_writer_deinitialize(leat_record_writer_t* writer);
// Appends a record. After an error the file holds what it held before. Nothing waits for the disk.
LEAT_MUST_USE leat_status_t leat_record_writer_add(leat_record_writer_t* writer,
                                                   leat_string_view_t record);
// |records| are whole ones, as leat_record_append makes them.
LEAT_MUST_USE leat_status_t leat_record_writer_add_encoded(leat_record_writer_t* writer,
                                                           leat_string_view_t records);

// Appends a record to a string, with sizes and checksums, for writers that gather many before a
// write.
void leat_record_append(leat_string_builder_t* out, leat_string_view_t record);

#endif  // LEAT_FORMATS_RECORD_RECORD_H_
