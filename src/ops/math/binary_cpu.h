// The loops of two operands, in tables by op and by the type of the first operand: vectorized ones
// (binary_isa.c) and plain ones (binary_loops_cpu.c). Other kernels that fold with a binary op
// (segment ops, AddN) take single loops from here.
#ifndef LEAT_OPS_MATH_BINARY_CPU_H_
#define LEAT_OPS_MATH_BINARY_CPU_H_

#include "ops/math/elementwise_cpu.h"

typedef enum leat_binary_e {
  LEAT_BINARY_ADD,
  LEAT_BINARY_SUB,
  LEAT_BINARY_MUL,
  LEAT_BINARY_REAL_DIV,
  LEAT_BINARY_DIV,
  LEAT_BINARY_TRUNCATE_DIV,
  LEAT_BINARY_FLOOR_DIV,
  LEAT_BINARY_MOD,
  LEAT_BINARY_FLOOR_MOD,
  LEAT_BINARY_MAXIMUM,
  LEAT_BINARY_MINIMUM,
  LEAT_BINARY_SQUARED_DIFFERENCE,
  LEAT_BINARY_POW,
  LEAT_BINARY_DIV_NO_NAN,
  LEAT_BINARY_MUL_NO_NAN,
  LEAT_BINARY_XDIVY,
  LEAT_BINARY_XLOGY,
  LEAT_BINARY_XLOG1PY,
  LEAT_BINARY_ATAN2,
  LEAT_BINARY_NEXT_AFTER,
  // (y, dy) -> dx: gradients from the value |y| that the forward op returned.
  LEAT_BINARY_TANH_GRAD,
  LEAT_BINARY_SIGMOID_GRAD,
  LEAT_BINARY_SQRT_GRAD,
  LEAT_BINARY_RSQRT_GRAD,
  LEAT_BINARY_RECIPROCAL_GRAD,
  LEAT_BINARY_AND,
  LEAT_BINARY_OR,
  LEAT_BINARY_XOR,
  LEAT_BINARY_LEFT_SHIFT,
  LEAT_BINARY_RIGHT_SHIFT,
  LEAT_BINARY_COUNT,
} leat_binary_t;

typedef struct leat_binary_loops_s {
  leat_elementwise_loops_t items[LEAT_BINARY_COUNT];
} leat_binary_loops_t;
LEAT_ISA_DECLARE(leat_binary_loops_t, leat_binary_loops);

// The loops that vectors do not help.
extern const leat_elementwise_loops_t leat_binary_plain_loops[LEAT_BINARY_COUNT];

// The vectorized loop of |op| for |dtype|: of this machine's instruction set, else of the baseline;
// NULL if there is none.
static inline leat_elementwise_loop_t leat_binary_vector_loop(leat_binary_t op, int dtype) {
  const leat_loop_type_t type = leat_loop_type(dtype);
  leat_elementwise_loop_t loop = LEAT_ISA_SELECT(leat_binary_loops)->items[op][type];
  return loop ? loop : leat_binary_loops_base.items[op][type];
}

#endif  // LEAT_OPS_MATH_BINARY_CPU_H_
