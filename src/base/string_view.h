// A string view: bytes that somebody else owns, with their size. It serves for names, strings of
// messages and paths, so that reading a graph copies no text. A view is not terminated by a NUL
// unless a function says so, and it must not outlive the bytes.
#ifndef LEAT_BASE_STRING_VIEW_H_
#define LEAT_BASE_STRING_VIEW_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef struct leat_string_view_s {
  const char* data;
  size_t size;
} leat_string_view_t;

#define LEAT_SV(literal) ((leat_string_view_t){"" literal, sizeof(literal) - 1})
// printf("%.*s", LEAT_SV_ARG(s))
#define LEAT_SV_ARG(s) (int)(s).size, (s).data ? (s).data : ""

static inline leat_string_view_t leat_string_view_make(const char* data, size_t size) {
  return (leat_string_view_t){data, size};
}
static inline leat_string_view_t leat_string_view_from(const char* nul_terminated) {
  return (leat_string_view_t){nul_terminated, nul_terminated ? strlen(nul_terminated) : 0};
}
static inline bool leat_string_view_equal(leat_string_view_t a, leat_string_view_t b) {
  if (a.size != b.size) return false;
  // Names of one length mostly differ in their first letter: that costs no call.
  return a.size == 0 || (a.data[0] == b.data[0] && memcmp(a.data, b.data, a.size) == 0);
}
static inline bool leat_string_view_equals(leat_string_view_t a, const char* nul_terminated) {
  return leat_string_view_equal(a, leat_string_view_from(nul_terminated));
}
static inline bool leat_string_view_starts_with(leat_string_view_t s, leat_string_view_t prefix) {
  return s.size >= prefix.size && (prefix.size == 0 || !memcmp(s.data, prefix.data, prefix.size));
}
static inline bool leat_string_view_ends_with(leat_string_view_t s, leat_string_view_t suffix) {
  return s.size >= suffix.size &&
         (suffix.size == 0 || !memcmp(s.data + s.size - suffix.size, suffix.data, suffix.size));
}
// |begin| is clamped to the size.
static inline leat_string_view_t leat_string_view_from_index(leat_string_view_t s, size_t begin) {
  if (begin > s.size) begin = s.size;
  return (leat_string_view_t){begin ? s.data + begin : s.data, s.size - begin};
}
// Byte order, as memcmp; shorter first.
int leat_string_view_compare(leat_string_view_t a, leat_string_view_t b);
// Index of the first / last |c| or SIZE_MAX.
size_t leat_string_view_find(leat_string_view_t s, char c);
size_t leat_string_view_find_last(leat_string_view_t s, char c);
// Takes the first line off |text|, without its end, "\n" or "\r\n"; false when nothing is left.
bool leat_string_view_take_line(leat_string_view_t* text, leat_string_view_t* out_line);
leat_string_view_t leat_string_view_trim(leat_string_view_t s);
// Whole-string decimal int64 / double; false when it is not one or does not fit.
bool leat_string_view_to_int64(leat_string_view_t s, int64_t* out_value);
bool leat_string_view_to_double(leat_string_view_t s, double* out_value);
// A fast 64-bit hash, the same in all processes (so that it may decide an order).
uint64_t leat_string_view_hash(leat_string_view_t s);

__extension__ typedef unsigned __int128 leat_uint128_t;

// The two halves of the 128-bit product, folded: one multiplication mixes all bits.
static inline uint64_t leat_hash_fold(uint64_t a, uint64_t b) {
  leat_uint128_t product = (leat_uint128_t)a * b;
  return (uint64_t)product ^ (uint64_t)(product >> 64);
}
// |hash| with |word| mixed in, for hashes over several things.
static inline uint64_t leat_hash_mix(uint64_t hash, uint64_t word) {
  hash = (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
  return hash ^ (hash >> 29);
}

#endif  // LEAT_BASE_STRING_VIEW_H_
