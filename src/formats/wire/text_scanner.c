// The scanner of protocol buffer text ("a: 1 b { c: 'x' }"): words, numbers, strings and single
// characters, with white space and comments skipped before each. The parser of messages
// (text_parse.c) calls it.
//
// The scanner keeps nothing but its position. Lines and columns are counted from the start of the
// text when there is an error to report, which is once in a parse, rather than at each character. A
// string without escapes is returned as a view of the text; only one with escapes, or several that
// stand side by side and count as one, is assembled in the arena.
#include "formats/wire/text_scanner.h"

#include <stdarg.h>
#include <stdio.h>

#include "formats/wire/utf8.h"

static bool is_digit(char c) { return c >= '0' && c <= '9'; }
static bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

bool leat_text_scanner_skip(leat_text_scanner_t* scanner) {
  const char *next = scanner->next, *end = scanner->end;
  while (next < end) {
    char c = *next;
    if (c == '#') {
      while (next < end && *next != '\n') ++next;
    } else if (c == ' ' || (c >= '\t' && c <= '\r')) {
      ++next;
    } else {
      break;
    }
  }
  scanner->next = next;
  return next < end;
}

char leat_text_scanner_peek(leat_text_scanner_t* scanner) {
  return leat_text_scanner_skip(scanner) ? *scanner->next : 0;
}

bool leat_text_scanner_take(leat_text_scanner_t* scanner, char c) {
  if (leat_text_scanner_peek(scanner) != c || scanner->next == scanner->end) return false;
  ++scanner->next;
  return true;
}

leat_string_view_t leat_text_scanner_word(leat_text_scanner_t* scanner) {
  leat_text_scanner_skip(scanner);
  const char *begin = scanner->next, *next = begin;
  if (next < scanner->end && is_letter(*next)) {
    while (next < scanner->end && (is_letter(*next) || is_digit(*next))) ++next;
  }
  scanner->next = next;
  return leat_string_view_make(begin, (size_t)(next - begin));
}

leat_string_view_t leat_text_scanner_number(leat_text_scanner_t* scanner) {
  leat_text_scanner_skip(scanner);
  const char *begin = scanner->next, *next = begin, *end = scanner->end;
  if (next < end && (is_digit(*next) || *next == '.')) {
    bool is_hex = end - next > 1 && (next[1] == 'x' || next[1] == 'X');
    while (next < end) {
      bool is_exponent_sign = (*next == '+' || *next == '-') && !is_hex && next > begin &&
                              (next[-1] == 'e' || next[-1] == 'E');
      if (!is_digit(*next) && !is_letter(*next) && *next != '.' && !is_exponent_sign) break;
      ++next;
    }
  }
  scanner->next = next;
  return leat_string_view_make(begin, (size_t)(next - begin));
}

static int hex_digit(char c) {
  if (is_digit(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

// Reads up to |max_digits| digits of |base| at |*inout_next|; -1 when there is not even one.
static int64_t read_digits(const char** inout_next, const char* end, int base, int max_digits) {
  int64_t value = -1;
  for (int i = 0; i < max_digits && *inout_next < end; ++i) {
    int digit = hex_digit(**inout_next);
    if (digit < 0 || digit >= base) break;
    value = (value < 0 ? 0 : value) * base + digit;
    ++*inout_next;
  }
  return value;
}

// Reads the escape that follows a backslash, at |*inout_next|, and writes the bytes for which it
// stands to |out|. Returns how many they are, or 0 when the escape is malformed.
static size_t unescape(const char** inout_next, const char* end, char out[4]) {
  static const char letters[] = "abfnrtv\\?'\"", meanings[] = "\a\b\f\n\r\t\v\\?'\"";
  if (*inout_next == end) return 0;
  char c = **inout_next;
  const char* letter = c ? strchr(letters, c) : NULL;
  int64_t value;
  if (letter) {
    ++*inout_next;
    out[0] = meanings[letter - letters];
    return 1;
  }
  if (c >= '0' && c <= '7') {
    value = read_digits(inout_next, end, 8, 3);
  } else if (c == 'x' || c == 'X') {
    ++*inout_next;
    value = read_digits(inout_next, end, 16, 2);
  } else if (c == 'u' || c == 'U') {
    const char* digits = ++*inout_next;
    int count = c == 'u' ? 4 : 8;
    value = read_digits(inout_next, end, 16, count);
    return *inout_next - digits == count ? leat_utf8_encode((uint32_t)value, out) : 0;
  } else {
    return 0;
  }
  out[0] = (char)value;
  return value >= 0 && value <= 255 ? 1 : 0;
}

// Reads the string whose opening quote is at |quote| and moves the scanner behind its end. The
// bytes are appended to |out| at |*inout_size|; when |out| is NULL, only their number is counted,
// so that the caller can allocate exactly that much and read the string again.
static leat_status_t read_quoted(leat_text_scanner_t* scanner, const char* quote, char* out,
                                 size_t* inout_size, bool* inout_escaped) {
  const char *next = quote + 1, *end = scanner->end;
  while (next < end && *next != *quote) {
    char bytes[4] = {*next};
    size_t count = 1;
    const char* at = next++;
    if (*at == '\n') return leat_text_scanner_error(scanner, at, "string must end on its line");
    if (*at == '\\') {
      *inout_escaped = true;
      count = unescape(&next, end, bytes);
      if (count == 0) return leat_text_scanner_error(scanner, at, "escape in string is unknown");
    }
    if (out) memcpy(out + *inout_size, bytes, count);
    *inout_size += count;
  }
  if (next == end) return leat_text_scanner_error(scanner, quote, "string has no end");
  scanner->next = next + 1;
  return leat_ok_status();
}

// Strings that stand side by side are one string. The first pass measures, the second, which is
// needed only for escapes or several parts, writes.
leat_status_t leat_text_scanner_string(leat_text_scanner_t* scanner, leat_arena_t* arena,
                                       leat_string_view_t* out_string) {
  const char* begin = NULL;
  size_t parts = 0, size = 0;
  bool escaped = false;
  for (char c; (c = leat_text_scanner_peek(scanner)) == '"' || c == '\''; ++parts) {
    if (!begin) begin = scanner->next;
    LEAT_RETURN_IF_ERROR(read_quoted(scanner, scanner->next, NULL, &size, &escaped));
  }
  if (parts == 0) return leat_text_scanner_error(scanner, scanner->next, "a string must follow");
  *out_string = leat_string_view_make(begin + 1, size);
  if (parts == 1 && !escaped) return leat_ok_status();
  void* joined;
  LEAT_RETURN_IF_ERROR(leat_arena_allocate(arena, size + 1, &joined));
  *out_string = leat_string_view_make((const char*)joined, size);
  scanner->next = begin;
  size = 0;
  for (size_t i = 0; i < parts; ++i) {
    leat_text_scanner_skip(scanner);
    LEAT_RETURN_IF_ERROR(
        read_quoted(scanner, scanner->next, (char*)joined, &size, &escaped));
  }
  return leat_ok_status();
}

leat_status_t leat_text_scanner_error(const leat_text_scanner_t* scanner, const char* at,
                                      const char* format, ...) {
  size_t line = 1, column = 1;
  for (const char* c = scanner->begin; c < at; ++c) {
    ++column;
    if (*c == '\n') {
      ++line;
      column = 1;
    }
  }
  char message[256];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(message, sizeof(message), format, arguments);
  va_end(arguments);
  return leat_make_status(LEAT_INVALID_ARGUMENT, "line %zu, column %zu: %s", line, column, message);
}

bool leat_text_to_uint64(leat_string_view_t number, uint64_t* out_value) {
  unsigned base = 10;
  size_t i = 0;
  uint64_t value = 0;
  if (number.size > 1 && number.data[0] == '0') {
    base = number.data[1] == 'x' || number.data[1] == 'X' ? 16 : 8;
    i = base == 16 ? 2 : 1;
  }
  if (i == number.size) return false;
  for (; i < number.size; ++i) {
    int digit = hex_digit(number.data[i]);
    if (digit < 0 || digit >= (int)base || __builtin_mul_overflow(value, base, &value) ||
        __builtin_add_overflow(value, (unsigned)digit, &value)) {
      return false;
    }
  }
  *out_value = value;
  return true;
}

bool leat_text_to_double(leat_string_view_t number, double* out_value) {
  if (number.size > 1 && (number.data[number.size - 1] | 0x20) == 'f') --number.size;
  bool has_digit = false;
  // A leading zero makes a number octal, and protocol buffers refuse an octal number for a float.
  if (number.size > 1 && number.data[0] == '0' && is_digit(number.data[1])) return false;
  for (size_t i = 0; i < number.size; ++i) {
    char c = number.data[i];
    has_digit = has_digit || is_digit(c);
    if (!is_digit(c) && c != '.' && c != 'e' && c != 'E' && c != '+' && c != '-') return false;
  }
  return has_digit && leat_string_view_to_double(number, out_value);
}
