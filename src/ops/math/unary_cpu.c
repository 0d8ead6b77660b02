// The CPU kernels of the ops of one operand: each create function picks the loop for the node's
// type, and the elementwise engine (elementwise_cpu.h) does the rest. Vectorized loops are in
// unary_isa.c, those of the C library and of complex numbers in unary_loops_cpu.c. half and
// bfloat16 run through the float loops.
//
// The costs in the table are measured times on one core. They decide only how many shards an op is
// cut into: a tensor whose whole cost is a few microseconds runs on the caller's thread.
#include "ops/kernel_rows.h"
#include "ops/math/elementwise_loops_cpu.h"

// X(op, enum, nanoseconds an element of float)
#define UNARY_KERNELS(X)             \
  X(Neg, NEG, 0.25f)                 \
  X(Abs, ABS, 0.25f)                 \
  X(Sign, SIGN, 0.25f)               \
  X(Square, SQUARE, 0.25f)           \
  X(Reciprocal, RECIPROCAL, 0.3f)    \
  X(Inv, RECIPROCAL, 0.3f)           \
  X(Floor, FLOOR, 0.25f)             \
  X(Ceil, CEIL, 0.25f)               \
  X(Round, ROUND, 0.25f)             \
  X(Rint, ROUND, 0.25f)              \
  X(Sqrt, SQRT, 0.4f)                \
  X(Rsqrt, RSQRT, 0.5f)              \
  X(Exp, EXP, 0.5f)                  \
  X(Expm1, EXPM1, 1.5f)              \
  X(Log, LOG, 0.5f)                  \
  X(Log1p, LOG1P, 1.5f)              \
  X(Tanh, TANH, 0.5f)                \
  X(Sigmoid, SIGMOID, 0.7f)          \
  X(Erf, ERF, 0.8f)                  \
  X(Erfc, ERFC, 2)                   \
  X(Sin, SIN, 0.8f)                  \
  X(Cos, COS, 0.8f)                  \
  X(Tan, TAN, 15)                    \
  X(Asin, ASIN, 1)                  \
  X(Acos, ACOS, 1)                  \
  X(Atan, ATAN, 1)                  \
  X(Sinh, SINH, 10)                  \
  X(Cosh, COSH, 10)                  \
  X(Asinh, ASINH, 15)                \
  X(Acosh, ACOSH, 15)                \
  X(Atanh, ATANH, 15)                \
  X(IsNan, IS_NAN, 0.25f)            \
  X(IsInf, IS_INF, 0.25f)            \
  X(IsFinite, IS_FINITE, 0.25f)      \
  X(LogicalNot, NOT, 0.1f)

#define CREATE(name, index, cost_ns)                                               \
  LEAT_ELEMENTWISE_CREATE(create_##name, leat_unary_loops, leat_unary_plain_loops, \
                          LEAT_UNARY_##index, 0, cost_ns)
UNARY_KERNELS(CREATE)

#define ROW LEAT_ELEMENTWISE_ROW_SAME
#define FLOATS "half, bfloat16, float, double"
#define COMPLEXES FLOATS ", complex64, complex128"
#define SIGNED "int8, int16, int32, int64"

const leat_kernel_row_t leat_unary_kernels_cpu[] = {
    ROW(Neg, COMPLEXES ", " SIGNED),
    ROW(Abs, FLOATS ", " SIGNED),
    ROW(Sign, COMPLEXES ", " SIGNED),
    ROW(Square, COMPLEXES ", " SIGNED ", uint8, uint16, uint32, uint64"),
    ROW(Reciprocal, COMPLEXES),
    ROW(Inv, COMPLEXES),
    ROW(Floor, FLOATS),
    ROW(Ceil, FLOATS),
    ROW(Round, FLOATS ", int32, int64"),
    ROW(Rint, "float, double"),
    ROW(Sqrt, COMPLEXES),
    ROW(Rsqrt, COMPLEXES),
    ROW(Exp, COMPLEXES),
    ROW(Expm1, COMPLEXES),
    ROW(Log, COMPLEXES),
    ROW(Log1p, COMPLEXES),
    ROW(Tanh, COMPLEXES),
    ROW(Sigmoid, COMPLEXES),
    ROW(Erf, FLOATS),
    ROW(Erfc, FLOATS),
    ROW(Sin, COMPLEXES),
    ROW(Cos, COMPLEXES),
    ROW(Tan, COMPLEXES),
    ROW(Asin, COMPLEXES),
    ROW(Acos, COMPLEXES),
    ROW(Atan, COMPLEXES),
    ROW(Sinh, COMPLEXES),
    ROW(Cosh, COMPLEXES),
    ROW(Asinh, COMPLEXES),
    ROW(Acosh, COMPLEXES),
    ROW(Atanh, COMPLEXES),
    ROW(IsNan, FLOATS),
    ROW(IsInf, FLOATS),
    ROW(IsFinite, FLOATS),
    {.op = "LogicalNot",
     .device_type = "CPU",
     .create = create_LogicalNot,
     .state_bytes = sizeof(leat_elementwise_t),
     .access = LEAT_ACCESS_SAME,
     .compute = leat_elementwise_same__cpu},
    LEAT_KERNEL_ROWS_END,
};
