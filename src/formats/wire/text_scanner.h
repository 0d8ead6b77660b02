// Words, numbers and strings of the text format.
#ifndef LEAT_FORMATS_WIRE_TEXT_SCANNER_H_
#define LEAT_FORMATS_WIRE_TEXT_SCANNER_H_

#include "base/arena.h"
#include "base/status.h"
#include "base/string_view.h"

typedef struct leat_text_scanner_s {
  const char* begin;
  const char* next;  // never inside white space or a comment, once skip was called
  const char* end;
} leat_text_scanner_t;

// Steps over white space and comments; true when something follows.
bool leat_text_scanner_skip(leat_text_scanner_t* scanner);
// The next byte after skipping, 0 at the end.
char leat_text_scanner_peek(leat_text_scanner_t* scanner);
// Takes |c| if it is next.
bool leat_text_scanner_take(leat_text_scanner_t* scanner, char c);
// A word ([A-Za-z_][A-Za-z0-9_]*) or number; empty when neither is next.
leat_string_view_t leat_text_scanner_word(leat_text_scanner_t* scanner);
leat_string_view_t leat_text_scanner_number(leat_text_scanner_t* scanner);
// One or more quoted strings, joined and unescaped; a view of the text when nothing is escaped.
LEAT_MUST_USE leat_status_t leat_text_scanner_string(leat_text_scanner_t* scanner,
                                                     leat_arena_t* arena,
                                                     leat_string_view_t* out_string);
// INVALID_ARGUMENT "line 3, column 7: <message>" of |at|.
LEAT_MUST_USE leat_status_t leat_text_scanner_error(const leat_text_scanner_t* scanner,
                                                    const char* at, const char* format, ...)
    LEAT_PRINTF(3, 4);

// Decimal, 0x and 0 (octal) integers; false when malformed or over 64 bits.
bool leat_text_to_uint64(leat_string_view_t number, uint64_t* out_value);
// Decimal floats, an f at the end allowed; integers too.
bool leat_text_to_double(leat_string_view_t number, double* out_value);

#endif  // LEAT_FORMATS_WIRE_TEXT_SCANNER_H_
