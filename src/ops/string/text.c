// Definitions of the ops on parts, lengths and letters of strings. Except for Substr, which
// broadcasts, they work element by element.
#include "graph/gradient.h"
#include "graph/inference/inference.h"
#include "ops/op_rows.h"

// pos and len must have the same shape, against which the strings are broadcast.
static leat_status_t substr_shape(leat_inference_t* c) {
  leat_partial_shape_t pos = leat_inference_input(c, 1), len = leat_inference_input(c, 2), unused;
  if (len.rank >= 0) LEAT_RETURN_IF_ERROR(leat_inference_with_rank(c, pos, len.rank, &unused));
  for (int d = 0; d < pos.rank && len.rank >= 0; ++d) {
    if (pos.dims[d] == len.dims[d]) continue;
    return leat_make_status(LEAT_INVALID_ARGUMENT, "pos and len shapes must match: %s vs. %s",
                            LEAT_PARTIAL_SHAPE_TEXT(pos), LEAT_PARTIAL_SHAPE_TEXT(len));
  }
  return leat_shape_broadcast_binary(c);
}

#define UNIT "unit: {'BYTE', 'UTF8_CHAR'} = 'BYTE'"

const leat_op_row_t leat_text_ops[] = {
    {.name = "Substr",
     .inputs = "input: string; pos: T; len: T",
     .outputs = "output: string",
     .attrs = "T: {int32, int64}; " UNIT,
     .shape = substr_shape,
     .doc = "Part of each string; a negative position counts from its end."},
    {.name = "StringLength",
     .inputs = "input: string",
     .outputs = "output: int32",
     .attrs = UNIT,
     .shape = leat_shape_unchanged,
     .doc = "The length of each string in bytes or characters."},
    {.name = "StringLower",
     .inputs = "input: string",
     .outputs = "output: string",
     .attrs = "encoding: string = ''",
     .shape = leat_shape_unchanged,
     .doc = "Each string in small letters."},
    {.name = "StringUpper",
     .inputs = "input: string",
     .outputs = "output: string",
     .attrs = "encoding: string = ''",
     .shape = leat_shape_unchanged,
     .doc = "Each string in capital letters."},
    {.name = "StringStrip",
     .inputs = "input: string",
     .outputs = "output: string",
     .shape = leat_shape_unchanged,
     .doc = "Each string without white space at its ends."},
    LEAT_OP_ROWS_END,
};
