// The patterns of the kernels of RegexFullMatch and RegexReplace, which have the bound on time that
// a server needs. The first match is the leftmost one, so that it begins at the beginning exactly
// where any match does.
#include "board/text_pattern.h"

#include "base/allocator.h"
#include "ops/string/pattern_cpu.h"

#define PATTERN_BYTES 1000

struct board_text_pattern_s {
  leat_pattern_t* pattern;
  leat_pattern_matcher_t* matcher;
};

leat_status_t board_text_pattern_create(leat_string_view_t text,
                                        board_text_pattern_t** out_pattern) {
  board_text_pattern_t* made = NULL;
  *out_pattern = NULL;
  if (text.size > PATTERN_BYTES) {
    return leat_make_status(LEAT_INVALID_ARGUMENT, "a pattern has %zu bytes, must have at most %d",
                            text.size, PATTERN_BYTES);
  }
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(leat_allocator_system(), 1, &made));
  leat_status_t status = leat_pattern_create(text, &made->pattern);
  if (!status) status = leat_pattern_matcher_create(made->pattern, 1, NULL, &made->matcher);
  if (status) {
    board_text_pattern_free(made);
    return status;
  }
  *out_pattern = made;
  return leat_ok_status();
}

void board_text_pattern_free(board_text_pattern_t* pattern) {
  if (!pattern) return;
  leat_pattern_matcher_free(pattern->matcher);
  leat_pattern_free(pattern->pattern);
  leat_allocator_free(leat_allocator_system(), pattern);
}

leat_status_t board_text_pattern_begins(board_text_pattern_t* pattern, leat_string_view_t text,
                                        bool* out_matches) {
  int64_t at[2] = {-1, -1};
  LEAT_RETURN_IF_ERROR(leat_pattern_find(pattern->matcher, text, 0, at, out_matches));
  *out_matches = *out_matches && at[0] == 0;
  return leat_ok_status();
}

leat_status_t board_text_pattern_occurs(board_text_pattern_t* pattern, leat_string_view_t text,
                                        bool* out_matches) {
  int64_t at[2];
  return leat_pattern_find(pattern->matcher, text, 0, at, out_matches);
}
