// UTF-8 as protocol buffers ask it of `string` fields.
#ifndef LEAT_FORMATS_WIRE_UTF8_H_
#define LEAT_FORMATS_WIRE_UTF8_H_

#include <stdbool.h>

#include "base/string_view.h"

// No overlong forms, no surrogates, nothing above U+10FFFF.
bool leat_utf8_is_valid_beyond_ascii(leat_string_view_t text);
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
// Writes 1 to 4 bytes; returns how many, 0 when |code_point| is none.
size_t leat_utf8_encode(uint32_t code_point, char out_bytes[4]);

#endif  // LEAT_FORMATS_WIRE_UTF8_H_
