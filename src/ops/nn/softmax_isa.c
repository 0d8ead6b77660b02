// Rows of softmax and cross entropy, per instruction set. The greatest logit is taken off first, so
// that no exponential overflows.
#include "ops/nn/softmax_cpu.h"

#include <math.h>

#include "base/checked.h"
#include "device/cpu/vector_math.h"
#include "device/cpu/vector_math_lanes.h"

#define BLOCK 512

#define CHAINS 4
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
