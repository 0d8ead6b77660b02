// The parts of a URL: its path and the parameters behind the question mark, decoded.
#ifndef LEAT_BOARD_QUERY_H_
#define LEAT_BOARD_QUERY_H_

#include "base/arena.h"

typedef struct board_parameter_s {
  leat_string_view_t name, value;
} board_parameter_t;

typedef struct board_query_s {
  board_parameter_t* items;
  size_t count;
  bool is_cut;  // there were more
} board_query_t;

// Decodes "a=1&b=%20+" into |out_query|, in |arena|. Parameters beyond 10,000 are left out, and
// |is_cut| says so; such a request is refused. A "%"
// that no two hexadecimal digits follow stands for itself, as in browsers and in TensorBoard.
LEAT_MUST_USE leat_status_t board_query_parse(leat_string_view_t text, leat_arena_t* arena,
                                              board_query_t* out_query);
// Adds a parameter whose parts are copied.
LEAT_MUST_USE leat_status_t board_query_add(leat_arena_t* arena, leat_string_view_t name,
                                            leat_string_view_t value, board_query_t* query);
// The first value of |name|; false where there is none.
bool board_query_get(const board_query_t* query, const char* name, leat_string_view_t* out_value);
// "%2F" is "/"; "+" is " " where |plus| says so.
LEAT_MUST_USE leat_status_t board_query_decode(leat_string_view_t text, bool plus,
                                               leat_arena_t* arena, leat_string_view_t* out_text);

#endif  // LEAT_BOARD_QUERY_H_
