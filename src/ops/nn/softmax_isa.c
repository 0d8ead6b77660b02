// Softmax, its logarithm and the cross entropies over one row of logits, compiled for each
// instruction set; softmax_cpu.h has the contracts.
//
//   softmax(x) = exp(x - m) / s            m = max x,  s = sum exp(x - m)
//   log_softmax(x) = x - m - log s
//
// Subtracting the largest logit m first changes nothing mathematically, but no exponential
// overflows, and s is at least 1. The exponentials and their sum come from one vector function.
// Sums are in double.
//
// The maximum of floats is taken in four independent chains of vectors, because a compare depends
// on the one before it and a single chain would wait for each.
#include "ops/nn/softmax_cpu.h"

#include <math.h>

#include "base/checked.h"
#include "device/cpu/vector_math.h"
#include "device/cpu/vector_math_lanes.h"

#define BLOCK 512

#define CHAINS 4
// A NaN among the logits is passed over here; it comes back through the exponentials.
static float greatest_f32(const float* x, int64_t n) {
  floats_t most[CHAINS];
  LEAT_UNROLL for (int c = 0; c < CHAINS; ++c) most[c] = FLOATS(-INFINITY);
  int64_t i = 0;
  for (; i + CHAINS * LANES <= n; i += CHAINS * LANES) {
    LEAT_UNROLL for (int c = 0; c < CHAINS; ++c) {
      const floats_t v = load_floats(x + i + c * LANES);
      most[c] = select_floats(v > most[c], v, most[c]);
    }
  }
  float greatest = -INFINITY;
  LEAT_UNROLL for (int c = 1; c < CHAINS; ++c) {
    most[0] = select_floats(most[c] > most[0], most[c], most[0]);
  }
  for (int k = 0; k < LANES; ++k) greatest = most[0][k] > greatest ? most[0][k] : greatest;
  for (; i < n; ++i) greatest = x[i] > greatest ? x[i] : greatest;
  return greatest;
}

static double greatest_f64(const double* x, int64_t n) {
  double greatest = -INFINITY;
  for (int64_t i = 0; i < n; ++i) greatest = x[i] > greatest ? x[i] : greatest;
  return greatest;
}

// Writes exp(x - shift) to |y|, which may be |x|, and gives the sum.
static double exp_sum_f32(const float* x, float shift, float* y, int64_t n) {
  return LEAT_ISA_NAME(leat_vector_math).exp_shifted_sum_f32(x, shift, y, n);
}

static double exp_sum_f64(const double* x, double shift, double* y, int64_t n) {
  for (int64_t i = 0; i < n; ++i) y[i] = x[i] - shift;
  LEAT_ISA_NAME(leat_vector_math).exp_f64(y, y, n);
  double sum = 0;
  for (int64_t i = 0; i < n; ++i) sum += y[i];
  return sum;
}

#define TYPE float
#define SUFFIX(name) name##_f32
#include "ops/nn/softmax_rows.inc"
#define TYPE double
#define SUFFIX(name) name##_f64
#include "ops/nn/softmax_rows.inc"
