// Reads JSON of requests into a tree. Requests come from anybody: texts are at most as large as the
// HTTP server lets through, values nest at most 32 deep, and whatever breaks a rule is an error.
#ifndef LEAT_BOARD_JSON_READER_H_
#define LEAT_BOARD_JSON_READER_H_

#include "base/arena.h"

typedef enum board_json_kind_e {
  BOARD_JSON_NULL,
  BOARD_JSON_BOOL,
  BOARD_JSON_NUMBER,
  BOARD_JSON_TEXT,
  BOARD_JSON_LIST,
  BOARD_JSON_OBJECT,
} board_json_kind_t;

typedef struct board_json_s board_json_t;
struct board_json_s {
  board_json_kind_t kind;
  bool truth;
  double number;
  leat_string_view_t text;
  board_json_t* first;  // of a list or an object
  board_json_t* next;   // behind this one in its list or object
  leat_string_view_t key;  // of this one in its object
};

// Reads all of |text| into |arena|. INVALID_ARGUMENT says what is wrong.
LEAT_MUST_USE leat_status_t board_json_read(leat_string_view_t text, leat_arena_t* arena,
                                            board_json_t* out_value);

#endif  // LEAT_BOARD_JSON_READER_H_
