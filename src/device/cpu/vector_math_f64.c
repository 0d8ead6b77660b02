// The double functions, through the C library: the same code for every instruction set. sigmoid and
// softplus use exp(-|x|), which does not overflow.
#include <math.h>

#include "device/cpu/vector_math_tables.h"

static double sigmoid(double x) {
  const double e = exp(-fabs(x));
  return (x < 0 ? e : 1) / (1 + e);
}
static double softplus(double x) { return (x > 0 ? x : isnan(x) ? x : 0) + log1p(exp(-fabs(x))); }
static double rsqrt(double x) { return 1 / sqrt(x); }

#define DEFINE_F64(name)                                                 \
  void leat_vector_##name##_f64(const double* x, double* y, int64_t n) { \
    for (int64_t i = 0; i < n; ++i) y[i] = name(x[i]);                   \
  }
LEAT_VECTOR_MATH_FUNCTIONS(DEFINE_F64)
