// The tables of elementwise loops, by op and by the type of the first operand: what kernels choose
// a loop from when they are made. Each op has an index in an enum below; a table gives for an index
// the loops of all types, items[op][leat_loop_type(dtype)], where NULL says that there is none. Ops
// of one and two operands have two tables, which the elementwise engine (elementwise_cpu.h) asks in
// this order, here with the names of one operand:
//
//   leat_unary_loops        unary_isa.c: vectorized, compiled once per instruction set
//   leat_unary_plain_loops  unary_loops_cpu.c: what vectors do not help, compiled once
//
// A kernel hands both to LEAT_ELEMENTWISE_CREATE with an index, which finds the loop for the node's
// type when the kernel is created. Each instruction set has a vectorized table of its own,
// leat_unary_loops_base and so on; LEAT_ISA_SELECT(leat_unary_loops) is the one for this machine. A
// type may have a loop in the baseline's table alone. The tables are constant and used on any
// thread. Where a table has no loop for half and bfloat16, the engine goes through the float loop.
#ifndef LEAT_OPS_MATH_ELEMENTWISE_LOOPS_CPU_H_
#define LEAT_OPS_MATH_ELEMENTWISE_LOOPS_CPU_H_

#include "ops/math/elementwise_cpu.h"

// ---- One operand --------------------------------------------------------------------------------
// Vectorized loops are in unary_isa.c, plain ones in unary_loops_cpu.c. The kernels of unary_cpu.c,
// binary_cpu.c (bitwise ops) and complex_cpu.c take their loops from here, and the epilogue of
// matrix products and convolutions (ops/nn/epilogue_cpu.c) its activation functions.

// The ops. Several names of TensorFlow share an index where they compute the same: Inv is
// RECIPROCAL, Rint is ROUND. The integer loops of NEG, ABS and SQUARE wrap instead of overflowing.
typedef enum leat_unary_e {
  LEAT_UNARY_NEG,
  LEAT_UNARY_ABS,
  // x / |x|, and 0 for 0; a NaN stays NaN.
  LEAT_UNARY_SIGN,
  LEAT_UNARY_SQUARE,
  LEAT_UNARY_RECIPROCAL,
  LEAT_UNARY_FLOOR,
  LEAT_UNARY_CEIL,
  // To the nearest integer, ties to even.
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
  // Tests: the output is uint8_t, 0 or 1.
  LEAT_UNARY_IS_NAN,
  LEAT_UNARY_IS_INF,
  LEAT_UNARY_IS_FINITE,
  LEAT_UNARY_NOT,
  // For integers: all bits inverted, and the number of bits that are 1, as uint8_t.
  LEAT_UNARY_INVERT,
  LEAT_UNARY_POPULATION_COUNT,
  // For complex numbers. REAL, IMAG, COMPLEX_ABS and ANGLE give numbers of the real type with half
  // as many bytes.
  LEAT_UNARY_CONJ,
  LEAT_UNARY_REAL,
  LEAT_UNARY_IMAG,
  LEAT_UNARY_COMPLEX_ABS,
  LEAT_UNARY_ANGLE,
  // The number of ops, not an op.
  LEAT_UNARY_COUNT,
} leat_unary_t;

typedef struct leat_unary_loops_s {
  leat_elementwise_loops_t items[LEAT_UNARY_COUNT];
} leat_unary_loops_t;
LEAT_ISA_DECLARE(leat_unary_loops_t, leat_unary_loops);

// The loops that are compiled for the baseline only: functions of the C library, complex numbers
// and bit counts. Every op and type has a loop in one of the two tables at most, so that the order
// decides nothing but the time of a search.
extern const leat_elementwise_loops_t leat_unary_plain_loops[LEAT_UNARY_COUNT];

// ---- Two operands -------------------------------------------------------------------------------
// Vectorized loops are in binary_isa.c, plain ones in binary_loops_cpu.c. Kernels that fold many
// operands with one op (AddN, segment sums) take single loops from here and call them themselves.
// Both operands have one type, and the result has it too. Integers wrap; a loop that meets a
// divisor of 0 or a negative exponent returns a fault.

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

// The baseline's table, leat_binary_loops_base, has a few loops more than the others.
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

// ---- Three operands -----------------------------------------------------------------------------
// The loops of select and clip are in ternary_isa.c.

typedef enum leat_ternary_e {
  LEAT_TERNARY_SELECT,  // condition ? t : e, by the type of t
  LEAT_TERNARY_CLIP,    // t between two bounds, by its type
  LEAT_TERNARY_COUNT,
} leat_ternary_t;

typedef struct leat_ternary_loops_s {
  leat_elementwise_loops_t items[LEAT_TERNARY_COUNT];
} leat_ternary_loops_t;
LEAT_ISA_DECLARE(leat_ternary_loops_t, leat_ternary_loops);

// ---- Comparisons --------------------------------------------------------------------------------
// The results are bools. compare_isa.c has the loops; their type is that of the operands.

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

// ---- Casts --------------------------------------------------------------------------------------
// cast_isa.c has the loops of which cast_cpu.c chains a cast. A type is first widened to a pivot
// that holds it exactly, then the pivot is stored as the target type; a type that is a pivot itself
// needs no first step.

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

#endif  // LEAT_OPS_MATH_ELEMENTWISE_LOOPS_CPU_H_
