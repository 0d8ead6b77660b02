// Sums of the squares of |n| elements, compiled for each instruction set in l2_loss_isa.c.
#ifndef LEAT_OPS_NN_L2_LOSS_CPU_H_
#define LEAT_OPS_NN_L2_LOSS_CPU_H_

#include <stdint.h>

#include "base/cpu.h"

typedef struct leat_square_sums_s {
  double (*f32)(const float* x, int64_t n);
  double (*f64)(const double* x, int64_t n);
} leat_square_sums_t;
LEAT_ISA_DECLARE(leat_square_sums_t, leat_square_sums);

#endif  // LEAT_OPS_NN_L2_LOSS_CPU_H_
