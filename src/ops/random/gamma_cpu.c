// CPU kernels of gamma distributed numbers (Marsaglia, Tsang: "A simple method for generating gamma
// variables", 2000) and of their derivative by the shape parameter alpha.
//
// A sample is d v with v = (1 + c x)^3, x normal, d = alpha - 1/3, c = 1 / (3 sqrt d), which is
// kept if a uniform number u fulfils log u < x^2 / 2 + d (1 - v + log v). The test u < 1 - 0.0331
// x^4 decides nearly always without logarithms. For alpha below 1, a sample of alpha + 1 is
// multiplied by u^(1 / alpha). Everything is in double whatever the type, as in TensorFlow. Each
// sample has a region of the generator to itself (sampler_cpu.h), so samples are shared among
// threads.
//
// The derivative follows from implicit differentiation of the distribution function F(alpha, x):
//
//   dx/dalpha = -(dF/dalpha) / (dF/dx)
//
// with F as a series for small x and 1 - F as a continued fraction for large x, both differentiated
// term by term.
#include <math.h>

#include "ops/kernel_rows.h"
#include "ops/random/generator_cpu.h"
#include "ops/random/sampler_cpu.h"
#include "ops/random/stateless_cpu.h"

// Uniform and normal numbers come from the same generator; each kind takes a group when it has none
// left (leat_draws_t).
static double sample_gamma(const leat_sampler_t* sampler, int64_t parameter, int64_t number) {
  double alpha = leat_sampler_parameter(sampler, 0, parameter);
  leat_draws_t draws =
      leat_draws_at(&sampler->philox, (uint64_t)number * LEAT_RANDOM_RESERVED);
  if (alpha == 1) return -log1p(-leat_draw_uniform(&draws));  // exponential
  bool is_small = alpha < 1;
  const double d = alpha + (is_small ? 2.0 / 3 : -1.0 / 3);
  const double c = 1.0 / 3 / sqrt(d);
  for (int i = 0; i < LEAT_SAMPLER_MAX_TRIES; ++i) {
    const double x = leat_draw_normal(&draws);
    double v = 1 + c * x;
    if (v <= 0) continue;
    v = v * v * v;
    const double u = leat_draw_uniform(&draws);
    bool is_inside = u < 1 - 0.0331 * (x * x) * (x * x) ||
                     log(u) < 0.5 * x * x + d * (1 - v + log(v));
    if (!is_inside) continue;
    return is_small ? d * v * pow(leat_draw_uniform(&draws), 1 / alpha) : d * v;
  }
  return NAN;
}

#define GAMMA_NS 60

static leat_status_t random_gamma__cpu(leat_kernel_context_t* c) {
  return leat_sampler_compute(c, sample_gamma, GAMMA_NS);
}

static leat_status_t stateless_v2__cpu(leat_kernel_context_t* c) {
  leat_philox_t philox;
  LEAT_RETURN_IF_ERROR(leat_stateless_from_seed(c, 1, &philox));
  return leat_sampler_compute_stateless(c, philox, 2, sample_gamma, GAMMA_NS);
}

static leat_status_t stateless_v3__cpu(leat_kernel_context_t* c) {
  leat_philox_t philox;
  LEAT_RETURN_IF_ERROR(leat_stateless_from_key(c, 1, &philox));
  return leat_sampler_compute_stateless(c, philox, 4, sample_gamma, GAMMA_NS);
}

// ---- The derivative -----------------------------------------------------------------------------

#define MAX_TERMS 2000
#define EPSILON 0x1p-53

// The derivative of log Gamma(x), x > 0: the recurrence psi(x) = psi(x + 1) - 1 / x up to 10, then
// the asymptotic series.
static double digamma(double x) {
  double sum = 0;
  for (; x < 10; x += 1) sum -= 1 / x;
  double s = 1 / (x * x);
  double tail = s * (1.0 / 12 - s * (1.0 / 120 - s * (1.0 / 252 - s * (1.0 / 240 - s / 132))));
  return sum + log(x) - 0.5 / x - tail;
}

// The lower incomplete gamma function is x^a e^-x / Gamma(a + 1) times the sum over n of x^n / ((a
// + 1)...(a + n)). |sum| is that sum and |dsum| its derivative by a.
static double derivative_by_series(double a, double x) {
  double r = a, c = 1, sum = 1, dc = 0, dsum = 0;
  for (int i = 0; i < MAX_TERMS; ++i) {
    r += 1;
    double term = x / r, dterm = -x / (r * r);
    dc = term * dc + dterm * c;
    dsum += dc;
    c *= term;
    sum += c;
    if (fabs(dc) <= EPSILON * fabs(dsum)) break;
  }
  return -(dsum + sum * (log(x) - digamma(a + 1))) * x / a;
}

// The upper incomplete gamma function is x^a e^-x / Gamma(a) times a continued fraction, of which p
// / q are the convergents and dp, dq their derivatives by a. All are scaled down when they become
// large.
static double derivative_by_fraction(double a, double x) {
  const double big = 0x1p52;
  double y = 1 - a, z = x + y + 1, c = 0;
  double p2 = 1, q2 = x, p1 = x + 1, q1 = z * x;
  double dp2 = 0, dq2 = 0, dp1 = 0, dq1 = -x;
  double value = p1 / q1, dvalue = (dp1 - value * dq1) / q1;
  for (int i = 0; i < MAX_TERMS; ++i) {
    c += 1;
    y += 1;
    z += 2;
    double yc = y * c;
    double p = p1 * z - p2 * yc, q = q1 * z - q2 * yc;
    double dp = dp1 * z - p1 - dp2 * yc + p2 * c, dq = dq1 * z - q1 - dq2 * yc + q2 * c;
    if (q != 0) {
      double before = dvalue;
      value = p / q;
      dvalue = (dp - value * dq) / q;
      if (fabs(dvalue - before) <= EPSILON) break;
    }
    double scale = fabs(p) > big ? 1 / big : 1;
    p2 = p1 * scale, p1 = p * scale, q2 = q1 * scale, q1 = q * scale;
    dp2 = dp1 * scale, dp1 = dp * scale, dq2 = dq1 * scale, dq1 = dq * scale;
  }
  return (dvalue + value * (log(x) - digamma(a))) * x;
}

// dx/da of a sample |x| of shape parameter |a|.
static double sample_derivative(double a, double x) {
  if (x == 0) return 0;
  if (!(x > 0) || !(a > 0) || isinf(a) || isinf(x)) return NAN;
  return x > 1 && x > a ? derivative_by_fraction(a, x) : derivative_by_series(a, x);
}

typedef struct derivative_s {
  const leat_tensor_t *alpha, *sample;
  leat_tensor_t* output;
} derivative_t;

static void derive_shard(void* data, int64_t begin, int64_t end) {
  const derivative_t* d = data;
  const leat_shape_t* whole = &d->output->shape;
  for (int64_t i = begin; i < end; ++i) {
    int64_t of_alpha = leat_sampler_broadcast(whole, &d->alpha->shape, i);
    int64_t of_sample = leat_sampler_broadcast(whole, &d->sample->shape, i);
    double a = leat_sampler_read(d->alpha, of_alpha), x = leat_sampler_read(d->sample, of_sample);
    double value = sample_derivative(a, x);
    if (d->output->dtype == LEAT_DTYPE_FLOAT) {
      leat_tensor_data(d->output, float)[i] = (float)value;
    } else {
      leat_tensor_data(d->output, double)[i] = value;
    }
  }
}

static leat_status_t random_gamma_grad__cpu(leat_kernel_context_t* c) {
  derivative_t d = {.alpha = leat_kernel_input(c, 0), .sample = leat_kernel_input(c, 1)};
  leat_shape_t shape;
  LEAT_RETURN_IF_ERROR(leat_shape_broadcast(&d.alpha->shape, &d.sample->shape, &shape));
  leat_status_t status = leat_kernel_allocate_output(c, 0, &shape, &d.output);
  leat_shape_release(&shape);
  if (!status) {
    leat_kernel_parallel_for(c, d.output->shape.element_count, 300, derive_shard, &d);
  }
  return status;
}

const leat_kernel_row_t leat_gamma_kernels_cpu[] = {
    LEAT_GENERATOR_KERNEL("RandomGamma", "T: half, bfloat16, float, double", random_gamma__cpu,
                          .expensive = true),
    {.op = "StatelessRandomGammaV2",
     .device_type = "CPU",
     .constraints = "dtype: half, bfloat16, float, double",
     .compute = stateless_v2__cpu,
     .expensive = true},
    {.op = "StatelessRandomGammaV3",
     .device_type = "CPU",
     .constraints = "dtype: half, bfloat16, float, double",
     .compute = stateless_v3__cpu,
     .expensive = true},
    {.op = "RandomGammaGrad",
     .device_type = "CPU",
     .constraints = "T: float, double",
     .compute = random_gamma_grad__cpu,
     .expensive = true},
    LEAT_KERNEL_ROWS_END,
};
