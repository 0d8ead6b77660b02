// Regular expressions of POSIX's extended syntax, with \b, \B and the ends of the text \` and \',
// over bytes, as in the "C" locale whatever the program's is.
#ifndef LEAT_BASE_REGULAR_EXPRESSION_H_
#define LEAT_BASE_REGULAR_EXPRESSION_H_

#include <stdbool.h>

#include "base/allocator.h"
#include "base/string_view.h"

typedef struct leat_regular_expression_s leat_regular_expression_t;

// INVALID_ARGUMENT with the C library's words; RESOURCE_EXHAUSTED without memory.
LEAT_MUST_USE leat_status_t leat_regular_expression_create(
    const char* pattern, leat_regular_expression_t** out_expression);
void leat_regular_expression_free(leat_regular_expression_t* expression);  // NULL is allowed
// Whether it matches somewhere in |text|, whose NUL bytes no pattern matches. Any thread.
LEAT_MUST_USE leat_status_t leat_regular_expression_search(
    const leat_regular_expression_t* expression, leat_string_view_t text, bool* out_found);

#endif  // LEAT_BASE_REGULAR_EXPRESSION_H_
