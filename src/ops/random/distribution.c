// Definitions of the random ops whose numbers come from a generator that belongs to the node, and
// so differ from step to step: shape [rank] -> numbers of that shape.
#include "graph/gradient.h"
#include "ops/op_rows.h"
#include "ops/random/stated_shape.h"

static leat_status_t random_integer_shape(leat_inference_t* c) {
  leat_partial_shape_t unused;
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank(c, leat_inference_input(c, 1), 0, &unused));
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank(c, leat_inference_input(c, 2), 0, &unused));
  return leat_shape_stated(c);
}

#define FLOATING_ROW(op_name, words)                                                          \
  {.name = op_name,                                                                           \
   .inputs = "shape: T",                                                                      \
   .outputs = "output: dtype",                                                                \
   .attrs = "seed: int = 0; seed2: int = 0; dtype: {half, bfloat16, float, double}; "         \
            "T: {int32, int64}",                                                              \
   .flags = LEAT_OP_STATEFUL,                                                                 \
   .shape = leat_shape_stated,                                                                     \
   .gradient = leat_gradient_none,                                                            \
   .doc = words}

const leat_op_row_t leat_distribution_ops[] = {
    FLOATING_ROW("RandomUniform", "Uniform random numbers in [0, 1)."),
    FLOATING_ROW("RandomStandardNormal", "Normal random numbers of mean 0 and deviation 1."),
    FLOATING_ROW("TruncatedNormal",
                 "Normal random numbers; those beyond two deviations are drawn again."),
    {.name = "RandomUniformInt",
     .inputs = "shape: T; minval: Tout; maxval: Tout",
     .outputs = "output: Tout",
     .attrs = "seed: int = 0; seed2: int = 0; Tout: {int32, int64}; T: {int32, int64}",
     .flags = LEAT_OP_STATEFUL,
     .shape = random_integer_shape,
     .doc = "Uniform random integers in [minval, maxval)."},
    LEAT_OP_ROWS_END,
};
