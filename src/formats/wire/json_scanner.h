// The tokens of JSON, read from front to back. Who reads a JSON text (json_wire.c, for messages;
// the cluster room, for TF_CONFIG) asks for what may come next, and nothing of the text is kept but
// the string that was read last.
#ifndef LEAT_FORMATS_WIRE_JSON_SCANNER_H_
#define LEAT_FORMATS_WIRE_JSON_SCANNER_H_

#include "base/string_builder.h"

typedef struct leat_json_scanner_s {
  const char* begin;
  const char* next;
  const char* end;
  leat_string_builder_t text;  // of the last string
} leat_json_scanner_t;

// |json| is borrowed. To be deinitialized.
void leat_json_scanner_initialize(leat_string_view_t json, leat_allocator_t* allocator,
                                  leat_json_scanner_t* out_scanner);
void leat_json_scanner_deinitialize(leat_json_scanner_t* scanner);

// INVALID_ARGUMENT that says |what| is wrong, and at which byte.
LEAT_MUST_USE leat_status_t leat_json_broken(const leat_json_scanner_t* s, const char* what);
// Skips blanks and returns the character that follows; 0 at the end.
char leat_json_peek(leat_json_scanner_t* s);
// Skips blanks, and |c| or |word| where it follows.
bool leat_json_take(leat_json_scanner_t* s, char c);
bool leat_json_take_word(leat_json_scanner_t* s, const char* word);
// Reads a string into |s->text|, unescaped. INVALID_ARGUMENT unless there is one, in valid UTF-8.
LEAT_MUST_USE leat_status_t leat_json_take_string(leat_json_scanner_t* s);
// The text of a number, which may stand in quotes, where any text is taken for one.
LEAT_MUST_USE leat_status_t leat_json_take_number(leat_json_scanner_t* s,
                                                  leat_string_view_t* out_text);
// Passes over a value of any kind. INVALID_ARGUMENT where it is none, or nested deeper than 100.
LEAT_MUST_USE leat_status_t leat_json_skip_value(leat_json_scanner_t* s);

#endif  // LEAT_FORMATS_WIRE_JSON_SCANNER_H_
