// Templates: texts with the same placeholder in several places. The definition of StringFormat
// counts the places, and its kernel fills them.
#ifndef LEAT_OPS_STRING_FORMAT_H_
#define LEAT_OPS_STRING_FORMAT_H_

#include <string.h>

#include "base/string_view.h"

// Cuts the text before the next placeholder, and the placeholder, off |inout_rest|. false when no
// placeholder followed: |out_text| is then all that was left. An empty placeholder stands between
// any two characters.
static inline bool leat_format_next(leat_string_view_t* inout_rest, leat_string_view_t placeholder,
                                    leat_string_view_t* out_text) {
  leat_string_view_t rest = *inout_rest;
  const size_t size = placeholder.size;
  for (size_t i = size == 0; i + size <= rest.size; ++i) {
    if (size == 0 && i == rest.size) break;
    if (size && memcmp(rest.data + i, placeholder.data, size) != 0) continue;
    *out_text = leat_string_view_make(rest.data, i);
    *inout_rest = leat_string_view_make(rest.data + i + size, rest.size - i - size);
    return true;
  }
  *out_text = rest;
  *inout_rest = leat_string_view_make(rest.data, 0);
  return false;
}

// The number of placeholders in |text|.
static inline int leat_format_count(leat_string_view_t text, leat_string_view_t placeholder) {
  leat_string_view_t part;
  int count = 0;
  while (leat_format_next(&text, placeholder, &part)) ++count;
  return count;
}

#endif  // LEAT_OPS_STRING_FORMAT_H_
