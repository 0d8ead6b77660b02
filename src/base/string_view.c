// Comparing, searching, parsing and hashing of string views, which are borrowed bytes with a size.
// A view need not end with a NUL and may contain one, so nothing here calls a C function that looks
// for a NUL, with one exception: strtod, for which the digits are copied into a buffer first.
//
// Parsing is strict, because the callers read files, attributes and environment variables that
// other people wrote: a number must fill the whole view and must fit its type, otherwise the
// function returns false and leaves |out_value| alone. Numbers are read in the "C" locale. A
// program that has set a German locale must still read "0.5" in a graph as one half.
//
// The hash is not keyed and gives the same value in every process, so that code may break ties by
// it and still be deterministic. It reads 16 bytes a round and mixes them with one 128-bit
// multiplication, since the maps of base/map.c hash every name of a graph when it is imported.
#include "base/string_view.h"

#include <errno.h>
#include <math.h>

#include "base/locale.h"

// Longer than any double's shortest exact decimal form (767 digits) with sign and exponent.
#define DOUBLE_TEXT_LIMIT 1024

int leat_string_view_compare(leat_string_view_t a, leat_string_view_t b) {
  size_t size = a.size < b.size ? a.size : b.size;
  int order = size ? memcmp(a.data, b.data, size) : 0;
  if (order) return order;
  return a.size < b.size ? -1 : a.size > b.size;
}

size_t leat_string_view_find(leat_string_view_t s, char c) {
  const char* found = s.size ? memchr(s.data, c, s.size) : NULL;
  return found ? (size_t)(found - s.data) : SIZE_MAX;
}

size_t leat_string_view_find_last(leat_string_view_t s, char c) {
  for (size_t i = s.size; i > 0; --i) {
    if (s.data[i - 1] == c) return i - 1;
  }
  return SIZE_MAX;
}

bool leat_string_view_take_line(leat_string_view_t* text, leat_string_view_t* out_line) {
  if (text->size == 0) return false;
  size_t end = leat_string_view_find(*text, '\n');
  *out_line = leat_string_view_make(text->data, end == SIZE_MAX ? text->size : end);
  *text = leat_string_view_from_index(*text, out_line->size + 1);
  if (leat_string_view_ends_with(*out_line, LEAT_SV("\r"))) --out_line->size;
  return true;
}

static bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

leat_string_view_t leat_string_view_trim(leat_string_view_t s) {
  while (s.size && is_space(s.data[0])) s = leat_string_view_from_index(s, 1);
  while (s.size && is_space(s.data[s.size - 1])) --s.size;
  return s;
}

bool leat_string_view_to_int64(leat_string_view_t s, int64_t* out_value) {
  bool negative = s.size && s.data[0] == '-';
  size_t i = negative || (s.size && s.data[0] == '+');
  if (i == s.size) return false;
  int64_t value = 0;
  for (; i < s.size; ++i) {
    int digit = s.data[i] - '0';
    if (digit < 0 || digit > 9) return false;
    if (__builtin_mul_overflow(value, 10, &value)) return false;
    if (__builtin_add_overflow(value, negative ? -digit : digit, &value)) return false;
  }
  *out_value = value;
  return true;
}

bool leat_string_view_to_double(leat_string_view_t s, double* out_value) {
  char text[DOUBLE_TEXT_LIMIT];
  if (s.size == 0 || s.size >= sizeof(text) || is_space(s.data[0])) return false;
  memcpy(text, s.data, s.size);
  text[s.size] = 0;
  if (memchr(text, 'x', s.size) || memchr(text, 'X', s.size)) return false;  // decimal only
  char* end = NULL;
  errno = 0;
  double value = leat_locale_read_double(text, &end);
  if (end != text + s.size) return false;
  if (errno == ERANGE && isinf(value)) return false;  // too small is zero or subnormal: that fits
  *out_value = value;
  return true;
}

static uint64_t load_bytes(const char* data, size_t size) {
  uint64_t word = 0;
  memcpy(&word, data, size);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
  word = __builtin_bswap64(word);
#endif
  return word;
}

// The first fractional digits of pi: constants that visibly hide no property.
#define HASH_A 0x243f6a8885a308d3ull
#define HASH_B 0x13198a2e03707344ull
#define HASH_C 0xa4093822299f31d0ull

// The last 1 to 16 bytes are read as two words that may overlap, so that the tail needs no loop.
// The size enters the hash at both ends, because overlapping words alone would not tell "aa" from
// "aaa".
uint64_t leat_string_view_hash(leat_string_view_t s) {
  const char* p = s.data;
  size_t left = s.size;
  uint64_t hash = HASH_A ^ s.size;
  while (left > 16) {
    hash = leat_hash_fold(load_bytes(p, 8) ^ HASH_B, load_bytes(p + 8, 8) ^ hash);
    p += 16;
    left -= 16;
  }
  uint64_t a = 0, b = 0;
  if (left >= 8) {
    a = load_bytes(p, 8);
    b = load_bytes(p + left - 8, 8);
  } else if (left >= 4) {
    a = load_bytes(p, 4);
    b = load_bytes(p + left - 4, 4);
  } else if (left > 0) {
    a = (uint64_t)(uint8_t)p[0] << 16 | (uint64_t)(uint8_t)p[left / 2] << 8 | (uint8_t)p[left - 1];
  }
  return leat_hash_fold(HASH_C ^ s.size, leat_hash_fold(a ^ HASH_B, b ^ hash));
}
