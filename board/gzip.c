#include "board/gzip.h"

#include <zlib.h>

// Above this size speed counts for more than the last tenth of the size.
#define LARGE ((size_t)256 << 10)

// "gzip", "deflate, gzip;q=0.5, *"; a weight of zero refuses.
bool board_gzip_is_accepted(const char* accepted) {
  leat_string_view_t rest = leat_string_view_from(accepted);
  while (rest.size) {
    size_t size = leat_string_view_find(rest, ',');
    if (size > rest.size) size = rest.size;
    leat_string_view_t item = leat_string_view_make(rest.data, size), weight = {0};
    rest = leat_string_view_from_index(rest, size + 1);
    size_t mark = leat_string_view_find(item, ';');
    double share = 1;
    if (mark < item.size) {
      weight = leat_string_view_trim(leat_string_view_from_index(item, mark + 1));
      item.size = mark;
    }
    if (!leat_string_view_equals(leat_string_view_trim(item), "gzip")) continue;
    if (!leat_string_view_starts_with(weight, LEAT_SV("q="))) return true;
    return leat_string_view_to_double(leat_string_view_from_index(weight, 2), &share) && share > 0;
  }
  return false;
}

bool board_gzip(leat_string_builder_t* inout_body) {
  leat_string_builder_t out;
  z_stream stream = {0};
  int level = inout_body->size > LARGE ? 1 : 6;
  if (inout_body->status || inout_body->size > INT32_MAX) return false;
  // 15 bits of window, and 16 for the form of gzip.
  if (deflateInit2(&stream, level, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK) {
    return false;
  }
  leat_string_builder_initialize(leat_allocator_system(), &out);
  char* room = leat_string_builder_reserve(&out, inout_body->size);
  int result = Z_MEM_ERROR;
  if (room) {
    stream.next_in = (Bytef*)inout_body->data;
    stream.avail_in = (uInt)inout_body->size;
    stream.next_out = (Bytef*)room;
    stream.avail_out = (uInt)inout_body->size;
    // Where the room of the body itself is too small nothing is gained, and deflate does not end.
    result = deflate(&stream, Z_FINISH);
    out.size -= stream.avail_out;
  }
  deflateEnd(&stream);
  if (result == Z_STREAM_END) {
    leat_string_builder_t before = *inout_body;
    *inout_body = out;
    out = before;
  }
  leat_string_builder_deinitialize(&out);
  return result == Z_STREAM_END;
}
