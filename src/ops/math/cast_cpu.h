// The loops of which casts are made (cast_isa.c), compiled per instruction set. A type is first
// widened to a pivot that holds it exactly, then the pivot is stored as the target type; a type
// that is a pivot itself needs no first step. cast_cpu.c chains them.
#ifndef LEAT_OPS_MATH_CAST_CPU_H_
#define LEAT_OPS_MATH_CAST_CPU_H_

#include "ops/math/elementwise_cpu.h"

typedef enum leat_cast_pivot_e {
  LEAT_CAST_I32,
  LEAT_CAST_I64,
  LEAT_CAST_U64,
  LEAT_CAST_F32,
  LEAT_CAST_F64,
  LEAT_CAST_C64,
  LEAT_CAST_C128,
  LEAT_CAST_PIVOT_COUNT,
} leat_cast_pivot_t;

typedef struct leat_cast_steps_s {
  leat_elementwise_loop_t load[LEAT_DTYPE_COUNT];  // to the type's pivot; NULL for pivots
  leat_elementwise_loop_t store[LEAT_CAST_PIVOT_COUNT][LEAT_DTYPE_COUNT];
  leat_elementwise_loop_t real_c64, real_c128;  // the real part of a complex number
} leat_cast_steps_t;
LEAT_ISA_DECLARE(leat_cast_steps_t, leat_cast_steps);

#endif  // LEAT_OPS_MATH_CAST_CPU_H_
