// Regular expressions in RE2's syntax, over the characters of texts in UTF-8. Of several places
// where a pattern matches the first is found, and of several ways to match there the one that
// Perl would find: the first alternative, the most repetitions of a greedy operator. The time of a
// search is bounded by the product of the sizes of pattern and text, whatever the pattern; its
// memory by the size of the pattern, which is bounded too.
//
// A pattern does not change after it is made; any number of threads may have matchers for it.
#ifndef LEAT_OPS_STRING_PATTERN_CPU_H_
#define LEAT_OPS_STRING_PATTERN_CPU_H_

#include <stdbool.h>

#include "base/string_view.h"
#include "kernel/step_check.h"

enum { LEAT_PATTERN_GROUPS = 10 };  // group 0, which is the whole match, and \1 to \9

typedef struct leat_pattern_s leat_pattern_t;

// Compiles |text|, which is not needed afterwards; the caller frees |*out_pattern|, which is NULL
// on failure. INVALID_ARGUMENT with RE2's words where RE2 refuses the pattern; UNIMPLEMENTED for
// groups more than 1000 deep.
LEAT_MUST_USE leat_status_t leat_pattern_create(leat_string_view_t text,
                                                leat_pattern_t** out_pattern);
void leat_pattern_free(leat_pattern_t* pattern);  // NULL is allowed
int leat_pattern_group_count(const leat_pattern_t* pattern);  // without group 0

// The memory of searches with one pattern, one at a time.
typedef struct leat_pattern_matcher_s leat_pattern_matcher_t;

// |group_count|, at most LEAT_PATTERN_GROUPS, is how many groups the searches tell; fewer make them
// faster. The searches end with the step of |pace|; NULL: they go on. Both |pattern| and |pace|
// must outlive the matcher, which the caller frees. RESOURCE_EXHAUSTED.
LEAT_MUST_USE leat_status_t leat_pattern_matcher_create(const leat_pattern_t* pattern,
                                                        int group_count, leat_step_pace_t* pace,
                                                        leat_pattern_matcher_t** out_matcher);
void leat_pattern_matcher_free(leat_pattern_matcher_t* matcher);  // NULL is allowed

// Sets |*out_found| to whether the pattern matches the whole text. CANCELLED, DEADLINE_EXCEEDED.
LEAT_MUST_USE leat_status_t leat_pattern_matches(leat_pattern_matcher_t* matcher,
                                                 leat_string_view_t text, bool* out_found);

// Finds the first match that begins at byte |from| of |text| or behind. Its group g begins at byte
// out_at[2 * g] and ends before out_at[2 * g + 1]; both are -1 where it took no part. CANCELLED,
// DEADLINE_EXCEEDED.
LEAT_MUST_USE leat_status_t leat_pattern_find(leat_pattern_matcher_t* matcher,
                                              leat_string_view_t text, size_t from,
                                              int64_t* out_at, bool* out_found);

// The bytes of the character at byte |at| of |text|, which is before its end; a byte that begins no
// character is one by itself, and LEAT_PATTERN_NO_CHARACTER. Surrogates are characters here, as in
// RE2. So are, to a class of all characters from U+0080 on, three or four bytes that have the form
// of a character and are none, since they are longer than they need to be or beyond the last one:
// LEAT_PATTERN_MISFORMED. |out_rune| may be NULL.
size_t leat_pattern_character(leat_string_view_t text, size_t at, uint32_t* out_rune);
#define LEAT_PATTERN_NO_CHARACTER UINT32_MAX
#define LEAT_PATTERN_MISFORMED (UINT32_MAX - 1)

#endif  // LEAT_OPS_STRING_PATTERN_CPU_H_
