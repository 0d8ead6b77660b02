// Strings and numbers as JSON (RFC 8259).
#include "formats/wire/json.h"

#include <math.h>

#include "formats/wire/utf8.h"

static char short_escape(unsigned char c) {
  switch (c) {
    case '"': return '"';
    case '\\': return '\\';
    case '\n': return 'n';
    case '\r': return 'r';
    case '\t': return 't';
    default: return 0;
  }
}

void leat_json_append_string(leat_string_builder_t* out, leat_string_view_t text) {
  const bool is_utf8 = leat_utf8_is_valid(text);
  leat_string_builder_append_char(out, '"');
  for (size_t i = 0; i < text.size; ++i) {
    unsigned char c = (unsigned char)text.data[i];
    char escape = short_escape(c);
    if (escape) {
      leat_string_builder_append_char(out, '\\');
      leat_string_builder_append_char(out, escape);
    } else if (c < 0x20 || c == 0x7f || (c >= 0x80 && !is_utf8)) {
      leat_string_builder_print(out, "\\u%04x", c);
    } else {
      leat_string_builder_append_char(out, (char)c);
    }
  }
  leat_string_builder_append_char(out, '"');
}

void leat_json_append_number(leat_string_builder_t* out, double value) {
  if (isfinite(value)) {
    leat_string_builder_print(out, "%.17g", value);
  } else {
    leat_string_builder_append(out, LEAT_SV("null"));
  }
}
