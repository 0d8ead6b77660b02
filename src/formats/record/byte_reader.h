// Reads a source of bytes in pieces: line by line, or as many bytes as the caller asks for.
#ifndef LEAT_FORMATS_RECORD_BYTE_READER_H_
#define LEAT_FORMATS_RECORD_BYTE_READER_H_

#include "formats/record/record.h"

typedef struct leat_byte_reader_s {
  leat_record_source_t* source;
  leat_allocator_t* allocator;
  char* buffer;
  size_t capacity;
  size_t begin, end;  // the range of |buffer| that was read and not yet returned
  bool at_end;        // the source has no more bytes
} leat_byte_reader_t;

// |source| is borrowed.
void leat_byte_reader_initialize(leat_record_source_t* source, leat_allocator_t* allocator,
                                 leat_byte_reader_t* out_reader);
void leat_byte_reader_deinitialize(leat_byte_reader_t* reader);
// Returns the next line without its end, which is "\n" or "\r\n"; OUT_OF_RANGE when there is none.
// The line is valid until the next call.
LEAT_MUST_USE leat_status_t leat_byte_reader_line(leat_byte_reader_t* reader,
                                                  leat_string_view_t* out_line);
// Looks at the next |size| bytes without taking them; OUT_OF_RANGE when there are fewer.
LEAT_MUST_USE leat_status_t leat_byte_reader_peek(leat_byte_reader_t* reader, size_t size,
                                                  leat_string_view_t* out_bytes);
// Passes over |size| bytes; OUT_OF_RANGE when there are fewer.
LEAT_MUST_USE leat_status_t leat_byte_reader_skip(leat_byte_reader_t* reader, uint64_t size);

#endif  // LEAT_FORMATS_RECORD_BYTE_READER_H_
