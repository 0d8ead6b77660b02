// Definitions of StringSplit and StringSplitV2: strings [n] are cut into parts, which become a
// sparse matrix with a row for each string.
#include "graph/inference/inference.h"
#include "ops/op_rows.h"

static leat_status_t split_shape(leat_inference_t* c) {
  leat_partial_shape_t unused;
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank(c, leat_inference_input(c, 0), 1, &unused));
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank(c, leat_inference_input(c, 1), 0, &unused));
  static const struct {
    int rank;
    int64_t dims[2];
  } kOutputs[] = {{2, {LEAT_DIM_UNKNOWN, 2}}, {1, {LEAT_DIM_UNKNOWN}}, {1, {2}}};
  for (int i = 0; i < 3; ++i) {
    leat_partial_shape_t shape;
    LEAT_RETURN_IF_ERROR(leat_inference_make(c, kOutputs[i].rank, kOutputs[i].dims, &shape));
    leat_inference_set_output(c, i, shape);
  }
  return leat_ok_status();
}

#define PARTS "indices: int64; values: string; shape: int64"

const leat_op_row_t leat_string_split_ops[] = {
    {.name = "StringSplit",
     .inputs = "input: string; delimiter: string",
     .outputs = PARTS,
     .attrs = "skip_empty: bool = true",
     .shape = split_shape,
     .doc = "Each string cut at any byte of the delimiter; an empty one cuts between all bytes."},
    {.name = "StringSplitV2",
     .inputs = "input: string; sep: string",
     .outputs = PARTS,
     .attrs = "maxsplit: int = -1",
     .shape = split_shape,
     .doc = "Each string cut at the separator, or at white space when that is empty, as by "
            "Python's str.split."},
    LEAT_OP_ROWS_END,
};
