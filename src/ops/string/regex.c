// Definitions of the ops that match strings against a regular expression: RegexFullMatch takes the
// pattern as an input, StaticRegexFullMatch as an attribute.
#include "graph/inference/inference.h"
#include "ops/op_rows.h"

static leat_status_t match_shape(leat_inference_t* c) {
  leat_partial_shape_t scalar;
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank(c, leat_inference_input(c, 1), 0, &scalar));
  return leat_shape_unchanged(c);
}

const leat_op_row_t leat_regex_ops[] = {
    {.name = "RegexFullMatch",
     .inputs = "input: string; pattern: string",
     .outputs = "output: bool",
     .shape = match_shape,
     .doc = "Whether the pattern matches each whole string."},
    {.name = "StaticRegexFullMatch",
     .inputs = "input: string",
     .outputs = "output: bool",
     .attrs = "pattern: string",
     .shape = leat_shape_unchanged,
     .doc = "Whether the pattern, an attribute, matches each whole string."},
    LEAT_OP_ROWS_END,
};
