// The loops of one operand, in tables by op and type. Each op of one operand has an index in
// leat_unary_t; the tables give for an index the loops of all types, where NULL says that there is
// none. There are two tables, and the elementwise engine (elementwise_cpu.h) asks them in this
// order:
//
//   leat_unary_loops        unary_isa.c: vectorized, compiled once per instruction set
//   leat_unary_plain_loops  unary_loops_cpu.c: what vectors do not help, compiled once
//
// A kernel hands both to LEAT_ELEMENTWISE_CREATE with an index, which finds the loop for the node's
// type when the kernel is created. The kernels of unary_cpu.c, bitwise_cpu.c and complex_cpu.c do
// so, and the epilogue of matrix products and convolutions (ops/nn/epilogue_cpu.c) takes activation
// functions from the tables. The tables are constant and used on any thread. Where a table has no
// loop for half and bfloat16, the engine goes through the float loop.
#ifndef LEAT_OPS_MATH_UNARY_CPU_H_
#define LEAT_OPS_MATH_UNARY_CPU_H_

#include "ops/math/elementwise_cpu.h"

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
  // Of integers: all bits inverted, and the number of bits that are 1, as uint8_t.
  LEAT_UNARY_INVERT,
  LEAT_UNARY_POPULATION_COUNT,
  // Of complex numbers. REAL, IMAG, COMPLEX_ABS and ANGLE give numbers of the real type with half
  // as many bytes.
  LEAT_UNARY_CONJ,
  LEAT_UNARY_REAL,
  LEAT_UNARY_IMAG,
  LEAT_UNARY_COMPLEX_ABS,
  LEAT_UNARY_ANGLE,
  // The number of ops, not an op.
  LEAT_UNARY_COUNT,
} leat_unary_t;

// A table: items[op][leat_loop_type(dtype)] is the loop or NULL. Each instruction set has a table
// of its own, leat_unary_loops_base and so on; LEAT_ISA_SELECT(leat_unary_loops) is the one for
// this machine. A type may have a loop in the baseline's table alone.
typedef struct leat_unary_loops_s {
  leat_elementwise_loops_t items[LEAT_UNARY_COUNT];
} leat_unary_loops_t;
LEAT_ISA_DECLARE(leat_unary_loops_t, leat_unary_loops);

// The loops that are compiled for the baseline only: functions of the C library, complex numbers
// and bit counts. Every op and type has a loop in one of the two tables at most, so that the order
// decides nothing but the time of a search.
extern const leat_elementwise_loops_t leat_unary_plain_loops[LEAT_UNARY_COUNT];

#endif  // LEAT_OPS_MATH_UNARY_CPU_H_
