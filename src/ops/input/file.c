// Definitions of the ops that read and write whole files and find files by patterns.
#include "graph/gradient.h"
#include "graph/inference/handle_shape.h"
#include "ops/op_rows.h"

static leat_status_t read_shape(leat_inference_t* c) {
  LEAT_RETURN_IF_ERROR(leat_shape_check_scalar(c, 0));
  return leat_shape_scalar_output(c);
}

static leat_status_t write_shape(leat_inference_t* c) {
  LEAT_RETURN_IF_ERROR(leat_shape_check_scalar(c, 0));
  return leat_shape_check_scalar(c, 1);
}

static leat_status_t match_shape(leat_inference_t* c) {
  leat_partial_shape_t vector;
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank_at_most(c, leat_inference_input(c, 0), 1));
  LEAT_RETURN_IF_ERROR(leat_inference_unknown_of_rank(c, 1, &vector));
  leat_inference_set_output(c, 0, vector);
  return leat_ok_status();
}

const leat_op_row_t leat_file_ops[] = {
    {.name = "ReadFile",
     .inputs = "filename: string",
     .outputs = "contents: string",
     .shape = read_shape,
     .gradient = leat_gradient_none,
     .doc = "All bytes of a file."},
    {.name = "WriteFile",
     .inputs = "filename: string; contents: string",
     .flags = LEAT_OP_STATEFUL,
     .shape = write_shape,
     .gradient = leat_gradient_none,
     .doc = "Makes a file, and its directories, of these bytes."},
    {.name = "MatchingFiles",
     .inputs = "pattern: string",
     .outputs = "filenames: string",
     .shape = match_shape,
     .gradient = leat_gradient_none,
     .doc = "The names of the files that match one of the patterns, sorted."},
    LEAT_OP_ROWS_END,
};
