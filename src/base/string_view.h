// A string view: bytes that somebody else owns, with their size. It serves for names, strings of
// messages and paths, so that reading a graph copies no text. A view is not terminated by a NUL
// unless a function says so, it may contain NULs, and it must not outlive the bytes. Views are
// passed by value.
//
//   leat_string_view_t name = leat_string_view_make(data, size);
//   if (leat_string_view_starts_with(name, LEAT_SV("loop/"))) ...
//   leat_log(LEAT_LOG_INFO, "node %.*s", LEAT_SV_ARG(name));
//
// The header also holds two mixing functions from which hashes over several things are made.
#ifndef LEAT_BASE_STRING_VIEW_H_
#define LEAT_BASE_STRING_VIEW_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef struct leat_string_view_s {
  // May be NULL when |size| is 0.
  const char* data;
  size_t size;
} leat_string_view_t;

// The view of a string literal. Anything but a literal does not compile.
#define LEAT_SV(literal) ((leat_string_view_t){"" literal, sizeof(literal) - 1})
// The two arguments that "%.*s" takes: printf("%.*s", LEAT_SV_ARG(s)). |s| is evaluated more than
// once, and a NUL in it ends what is printed.
#define LEAT_SV_ARG(s) (int)(s).size, (s).data ? (s).data : ""

static inline leat_string_view_t leat_string_view_make(const char* data, size_t size) {
  return (leat_string_view_t){data, size};
}
// The bytes before the NUL; NULL gives the empty view. It costs a strlen.
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
// The part of |s| from |begin| on; |begin| is clamped to the size.
static inline leat_string_view_t leat_string_view_from_index(leat_string_view_t s, size_t begin) {
  if (begin > s.size) begin = s.size;
  return (leat_string_view_t){begin ? s.data + begin : s.data, s.size - begin};
}
// Below, equal to or above 0, as memcmp over unsigned bytes; of two views of which one begins with
// the other, the shorter comes first.
int leat_string_view_compare(leat_string_view_t a, leat_string_view_t b);
// The index of the first and of the last |c|, or SIZE_MAX where there is none.
size_t leat_string_view_find(leat_string_view_t s, char c);
size_t leat_string_view_find_last(leat_string_view_t s, char c);
// Takes the first line off the front of |text| and gives it without its end, "\n" or "\r\n". The
// last line may lack an end. false when nothing is left, and |out_line| is then unchanged.
bool leat_string_view_take_line(leat_string_view_t* text, leat_string_view_t* out_line);
// |s| without the white space of ASCII at both ends.
leat_string_view_t leat_string_view_trim(leat_string_view_t s);
// Reads a decimal number that fills the whole view. false, with |*out_value| unchanged, where it is
// none, is empty, has spaces around it, or does not fit the type. Numbers of floating point are
// read with a '.' whatever the program's locale is; "inf" and "nan" count as numbers, and views of
// 1024 bytes or more do not.
bool leat_string_view_to_int64(leat_string_view_t s, int64_t* out_value);
bool leat_string_view_to_double(leat_string_view_t s, double* out_value);
// A fast 64-bit hash, the same in all processes of one build (so that it may decide an order). It
// has no key, so somebody who chooses the strings can make them collide, and no file may rest on
// it: fingerprints (base/fingerprint.h) are for that.
uint64_t leat_string_view_hash(leat_string_view_t s);

__extension__ typedef unsigned __int128 leat_uint128_t;

// The two halves of the 128-bit product, folded: one multiplication mixes all bits.
static inline uint64_t leat_hash_fold(uint64_t a, uint64_t b) {
  leat_uint128_t product = (leat_uint128_t)a * b;
  return (uint64_t)product ^ (uint64_t)(product >> 64);
}
// |hash| with |word| mixed in, for hashes over several things: start with any constant and call it
// once for each word. It costs one multiplication.
static inline uint64_t leat_hash_mix(uint64_t hash, uint64_t word) {
  hash = (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
  return hash ^ (hash >> 29);
}

#endif  // LEAT_BASE_STRING_VIEW_H_
