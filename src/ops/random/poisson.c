// Poisson and binomially distributed numbers.
#include "graph/gradient.h"
#include "graph/inference.h"
#include "ops/family.h"

static leat_status_t stateful_shape(leat_inference_t* c) {
  leat_partial_shape_t samples, shape;
  LEAT_RETURN_IF_ERROR(leat_inference_input_as_shape(c, 0, &samples));
  LEAT_RETURN_IF_ERROR(
      leat_inference_concatenate(c, samples, leat_inference_input(c, 1), &shape));
  leat_inference_set_output(c, 0, shape);
  return leat_ok_status();
}

static leat_status_t seed_shape(leat_inference_t* c) {
  leat_partial_shape_t seed, shape;
  int64_t unused;
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank(c, leat_inference_input(c, 1), 1, &seed));
  LEAT_RETURN_IF_ERROR(leat_inference_merge_dim(leat_partial_shape_dim(seed, 0), 2, &unused));
  LEAT_RETURN_IF_ERROR(leat_inference_input_as_shape(c, 0, &shape));
  leat_inference_set_output(c, 0, shape);
  return leat_ok_status();
}

#define REAL "{half, float, double, int32, int64}"

const leat_op_row_t leat_poisson_ops[] = {
    {.name = "RandomPoisson",
     .inputs = "shape: S; rate: dtype",
     .outputs = "output: dtype",
     .attrs = "seed: int = 0; seed2: int = 0; S: {int32, int64}; dtype: {half, float, double}",
     .flags = LEAT_OP_STATEFUL,
     .shape = stateful_shape,
     .doc = "Poisson distributed numbers; use RandomPoissonV2.",
     .deprecated_since = 25,
     .deprecation = "Replaced by RandomPoissonV2"},
    {.name = "RandomPoissonV2",
     .inputs = "shape: S; rate: R",
     .outputs = "output: dtype",
     .attrs = "seed: int = 0; seed2: int = 0; S: {int32, int64}; R: " REAL " = double; "
              "dtype: " REAL " = int64",
     .flags = LEAT_OP_STATEFUL,
     .shape = stateful_shape,
     .doc = "Poisson distributed numbers, for each rate as many as shape states."},
    {.name = "StatelessRandomPoisson",
     .inputs = "shape: T; seed: Tseed; lam: Rtype",
     .outputs = "output: dtype",
     .attrs = "Rtype: " REAL "; dtype: " REAL "; T: {int32, int64}; "
              "Tseed: {int32, int64} = int64",
     .shape = seed_shape,
     .gradient = leat_gradient_none,
     .doc = "Poisson distributed numbers of a seed; shape ends with that of the rates."},
    {.name = "StatelessRandomBinomial",
     .inputs = "shape: S; seed: Tseed; counts: T; probs: T",
     .outputs = "output: dtype",
     .attrs = "S: {int32, int64}; Tseed: {int32, int64} = int64; T: " REAL " = double; "
              "dtype: " REAL " = int64",
     .shape = seed_shape,
     .gradient = leat_gradient_none,
     .doc = "How many of counts tries of probability probs succeed, of a seed."},
    LEAT_OP_ROWS_END,
};
