// Definition of DecodeCSV, which splits lines of comma-separated values into one tensor for each
// column.
#include "graph/gradient.h"
#include "graph/inference/inference.h"
#include "ops/op_rows.h"

static leat_status_t decode_csv_shape(leat_inference_t* c) {
  for (int i = 1; i < leat_inference_input_count(c); ++i) {
    leat_partial_shape_t shape = leat_inference_input(c, i);
    LEAT_RETURN_IF_ERROR(leat_inference_with_rank_at_most(c, shape, 1));
    if (shape.rank == 1 && leat_partial_shape_dim(shape, 0) > 1) {
      return leat_make_status(LEAT_INVALID_ARGUMENT,
                              "Shape of a default must be a length-0 or length-1 vector, or a "
                              "scalar.");
    }
  }
  for (int i = 0; i < c->node->output_count; ++i) {
    leat_inference_set_output(c, i, leat_inference_input(c, 0));
  }
  return leat_ok_status();
}

const leat_op_row_t leat_csv_ops[] = {
    {.name = "DecodeCSV",
     .inputs = "records: string; record_defaults: OUT_TYPE",
     .outputs = "output: OUT_TYPE",
     .attrs = "OUT_TYPE: list({float, double, int32, int64, string}) >= 1; "
              "field_delim: string = ','; use_quote_delim: bool = true; na_value: string = ''; "
              "select_cols: list(int) = []",
     .shape = decode_csv_shape,
     .gradient = leat_gradient_none,
     .doc = "The fields of each line, a tensor a column."},
    LEAT_OP_ROWS_END,
};
