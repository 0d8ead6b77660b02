// The loops of one operand, in tables by op and type: vectorized ones (unary_isa.c) and plain ones
// (unary_loops_cpu.c).
#ifndef LEAT_OPS_MATH_UNARY_CPU_H_
#define LEAT_OPS_MATH_UNARY_CPU_H_

#include "ops/math/elementwise_cpu.h"

typedef enum leat_unary_e {
  LEAT_UNARY_NEG,
  LEAT_UNARY_ABS,
  LEAT_UNARY_SIGN,
  LEAT_UNARY_SQUARE,
  LEAT_UNARY_RECIPROCAL,
  LEAT_UNARY_FLOOR,
  LEAT_UNARY_CEIL,
  LEAT_UNARY_ROUND,
  LEAT_UNARY_SQRT,
  LEAT_UNARY_RSQRT,
  LEAT_UNARY_EXP,
  LEAT_UNARY_EXPM1,
  LEAT_UNARY_LOG,
  LEAT_UNARY_LOG1P,
  LEAT_UNARY_TANH,
  LEAT_UNARY_SIGMOID,
  LEAT_UNARY_ERF,
  LEAT_UNARY_ERFC,
  LEAT_UNARY_SIN,
  LEAT_UNARY_COS,
  LEAT_UNARY_TAN,
  LEAT_UNARY_ASIN,
  LEAT_UNARY_ACOS,
  LEAT_UNARY_ATAN,
  LEAT_UNARY_SINH,
  LEAT_UNARY_COSH,
  LEAT_UNARY_ASINH,
  LEAT_UNARY_ACOSH,
  LEAT_UNARY_ATANH,
  LEAT_UNARY_IS_NAN,
  LEAT_UNARY_IS_INF,
  LEAT_UNARY_IS_FINITE,
  LEAT_UNARY_NOT,
  LEAT_UNARY_INVERT,
  LEAT_UNARY_POPULATION_COUNT,
  LEAT_UNARY_CONJ,
  LEAT_UNARY_REAL,
  LEAT_UNARY_IMAG,
  LEAT_UNARY_COMPLEX_ABS,
  LEAT_UNARY_ANGLE,
  LEAT_UNARY_COUNT,
} leat_unary_t;

typedef struct leat_unary_loops_s {
  leat_elementwise_loops_t items[LEAT_UNARY_COUNT];
} leat_unary_loops_t;
LEAT_ISA_DECLARE(leat_unary_loops_t, leat_unary_loops);

extern const leat_elementwise_loops_t leat_unary_plain_loops[LEAT_UNARY_COUNT];

#endif  // LEAT_OPS_MATH_UNARY_CPU_H_
