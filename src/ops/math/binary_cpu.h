// The loops of two operands, in tables by op and by the type of the first operand. Each op of two
// operands has an index in leat_binary_t; the tables give for an index the loops of all types,
// where NULL says that there is none. There are two tables, and the elementwise engine
// (elementwise_cpu.h) asks them in this order:
//
//   leat_binary_loops        binary_isa.c: vectorized, compiled once per instruction set
//   leat_binary_plain_loops  binary_loops_cpu.c: what vectors do not help, compiled once
//
// A kernel hands both to LEAT_ELEMENTWISE_CREATE with an index, which finds the loop for the node's
// type when the kernel is created. Kernels that fold many operands with one op (AddN, segment sums)
// take single loops from here instead and call them themselves. The tables are constant and used on
// any thread. Both operands have one type, and the result has it too. Integers wrap; a loop that
// meets a divisor of 0 or a negative exponent returns a fault.
#ifndef LEAT_OPS_MATH_BINARY_CPU_H_
#define LEAT_OPS_MATH_BINARY_CPU_H_

#include "ops/math/elementwise_cpu.h"

// The ops, with operands x and y.
typedef enum leat_binary_e {
  LEAT_BINARY_ADD,
  LEAT_BINARY_SUB,
  LEAT_BINARY_MUL,
  // Quotients. REAL_DIV is of floats and complex numbers only; DIV is REAL_DIV for these and
  // TRUNCATE_DIV for integers. TRUNCATE_DIV rounds toward 0, FLOOR_DIV down.
  LEAT_BINARY_REAL_DIV,
  LEAT_BINARY_DIV,
  LEAT_BINARY_TRUNCATE_DIV,
  LEAT_BINARY_FLOOR_DIV,
  // Remainders: that of MOD has the sign of x, that of FLOOR_MOD the sign of y.
  LEAT_BINARY_MOD,
  LEAT_BINARY_FLOOR_MOD,
  // NaN when either operand is NaN.
  LEAT_BINARY_MAXIMUM,
  LEAT_BINARY_MINIMUM,
  // (x - y)^2; for complex numbers |x - y|^2, with an imaginary part of 0.
  LEAT_BINARY_SQUARED_DIFFERENCE,
  // An integer to a negative power is the fault NEGATIVE_POWER, and the result is 0.
  LEAT_BINARY_POW,
  // x / y and x y, but 0 where y is 0, whatever x is.
  LEAT_BINARY_DIV_NO_NAN,
  LEAT_BINARY_MUL_NO_NAN,
  // x / y, x log(y) and x log(1 + y), but 0 where x is 0, whatever y is.
  LEAT_BINARY_XDIVY,
  LEAT_BINARY_XLOGY,
  LEAT_BINARY_XLOG1PY,
  LEAT_BINARY_ATAN2,
  LEAT_BINARY_NEXT_AFTER,
  // (y, dy) -> dx: gradients from the value |y| that the forward op returned. From SQRT_GRAD on,
  // the result is 0 where dy is 0, even at a pole of the derivative.
  LEAT_BINARY_TANH_GRAD,
  LEAT_BINARY_SIGMOID_GRAD,
  LEAT_BINARY_SQRT_GRAD,
  LEAT_BINARY_RSQRT_GRAD,
  LEAT_BINARY_RECIPROCAL_GRAD,
  LEAT_BINARY_AND,
  LEAT_BINARY_OR,
  LEAT_BINARY_XOR,
  // Shifts of integers. A count outside of [0, bits - 1] is cut to that interval; the right shift
  // of a signed type repeats its sign.
  LEAT_BINARY_LEFT_SHIFT,
  LEAT_BINARY_RIGHT_SHIFT,
  // The number of ops, not an op.
  LEAT_BINARY_COUNT,
} leat_binary_t;

// A table: items[op][leat_loop_type(dtype)] is the loop or NULL. LEAT_ISA_SELECT(leat_binary_loops)
// is the table for this machine; leat_binary_loops_base has the baseline's loops, a few more.
typedef struct leat_binary_loops_s {
  leat_elementwise_loops_t items[LEAT_BINARY_COUNT];
} leat_binary_loops_t;
LEAT_ISA_DECLARE(leat_binary_loops_t, leat_binary_loops);

// The loops that vectors do not help: integer division, powers, shifts, functions of the C library,
// complex numbers and the joining of strings (ADD).
extern const leat_elementwise_loops_t leat_binary_plain_loops[LEAT_BINARY_COUNT];

// The vectorized loop of |op| for |dtype|: of this machine's instruction set, else of the baseline;
// NULL if there is none, since this does not look among the plain loops. For half and bfloat16 the
// caller converts to float and asks for LEAT_DTYPE_FLOAT.
static inline leat_elementwise_loop_t leat_binary_vector_loop(leat_binary_t op, int dtype) {
  const leat_loop_type_t type = leat_loop_type(dtype);
  leat_elementwise_loop_t loop = LEAT_ISA_SELECT(leat_binary_loops)->items[op][type];
  return loop ? loop : leat_binary_loops_base.items[op][type];
}

#endif  // LEAT_OPS_MATH_BINARY_CPU_H_
