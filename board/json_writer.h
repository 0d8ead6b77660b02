// JSON as Python writes it, so that answers equal TensorBoard's: floats with the fewest digits that
// give the same number back, and what JSON has no word for as the strings "NaN", "Infinity" and
// "-Infinity".
#ifndef LEAT_BOARD_JSON_WRITER_H_
#define LEAT_BOARD_JSON_WRITER_H_

#include "base/string_builder.h"

// Numbers are doubles here, whatever they were, and are printed as what they were.
typedef enum board_number_kind_e {
  BOARD_NUMBER_FLOAT,
  BOARD_NUMBER_INT,
  BOARD_NUMBER_BOOL,
} board_number_kind_t;

// |text| in quotes. Bytes that are no UTF-8 become U+FFFD.
void board_json_string(leat_string_builder_t* out, leat_string_view_t text);
// The same, with all but ASCII as \u escapes, as json.dumps does.
void board_json_ascii_string(leat_string_builder_t* out, leat_string_view_t text);
void board_json_float(leat_string_builder_t* out, double number);
void board_json_int(leat_string_builder_t* out, int64_t number);
void board_json_number(leat_string_builder_t* out, board_number_kind_t kind, double number);
// repr(|number|) without quotes, at most 32 bytes; returns its size.
size_t board_float_text(double number, char out_text[40]);

#endif  // LEAT_BOARD_JSON_WRITER_H_
