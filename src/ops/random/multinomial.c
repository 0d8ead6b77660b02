// Definitions of Multinomial and its stateless form: they draw classes from unnormalised log
// probabilities, logits [batch, classes], num_samples -> [batch, num_samples].
#include "graph/gradient.h"
#include "graph/inference/inference.h"
#include "ops/op_rows.h"
#include "ops/random/stated_shape.h"

static leat_status_t multinomial_shape(leat_inference_t* c) {
  leat_partial_shape_t logits, unused, shape;
  leat_partial_value_t count;
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank(c, leat_inference_input(c, 0), 2, &logits));
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank(c, leat_inference_input(c, 1), 0, &unused));
  LEAT_RETURN_IF_ERROR(leat_inference_input_value(c, 1, &count));
  int64_t dims[2] = {leat_partial_shape_dim(logits, 0), LEAT_DIM_UNKNOWN};
  if (count.rank == 0 && count.items[0] != LEAT_VALUE_UNKNOWN) {
    if (count.items[0] < 0) {
      return leat_make_status(LEAT_INVALID_ARGUMENT,
                              "Shape inference failed: num_samples is %lld, must not be negative",
                              (long long)count.items[0]);
    }
    dims[1] = count.items[0];
  }
  LEAT_RETURN_IF_ERROR(leat_inference_make(c, 2, dims, &shape));
  leat_inference_set_output(c, 0, shape);
  return leat_ok_status();
}

static leat_status_t stateless_shape(leat_inference_t* c) {
  LEAT_RETURN_IF_ERROR(leat_shape_check_seed(c, 2));
  return multinomial_shape(c);
}

#define REAL                                                                                  \
  "T: {float, double, int32, uint8, int16, int8, int64, bfloat16, uint16, half, uint32, uint64}"

const leat_op_row_t leat_multinomial_ops[] = {
    {.name = "Multinomial",
     .inputs = "logits: T; num_samples: int32",
     .outputs = "output: output_dtype",
     .attrs = "seed: int = 0; seed2: int = 0; " REAL "; output_dtype: {int32, int64} = int64",
     .flags = LEAT_OP_STATEFUL,
     .shape = multinomial_shape,
     .gradient = leat_gradient_none,
     .doc = "For each row of unnormalised log probabilities, classes drawn with them."},
    {.name = "StatelessMultinomial",
     .inputs = "logits: T; num_samples: int32; seed: Tseed",
     .outputs = "output: output_dtype",
     .attrs = REAL "; Tseed: {int32, int64} = int64; output_dtype: {int32, int64} = int64",
     .shape = stateless_shape,
     .gradient = leat_gradient_none,
     .doc = "For each row of unnormalised log probabilities, classes drawn of a seed."},
    LEAT_OP_ROWS_END,
};
