// CPU kernels of Poisson and binomially distributed numbers. Samples are computed in double
// whatever the type, and each sample has a region of the generator to itself, as in TensorFlow, so
// that samples can be shared among threads.
//
// Poisson: below a rate of 10, uniform numbers are multiplied until the product falls to exp(-rate)
// (Knuth); the time this takes grows with the rate, so from 10 on transformed rejection serves
// (Hormann: "The transformed rejection method for generating Poisson random variables", 1993).
//
// Binomial, the number of successes in |count| tries: the expected number of successes, count *
// probability, decides between two methods:
//
//   below 10  by_inversion counts how many geometric waiting times fit into the tries
//   from 10   by_rejection, transformed rejection (Hormann: "The generation of binomial random
//             variates", 1993)
//
// Both need a probability of at most 1/2; for a larger one the failures are counted instead. The
// parameters are broadcast against each other; the output's shape ends with theirs.
#include <math.h>

#include "ops/kernel_rows.h"
#include "ops/random/generator_cpu.h"
#include "ops/random/sampler_cpu.h"
#include "ops/random/stateless_cpu.h"
#include "ops/random/variable_generator_cpu.h"

// ---- Poisson ------------------------------------------------------------------------------------

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

// ---- Binomial -----------------------------------------------------------------------------------

// How many groups of the generator a sample of by_inversion has to itself, as in TensorFlow.
#define INVERSION_RESERVED 42

static double by_inversion(leat_draws_t* draws, double count, double probability) {
  double sum = 0;
  for (int successes = 0; successes < LEAT_SAMPLER_MAX_TRIES; ++successes) {
    sum += ceil(log(leat_draw_uniform(draws)) / log1p(-probability));
    if (sum > count) return successes;
  }
  return NAN;
}

// log k! minus Stirling's approximation of it.
static double stirling_tail(double k) {
  static const double kTails[] = {0.0810614667953272, 0.0413406959554092, 0.0276779256849983,
                                  0.02079067210376509, 0.0166446911898211, 0.0138761288230707,
                                  0.0118967099458917, 0.0104112652619720, 0.00925546218271273,
                                  0.00833056343336287};
  if (k >= 0 && k <= 9) return kTails[(int)k];
  double square = (k + 1) * (k + 1);
  return (1.0 / 12 - (1.0 / 360 - 1.0 / 1260 / square) / square) / (k + 1);
}

static double by_rejection(leat_draws_t* draws, double count, double probability) {
  const double deviation = sqrt(count * probability * (1 - probability));
  const double b = 1.15 + 2.53 * deviation;
  const double a = -0.0873 + 0.0248 * b + 0.01 * probability;
  const double c = count * probability + 0.5;
  const double box = 0.92 - 4.2 / b;
  const double odds = probability / (1 - probability);
  const double alpha = (2.83 + 5.1 / b) * deviation;
  const double mode = floor((count + 1) * probability);
  for (int i = 0; i < LEAT_SAMPLER_MAX_TRIES; ++i) {
    double u = leat_draw_uniform(draws) - 0.5;
    double v = leat_draw_uniform(draws);
    double shifted = 0.5 - fabs(u);
    double k = floor((2 * a / shifted + b) * u + c);
    if (shifted >= 0.07 && v <= box) return k;
    if (k < 0 || k > count) continue;
    v = log(v * alpha / (a / (shifted * shifted) + b));
    double bound = (mode + 0.5) * log((mode + 1) / (odds * (count - mode + 1))) +
                   (count + 1) * log((count - mode + 1) / (count - k + 1)) +
                   (k + 0.5) * log(odds * (count - k + 1) / (k + 1)) + stirling_tail(mode) +
                   stirling_tail(count - mode) - stirling_tail(k) - stirling_tail(count - k);
    if (v <= bound) return k;
  }
  return NAN;
}

// Draws sample |number|; |probability| is at most 1/2.
static double sample_half(const leat_sampler_t* sampler, int64_t number, double count,
                          double probability) {
  bool is_many = count * probability >= 10;
  uint64_t reserved = is_many ? LEAT_RANDOM_RESERVED : INVERSION_RESERVED;
  leat_draws_t draws = leat_draws_at(&sampler->philox, (uint64_t)number * reserved);
  return is_many ? by_rejection(&draws, count, probability)
                 : by_inversion(&draws, count, probability);
}

static double sample_binomial(const leat_sampler_t* sampler, int64_t parameter, int64_t number) {
  double count = leat_sampler_parameter(sampler, 0, parameter);
  double probability = leat_sampler_parameter(sampler, 1, parameter);
  bool is_float = sampler->parameters[1]->dtype == LEAT_DTYPE_FLOAT;
  if (count <= 0 || probability <= 0) return 0;
  if (probability >= 1) return count;
  if (probability <= 0.5) return sample_half(sampler, number, count, probability);
  if (isnan(probability)) return NAN;
  // The complement is computed in the type of the parameter, as in TensorFlow.
  double rest = is_float ? (double)(1.0f - (float)probability) : 1 - probability;
  return count - sample_half(sampler, number, count, rest);
}

// ---- Broadcasting -------------------------------------------------------------------------------

// Sets offsets[i] to the element of a tensor of |shape| that belongs to set |i| of parameters.
static void fill_offsets(const leat_shape_t* whole, const leat_shape_t* shape, int64_t* offsets) {
  for (int64_t i = 0; i < whole->element_count; ++i) {
    offsets[i] = leat_sampler_broadcast(whole, shape, i);
  }
}

static leat_status_t run(leat_kernel_context_t* c, leat_sampler_t* sampler,
                         const leat_shape_t* sets, leat_tensor_t* output) {
  leat_tensor_t offsets;
  leat_shape_t pair;
  int64_t count = sets->element_count;
  LEAT_RETURN_IF_ERROR(leat_shape_create(2, (const int64_t[]){2, count}, &pair));
  LEAT_RETURN_IF_ERROR(
      leat_kernel_allocate_temporary(c, LEAT_DTYPE_INT64, &pair, &offsets));
  for (int i = 0; i < 2; ++i) {
    int64_t* items = leat_tensor_data(&offsets, int64_t) + i * count;
    fill_offsets(sets, &sampler->parameters[i]->shape, items);
    sampler->offsets[i] = items;
  }
  sampler->parameter_count = count;
  sampler->sample_count = output->shape.element_count / count;
  leat_sampler_run(c, sampler, output);
  leat_tensor_release(&offsets);
  return leat_ok_status();
}

// Moves the generator in a variable on by as much as TensorFlow does for |samples| samples of each
// of |sets| sets of parameters.
static leat_status_t take_philox(leat_kernel_context_t* c, int64_t sets, int64_t samples,
                                 leat_philox_t* out_philox) {
  const leat_tensor_t* algorithm = leat_kernel_input(c, 1);
  if (algorithm->shape.rank != 0 ||
      leat_tensor_index_at(algorithm, 0) != LEAT_STATELESS_PHILOX) {
    return leat_kernel_invalid(c, "algorithm has shape %s, must be the number %d (Philox)",
                               LEAT_SHAPE_TEXT(&algorithm->shape), LEAT_STATELESS_PHILOX);
  }
  const uint64_t numbers = (uint64_t)sets * 2 * 100 * ((uint64_t)samples + 3) / 4;
  return leat_variable_generator_take(c, 1, numbers, out_philox);
}

// Fills output 0, whose shape is at input |shape|, with counts and probabilities at the inputs from
// |counts| on. The generator is that of a seed (input 1), or lies in a variable (input 0).
static leat_status_t draw_binomial(leat_kernel_context_t* c, int shape, int counts,
                                   bool has_variable) {
  leat_sampler_t sampler = {
      .sample = sample_binomial,
      .parameters = {leat_kernel_input(c, counts), leat_kernel_input(c, counts + 1)},
      .cost_ns = 150};
  leat_shape_t sets;
  leat_tensor_t* output;
  if (!has_variable) LEAT_RETURN_IF_ERROR(leat_stateless_from_seed(c, 1, &sampler.philox));
  LEAT_RETURN_IF_ERROR(
      leat_shape_broadcast(&sampler.parameters[0]->shape, &sampler.parameters[1]->shape, &sets));
  leat_status_t status = leat_random_output(c, shape, &output);
  if (!status) status = leat_sampler_check_suffix(c, &output->shape, &sets);
  if (!status && has_variable) {
    const int64_t count = output->shape.element_count;
    status = take_philox(c, sets.element_count,
                         sets.element_count ? count / sets.element_count : 0, &sampler.philox);
  }
  if (!status && output->shape.element_count) status = run(c, &sampler, &sets, output);
  leat_shape_release(&sets);
  return status;
}

static leat_status_t stateless_binomial__cpu(leat_kernel_context_t* c) {
  return draw_binomial(c, 0, 2, false);
}
static leat_status_t stateful_binomial__cpu(leat_kernel_context_t* c) {
  return draw_binomial(c, 2, 3, true);
}

// ---- Kernels ------------------------------------------------------------------------------------

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
     .compute = stateless_binomial__cpu,
     .expensive = true},
    {.op = "StatefulRandomBinomial",
     .device_type = "CPU",
     .constraints = "T: half, float, double; dtype: " REAL,
     .compute = stateful_binomial__cpu,
     .expensive = true},
    LEAT_KERNEL_ROWS_END,
};
