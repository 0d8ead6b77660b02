// Shell patterns for one component of a path, such as "train-*.tfrecord". base/file_system.c splits
// a pattern at its slashes and matches each component with these functions, so a '*' never crosses
// a '/'.
#ifndef LEAT_BASE_FILE_PATTERN_H_
#define LEAT_BASE_FILE_PATTERN_H_

#include "base/arena.h"
#include "base/string_view.h"

// Whether |pattern| matches all of |name|. A '*' stands for any run of bytes, '?' for one byte,
// [a-z] for one of a set, [!a-z] or [^a-z] for one outside it, and \x for x. A '[' without its ']'
// stands for itself. The cost is at most the product of the two sizes, and there is no recursion,
// so a hostile pattern can neither take for ever nor overflow the stack.
bool leat_file_pattern_matches(leat_string_view_t pattern, leat_string_view_t name);
// false when |pattern| has none of * ? [ and \, and so matches nothing but itself.
bool leat_file_pattern_is_wild(leat_string_view_t pattern);
// A pattern, in |arena|, that matches |path| alone.
LEAT_MUST_USE leat_status_t leat_file_pattern_escape(leat_arena_t* arena, leat_string_view_t path,
                                                     leat_string_view_t* out_pattern);

#endif  // LEAT_BASE_FILE_PATTERN_H_
