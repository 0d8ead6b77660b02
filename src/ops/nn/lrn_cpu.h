// The rows of LRN and its gradient, compiled for each instruction set in lrn_isa.c; a row is the
// channels of one pixel. The kernels (lrn_cpu.c) share the pixels among threads. The functions
// neither allocate nor block. The order of additions in a sum follows from the sizes alone, so that
// every instruction set gives the same sums.
#ifndef LEAT_OPS_NN_LRN_CPU_H_
#define LEAT_OPS_NN_LRN_CPU_H_

#include <stdint.h>

#include "base/cpu.h"

// Windows of up to this radius are summed anew for each channel.
#define LEAT_LRN_MOST_NARROW 8

typedef struct leat_lrn_s {
  int64_t radius;
  float bias, alpha, beta;
} leat_lrn_t;

// The floats of scratch memory that the rows of |depth| channels need, forward and gradient; it
// must be zero before the first row, and serves one row after the other.
static inline int64_t leat_lrn_forward_scratch(int64_t depth) {
  return depth + 2 * LEAT_LRN_MOST_NARROW;
}
static inline int64_t leat_lrn_gradient_scratch(int64_t depth) {
  return leat_lrn_forward_scratch(depth) + 2 * depth;
}

typedef struct leat_lrn_rows_s {
  // x [depth] -> y [depth]
  void (*forward)(const leat_lrn_t* lrn, int64_t depth, const float* x, float* scratch, float* y);
  // dy, x, y [depth] -> dx [depth]
  void (*gradient)(const leat_lrn_t* lrn, int64_t depth, const float* dy, const float* x,
                   const float* y, float* scratch, float* dx);
} leat_lrn_rows_t;
LEAT_ISA_DECLARE(leat_lrn_rows_t, leat_lrn_rows);

#endif  // LEAT_OPS_NN_LRN_CPU_H_
