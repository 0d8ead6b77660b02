// Capital and small letters of Unicode.
#ifndef LEAT_OPS_STRING_UNICODE_CASE_CPU_H_
#define LEAT_OPS_STRING_UNICODE_CASE_CPU_H_

#include "base/string_builder.h"

// Appends |text|, UTF-8, with its letters changed. One letter may become several ("ß": "SS"). Bytes
// that are no character become U+FFFD.
void leat_unicode_append_upper(leat_string_view_t text, leat_string_builder_t* out);
// The same for small letters. A capital sigma at the end of a word becomes the final small one.
void leat_unicode_append_lower(leat_string_view_t text, leat_string_builder_t* out);

#endif  // LEAT_OPS_STRING_UNICODE_CASE_CPU_H_
