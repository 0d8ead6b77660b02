// The CPU kernels of the elementwise ops of two operands, and of the ops on bits, of which two have
// one operand. Each op has one create function, which picks the loop for the node's type; all share
// the engine (elementwise_cpu.h), which broadcasts and shards.
//
// Sums, differences, products and quotients of scalars have kernels of their own. Loops over
// counters and small recurrent graphs run millions of them, and for one number the engine's checks
// would cost more than the arithmetic; a scalar kernel that meets anything else calls the engine.
// The costs in the table below are measured times on one core and decide only how many shards an op
// is cut into.

#include "base/attributes.h"
#include "ops/kernel_rows.h"
#include "ops/math/elementwise_loops_cpu.h"

// X(op, enum, nanoseconds an element)
#define BINARY_KERNELS(X)                        \
  X(Add, ADD, 0.3f)                              \
  X(AddV2, ADD, 0.3f)                            \
  X(Sub, SUB, 0.3f)                              \
  X(Mul, MUL, 0.3f)                              \
  X(RealDiv, REAL_DIV, 0.4f)                     \
  X(Div, DIV, 0.6f)                              \
  X(TruncateDiv, TRUNCATE_DIV, 1)                \
  X(FloorDiv, FLOOR_DIV, 1)                      \
  X(Mod, MOD, 6)                                 \
  X(TruncateMod, MOD, 6)                         \
  X(FloorMod, FLOOR_MOD, 6)                      \
  X(Maximum, MAXIMUM, 0.3f)                      \
  X(Minimum, MINIMUM, 0.3f)                      \
  X(SquaredDifference, SQUARED_DIFFERENCE, 0.3f) \
  X(Pow, POW, 10)                                \
  X(DivNoNan, DIV_NO_NAN, 0.4f)                  \
  X(MulNoNan, MUL_NO_NAN, 0.3f)                  \
  X(Xdivy, XDIVY, 0.4f)                          \
  X(Xlogy, XLOGY, 1)                             \
  X(Xlog1py, XLOG1PY, 2)                         \
  X(Atan2, ATAN2, 15)                            \
  X(NextAfter, NEXT_AFTER, 5)                    \
  X(TanhGrad, TANH_GRAD, 0.3f)                   \
  X(SigmoidGrad, SIGMOID_GRAD, 0.3f)             \
  X(SqrtGrad, SQRT_GRAD, 0.4f)                   \
  X(RsqrtGrad, RSQRT_GRAD, 0.4f)                 \
  X(ReciprocalGrad, RECIPROCAL_GRAD, 0.3f)       \
  X(InvGrad, RECIPROCAL_GRAD, 0.3f)

#define CREATE(op, index, cost_ns)                                                     \
  LEAT_ELEMENTWISE_CREATE(create_##op, leat_binary_loops, leat_binary_plain_loops,     \
                          LEAT_BINARY_##index, 0, cost_ns)
BINARY_KERNELS(CREATE)

// A kernel for two scalars. The rank of either operand above 0 sends the call to the engine.
// |expression| computes integers as unsigned, so that they wrap.
#define SCALAR_KERNEL(name, type, expression)                                                   \
  LEAT_HOT_LEAF static leat_status_t name(leat_kernel_context_t* c) {                           \
    const leat_tensor_t* a = leat_kernel_input(c, 0);                                           \
    const leat_tensor_t* b = leat_kernel_input(c, 1);                                           \
    if (a->shape.rank | b->shape.rank) return leat_elementwise_broadcast__cpu(c);               \
    const type x = *leat_tensor_data(a, const type), y = *leat_tensor_data(b, const type);      \
    leat_tensor_t* output;                                                                      \
    LEAT_RETURN_IF_ERROR(leat_kernel_forward_any_or_allocate(c, 3, 0, &a->shape, &output));     \
    *leat_tensor_data(output, type) = (type)(expression);                                       \
    return leat_ok_status();                                                                    \
  }
SCALAR_KERNEL(add_f32__cpu, float, x + y)
SCALAR_KERNEL(add_f64__cpu, double, x + y)
SCALAR_KERNEL(add_i32__cpu, int32_t, (uint32_t)x + (uint32_t)y)
SCALAR_KERNEL(add_i64__cpu, int64_t, (uint64_t)x + (uint64_t)y)
SCALAR_KERNEL(sub_f32__cpu, float, x - y)
SCALAR_KERNEL(sub_f64__cpu, double, x - y)
SCALAR_KERNEL(sub_i32__cpu, int32_t, (uint32_t)x - (uint32_t)y)
SCALAR_KERNEL(sub_i64__cpu, int64_t, (uint64_t)x - (uint64_t)y)
SCALAR_KERNEL(mul_f32__cpu, float, x * y)
SCALAR_KERNEL(mul_f64__cpu, double, x * y)
SCALAR_KERNEL(mul_i32__cpu, int32_t, (uint32_t)x * (uint32_t)y)
SCALAR_KERNEL(mul_i64__cpu, int64_t, (uint64_t)x * (uint64_t)y)
SCALAR_KERNEL(div_f32__cpu, float, x / y)
SCALAR_KERNEL(div_f64__cpu, double, x / y)

#define BROADCAST LEAT_ELEMENTWISE_ROW_BROADCAST
#define SAME LEAT_ELEMENTWISE_ROW_SAME
#define SCALAR(name, types, compute_fn) LEAT_ELEMENTWISE_ROW(name, types, BROADCAST, compute_fn)
#define SCALARS(name, short_name)                 \
  SCALAR(name, "float", short_name##_f32__cpu),   \
  SCALAR(name, "double", short_name##_f64__cpu),  \
  SCALAR(name, "int32", short_name##_i32__cpu),   \
  SCALAR(name, "int64", short_name##_i64__cpu)

#define HALVES "half, bfloat16"
#define FLOATS HALVES ", float, double"
#define COMPLEXES "complex64, complex128"
#define SMALL_INTEGERS "int8, int16, uint8, uint16, uint32, uint64"
#define INTEGERS SMALL_INTEGERS ", int32, int64"

// ---- Bits ---------------------------------------------------------------------------------------
// A shift count is clamped to [0, bits - 1].

#define BITWISE(name, index)                                                           \
  LEAT_ELEMENTWISE_CREATE(create_##name, leat_binary_loops, leat_binary_plain_loops,  \
                          LEAT_BINARY_##index, 0, 0.4f)
BITWISE(BitwiseAnd, AND)
BITWISE(BitwiseOr, OR)
BITWISE(BitwiseXor, XOR)
BITWISE(LeftShift, LEFT_SHIFT)
BITWISE(RightShift, RIGHT_SHIFT)

#define BITWISE_UNARY(name, index)                                                            \
  LEAT_ELEMENTWISE_CREATE(create_##name, leat_unary_loops, leat_unary_plain_loops,    \
                          LEAT_UNARY_##index, 0, 0.4f)
BITWISE_UNARY(Invert, INVERT)
BITWISE_UNARY(PopulationCount, POPULATION_COUNT)

#define ALL_INTEGERS "int8, int16, int32, int64, uint8, uint16, uint32, uint64"

const leat_kernel_row_t leat_binary_kernels_cpu[] = {
    SCALARS(AddV2, add),
    SCALARS(Add, add),
    SCALARS(Sub, sub),
    SCALARS(Mul, mul),
    SCALAR(RealDiv, "float", div_f32__cpu),
    SCALAR(RealDiv, "double", div_f64__cpu),
    BROADCAST(AddV2, HALVES ", " COMPLEXES ", " SMALL_INTEGERS),
    BROADCAST(Add, HALVES ", " COMPLEXES ", int8, int16, uint8, string"),
    BROADCAST(Sub, HALVES ", " COMPLEXES ", " SMALL_INTEGERS),
    BROADCAST(Mul, HALVES ", " COMPLEXES ", " SMALL_INTEGERS),
    BROADCAST(RealDiv, HALVES ", " COMPLEXES),
    BROADCAST(Div, FLOATS ", " COMPLEXES ", " INTEGERS),
    BROADCAST(TruncateDiv, FLOATS ", " INTEGERS),
    BROADCAST(FloorDiv, FLOATS ", " INTEGERS),
    BROADCAST(Mod, "float, double, int32, int64"),
    BROADCAST(TruncateMod, "float, double, int32, int64"),
    BROADCAST(FloorMod, FLOATS ", " INTEGERS),
    BROADCAST(Maximum, FLOATS ", " INTEGERS),
    BROADCAST(Minimum, FLOATS ", " INTEGERS),
    BROADCAST(SquaredDifference, FLOATS ", int32, int64, " COMPLEXES),
    BROADCAST(Pow, FLOATS ", int8, int16, int32, int64, " COMPLEXES),
    BROADCAST(DivNoNan, FLOATS ", " COMPLEXES),
    BROADCAST(MulNoNan, FLOATS ", " COMPLEXES),
    BROADCAST(Xdivy, FLOATS ", " COMPLEXES),
    BROADCAST(Xlogy, FLOATS ", " COMPLEXES),
    BROADCAST(Xlog1py, FLOATS ", " COMPLEXES),
    BROADCAST(Atan2, FLOATS),
    BROADCAST(NextAfter, "float, double"),
    SAME(TanhGrad, FLOATS ", " COMPLEXES),
    SAME(SigmoidGrad, FLOATS ", " COMPLEXES),
    SAME(SqrtGrad, FLOATS ", " COMPLEXES),
    SAME(RsqrtGrad, FLOATS ", " COMPLEXES),
    SAME(ReciprocalGrad, FLOATS ", " COMPLEXES),
    SAME(InvGrad, FLOATS ", " COMPLEXES),
    LEAT_ELEMENTWISE_ROW_BROADCAST(BitwiseAnd, ALL_INTEGERS),
    LEAT_ELEMENTWISE_ROW_BROADCAST(BitwiseOr, ALL_INTEGERS),
    LEAT_ELEMENTWISE_ROW_BROADCAST(BitwiseXor, ALL_INTEGERS),
    LEAT_ELEMENTWISE_ROW_BROADCAST(LeftShift, ALL_INTEGERS),
    LEAT_ELEMENTWISE_ROW_BROADCAST(RightShift, ALL_INTEGERS),
    LEAT_ELEMENTWISE_ROW_SAME(Invert, ALL_INTEGERS),
    LEAT_ELEMENTWISE_ROW_SAME(PopulationCount, ALL_INTEGERS),
    LEAT_KERNEL_ROWS_END,
};
