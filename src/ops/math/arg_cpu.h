// Searches for the extremum along an axis, compiled per instruction set (arg_isa.c) and called by
// the kernels of arg_cpu.c.
#ifndef LEAT_OPS_MATH_ARG_CPU_H_
#define LEAT_OPS_MATH_ARG_CPU_H_

#include "base/cpu.h"
#include "ops/math/loop_type_cpu.h"

// Searches each of |width| columns of |x|, |n| rows that lie |stride| elements apart, and writes
// the index of its extremum: the first one where several are equal. NaNs are passed over, unless
// all are NaN: then the index is 0. |n| >= 1, |width| <= LEAT_ARG_MAX_WIDTH.
#define LEAT_ARG_MAX_WIDTH 256
typedef void (*leat_arg_fn_t)(const void* x, int64_t stride, int64_t n, int64_t width,
                              int64_t* out_indices);

typedef struct leat_arg_loops_s {
  leat_arg_fn_t max[LEAT_LOOP_TYPE_COUNT];
  leat_arg_fn_t min[LEAT_LOOP_TYPE_COUNT];
} leat_arg_loops_t;
LEAT_ISA_DECLARE(leat_arg_loops_t, leat_arg_loops);

#endif  // LEAT_OPS_MATH_ARG_CPU_H_
