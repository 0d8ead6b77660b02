// Definitions of ParameterizedTruncatedNormal and its stateless form: normal numbers within bounds,
// with means, deviations and bounds that differ from row to row.
#include "graph/gradient.h"
#include "ops/op_rows.h"
#include "ops/random/stated_shape.h"

// The parameters are scalars or vectors, one element for each row of the output.
static leat_status_t stateful_shape(leat_inference_t* c) {
  for (int i = 1; i <= 4; ++i) {
    LEAT_RETURN_IF_ERROR(leat_inference_with_rank_at_most(c, leat_inference_input(c, i), 1));
  }
  return leat_shape_stated(c);
}

// The parameters must broadcast against each other.
static leat_status_t stateless_shape(leat_inference_t* c) {
  leat_partial_shape_t all = leat_inference_input(c, 2);
  LEAT_RETURN_IF_ERROR(leat_shape_check_seed(c, 1));
  for (int i = 3; i <= 5; ++i) {
    LEAT_RETURN_IF_ERROR(leat_inference_broadcast(c, leat_inference_input(c, i), all, &all));
  }
  return leat_shape_stated(c);
}

const leat_op_row_t leat_bounded_normal_ops[] = {
    {.name = "ParameterizedTruncatedNormal",
     .inputs = "shape: T; means: dtype; stdevs: dtype; minvals: dtype; maxvals: dtype",
     .outputs = "output: dtype",
     .attrs = "seed: int = 0; seed2: int = 0; dtype: {half, bfloat16, float, double}; "
              "T: {int32, int64}",
     .flags = LEAT_OP_STATEFUL,
     .shape = stateful_shape,
     .gradient = leat_gradient_none,
     .doc = "Normal numbers within bounds; a row of the output for each set of parameters."},
    {.name = "StatelessParameterizedTruncatedNormal",
     .inputs = "shape: S; seed: Tseed; means: dtype; stddevs: dtype; minvals: dtype; "
               "maxvals: dtype",
     .outputs = "output: dtype",
     .attrs = "S: {int32, int64}; Tseed: {int32, int64} = int64; dtype: {half, float, double}",
     .shape = stateless_shape,
     .doc = "Normal numbers within bounds, of a seed; shape ends with that of the parameters."},
    LEAT_OP_ROWS_END,
};
