// UTF-8 as protocol buffers ask it of `string` fields.
#ifndef LEAT_FORMATS_UTF8_H_
#define LEAT_FORMATS_UTF8_H_

#include <stdbool.h>

#include "base/string_view.h"

// No overlong forms, no surrogates, nothing above U+10FFFF.
bool leat_utf8_is_valid(leat_string_view_t text);
// Writes 1 to 4 bytes; returns how many, 0 when |code_point| is none.
size_t leat_utf8_encode(uint32_t code_point, char out_bytes[4]);

#endif  // LEAT_FORMATS_UTF8_H_
