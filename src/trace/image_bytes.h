// Putting values into the bytes of an image (trace/timeline_image.h) and taking them out again. The
// numbers are this machine's, since images do not travel. An image may come from anybody who can
// write its file, so nothing is taken from behind its end: a reader that fails stays failed and
// gives zeros and empty texts from then on, and whoever reads asks once, at the end.
#ifndef LEAT_TRACE_IMAGE_BYTES_H_
#define LEAT_TRACE_IMAGE_BYTES_H_

#include <string.h>

#include "base/string_builder.h"

// ---- Putting ------------------------------------------------------------------------------------

static inline void leat_image_put(leat_string_builder_t* out, const void* data, size_t size) {
  if (size) leat_string_builder_append(out, leat_string_view_make(data, size));
}
static inline void leat_image_put_word(leat_string_builder_t* out, uint64_t word) {
  leat_image_put(out, &word, sizeof word);
}
static inline void leat_image_put_text(leat_string_builder_t* out, leat_string_view_t text) {
  leat_image_put_word(out, text.size);
  leat_image_put(out, text.data, text.size);
  leat_string_builder_append_char(out, 0);
}
// Fills up to a multiple of 8.
static inline void leat_image_pad(leat_string_builder_t* out) {
  while (!out->status && out->size % 8) leat_string_builder_append_char(out, 0);
}

// What writes an image part by part; |size| may be 0.
typedef leat_status_t (*leat_image_write_fn_t)(void* data, const void* bytes, size_t size);

// ---- Taking -------------------------------------------------------------------------------------

typedef struct leat_image_reader_s {
  const char *next, *end;
  bool has_failed;
} leat_image_reader_t;

// The next |size| bytes; NULL where there are not so many.
static inline const char* leat_image_take(leat_image_reader_t* reader, uint64_t size) {
  const char* at = reader->next;
  if (reader->has_failed || size > (uint64_t)(reader->end - reader->next)) {
    reader->has_failed = true;
    return NULL;
  }
  reader->next += size;
  return at;
}
static inline void leat_image_take_into(leat_image_reader_t* reader, void* out, size_t size) {
  const char* at = leat_image_take(reader, size);
  if (at) {
    memcpy(out, at, size);
  } else {
    memset(out, 0, size);
  }
}
static inline uint64_t leat_image_take_word(leat_image_reader_t* reader) {
  uint64_t word;
  leat_image_take_into(reader, &word, sizeof word);
  return word;
}
// How many items follow, each of which takes |least_bytes| at least; 0 where the image does not
// have so many bytes.
static inline size_t leat_image_take_count(leat_image_reader_t* reader, size_t least_bytes) {
  const uint64_t count = leat_image_take_word(reader);
  if (reader->has_failed || count > (uint64_t)(reader->end - reader->next) / least_bytes) {
    reader->has_failed = true;
    return 0;
  }
  return (size_t)count;
}
// A text that lies in the image. A NUL follows it.
static inline leat_string_view_t leat_image_take_text(leat_image_reader_t* reader) {
  const uint64_t size = leat_image_take_word(reader);
  const char* data = size < UINT64_MAX ? leat_image_take(reader, size + 1) : NULL;
  reader->has_failed |= !data || data[size] != 0;
  return reader->has_failed ? LEAT_SV("") : leat_string_view_make(data, (size_t)size);
}
// |count| items of |item_bytes| where they lie; NULL where there are not so many.
static inline void* leat_image_take_in_place(leat_image_reader_t* reader, size_t count,
                                             size_t item_bytes) {
  return (void*)leat_image_take(reader, (uint64_t)count * item_bytes);
}
// |count| items of |item_bytes|, copied to |out|.
static inline void leat_image_take_items(leat_image_reader_t* reader, void* out, size_t count,
                                         size_t item_bytes) {
  if (count) leat_image_take_into(reader, out, count * item_bytes);
}

#endif  // LEAT_TRACE_IMAGE_BYTES_H_
