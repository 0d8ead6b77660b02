// Definitions of the ops that draw Poisson and binomially distributed numbers. The stateful ones
// draw as many numbers as |shape| says for each rate; the stateless ones have |shape| as the shape
// of their output, which must end with that of the parameters.
#include "graph/gradient.h"
#include "ops/op_rows.h"
#include "ops/random/stated_shape.h"

#define REAL "{half, float, double, int32, int64}"

const leat_op_row_t leat_poisson_ops[] = {
    {.name = "RandomPoisson",
     .inputs = "shape: S; rate: dtype",
     .outputs = "output: dtype",
     .attrs = "seed: int = 0; seed2: int = 0; S: {int32, int64}; dtype: {half, float, double}",
     .flags = LEAT_OP_STATEFUL,
     .shape = leat_shape_stated_samples,
     .doc = "Poisson distributed numbers; use RandomPoissonV2.",
     .deprecated_since = 25,
     .deprecation = "Replaced by RandomPoissonV2"},
    {.name = "RandomPoissonV2",
     .inputs = "shape: S; rate: R",
     .outputs = "output: dtype",
     .attrs = "seed: int = 0; seed2: int = 0; S: {int32, int64}; R: " REAL " = double; "
              "dtype: " REAL " = int64",
     .flags = LEAT_OP_STATEFUL,
     .shape = leat_shape_stated_samples,
     .doc = "Poisson distributed numbers, for each rate as many as shape states."},
    {.name = "StatelessRandomPoisson",
     .inputs = "shape: T; seed: Tseed; lam: Rtype",
     .outputs = "output: dtype",
     .attrs = "Rtype: " REAL "; dtype: " REAL "; T: {int32, int64}; "
              "Tseed: {int32, int64} = int64",
     .shape = leat_shape_stated_seed,
     .gradient = leat_gradient_none,
     .doc = "Poisson distributed numbers of a seed; shape ends with that of the rates."},
    {.name = "StatelessRandomBinomial",
     .inputs = "shape: S; seed: Tseed; counts: T; probs: T",
     .outputs = "output: dtype",
     .attrs = "S: {int32, int64}; Tseed: {int32, int64} = int64; T: " REAL " = double; "
              "dtype: " REAL " = int64",
     .shape = leat_shape_stated_seed,
     .gradient = leat_gradient_none,
     .doc = "How many of counts tries of probability probs succeed, of a seed."},
    LEAT_OP_ROWS_END,
};
