// Normal numbers within bounds, each row of them with a mean, deviation and bounds of its own.
#include "graph/gradient.h"
#include "graph/inference.h"
#include "ops/family.h"

static leat_status_t set_shape(leat_inference_t* c) {
  leat_partial_shape_t shape;
  LEAT_RETURN_IF_ERROR(leat_inference_input_as_shape(c, 0, &shape));
  leat_inference_set_output(c, 0, shape);
  return leat_ok_status();
}

static leat_status_t stateful_shape(leat_inference_t* c) {
  for (int i = 1; i <= 4; ++i) {
    LEAT_RETURN_IF_ERROR(leat_inference_with_rank_at_most(c, leat_inference_input(c, i), 1));
  }
  return set_shape(c);
}

static leat_status_t stateless_shape(leat_inference_t* c) {
  leat_partial_shape_t seed, all = leat_inference_input(c, 2);
  int64_t unused;
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank(c, leat_inference_input(c, 1), 1, &seed));
  LEAT_RETURN_IF_ERROR(leat_inference_merge_dim(leat_partial_shape_dim(seed, 0), 2, &unused));
  for (int i = 3; i <= 5; ++i) {
    LEAT_RETURN_IF_ERROR(leat_inference_broadcast(c, leat_inference_input(c, i), all, &all));
  }
  return set_shape(c);
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
