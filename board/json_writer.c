// A string is walked character by character, so that a control character, a quote or a byte that is
// no UTF-8 never reaches a page as it is. A float is printed by printf with as few digits as give
// it back, and laid out as Python's repr lays it out: as a decimal from 1e-4 to below 1e16, else
// with an exponent of two digits at least. Python's layout matters because answers are compared
// with TensorBoard's as text. The answers of every api_*.c are made of these functions.
#include "board/json_writer.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "formats/wire/utf8.h"

// The bytes of the UTF-8 character at the front of |text|; 0 where there is none.
static size_t character_size(leat_string_view_t text) {
  for (size_t size = 1; size <= 4 && size <= text.size; ++size) {
    if (leat_utf8_is_valid(leat_string_view_make(text.data, size))) return size;
  }
  return 0;
}

static uint32_t code_point_of(const char* data, size_t size) {
  const uint8_t* b = (const uint8_t*)data;
  switch (size) {
    case 1: return b[0];
    case 2: return (b[0] & 31u) << 6 | (b[1] & 63u);
    case 3: return (b[0] & 15u) << 12 | (b[1] & 63u) << 6 | (b[2] & 63u);
    default:
      return (b[0] & 7u) << 18 | (b[1] & 63u) << 12 | (b[2] & 63u) << 6 | (b[3] & 63u);
  }
}

static void append_escape(leat_string_builder_t* out, uint32_t code_point) {
  if (code_point >= 0x10000) {
    leat_string_builder_print(out, "\\u%04x\\u%04x", 0xd800 + ((code_point - 0x10000) >> 10),
                              0xdc00 + ((code_point - 0x10000) & 0x3ff));
  } else {
    leat_string_builder_print(out, "\\u%04x", code_point);
  }
}

// The characters that JSON has escapes of one letter for.
static const char kNamed[] = "\"\\\n\r\t\b\f";

static void append_string(leat_string_builder_t* out, leat_string_view_t text, bool ascii) {
  leat_string_builder_append_char(out, '"');
  for (size_t i = 0; i < text.size;) {
    size_t size = character_size(leat_string_view_from_index(text, i));
    unsigned char c = (unsigned char)text.data[i];
    const char* named = c ? memchr(kNamed, c, sizeof kNamed - 1) : NULL;
    if (!size) {
      append_escape(out, 0xfffd);
    } else if (named) {
      leat_string_builder_append_char(out, '\\');
      leat_string_builder_append_char(out, "\"\\nrtbf"[named - kNamed]);
    } else if (c < 0x20 || (ascii && size > 1)) {
      append_escape(out, code_point_of(text.data + i, size));
    } else {
      leat_string_builder_append(out, leat_string_view_make(text.data + i, size));
    }
    i += size ? size : 1;
  }
  leat_string_builder_append_char(out, '"');
}

void board_json_string(leat_string_builder_t* out, leat_string_view_t text) {
  append_string(out, text, false);
}

void board_json_ascii_string(leat_string_builder_t* out, leat_string_view_t text) {
  append_string(out, text, true);
}

// Adds one to the last digit of "d.ddde+xx".
static void increment(char* text) {
  char* last = strchr(text, 'e');
  while (--last > text && (*last == '9' || *last == '.')) {
    if (*last == '9') *last = '0';
  }
  if (*last != '9') ++*last;
}

// Prints |number| with the fewest significant digits that give it back. Up to 15 digits always
// survive the way through a normal double, so that 15 is enough to try where the answer has fewer:
// printf then prints zeros behind it. Below a power of two doubles lie twice as close as above it,
// hence there the decimal above the number may do where the nearest one, below it, does not.
static void print_shortest(double number, char text[40]) {
  double size = fabs(number);
  int exponent;
  bool is_power = frexp(size, &exponent) == 0.5;
  for (int digits = size > 0 && size < 2.2250738585072014e-308 ? 1 : 15; digits < 17; ++digits) {
    snprintf(text, 40, "%.*e", digits - 1, number);
    if (strtod(text, NULL) == number) return;
    if (is_power && digits > 1) {
      increment(text);
      if (strtod(text, NULL) == number) return;
    }
  }
  snprintf(text, 40, "%.16e", number);
}

size_t board_float_text(double number, char out_text[40]) {
  char scientific[40], digits[24];
  size_t count = 0, at = 0;
  if (!isfinite(number)) {
    const char* word = isnan(number) ? "NaN" : number > 0 ? "Infinity" : "-Infinity";
    return (size_t)snprintf(out_text, 40, "%s", word);
  }
  print_shortest(number, scientific);
  const char* next = scientific;
  if (*next == '-') out_text[at++] = *next++;
  for (; *next != 'e'; ++next) {
    if (*next != '.') digits[count++] = *next;
  }
  int exponent = atoi(next + 1);
  while (count > 1 && digits[count - 1] == '0') --count;
  if (exponent < -4 || exponent >= 16) {
    out_text[at++] = digits[0];
    if (count > 1) out_text[at++] = '.';
    memcpy(out_text + at, digits + 1, count - 1);
    at += count - 1;
    return at + (size_t)snprintf(out_text + at, 40 - at, "e%c%02d", exponent < 0 ? '-' : '+',
                                 abs(exponent));
  }
  if (exponent < 0) {
    out_text[at++] = '0';
    out_text[at++] = '.';
    for (int i = -1; i > exponent; --i) out_text[at++] = '0';
    memcpy(out_text + at, digits, count);
    at += count;
  } else {
    size_t whole = (size_t)exponent + 1;
    for (size_t i = 0; i < whole; ++i) out_text[at++] = i < count ? digits[i] : '0';
    out_text[at++] = '.';
    if (count <= whole) out_text[at++] = '0';
    for (size_t i = whole; i < count; ++i) out_text[at++] = digits[i];
  }
  out_text[at] = 0;
  return at;
}

void board_json_float(leat_string_builder_t* out, double number) {
  char text[40];
  size_t size = board_float_text(number, text);
  if (!isfinite(number)) {
    board_json_string(out, leat_string_view_make(text, size));
  } else {
    leat_string_builder_append(out, leat_string_view_make(text, size));
  }
}

void board_json_int(leat_string_builder_t* out, int64_t number) {
  leat_string_builder_print(out, "%lld", (long long)number);
}

void board_json_number(leat_string_builder_t* out, board_number_kind_t kind, double number) {
  if (kind == BOARD_NUMBER_BOOL) {
    leat_string_builder_append(out, number != 0 ? LEAT_SV("true") : LEAT_SV("false"));
  } else if (kind == BOARD_NUMBER_INT && fabs(number) < 9.2e18) {
    board_json_int(out, (int64_t)number);
  } else {
    board_json_float(out, number);
  }
}
