// Matching of one component of a path with a shell pattern: '*', '?', sets in brackets, and '\'
// before a byte that stands for itself. base/file_system.c calls it for each entry of each
// directory that a pattern such as "/data/train-*" makes it list.
//
// Matching uses no recursion, so that a hostile pattern cannot overflow the stack. When the matcher
// meets a '*', it first lets the star match nothing and goes on. When the rest fails to match, it
// goes back to the last star, lets that one match a byte more, and tries again. Going back to an
// earlier star is never necessary: whatever an earlier star could take over, the last star can take
// as well, since a star matches any bytes. The cost is therefore at most the product of the two
// lengths.
#include "base/file_pattern.h"

// Index past the ']' that closes the set at |begin| (on its '['), or 0 when there is none. A ']'
// right after the opening belongs to the set.
static size_t find_set_end(leat_string_view_t pattern, size_t begin) {
  size_t i = begin + 1;
  if (i < pattern.size && (pattern.data[i] == '!' || pattern.data[i] == '^')) ++i;
  if (i < pattern.size && pattern.data[i] == ']') ++i;
  for (; i < pattern.size; ++i) {
    if (pattern.data[i] == ']') return i + 1;
    if (pattern.data[i] == '\\') ++i;
  }
  return 0;
}

// The byte at |*inout_index| inside a set, where '\' makes the next byte stand for itself; the
// index moves past it.
static uint8_t read_set_byte(leat_string_view_t pattern, size_t* inout_index) {
  if (pattern.data[*inout_index] == '\\') ++*inout_index;
  return (uint8_t)pattern.data[(*inout_index)++];
}

// Whether the set between |begin|, which is at the '[', and |end|, which is past the ']', contains
// |byte|.
static bool set_contains(leat_string_view_t pattern, size_t begin, size_t end, uint8_t byte) {
  size_t i = begin + 1;
  bool negated = pattern.data[i] == '!' || pattern.data[i] == '^';
  if (negated) ++i;
  bool found = false;
  while (i < end - 1) {
    uint8_t low = read_set_byte(pattern, &i);
    uint8_t high = low;
    if (i + 1 < end - 1 && pattern.data[i] == '-') {
      ++i;
      high = read_set_byte(pattern, &i);
    }
    found = found || (low <= byte && byte <= high);
  }
  return found != negated;
}

// Matches |byte| with the element of |pattern| at |*inout_index|, which is not '*', and steps over
// it.
static bool match_one(leat_string_view_t pattern, size_t* inout_index, char byte) {
  size_t i = *inout_index;
  char c = pattern.data[i];
  size_t set_end = c == '[' ? find_set_end(pattern, i) : 0;
  if (set_end) {
    *inout_index = set_end;
    return set_contains(pattern, i, set_end, (uint8_t)byte);
  }
  if (c == '\\' && i + 1 < pattern.size) {
    *inout_index = i + 2;
    return pattern.data[i + 1] == byte;
  }
  *inout_index = i + 1;
  return c == '?' || c == byte;
}

bool leat_file_pattern_matches(leat_string_view_t pattern, leat_string_view_t name) {
  size_t p = 0, n = 0;
  // |star| is the index past the last '*' that was met, |star_name| the end of what it matches now.
  size_t star = SIZE_MAX, star_name = 0;
  while (n < name.size || p < pattern.size) {
    if (p < pattern.size && pattern.data[p] == '*') {
      star = ++p;
      star_name = n;
      continue;
    }
    if (p < pattern.size && n < name.size && match_one(pattern, &p, name.data[n])) {
      ++n;
      continue;
    }
    if (star == SIZE_MAX || star_name >= name.size) return false;
    p = star;
    n = ++star_name;
  }
  return true;
}

bool leat_file_pattern_is_wild(leat_string_view_t pattern) {
  for (size_t i = 0; i < pattern.size; ++i) {
    if (memchr("*?[\\", pattern.data[i], 4)) return true;
  }
  return false;
}

leat_status_t leat_file_pattern_escape(leat_arena_t* arena, leat_string_view_t path,
                                       leat_string_view_t* out_pattern) {
  char* text;
  size_t size = 0;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, 2 * path.size + 1, &text));
  for (size_t i = 0; i < path.size; ++i) {
    if (path.data[i] && strchr("*?[]\\", path.data[i])) text[size++] = '\\';
    text[size++] = path.data[i];
  }
  *out_pattern = leat_string_view_make(text, size);
  return leat_ok_status();
}
