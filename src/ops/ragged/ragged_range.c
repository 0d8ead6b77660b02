// Definition of RaggedRange: ranges of different lengths, one for each row.
#include "graph/gradient.h"
#include "graph/inference/inference.h"
#include "ops/op_rows.h"

static leat_status_t range_shape(leat_inference_t* c) {
  int64_t rows = LEAT_DIM_UNKNOWN;
  int scalars = 0;
  leat_partial_shape_t vector;
  for (int i = 0; i < 3; ++i) {
    leat_partial_shape_t shape = leat_inference_input(c, i);
    LEAT_RETURN_IF_ERROR(leat_inference_with_rank_at_most(c, shape, 1));
    scalars += shape.rank == 0;
    if (shape.rank == 1) LEAT_RETURN_IF_ERROR(leat_inference_merge_dim(shape.dims[0], rows, &rows));
  }
  if (scalars == 3) rows = 1;
  if (rows >= 0) ++rows;
  LEAT_RETURN_IF_ERROR(leat_inference_make(c, 1, &rows, &vector));
  leat_inference_set_output(c, 0, vector);
  LEAT_RETURN_IF_ERROR(leat_inference_unknown_of_rank(c, 1, &vector));
  leat_inference_set_output(c, 1, vector);
  return leat_ok_status();
}

const leat_op_row_t leat_ragged_range_ops[] = {
    {.name = "RaggedRange",
     .inputs = "starts: T; limits: T; deltas: T",
     .outputs = "rt_nested_splits: Tsplits; rt_dense_values: T",
     .attrs = "T: {bfloat16, float, double, int32, int64} = int32; "
              "Tsplits: {int32, int64} = int64",
     .shape = range_shape,
     .gradient = leat_gradient_none,
     .doc = "Ranges from starts to limits, one a row."},
    LEAT_OP_ROWS_END,
};
