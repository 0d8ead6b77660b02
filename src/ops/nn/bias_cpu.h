// The inner loops of the bias over float and double, compiled for each instruction set in
// bias_isa.c. The kernels of BiasAdd and its gradient (bias_cpu.c) and the epilogue of fused
// products (epilogue_cpu.c) call them on stretches of a tensor. |y| may be |x|. The loops neither
// allocate nor block. The order of additions in a sum follows from the sizes alone, not from the
// width of a vector, so that every machine gives the same bits.
#ifndef LEAT_OPS_NN_BIAS_CPU_H_
#define LEAT_OPS_NN_BIAS_CPU_H_

#include <stdint.h>

#include "base/cpu.h"

typedef struct leat_bias_loops_s {
  // y[i] = x[i] + bias[i]
  void (*add_f32)(const float* x, const float* bias, float* y, int64_t n);
  void (*add_f64)(const double* x, const double* bias, double* y, int64_t n);
  // y[i] = x[i] + bias
  void (*shift_f32)(const float* x, float bias, float* y, int64_t n);
  void (*shift_f64)(const double* x, double bias, double* y, int64_t n);
  // sums[i] += x[row * n + i] over |rows| rows
  void (*sum_rows_f32)(const float* x, int64_t rows, int64_t n, float* sums);
  void (*sum_rows_f64)(const double* x, int64_t rows, int64_t n, double* sums);
  // The sum of |n| elements.
  float (*sum_f32)(const float* x, int64_t n);
  double (*sum_f64)(const double* x, int64_t n);
} leat_bias_loops_t;
LEAT_ISA_DECLARE(leat_bias_loops_t, leat_bias_loops);

#endif  // LEAT_OPS_NN_BIAS_CPU_H_
