// UTF-8 as protocol buffers ask it of `string` fields. The decoder tests every string of a graph,
// and nearly all are names in ASCII, so the inline part looks at eight bytes at a time and calls
// the exact test only where a byte is not ASCII.
#ifndef LEAT_FORMATS_WIRE_UTF8_H_
#define LEAT_FORMATS_WIRE_UTF8_H_

#include <stdbool.h>

#include "base/string_view.h"

// The exact test: no overlong forms, no surrogates, nothing above U+10FFFF.
bool leat_utf8_is_valid_beyond_ascii(leat_string_view_t text);
// Whether |text| is UTF-8. The last bytes are read as a word that may overlap the one before.
static inline bool leat_utf8_is_valid(leat_string_view_t text) {
  const uint64_t high_bits = UINT64_C(0x8080808080808080);
  uint64_t seen = 0, word;
  uint32_t half;
  if (text.size < 4) {
    for (size_t i = 0; i < text.size; ++i) seen |= (uint8_t)text.data[i];
  } else if (text.size < 8) {
    memcpy(&half, text.data, 4);
    seen = half;
    memcpy(&half, text.data + text.size - 4, 4);
    seen |= half;
  } else {
    for (size_t i = 0; i + 8 < text.size; i += 8) {
      memcpy(&word, text.data + i, 8);
      seen |= word;
    }
    memcpy(&word, text.data + text.size - 8, 8);
    seen |= word;
  }
  return !(seen & high_bits) || leat_utf8_is_valid_beyond_ascii(text);
}
// Writes the 1 to 4 bytes of |code_point|, without a NUL; returns how many, 0 when it is a
// surrogate or above U+10FFFF.
size_t leat_utf8_encode(uint32_t code_point, char out_bytes[4]);

#endif  // LEAT_FORMATS_WIRE_UTF8_H_
