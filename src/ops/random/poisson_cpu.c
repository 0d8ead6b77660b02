// CPU kernels of Poisson distributed numbers. Below a rate of 10, uniform numbers are multiplied
// until the product falls to exp(-rate) (Knuth); the time this takes grows with the rate, so from
// 10 on transformed rejection serves (Hormann: "The transformed rejection method for generating
// Poisson random variables", 1993). Samples are computed in double whatever the type.
#include <math.h>

#include "ops/kernel_rows.h"
#include "ops/random/binomial_cpu.h"
#include "ops/random/generator_cpu.h"
#include "ops/random/sampler_cpu.h"
#include "ops/random/stateless_cpu.h"

// Knuth's method; the expected number of factors is |rate| + 1.
static double sample_small(leat_draws_t* draws, double rate) {
  const double limit = exp(-rate);
  double product = 1;
  for (int64_t count = 0; count < LEAT_SAMPLER_MAX_TRIES; ++count) {
    product *= leat_draw_uniform(draws);
    if (product <= limit) return (double)count;
  }
  return NAN;
}

// Transformed rejection, with the constants of Hormann's algorithm PTRS.
static double sample_large(leat_draws_t* draws, double rate) {
  const double log_rate = log(rate);
  const double b = 0.931 + 2.53 * sqrt(rate);
  const double a = -0.059 + 0.02483 * b;
  const double inverse_alpha = 1.1239 + 1.1328 / (b - 3.4);
  for (int i = 0; i < LEAT_SAMPLER_MAX_TRIES; ++i) {
    double u = leat_draw_uniform(draws) - 0.5;
    double v = leat_draw_uniform(draws);
    double shifted = 0.5 - fabs(u);
    double k = floor((2 * a / shifted + b) * u + rate + 0.43);
    if (shifted >= 0.07 && v <= 0.9277 - 3.6224 / (b - 2)) return k;
    if (k < 0 || (shifted < 0.013 && v > shifted)) continue;
    double s = log(v * inverse_alpha / (a / (shifted * shifted) + b));
    if (s <= -rate + k * log_rate - lgamma(k + 1)) return k;
  }
  return NAN;
}

static double sample_poisson(const leat_sampler_t* sampler, int64_t parameter, int64_t number) {
  double rate = leat_sampler_parameter(sampler, 0, parameter);
  leat_draws_t draws =
      leat_draws_at(&sampler->philox, (uint64_t)number * LEAT_RANDOM_RESERVED);
  if (rate < 10) return sample_small(&draws, rate);
  if (!isfinite(rate)) return rate;
  return sample_large(&draws, rate);
}

#define POISSON_NS 80

static leat_status_t random_poisson__cpu(leat_kernel_context_t* c) {
  return leat_sampler_compute(c, sample_poisson, POISSON_NS);
}

static leat_status_t stateless_poisson__cpu(leat_kernel_context_t* c) {
  leat_philox_t philox;
  LEAT_RETURN_IF_ERROR(leat_stateless_from_seed(c, 1, &philox));
  return leat_sampler_compute_stateless(c, philox, 2, sample_poisson, POISSON_NS);
}

#define REAL "half, float, double, int32, int64"

const leat_kernel_row_t leat_poisson_kernels_cpu[] = {
    LEAT_GENERATOR_KERNEL("RandomPoisson", "dtype: half, float, double", random_poisson__cpu,
                          .expensive = true),
    LEAT_GENERATOR_KERNEL("RandomPoissonV2", "R: " REAL "; dtype: " REAL, random_poisson__cpu,
                          .expensive = true),
    {.op = "StatelessRandomPoisson",
     .device_type = "CPU",
     .constraints = "Rtype: " REAL "; dtype: " REAL,
     .compute = stateless_poisson__cpu,
     .expensive = true},
    {.op = "StatelessRandomBinomial",
     .device_type = "CPU",
     .constraints = "T: half, float, double; dtype: " REAL,
     .compute = leat_stateless_binomial__cpu,
     .expensive = true},
    LEAT_KERNEL_ROWS_END,
};
