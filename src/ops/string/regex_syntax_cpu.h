// Translation of regular expressions from RE2's syntax, which TensorFlow's ops use, to POSIX's.
#ifndef LEAT_OPS_STRING_REGEX_SYNTAX_CPU_H_
#define LEAT_OPS_STRING_REGEX_SYNTAX_CPU_H_

#include "base/string_builder.h"

// Appends to |out| the extended regular expression, over bytes of UTF-8 without NUL, that is found
// in a text if and only if |pattern| matches the whole text. INVALID_ARGUMENT where RE2 refuses the
// pattern; UNIMPLEMENTED for what cannot be translated: flags, classes of letters beyond ASCII, \C,
// and patterns that are too large.
LEAT_MUST_USE leat_status_t leat_regex_to_posix(leat_string_view_t pattern,
                                                leat_string_builder_t* out);

#endif  // LEAT_OPS_STRING_REGEX_SYNTAX_CPU_H_
