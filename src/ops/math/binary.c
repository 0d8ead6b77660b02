// Elementwise ops of two operands that broadcast: arithmetic, the variants of division, powers,
// extrema, and the ops on the bits of integers, of which two have one operand. Each op is a row of
// the table at the end of the file with its types, its gradient and, for some, the values that
// shape inference may compute; the loops are in binary_loops_cpu.c and binary_isa.c.
//
//   x [a...], y [b...] -> z: the shape to which both broadcast
//
// Gradients are TensorFlow's (they follow its Python functions, conjugates included), built as
// nodes; leat_gradient_set_broadcast_inputs sums each of them over the dimensions that were
// broadcast, down to its operand's shape. Shape inference must know small integers, since programs
// compute shapes with these ops: the value functions at the end compute them without wrapping, and
// give up at an overflow or a division by zero, so that the kernel reports it.
#include "base/checked.h"
#include "graph/gradient.h"
#include "graph/inference/inference.h"
#include "ops/math/arithmetic.h"
#include "ops/math/integer_value.h"
#include "ops/op_rows.h"

#define ADD leat_arithmetic_add
#define SUB leat_arithmetic_sub
#define MUL leat_arithmetic_mul
#define DIV leat_arithmetic_div
#define NEG leat_arithmetic_neg
#define CONJ leat_arithmetic_conj

// Defines what most gradients begin with: the builder |b|, the operands |x| and |y|, and |dz|,
// which is dC/dz.
#define GRADIENT_OPERANDS(g)                          \
  leat_builder_t* b = &(g)->builder;                  \
  const leat_output_t x = leat_gradient_input(g, 0);  \
  const leat_output_t y = leat_gradient_input(g, 1);  \
  const leat_output_t dz = leat_gradient_of_output(g, 0)

static leat_status_t add_gradient(leat_gradient_t* g) {
  leat_output_t dz = leat_gradient_of_output(g, 0);
  leat_gradient_set_broadcast_inputs(g, dz, dz);
  return leat_ok_status();
}

static leat_status_t sub_gradient(leat_gradient_t* g) {
  leat_output_t dz = leat_gradient_of_output(g, 0);
  leat_gradient_set_broadcast_inputs(g, dz, NEG(&g->builder, dz));
  return leat_ok_status();
}

static leat_status_t mul_gradient(leat_gradient_t* g) {
  GRADIENT_OPERANDS(g);
  // One after the other, so that the names tell them apart: Mul for x, Mul_1 for y.
  const leat_output_t dx = leat_build_binary(b, "Mul", dz, CONJ(b, y));
  const leat_output_t dy = leat_build_binary(b, "Mul", CONJ(b, x), dz);
  leat_gradient_set_broadcast_inputs(g, dx, dy);
  return leat_ok_status();
}

// d/dx = 1 / y and d/dy = -x / y^2, by the op |divide| (RealDiv, Div or DivNoNan), so that a rule
// for y = 0 holds for the gradient too.
static leat_status_t quotient_gradient(leat_gradient_t* g, const char* divide) {
  GRADIENT_OPERANDS(g);
  leat_output_t cx = CONJ(b, x), cy = CONJ(b, y);
  leat_output_t dx = leat_build_binary(b, divide, dz, cy);
  leat_output_t ratio = leat_build_binary(b, divide, NEG(b, cx), cy);
  leat_output_t dy = MUL(b, dz, leat_build_binary(b, divide, ratio, cy));
  leat_gradient_set_broadcast_inputs(g, dx, dy);
  return leat_ok_status();
}
static leat_status_t real_div_gradient(leat_gradient_t* g) {
  return quotient_gradient(g, "RealDiv");
}
static leat_status_t div_gradient(leat_gradient_t* g) { return quotient_gradient(g, "Div"); }
static leat_status_t div_no_nan_gradient(leat_gradient_t* g) {
  return quotient_gradient(g, "DivNoNan");
}

static leat_status_t mul_no_nan_gradient(leat_gradient_t* g) {
  GRADIENT_OPERANDS(g);
  const leat_output_t dx = leat_build_binary(b, "MulNoNan", dz, y);
  const leat_output_t dy = leat_build_binary(b, "MulNoNan", x, dz);
  leat_gradient_set_broadcast_inputs(g, dx, dy);
  return leat_ok_status();
}

// x mod y = x - y floor(x / y), so that d/dx = 1 and d/dy = -floor(x / y).
static leat_status_t floor_mod_gradient(leat_gradient_t* g) {
  GRADIENT_OPERANDS(g);
  leat_output_t quotient = leat_build_binary(b, "FloorDiv", CONJ(b, x), CONJ(b, y));
  leat_gradient_set_broadcast_inputs(g, dz, MUL(b, dz, NEG(b, quotient)));
  return leat_ok_status();
}

// d/dx = y x^(y - 1). d/dy = z log(x) where x > 0 (complex: x != 0), and 0 elsewhere, where the
// derivative is not real; the logarithm's operand is made 1 there, so that it gives no NaN.
static leat_status_t pow_gradient(leat_gradient_t* g) {
  GRADIENT_OPERANDS(g);
  leat_output_t cx = CONJ(b, x), cy = CONJ(b, y);
  leat_output_t one = leat_arithmetic_constant_like(b, cy, 1);
  leat_output_t power = leat_build_binary(b, "Pow", cx, SUB(b, cy, one));
  leat_output_t dx = MUL(b, MUL(b, dz, cy), power);
  bool is_complex = !b->status && leat_dtype_in(leat_build_type_of(b, x), LEAT_DTYPES_COMPLEX);
  leat_output_t zero = leat_arithmetic_constant_like(b, cx, 0);
  leat_output_t mask = leat_build_binary(b, is_complex ? "NotEqual" : "Greater", cx, zero);
  leat_output_t ones = leat_build_unary(b, "OnesLike", x);
  leat_output_t safe = leat_build(b, "Select", LEAT_INPUTS(mask, cx, ones), LEAT_NO_ATTRS);
  leat_output_t log = leat_build(
      b, "Select",
      LEAT_INPUTS(mask, leat_build_unary(b, "Log", safe), leat_arithmetic_zeros_like(b, x)),
      LEAT_NO_ATTRS);
  leat_output_t dy = MUL(b, MUL(b, dz, CONJ(b, leat_gradient_output(g, 0))), log);
  leat_gradient_set_broadcast_inputs(g, dx, dy);
  return leat_ok_status();
}

// Gives the gradient to the operand that was chosen; both are equal: to x.
static leat_status_t extremum_gradient(leat_gradient_t* g, const char* compare) {
  GRADIENT_OPERANDS(g);
  leat_output_t zeros = leat_arithmetic_zeros_like(b, dz);
  leat_output_t x_wins = leat_build_binary(b, compare, x, y);
  const leat_output_t dx = leat_arithmetic_select(b, x_wins, dz, zeros);
  const leat_output_t dy = leat_arithmetic_select(b, x_wins, zeros, dz);
  leat_gradient_set_broadcast_inputs(g, dx, dy);
  return leat_ok_status();
}
static leat_status_t maximum_gradient(leat_gradient_t* g) {
  return extremum_gradient(g, "GreaterEqual");
}
static leat_status_t minimum_gradient(leat_gradient_t* g) {
  return extremum_gradient(g, "LessEqual");
}

static leat_status_t squared_difference_gradient(leat_gradient_t* g) {
  GRADIENT_OPERANDS(g);
  leat_output_t dx = MUL(b, leat_arithmetic_scale(b, dz, 2), SUB(b, x, y));
  leat_gradient_set_broadcast_inputs(g, dx, NEG(b, dx));
  return leat_ok_status();
}

// 1 where |x| is not 0, else 0, in x's type.
static leat_output_t not_zero(leat_builder_t* b, leat_output_t x) {
  leat_output_t mask = leat_build_binary(b, "NotEqual", x, leat_arithmetic_constant_like(b, x, 0));
  return b->status ? LEAT_OUTPUT_NONE : leat_arithmetic_cast(b, mask, leat_build_type_of(b, x));
}

// z = x log(y): d/dx = log(y) where x is not 0, d/dy = x / y.
static leat_status_t xlogy_gradient(leat_gradient_t* g) {
  GRADIENT_OPERANDS(g);
  leat_output_t partial_x = leat_build_binary(b, "Xlogy", not_zero(b, x), y);
  leat_output_t partial_y = leat_build_binary(b, "Xdivy", x, y);
  leat_gradient_set_broadcast_inputs(g, MUL(b, partial_x, dz), MUL(b, partial_y, dz));
  return leat_ok_status();
}

// z = x log(1 + y): d/dx = log(1 + y) where x is not 0, d/dy = x / (1 + y).
static leat_status_t xlog1py_gradient(leat_gradient_t* g) {
  GRADIENT_OPERANDS(g);
  leat_output_t partial_x = leat_build_binary(b, "Xlog1py", not_zero(b, x), y);
  leat_output_t above = ADD(b, y, leat_arithmetic_constant_like(b, y, 1));
  leat_output_t partial_y = leat_build_binary(b, "Xdivy", x, above);
  leat_gradient_set_broadcast_inputs(g, MUL(b, partial_x, dz), MUL(b, partial_y, dz));
  return leat_ok_status();
}

// z = x / y: d/dx = 1 / y where x is not 0, d/dy = -x / y^2.
static leat_status_t xdivy_gradient(leat_gradient_t* g) {
  GRADIENT_OPERANDS(g);
  leat_output_t partial_x = leat_build_binary(b, "Xdivy", not_zero(b, x), y);
  leat_output_t square = leat_build_binary(b, "Pow", y, leat_arithmetic_constant_like(b, y, 2));
  leat_output_t partial_y = leat_build_binary(b, "Xdivy", NEG(b, x), square);
  leat_gradient_set_broadcast_inputs(g, MUL(b, partial_x, dz), MUL(b, partial_y, dz));
  return leat_ok_status();
}

// z = atan2(y, x), whose first operand is y: d/dy = x / (x^2 + y^2), d/dx = -y / (x^2 + y^2).
static leat_status_t atan2_gradient(leat_gradient_t* g) {
  leat_builder_t* b = &g->builder;
  leat_output_t y = leat_gradient_input(g, 0), x = leat_gradient_input(g, 1);
  leat_output_t radius = ADD(b, leat_arithmetic_square(b, y), leat_arithmetic_square(b, x));
  leat_output_t share = DIV(b, leat_gradient_of_output(g, 0), radius);
  const leat_output_t dy = MUL(b, x, share);
  const leat_output_t dx = MUL(b, NEG(b, y), share);
  leat_gradient_set_broadcast_inputs(g, dy, dx);
  return leat_ok_status();
}

// TensorFlow's convention: the gradient of nextafter is that of its first operand.
static leat_status_t next_after_gradient(leat_gradient_t* g) {
  GRADIENT_OPERANDS(g);
  leat_output_t ones = leat_build_unary(b, "OnesLike", x);
  leat_output_t zeros = leat_arithmetic_zeros_like(b, y);
  leat_gradient_set_broadcast_inputs(g, MUL(b, ones, dz), MUL(b, zeros, dz));
  return leat_ok_status();
}

// ---- Values of small integers, for shape inference ----------------------------------------------

// Each function computes |*z| as the kernel would; false means that the value is unknown, because
// it overflows or divides by zero.
static bool value_add(int64_t x, int64_t y, int64_t* z) { return leat_checked_add(x, y, z); }
static bool value_sub(int64_t x, int64_t y, int64_t* z) {
  return !__builtin_sub_overflow(x, y, z);
}
static bool value_mul(int64_t x, int64_t y, int64_t* z) { return leat_checked_multiply(x, y, z); }
static bool value_truncate_div(int64_t x, int64_t y, int64_t* z) {
  if (y == 0 || y == -1) return y != 0 && !__builtin_sub_overflow(0, x, z);
  *z = x / y;
  return true;
}
static bool value_floor_div(int64_t x, int64_t y, int64_t* z) {
  if (!value_truncate_div(x, y, z)) return false;
  if (y != -1 && x % y != 0 && (x < 0) != (y < 0)) --*z;
  return true;
}
static bool value_floor_mod(int64_t x, int64_t y, int64_t* z) {
  if (y == 0) return false;
  *z = y == -1 ? 0 : x % y;
  if (*z != 0 && (*z < 0) != (y < 0)) *z += y;
  return true;
}
static bool value_maximum(int64_t x, int64_t y, int64_t* z) {
  *z = LEAT_MAX(x, y);
  return true;
}
static bool value_minimum(int64_t x, int64_t y, int64_t* z) {
  *z = LEAT_MIN(x, y);
  return true;
}

#define VALUE(name)                                                             \
  static leat_status_t name##_values(leat_inference_t* c) {                     \
    return leat_integer_value_binary(c, value_##name);                          \
  }
VALUE(add)
VALUE(sub)
VALUE(mul)
VALUE(truncate_div)
VALUE(floor_div)
VALUE(floor_mod)
VALUE(maximum)
VALUE(minimum)

// ---- Rows ---------------------------------------------------------------------------------------

#define BINARY(op, x, y, z, types)      \
  .name = op, .inputs = x ": T; " y ": T", .outputs = z ": T", .attrs = types, \
  .shape = leat_shape_broadcast_binary
#define DIVISIBLE                                                                                 \
  "T: {bfloat16, half, float, double, uint8, int8, uint16, int16, int32, uint32, uint64, int64, " \
  "complex64, complex128}"
#define FLOAT_OR_COMPLEX "T: {half, bfloat16, float, double, complex64, complex128}"

// ---- Bits ---------------------------------------------------------------------------------------
// These ops have no gradient. Bits of a shift count outside of the type's width are not defined in
// C, so that the kernels clamp it.

#define INTEGERS "T: {int8, int16, int32, int64, uint8, uint16, uint32, uint64}"
#define BITWISE(op, op_flags, identity, text) \
  {.name = op,                          \
   .inputs = "x: T; y: T",              \
   .outputs = "z: T",                   \
   .attrs = INTEGERS,                   \
   .flags = op_flags,                   \
   .shape = leat_shape_broadcast_binary, \
   .gradient = leat_gradient_none,      \
   .identities = identity,              \
   .doc = text}
#define EITHER_ZERO (LEAT_IDENTITY_ZERO | LEAT_IDENTITY_EITHER_SIDE)
#define EITHER_ALL_ONES (LEAT_IDENTITY_ALL_ONES | LEAT_IDENTITY_EITHER_SIDE)
#define BITWISE_UNARY(op, output, identity, text) \
  {.name = op,                          \
   .inputs = "x: T",                    \
   .outputs = output,                   \
   .attrs = INTEGERS,                   \
   .shape = leat_shape_unchanged,       \
   .gradient = leat_gradient_none,      \
   .identities = identity,              \
   .doc = text}

const leat_op_row_t leat_binary_ops[] = {
    {BINARY("Add", "x", "y", "z",
            "T: {bfloat16, half, float, double, uint8, int8, int16, int32, int64, complex64, "
            "complex128, string}"),
     .value = add_values,
     .gradient = add_gradient,
     .identities = LEAT_IDENTITY_ZERO | LEAT_IDENTITY_EITHER_SIDE,
     .flags = LEAT_OP_CHEAP,
     .doc = "x + y; strings are joined."},
    {BINARY("AddV2", "x", "y", "z",
            "T: {bfloat16, half, float, double, uint8, uint16, uint32, uint64, int8, int16, int32, "
            "int64, complex64, complex128}"),
     .flags = LEAT_OP_COMMUTATIVE | LEAT_OP_AGGREGATE | LEAT_OP_CHEAP,
     .value = add_values,
     .gradient = add_gradient,
     .identities = LEAT_IDENTITY_ZERO | LEAT_IDENTITY_EITHER_SIDE,
     .doc = "x + y."},
    {BINARY("Sub", "x", "y", "z",
            "T: {bfloat16, half, float, double, uint8, int8, uint16, int16, int32, int64, "
            "complex64, complex128, uint32, uint64}"),
     .value = sub_values,
     .gradient = sub_gradient,
     .identities = LEAT_IDENTITY_PLUS_ZERO,
     .flags = LEAT_OP_CHEAP,
     .doc = "x - y."},
    {BINARY("Mul", "x", "y", "z", DIVISIBLE),
     .flags = LEAT_OP_COMMUTATIVE | LEAT_OP_CHEAP,
     .value = mul_values,
     .gradient = mul_gradient,
     .identities = LEAT_IDENTITY_ONE | LEAT_IDENTITY_EITHER_SIDE,
     .doc = "x * y."},
    {BINARY("MulNoNan", "x", "y", "z",
            "T: {bfloat16, half, float, double, complex64, complex128}"),
     .gradient = mul_no_nan_gradient,
     .doc = "x * y, and 0 where y is 0 even if x is infinite or not a number."},
    {BINARY("Div", "x", "y", "z", DIVISIBLE),
     .value = truncate_div_values,
     .gradient = div_gradient,
     .identities = LEAT_IDENTITY_ONE,
     .doc = "x / y; integers round toward 0."},
    {BINARY("DivNoNan", "x", "y", "z",
            "T: {half, float, bfloat16, double, complex64, complex128}"),
     .gradient = div_no_nan_gradient,
     .doc = "x / y, and 0 where y is 0."},
    {BINARY("FloorDiv", "x", "y", "z", DIVISIBLE),
     .value = floor_div_values,
     .gradient = leat_gradient_none,
     .identities = LEAT_IDENTITY_ONE | LEAT_IDENTITY_INTEGERS,
     .flags = LEAT_OP_CHEAP,
     .doc = "x / y rounded down."},
    {BINARY("TruncateDiv", "x", "y", "z", DIVISIBLE),
     .value = truncate_div_values,
     .gradient = leat_gradient_none,
     .identities = LEAT_IDENTITY_ONE | LEAT_IDENTITY_INTEGERS,
     .doc = "x / y rounded toward 0."},
    {BINARY("RealDiv", "x", "y", "z", DIVISIBLE),
     .gradient = real_div_gradient,
     .identities = LEAT_IDENTITY_ONE,
     .flags = LEAT_OP_CHEAP,
     .doc = "x / y of real or complex numbers."},
    {BINARY("SquaredDifference", "x", "y", "z",
            "T: {bfloat16, half, float, double, int32, int64, complex64, complex128}"),
     .flags = LEAT_OP_COMMUTATIVE | LEAT_OP_CHEAP,
     .gradient = squared_difference_gradient,
     .doc = "(x - y) times its conjugate."},
    {BINARY("Xlogy", "x", "y", "z", FLOAT_OR_COMPLEX),
     .gradient = xlogy_gradient,
     .doc = "x log(y), and 0 where x is 0."},
    {BINARY("Xlog1py", "x", "y", "z", FLOAT_OR_COMPLEX),
     .gradient = xlog1py_gradient,
     .doc = "x log(1 + y), and 0 where x is 0."},
    {BINARY("Xdivy", "x", "y", "z", FLOAT_OR_COMPLEX),
     .gradient = xdivy_gradient,
     .doc = "x / y, and 0 where x is 0."},
    {BINARY("Maximum", "x", "y", "z",
            "T: {bfloat16, half, float, double, int8, uint8, int16, uint16, int32, uint32, int64, "
            "uint64}"),
     .value = maximum_values,
     .gradient = maximum_gradient,
     .flags = LEAT_OP_CHEAP,
     .doc = "The larger of x and y; not a number if either is none."},
    {BINARY("Minimum", "x", "y", "z",
            "T: {bfloat16, half, float, double, int8, uint8, int16, uint16, int32, uint32, int64, "
            "uint64}"),
     .value = minimum_values,
     .gradient = minimum_gradient,
     .flags = LEAT_OP_CHEAP,
     .doc = "The smaller of x and y; not a number if either is none."},
    {BINARY("Mod", "x", "y", "z", "T: {int32, int64, half, half, bfloat16, float, double}"),
     .doc = "What is left of x / y rounded toward 0: it has x's sign."},
    {BINARY("FloorMod", "x", "y", "z",
            "T: {int8, int16, int32, int64, uint8, uint16, uint32, uint64, bfloat16, half, float, "
            "double}"),
     .value = floor_mod_values,
     .gradient = floor_mod_gradient,
     .flags = LEAT_OP_CHEAP,
     .doc = "What is left of x / y rounded down: it has y's sign."},
    {BINARY("TruncateMod", "x", "y", "z", "T: {int32, int64, bfloat16, half, float, double}"),
     .doc = "What is left of x / y rounded toward 0: it has x's sign."},
    {BINARY("Pow", "x", "y", "z",
            "T: {bfloat16, float, half, double, int8, int16, int32, int64, complex64, "
            "complex128}"),
     .gradient = pow_gradient,
     .doc = "x to the power of y; integers take no negative powers."},
    {BINARY("Atan2", "y", "x", "z", "T: {bfloat16, half, float, double}"),
     .gradient = atan2_gradient,
     .doc = "The angle of the point (x, y), between -pi and pi."},
    {BINARY("NextAfter", "x1", "x2", "output", "T: {double, float} = float"),
     .gradient = next_after_gradient,
     .doc = "The number next to x1 in the direction of x2."},
    BITWISE_UNARY("Invert", "y: T", LEAT_IDENTITY_INVOLUTION, "x with every bit flipped."),
    BITWISE_UNARY("PopulationCount", "y: uint8", 0, "How many bits of x are set."),
    BITWISE("BitwiseAnd", LEAT_OP_COMMUTATIVE, EITHER_ALL_ONES, "The bits set in both x and y."),
    BITWISE("BitwiseOr", LEAT_OP_COMMUTATIVE, EITHER_ZERO, "The bits set in x or y."),
    BITWISE("BitwiseXor", LEAT_OP_COMMUTATIVE, EITHER_ZERO, "The bits set in one of x and y."),
    BITWISE("LeftShift", 0, LEAT_IDENTITY_ZERO,
           "x shifted left by y bits; y is clamped to the width of the type."),
    BITWISE("RightShift", 0, LEAT_IDENTITY_ZERO,
           "x shifted right by y bits, keeping the sign; y is clamped to the width of the type."),
    LEAT_OP_ROWS_END,
};
