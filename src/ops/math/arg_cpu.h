// Searches for the extremum along an axis.
#ifndef LEAT_OPS_MATH_ARG_CPU_H_
#define LEAT_OPS_MATH_ARG_CPU_H_

#include "base/cpu.h"
#include "ops/math/loop_type_cpu.h"

// |x|: |n| rows of |width| columns, |stride| elements apart. Writes the index of each column's
// extremum; the first of equal ones; NaNs are passed over. width <= LEAT_ARG_MAX_WIDTH.
#define LEAT_ARG_MAX_WIDTH 256
typedef void (*leat_arg_fn_t)(const void* x, int64_t stride, int64_t n, int64_t width,
                              int64_t* out_indices);

typedef struct leat_arg_loops_s {
  leat_arg_fn_t max[LEAT_LOOP_TYPE_COUNT];
  leat_arg_fn_t min[LEAT_LOOP_TYPE_COUNT];
} leat_arg_loops_t;
LEAT_ISA_DECLARE(leat_arg_loops_t, leat_arg_loops);

#endif  // LEAT_OPS_MATH_ARG_CPU_H_
