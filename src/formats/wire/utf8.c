// UTF-8 by the table of well-formed sequences.
#include "formats/wire/utf8.h"

// Bytes of the sequence at |s| (|size| > 0 bytes left), 0 when malformed.
static size_t sequence_size(const uint8_t* s, size_t size) {
  uint8_t lead = s[0], low = 0x80, high = 0xbf;
  if (lead < 0x80) return 1;
  size_t length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || size < length) return 0;
  if (lead == 0xe0) low = 0xa0;
  if (lead == 0xed) high = 0x9f;
  if (lead == 0xf0) low = 0x90;
  if (lead == 0xf4) high = 0x8f;
  if (s[1] < low || s[1] > high) return 0;
  for (size_t i = 2; i < length; ++i) {
    if ((s[i] & 0xc0) != 0x80) return 0;
  }
  return length;
}

bool leat_utf8_is_valid_beyond_ascii(leat_string_view_t text) {
  const uint8_t* s = (const uint8_t*)text.data;
  size_t left = text.size;
  while (left > 0) {
    size_t length = sequence_size(s, left);
    if (!length) return false;
    s += length;
    left -= length;
  }
  return true;
}

size_t leat_utf8_encode(uint32_t code_point, char out_bytes[4]) {
  uint32_t c = code_point;
  if (c > 0x10ffff || (c >= 0xd800 && c < 0xe000)) return 0;
  if (c < 0x80) {
    out_bytes[0] = (char)c;
    return 1;
  }
  size_t length = c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
  static const uint8_t leads[] = {0, 0, 0xc0, 0xe0, 0xf0};
  for (size_t i = length - 1; i > 0; --i) {
    out_bytes[i] = (char)(0x80 | (c & 0x3f));
    c >>= 6;
  }
  out_bytes[0] = (char)(leads[length] | c);
  return length;
}
