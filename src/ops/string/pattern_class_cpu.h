// Sets of characters within regular expressions. A set in the making is at the end of the ranges of
// the pattern's tree, from some |begin| on, in any order; leat_pattern_end_set() makes it one that
// a search can use. All fail with RESOURCE_EXHAUSTED, and with INVALID_ARGUMENT where all sets of
// the pattern have too many ranges.
#ifndef LEAT_OPS_STRING_PATTERN_CLASS_CPU_H_
#define LEAT_OPS_STRING_PATTERN_CLASS_CPU_H_

#include "ops/string/pattern_program_cpu.h"

enum { LEAT_PATTERN_LAST_RUNE = 0x10ffff };

// Adds the characters from |first| to |last| and, where case does not count, the letters that are
// one with them: U+212A, the Kelvin sign, with "k" and "K".
LEAT_MUST_USE leat_status_t leat_pattern_add_range(leat_pattern_tree_t* tree, uint32_t first,
                                                   uint32_t last, bool no_case);

// Adds the characters that Unicode has under |name|: a general category ("Lu", "L"), a script
// ("Greek") or "Any". |*out_known| is false where there is none of that name.
LEAT_MUST_USE leat_status_t leat_pattern_add_unicode(leat_pattern_tree_t* tree,
                                                     leat_string_view_t name, bool no_case,
                                                     bool* out_known);

// Puts the ranges from |begin| on into order and joins those that meet; negated: they become all
// characters that were not in them.
LEAT_MUST_USE leat_status_t leat_pattern_end_set(leat_pattern_tree_t* tree, size_t begin,
                                                 bool negated);

// Whether a character may stand in the name of a group.
bool leat_pattern_is_in_name(uint32_t character);

#endif  // LEAT_OPS_STRING_PATTERN_CLASS_CPU_H_
