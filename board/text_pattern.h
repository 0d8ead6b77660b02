// Regular expressions that a request or a log names, as tests of texts. The syntax is RE2's, and
// the time of a test is bounded by the product of the sizes of pattern and text, so that no
// expression can keep the server busy.
#ifndef LEAT_BOARD_TEXT_PATTERN_H_
#define LEAT_BOARD_TEXT_PATTERN_H_

#include <stdbool.h>

#include "base/string_view.h"
#include "base/status.h"

typedef struct board_text_pattern_s board_text_pattern_t;

// INVALID_ARGUMENT where |text| is no pattern, or has more than 1,000 bytes. The caller frees
// |*out_pattern|, which is NULL on failure; one thread at a time uses it.
LEAT_MUST_USE leat_status_t board_text_pattern_create(leat_string_view_t text,
                                                      board_text_pattern_t** out_pattern);
void board_text_pattern_free(board_text_pattern_t* pattern);  // NULL is allowed
// Whether a match begins where |text| begins, as Python's re.match tells.
LEAT_MUST_USE leat_status_t board_text_pattern_begins(board_text_pattern_t* pattern,
                                                      leat_string_view_t text, bool* out_matches);
// Whether there is a match anywhere in |text|, as Python's re.search tells.
LEAT_MUST_USE leat_status_t board_text_pattern_occurs(board_text_pattern_t* pattern,
                                                      leat_string_view_t text, bool* out_matches);

#endif  // LEAT_BOARD_TEXT_PATTERN_H_
