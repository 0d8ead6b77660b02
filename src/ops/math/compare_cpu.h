// The loops of comparisons, by op and type of the operands; the results are bools. compare_isa.c
// has them.
#ifndef LEAT_OPS_MATH_COMPARE_CPU_H_
#define LEAT_OPS_MATH_COMPARE_CPU_H_

#include "ops/math/elementwise_cpu.h"

typedef enum leat_compare_e {
  LEAT_COMPARE_EQUAL,
  LEAT_COMPARE_NOT_EQUAL,
  LEAT_COMPARE_LESS,
  LEAT_COMPARE_LESS_EQUAL,
  LEAT_COMPARE_GREATER,
  LEAT_COMPARE_GREATER_EQUAL,
  LEAT_COMPARE_AND,
  LEAT_COMPARE_OR,
  LEAT_COMPARE_COUNT,
} leat_compare_t;

typedef struct leat_compare_loops_s {
  leat_elementwise_loops_t items[LEAT_COMPARE_COUNT];
} leat_compare_loops_t;
LEAT_ISA_DECLARE(leat_compare_loops_t, leat_compare_loops);

#endif  // LEAT_OPS_MATH_COMPARE_CPU_H_
