// A buffer that grows to hold the longest piece asked for.
#include "formats/record/byte_reader.h"

#include <string.h>

enum { FILL_BYTES = 1 << 18 };

void leat_byte_reader_initialize(leat_record_source_t* source, leat_allocator_t* allocator,
                                 leat_byte_reader_t* out_reader) {
  *out_reader = (leat_byte_reader_t){.source = source, .allocator = allocator};
}

void leat_byte_reader_deinitialize(leat_byte_reader_t* reader) {
  leat_allocator_free(reader->allocator, reader->buffer);
  *reader = (leat_byte_reader_t){0};
}

// Reads more behind what is there.
static leat_status_t fill(leat_byte_reader_t* r) {
  size_t kept = r->end - r->begin, size;
  if (r->begin && kept) memmove(r->buffer, r->buffer + r->begin, kept);
  r->begin = 0;
  r->end = kept;
  if (r->capacity - kept < FILL_BYTES) {
    size_t wanted = kept + (kept > FILL_BYTES ? kept : FILL_BYTES);
    LEAT_RETURN_IF_ERROR(leat_allocator_reallocate(r->allocator, r->capacity, wanted,
                                                   (void**)&r->buffer));
    r->capacity = wanted;
  }
  LEAT_RETURN_IF_ERROR(r->source->read(r->source, r->buffer + kept, r->capacity - kept, &size));
  r->at_end = size < r->capacity - kept;
  r->end += size;
  return leat_ok_status();
}

static leat_status_t no_more(void) {
  return leat_make_status(LEAT_OUT_OF_RANGE, "reached end of file");
}

leat_status_t leat_byte_reader_line(leat_byte_reader_t* r, leat_string_view_t* out_line) {
  size_t searched = 0;
  char* newline = NULL;
  for (;;) {
    size_t size = r->end - r->begin;
    if (size > searched) {
      newline = memchr(r->buffer + r->begin + searched, '\n', size - searched);
    }
    if (newline || r->at_end) break;
    searched = size;
    LEAT_RETURN_IF_ERROR(fill(r));
  }
  char* begin = r->buffer + r->begin;
  size_t size = newline ? (size_t)(newline - begin) : r->end - r->begin;
  r->begin += size + (newline != NULL);
  if (size && begin[size - 1] == '\r') --size;
  *out_line = leat_string_view_make(begin, size);
  return newline || size ? leat_ok_status() : no_more();
}

leat_status_t leat_byte_reader_peek(leat_byte_reader_t* r, size_t size,
                                    leat_string_view_t* out_bytes) {
  while (r->end - r->begin < size && !r->at_end) LEAT_RETURN_IF_ERROR(fill(r));
  if (r->end - r->begin < size) return no_more();
  *out_bytes = leat_string_view_make(r->buffer + r->begin, size);
  return leat_ok_status();
}

leat_status_t leat_byte_reader_skip(leat_byte_reader_t* r, uint64_t size) {
  for (;;) {
    size_t there = r->end - r->begin;
    size_t part = size < there ? (size_t)size : there;
    r->begin += part;
    size -= part;
    if (size == 0) return leat_ok_status();
    if (r->at_end) return no_more();
    LEAT_RETURN_IF_ERROR(fill(r));
  }
}
