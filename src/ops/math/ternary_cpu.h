// The loops of three operands (select and clip), by op and type; ternary_isa.c has them.
#ifndef LEAT_OPS_MATH_TERNARY_CPU_H_
#define LEAT_OPS_MATH_TERNARY_CPU_H_

#include "ops/math/elementwise_cpu.h"

typedef enum leat_ternary_e {
  LEAT_TERNARY_SELECT,  // condition ? t : e, by the type of t
  LEAT_TERNARY_CLIP,    // t between two bounds, by its type
  LEAT_TERNARY_COUNT,
} leat_ternary_t;

typedef struct leat_ternary_loops_s {
  leat_elementwise_loops_t items[LEAT_TERNARY_COUNT];
} leat_ternary_loops_t;
LEAT_ISA_DECLARE(leat_ternary_loops_t, leat_ternary_loops);

#endif  // LEAT_OPS_MATH_TERNARY_CPU_H_
