// Elementary functions over arrays. Every implementation (baseline, AVX2, AVX-512) gives the same
// bits: the same operations in the same order, without fused multiply-add.
//
// Errors against the exact value, in units of the last place of the result, denormal results
// included (measured by vector_math_test over the whole range; the bound that is tested):
//
//   exp 1.0   expm1 0.6   log 1.0   log1p 1.0   tanh 2.0   sigmoid 2.0   softplus 0.6
//   erf 2.0   erfc 0.6    sin 2.0   cos 2.0     sqrt 0.5   rsqrt 1.5
//
// NaN gives NaN; infinities, zeros (with their sign) and domain errors give what C's functions
// give. The floating point status flags are left undefined. double goes through the C library.
//
// |x| and |y| need no alignment; they are the same array or do not overlap; n >= 0.
#ifndef LEAT_DEVICE_CPU_VECTOR_MATH_H_
#define LEAT_DEVICE_CPU_VECTOR_MATH_H_

#include <stdint.h>

#include "base/cpu.h"

#define LEAT_VECTOR_MATH_FUNCTIONS(X) \
  X(exp)                              \
  X(expm1)                            \
  X(log)                              \
  X(log1p)                            \
  X(tanh)                             \
  X(sigmoid)  /* 1 / (1 + exp(-x)) */ \
  X(softplus) /* log(1 + exp(x)) */   \
  X(erf)                              \
  X(erfc)                             \
  X(sin)                              \
  X(cos)                              \
  X(sqrt)                             \
  X(rsqrt) /* 1 / sqrt(x) */

// The functions of one instruction set: y[i] = f(x[i]) for n elements. None of them allocates,
// fails or uses other threads.
typedef struct leat_vector_math_s {
#define LEAT_VECTOR_MATH_FIELD(name)                       \
  void (*name##_f32)(const float* x, float* y, int64_t n); \
  void (*name##_f64)(const double* x, double* y, int64_t n);
  LEAT_VECTOR_MATH_FUNCTIONS(LEAT_VECTOR_MATH_FIELD)
#undef LEAT_VECTOR_MATH_FIELD
  // y = exp(x - shift) for x <= shift, and the sum of y, which is what a softmax needs. Results
  // below the normal numbers are 0. The sum is in double, in an order that depends on n alone.
  double (*exp_shifted_sum_f32)(const float* x, float shift, float* y, int64_t n);
  // Conversions of half and bfloat16, with the results of half.h. |x| and |y| must not overlap.
  void (*half_to_float)(const uint16_t* x, float* y, int64_t n);
  void (*half_from_float)(const float* x, uint16_t* y, int64_t n);
  void (*bfloat16_to_float)(const uint16_t* x, float* y, int64_t n);
  void (*bfloat16_from_float)(const float* x, uint16_t* y, int64_t n);
} leat_vector_math_t;

LEAT_ISA_DECLARE(leat_vector_math_t, leat_vector_math);

// The functions for the best instruction set of this machine.
static inline const leat_vector_math_t* leat_vector_math(void) {
  return LEAT_ISA_SELECT(leat_vector_math);
}

#endif  // LEAT_DEVICE_CPU_VECTOR_MATH_H_
