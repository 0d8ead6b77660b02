// Reads the tokens of JSON by RFC 8259's grammar. Strings are unescaped into one buffer, whole runs
// of plain characters at a time, and must be valid UTF-8 afterwards; a pair of surrogates becomes
// the one character that it stands for. Numbers are given as they are written, so that no digit is
// lost, and who wants one reads it. Text that breaks the grammar gets INVALID_ARGUMENT, with the
// byte at which reading stopped. A value that nobody wants is passed over by recursion of bounded
// depth, so that hostile text cannot overflow the stack.
#include "formats/wire/json_scanner.h"

#include <string.h>

#include "formats/wire/utf8.h"

enum { MAX_DEPTH = 100 };

void leat_json_scanner_initialize(leat_string_view_t json, leat_allocator_t* allocator,
                                  leat_json_scanner_t* out_scanner) {
  const char* data = json.data ? json.data : "";
  *out_scanner = (leat_json_scanner_t){.begin = data, .next = data, .end = data + json.size};
  leat_string_builder_initialize(allocator, &out_scanner->text);
}

void leat_json_scanner_deinitialize(leat_json_scanner_t* scanner) {
  leat_string_builder_deinitialize(&scanner->text);
}

// The message says at which byte reading stopped, since JSON often comes as one long line.
leat_status_t leat_json_broken(const leat_json_scanner_t* s, const char* what) {
  return leat_make_status(LEAT_INVALID_ARGUMENT, "Error while parsing JSON: %s at byte %zu", what,
                          (size_t)(s->next - s->begin));
}

// A NUL byte is not a blank, although strchr finds it as the end of its list.
char leat_json_peek(leat_json_scanner_t* s) {
  while (s->next < s->end && strchr(" \t\r\n", *s->next) && *s->next) ++s->next;
  return s->next < s->end ? *s->next : 0;
}

bool leat_json_take(leat_json_scanner_t* s, char c) {
  if (leat_json_peek(s) != c || s->next == s->end) return false;
  ++s->next;
  return true;
}

bool leat_json_take_word(leat_json_scanner_t* s, const char* word) {
  size_t size = strlen(word);
  leat_json_peek(s);
  if ((size_t)(s->end - s->next) < size || memcmp(s->next, word, size)) return false;
  s->next += size;
  return true;
}

// Reads the four hexadecimal digits of a UTF-16 code unit.
static bool take_hex(leat_json_scanner_t* s, uint32_t* out_unit) {
  uint32_t unit = 0;
  if (s->end - s->next < 4) return false;
  for (int i = 0; i < 4; ++i) {
    char c = *s->next++;
    uint32_t digit = c >= '0' && c <= '9'   ? (uint32_t)(c - '0')
                     : c >= 'a' && c <= 'f' ? (uint32_t)(c - 'a' + 10)
                     : c >= 'A' && c <= 'F' ? (uint32_t)(c - 'A' + 10)
                                            : 16;
    if (digit > 15) return false;
    unit = unit << 4 | digit;
  }
  *out_unit = unit;
  return true;
}

// Reads the four digits after "\u", and a second "\u" when they are the first half of a surrogate
// pair, and appends the code point as UTF-8.
static leat_status_t take_code_point(leat_json_scanner_t* s) {
  uint32_t unit, low;
  char bytes[4];
  if (!take_hex(s, &unit)) return leat_json_broken(s, "a broken \\u");
  if (unit >= 0xd800 && unit < 0xdc00) {
    bool pair = s->end - s->next >= 2 && s->next[0] == '\\' && s->next[1] == 'u';
    if (pair) s->next += 2;
    if (!pair || !take_hex(s, &low) || low < 0xdc00 || low > 0xdfff) {
      return leat_json_broken(s, "half a surrogate pair");
    }
    unit = 0x10000 + ((unit - 0xd800) << 10) + (low - 0xdc00);
  }
  size_t size = leat_utf8_encode(unit, bytes);
  if (size == 0) return leat_json_broken(s, "an invalid code point");
  leat_string_builder_append(&s->text, leat_string_view_make(bytes, size));
  return leat_ok_status();
}

static leat_status_t take_escape(leat_json_scanner_t* s) {
  static const char kFrom[] = "\"\\/bfnrt", kTo[] = "\"\\/\b\f\n\r\t";
  char c = s->next < s->end ? *s->next++ : 0;
  if (c == 'u') return take_code_point(s);
  const char* found = c ? strchr(kFrom, c) : NULL;
  if (!found) return leat_json_broken(s, "an invalid escape");
  leat_string_builder_append_char(&s->text, kTo[found - kFrom]);
  return leat_ok_status();
}

leat_status_t leat_json_take_string(leat_json_scanner_t* s) {
  s->text.size = 0;
  if (!leat_json_take(s, '"')) return leat_json_broken(s, "a string is expected");
  for (;;) {
    const char* from = s->next;
    while (s->next < s->end && *s->next != '"' && *s->next != '\\' &&
           (unsigned char)*s->next >= 0x20) {
      ++s->next;
    }
    leat_string_builder_append(&s->text, leat_string_view_make(from, (size_t)(s->next - from)));
    if (s->next == s->end || (unsigned char)*s->next < 0x20) {
      return leat_json_broken(s, "a string does not end");
    }
    if (*s->next++ == '"') break;
    LEAT_RETURN_IF_ERROR(take_escape(s));
  }
  LEAT_RETURN_IF_ERROR(leat_status_clone(s->text.status));
  bool valid = leat_utf8_is_valid(leat_string_builder_view(&s->text));
  return valid ? leat_ok_status() : leat_json_broken(s, "a string is not UTF-8");
}

static size_t skip_digits(leat_json_scanner_t* s) {
  const char* from = s->next;
  while (s->next < s->end && *s->next >= '0' && *s->next <= '9') ++s->next;
  return (size_t)(s->next - from);
}

// The text of a number in JSON's grammar. A number in quotes is accepted as well, because JSON has
// no NaN and no exact 64-bit integers.
leat_status_t leat_json_take_number(leat_json_scanner_t* s, leat_string_view_t* out_text) {
  if (leat_json_peek(s) == '"') {
    LEAT_RETURN_IF_ERROR(leat_json_take_string(s));
    *out_text = leat_string_builder_view(&s->text);
    return leat_ok_status();
  }
  const char* from = s->next;
  if (s->next < s->end && *s->next == '-') ++s->next;
  bool leading_zero = s->next < s->end && *s->next == '0';
  size_t digits = skip_digits(s);
  bool valid = digits && !(leading_zero && digits > 1);
  if (valid && s->next < s->end && *s->next == '.') {
    ++s->next;
    valid = skip_digits(s) > 0;
  }
  if (valid && s->next < s->end && (*s->next == 'e' || *s->next == 'E')) {
    ++s->next;
    if (s->next < s->end && (*s->next == '-' || *s->next == '+')) ++s->next;
    valid = skip_digits(s) > 0;
  }
  *out_text = leat_string_view_make(from, (size_t)(s->next - from));
  return valid ? leat_ok_status() : leat_json_broken(s, "a number is expected");
}

static leat_status_t skip(leat_json_scanner_t* s, int depth) {
  leat_string_view_t number;
  const char open = leat_json_peek(s), close = open == '{' ? '}' : ']';
  if (depth > MAX_DEPTH) return leat_json_broken(s, "values are nested too deep");
  if (open == '"') return leat_json_take_string(s);
  if (open != '{' && open != '[') {
    const bool is_word = leat_json_take_word(s, "true") || leat_json_take_word(s, "false") ||
                         leat_json_take_word(s, "null");
    return is_word ? leat_ok_status() : leat_json_take_number(s, &number);
  }
  ++s->next;
  if (leat_json_take(s, close)) return leat_ok_status();
  do {
    if (open == '{') {
      LEAT_RETURN_IF_ERROR(leat_json_take_string(s));
      if (!leat_json_take(s, ':')) return leat_json_broken(s, "':' is expected");
    }
    LEAT_RETURN_IF_ERROR(skip(s, depth + 1));
  } while (leat_json_take(s, ','));
  if (leat_json_take(s, close)) return leat_ok_status();
  return leat_json_broken(s, open == '{' ? "'}' is expected" : "']' is expected");
}

leat_status_t leat_json_skip_value(leat_json_scanner_t* s) { return skip(s, 1); }
