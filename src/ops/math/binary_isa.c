// The loops of two operands that the compiler vectorizes, compiled once per instruction set. Every
// loop sees dense arrays of n elements and may write over an input. A table by op and type collects
// them at the end; binary_loops_cpu.c has the loops that vectors do not help.
//
// Integers wrap: they are computed in an unsigned type. A NaN operand makes the maximum and minimum
// NaN, and the variants "no NaN" give 0 for a zero operand whatever the other is, as TensorFlow's
// ops do. The int32 divisions go through double, which is exact and vectorizes, where an integer
// division would take some 20 cycles an element.
#include "base/checked.h"
#include "device/cpu/vector_math.h"
#include "ops/math/elementwise_loops_cpu.h"
#include "ops/math/loops_cpu.h"

#define FLOAT_LOOP(suffix, DTYPE, type, wide, name, expression) \
  LEAT_LOOP_BINARY(name##_##suffix, type, type, expression)
#define INTEGER_LOOP(suffix, DTYPE, type, wide, name, op) \
  LEAT_LOOP_BINARY(name##_##suffix, type, type, (wide)x op(wide)y)
#define COMPLEX_LOOP(suffix, DTYPE, type, part, name, re, im) \
  LEAT_LOOP_COMPLEX_BINARY(name##_##suffix, part, re, im)

LEAT_LOOP_FLOATS(FLOAT_LOOP, add, x + y)
LEAT_LOOP_FLOATS(FLOAT_LOOP, sub, x - y)
LEAT_LOOP_FLOATS(FLOAT_LOOP, mul, x * y)
LEAT_LOOP_FLOATS(FLOAT_LOOP, real_div, x / y)
LEAT_LOOP_ISA_INTEGERS(INTEGER_LOOP, add, +)
LEAT_LOOP_ISA_INTEGERS(INTEGER_LOOP, sub, -)
LEAT_LOOP_ISA_INTEGERS(INTEGER_LOOP, mul, *)
// Complex numbers are added and subtracted as arrays of twice as many reals.
#define BY_PARTS(name, part)                                                     \
  (const void* const inputs[], void* output, int64_t n) {                        \
    return name##_##part(inputs, output, 2 * n);                                 \
  }
static int add_c64 BY_PARTS(add, f32)
static int add_c128 BY_PARTS(add, f64)
static int sub_c64 BY_PARTS(sub, f32)
static int sub_c128 BY_PARTS(sub, f64)
LEAT_LOOP_COMPLEXES(COMPLEX_LOOP, mul, a * c - b * d, a * d + b * c)

// If either operand is NaN, so is the result.
LEAT_LOOP_FLOATS(FLOAT_LOOP, maximum, x > y || x != x ? x : y)
LEAT_LOOP_FLOATS(FLOAT_LOOP, minimum, x < y || x != x ? x : y)
LEAT_LOOP_ISA_INTEGERS(FLOAT_LOOP, maximum, x > y ? x : y)
LEAT_LOOP_ISA_INTEGERS(FLOAT_LOOP, minimum, x < y ? x : y)

LEAT_LOOP_FLOATS(FLOAT_LOOP, squared_difference, (x - y) * (x - y))
#define SQUARED_DIFFERENCE(suffix, DTYPE, type, wide, name) \
  LEAT_LOOP_BINARY(name##_##suffix, type, type, ((wide)x - (wide)y) * ((wide)x - (wide)y))
LEAT_LOOP_ISA_SIGNED(SQUARED_DIFFERENCE, squared_difference)
LEAT_LOOP_COMPLEXES(COMPLEX_LOOP, squared_difference, (a - c) * (a - c) + (b - d) * (b - d), 0)

LEAT_LOOP_FLOATS(FLOAT_LOOP, div_no_nan, y != 0 ? x / y : 0)
LEAT_LOOP_FLOATS(FLOAT_LOOP, mul_no_nan, y != 0 ? x * y : 0)
LEAT_LOOP_FLOATS(FLOAT_LOOP, xdivy, x != 0 ? x / y : 0)

// The quotient rounded down or toward zero; both roundings are one vector instruction from SSE4.1
// on.
LEAT_LOOP_FLOATS(FLOAT_LOOP, floor_div, __builtin_floor(x / y))
LEAT_LOOP_FLOATS(FLOAT_LOOP, truncate_div, __builtin_trunc(x / y))

// The divisions of int32: rounded toward zero, rounded down, and the remainder of each.
#define NAME truncate_div_i32
#define RESULT q
#include "ops/math/binary_int32_division.inc"

#define NAME floor_div_i32
#define RESULT (int32_t)((uint32_t)q - (uint32_t)down)
#include "ops/math/binary_int32_division.inc"

#define NAME mod_i32
#define RESULT r
#include "ops/math/binary_int32_division.inc"

#define NAME floor_mod_i32
#define RESULT r + (-down & y)
#include "ops/math/binary_int32_division.inc"

// Gradients from the forward op's value, here x, and its gradient dy, here y. Where dy is 0 the
// result is 0, even at a pole of the derivative.
LEAT_LOOP_FLOATS(FLOAT_LOOP, tanh_grad, y * (1 - x * x))
LEAT_LOOP_FLOATS(FLOAT_LOOP, sigmoid_grad, y * (x * (1 - x)))
LEAT_LOOP_FLOATS(FLOAT_LOOP, sqrt_grad, y != 0 ? y * (0.5f / x) : 0)
LEAT_LOOP_FLOATS(FLOAT_LOOP, rsqrt_grad, y != 0 ? -0.5f * (x * x) * (x * y) : 0)
LEAT_LOOP_FLOATS(FLOAT_LOOP, reciprocal_grad, y != 0 ? -(x * x) * y : 0)

LEAT_LOOP_ISA_INTEGERS(FLOAT_LOOP, and, x & y)
LEAT_LOOP_ISA_INTEGERS(FLOAT_LOOP, or, x | y)
LEAT_LOOP_ISA_INTEGERS(FLOAT_LOOP, xor, x ^ y)

// x log(y) and x log(1 + y), by blocks of LOG_BLOCK elements.
#define LOG_BLOCK 256

#define NAME xlogy_f32
#define TYPE float
#define LOGARITHM log_f32
#include "ops/math/binary_log.inc"

#define NAME xlogy_f64
#define TYPE double
#define LOGARITHM log_f64
#include "ops/math/binary_log.inc"

#define NAME xlog1py_f32
#define TYPE float
#define LOGARITHM log1p_f32
#include "ops/math/binary_log.inc"

#define NAME xlog1py_f64
#define TYPE double
#define LOGARITHM log1p_f64
#include "ops/math/binary_log.inc"

#define FLOATS(name) LEAT_LOOP_FLOATS(LEAT_LOOP_ENTRY, name)
#define INTEGERS(name) LEAT_LOOP_ISA_INTEGERS(LEAT_LOOP_ENTRY, name)
#define COMPLEXES(name) LEAT_LOOP_COMPLEXES(LEAT_LOOP_ENTRY, name)

extern const leat_binary_loops_t LEAT_ISA_NAME(leat_binary_loops);
const leat_binary_loops_t LEAT_ISA_NAME(leat_binary_loops) = {.items = {
    [LEAT_BINARY_ADD] = {FLOATS(add) INTEGERS(add) COMPLEXES(add)},
    [LEAT_BINARY_SUB] = {FLOATS(sub) INTEGERS(sub) COMPLEXES(sub)},
    [LEAT_BINARY_MUL] = {FLOATS(mul) INTEGERS(mul) COMPLEXES(mul)},
    [LEAT_BINARY_REAL_DIV] = {FLOATS(real_div)},
    [LEAT_BINARY_DIV] = {FLOATS(real_div) [LEAT_LOOP_TYPE_INT32] = truncate_div_i32},
    [LEAT_BINARY_TRUNCATE_DIV] = {FLOATS(truncate_div) [LEAT_LOOP_TYPE_INT32] = truncate_div_i32},
    [LEAT_BINARY_FLOOR_DIV] = {FLOATS(floor_div) [LEAT_LOOP_TYPE_INT32] = floor_div_i32},
    [LEAT_BINARY_MOD] = {[LEAT_LOOP_TYPE_INT32] = mod_i32},
    [LEAT_BINARY_FLOOR_MOD] = {[LEAT_LOOP_TYPE_INT32] = floor_mod_i32},
    [LEAT_BINARY_MAXIMUM] = {FLOATS(maximum) INTEGERS(maximum)},
    [LEAT_BINARY_MINIMUM] = {FLOATS(minimum) INTEGERS(minimum)},
    [LEAT_BINARY_SQUARED_DIFFERENCE] =
        {FLOATS(squared_difference) LEAT_LOOP_ISA_SIGNED(LEAT_LOOP_ENTRY, squared_difference)
             COMPLEXES(squared_difference)},
    [LEAT_BINARY_DIV_NO_NAN] = {FLOATS(div_no_nan)},
    [LEAT_BINARY_MUL_NO_NAN] = {FLOATS(mul_no_nan)},
    [LEAT_BINARY_XDIVY] = {FLOATS(xdivy)},
    [LEAT_BINARY_XLOGY] = {FLOATS(xlogy)},
    [LEAT_BINARY_XLOG1PY] = {FLOATS(xlog1py)},
    [LEAT_BINARY_TANH_GRAD] = {FLOATS(tanh_grad)},
    [LEAT_BINARY_SIGMOID_GRAD] = {FLOATS(sigmoid_grad)},
    [LEAT_BINARY_SQRT_GRAD] = {FLOATS(sqrt_grad)},
    [LEAT_BINARY_RSQRT_GRAD] = {FLOATS(rsqrt_grad)},
    [LEAT_BINARY_RECIPROCAL_GRAD] = {FLOATS(reciprocal_grad)},
    [LEAT_BINARY_AND] = {INTEGERS(and)},
    [LEAT_BINARY_OR] = {INTEGERS(or)},
    [LEAT_BINARY_XOR] = {INTEGERS(xor)},
}};
