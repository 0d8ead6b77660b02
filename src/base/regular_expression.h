// Regular expressions for the string ops. The syntax is POSIX's extended one, with \b, \B and the
// ends of the text \` and \'. They match bytes, as in the "C" locale whatever the program's is, so
// a character of UTF-8 is several. The C library does the matching.
#ifndef LEAT_BASE_REGULAR_EXPRESSION_H_
#define LEAT_BASE_REGULAR_EXPRESSION_H_

#include <stdbool.h>

#include "base/allocator.h"
#include "base/string_view.h"

typedef struct leat_regular_expression_s leat_regular_expression_t;

// Compiles |pattern|, which is not needed afterwards. The caller frees |*out_expression|.
// INVALID_ARGUMENT with the C library's words where the pattern is wrong; RESOURCE_EXHAUSTED
// without memory; INTERNAL where the C library has no "C" locale to give. |*out_expression| is then
// NULL.
LEAT_MUST_USE leat_status_t leat_regular_expression_create(
    const char* pattern, leat_regular_expression_t** out_expression);
void leat_regular_expression_free(leat_regular_expression_t* expression);  // NULL is allowed
// Whether it matches somewhere in |text|, whose NUL bytes no pattern matches. Any thread, several
// at once with one expression. RESOURCE_EXHAUSTED without memory, INVALID_ARGUMENT for a text of
// more than INT_MAX bytes.
LEAT_MUST_USE leat_status_t leat_regular_expression_search(
    const leat_regular_expression_t* expression, leat_string_view_t text, bool* out_found);

#endif  // LEAT_BASE_REGULAR_EXPRESSION_H_
