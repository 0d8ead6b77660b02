// Numbers in text: C's strtod does the fractions.
#include "tensor/number_text.h"

#include <string.h>

#include "base/locale.h"
#include "tensor/dtype.h"

static bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

static leat_string_view_t trim(leat_string_view_t text) {
  while (text.size && is_space(text.data[0])) {
    ++text.data;
    --text.size;
  }
  while (text.size && is_space(text.data[text.size - 1])) --text.size;
  return text;
}

// Decimal digits after an optional sign.
static bool parse_integer(leat_string_view_t text, bool is_signed, uint64_t limit,
                          uint64_t* out_size, bool* out_negative) {
  size_t i = 0;
  uint64_t size = 0;
  *out_negative = text.size && text.data[0] == '-';
  if (text.size && (text.data[0] == '-' || text.data[0] == '+')) ++i;
  if (i == text.size || (*out_negative && !is_signed)) return false;
  if (*out_negative) ++limit;
  for (; i < text.size; ++i) {
    unsigned digit = (unsigned)(unsigned char)text.data[i] - '0';
    if (digit > 9 || size > (limit - digit) / 10) return false;
    size = size * 10 + digit;
  }
  *out_size = size;
  return size <= limit;
}

// What C's strtod reads, hexadecimal numbers too; all of it.
static bool parse_fraction(leat_string_view_t text, bool is_double, void* out_value) {
  char buffer[400];
  if (text.size == 0 || text.size >= sizeof buffer) return false;
  memcpy(buffer, text.data, text.size);
  buffer[text.size] = 0;
  char* end;
  if (is_double) {
    *(double*)out_value = leat_locale_read_double(buffer, &end);
  } else {
    *(float*)out_value = leat_locale_read_float(buffer, &end);
  }
  return end == buffer + text.size;
}

bool leat_number_parse(leat_string_view_t text, int dtype, void* out_value) {
  bool is_signed = dtype == LEAT_DTYPE_INT32 || dtype == LEAT_DTYPE_INT64;
  bool is_long = dtype == LEAT_DTYPE_INT64 || dtype == LEAT_DTYPE_UINT64;
  uint64_t limit = (is_long ? UINT64_MAX : UINT32_MAX) >> is_signed, size;
  bool is_negative;
  text = trim(text);
  if (dtype == LEAT_DTYPE_FLOAT || dtype == LEAT_DTYPE_DOUBLE) {
    return parse_fraction(text, dtype == LEAT_DTYPE_DOUBLE, out_value);
  }
  if (!parse_integer(text, is_signed, limit, &size, &is_negative)) return false;
  if (is_negative) size = 0 - size;
  if (is_long) {
    memcpy(out_value, &size, sizeof size);
  } else {
    uint32_t low = (uint32_t)size;
    memcpy(out_value, &low, sizeof low);
  }
  return true;
}
