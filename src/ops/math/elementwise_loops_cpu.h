// The tables of elementwise loops, by op and by the type of the first operand: what kernels choose
// a loop from when they are made. Each table is compiled once per instruction set (*_isa.c), and
// LEAT_ISA_SELECT gives this machine's; loops that vectors do not help stand in plain tables
// (*_loops_cpu.c). An entry that is NULL means that the table has no loop for the type, and that
// the other table is asked. The tables are constant, so any thread may read them.
#ifndef LEAT_OPS_MATH_ELEMENTWISE_LOOPS_CPU_H_
#define LEAT_OPS_MATH_ELEMENTWISE_LOOPS_CPU_H_

#include "ops/math/elementwise_cpu.h"

// ---- One operand --------------------------------------------------------------------------------
// Vectorized loops are in unary_isa.c, plain ones in unary_loops_cpu.c.

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

// ---- Two operands -------------------------------------------------------------------------------
// Vectorized loops are in binary_isa.c, plain ones in binary_loops_cpu.c. Other kernels that fold
// with a binary op (segment ops, AddN) take single loops from here.

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
