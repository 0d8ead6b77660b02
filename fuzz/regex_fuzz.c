// Patterns, up to the first NUL byte, on the text that follows: matches must lie in the text, one
// after the other.
#include <string.h>

#include "ops/string/pattern_cpu.h"

static void search(const leat_pattern_t* pattern, leat_string_view_t text) {
  leat_pattern_matcher_t* matcher;
  int64_t at[2 * LEAT_PATTERN_GROUPS];
  leat_status_t status =
      leat_pattern_matcher_create(pattern, LEAT_PATTERN_GROUPS, NULL, &matcher);
  if (!status) {
    bool whole = false, found = false;
    status = leat_pattern_matches(matcher, text, &whole);
    size_t from = 0;
    while (!status && from <= text.size) {
      status = leat_pattern_find(matcher, text, from, at, &found);
      // A pattern that matches the whole text matches somewhere.
      if (!status && !found && whole && from == 0) __builtin_trap();
      if (!found) break;
      if (at[0] < (int64_t)from || at[1] < at[0] || at[1] > (int64_t)text.size) __builtin_trap();
      for (int g = 1; g < LEAT_PATTERN_GROUPS; ++g) {
        const int64_t* group = at + 2 * g;
        if (group[1] >= 0 && (group[0] < at[0] || group[1] < group[0] || group[1] > at[1])) {
          __builtin_trap();
        }
      }
      from = (size_t)at[1] + (at[0] == at[1]);
    }
  }
  leat_pattern_matcher_free(matcher);
  leat_status_free(status);
}

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  enum { MAX_TEXT = 64 };
  const char* text = (const char*)data;
  const char* end = size ? memchr(text, 0, size) : NULL;
  size_t length = end ? (size_t)(end - text) : size;
  leat_pattern_t* pattern;
  leat_status_t status = leat_pattern_create(leat_string_view_make(text, length), &pattern);
  if (!status) {
    size_t rest = size - length < MAX_TEXT ? size - length : MAX_TEXT;
    search(pattern, leat_string_view_make(text + length, rest));
  }
  leat_pattern_free(pattern);
  leat_status_free(status);
  return 0;
}
