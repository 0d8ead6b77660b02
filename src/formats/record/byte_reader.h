// Bytes of a source in pieces: lines, or as many as are asked for.
#ifndef LEAT_FORMATS_RECORD_BYTE_READER_H_
#define LEAT_FORMATS_RECORD_BYTE_READER_H_

#include "formats/record/record.h"

typedef struct leat_byte_reader_s {
  leat_record_source_t* source;
  leat_allocator_t* allocator;
  char* buffer;
  size_t capacity;
  size_t begin, end;  // what was read and not yet given out
  bool at_end;        // of the source
} leat_byte_reader_t;

// |source| is borrowed.
void leat_byte_reader_initialize(leat_record_source_t* source, leat_allocator_t* allocator,
                                 leat_byte_reader_t* out_reader);
void leat_byte_reader_deinitialize(leat_byte_reader_t* reader);
// What is given out is valid until the next call. The next line without its end, "\n" or "\r\n";
// OUT_OF_RANGE when there is none.
LEAT_MUST_USE leat_status_t leat_byte_reader_line(leat_byte_reader_t* reader,
                                                  leat_string_view_t* out_line);
// Looks at the next |size| bytes without taking them; OUT_OF_RANGE when there are fewer.
LEAT_MUST_USE leat_status_t leat_byte_reader_peek(leat_byte_reader_t* reader, size_t size,
                                                  leat_string_view_t* out_bytes);
// Passes over |size| bytes; OUT_OF_RANGE when there are fewer.
LEAT_MUST_USE leat_status_t leat_byte_reader_skip(leat_byte_reader_t* reader, uint64_t size);

#endif  // LEAT_FORMATS_RECORD_BYTE_READER_H_
