// Shell patterns for one component of a path.
#ifndef LEAT_BASE_FILE_PATTERN_H_
#define LEAT_BASE_FILE_PATTERN_H_

#include "base/arena.h"
#include "base/string_view.h"

// * any run of bytes, ? one byte, [a-z] one of a set, [!a-z] or [^a-z] one outside it, \x is x. A
// '[' without its ']' stands for itself. Linear in |name| times the stars' pieces; no recursion.
bool leat_file_pattern_matches(leat_string_view_t pattern, leat_string_view_t name);
// false when |pattern| matches nothing but itself.
bool leat_file_pattern_is_wild(leat_string_view_t pattern);
// A pattern, in |arena|, that matches |path| alone.
LEAT_MUST_USE leat_status_t leat_file_pattern_escape(leat_arena_t* arena, leat_string_view_t path,
                                                     leat_string_view_t* out_pattern);

#endif  // LEAT_BASE_FILE_PATTERN_H_
