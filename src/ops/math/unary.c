// Elementwise ops of one operand, and the gradient ops that TensorFlow has for some of them, which
// compute dx from the op's output y and its gradient dy (SqrtGrad, TanhGrad, ...): they save the
// nodes that would recompute y. Each op is a row of the table at the end; the kernels are in
// unary_cpu.c and its loops.
//
//   x [any shape] -> y [the same shape]
//
// A gradient is built as nodes. For complex numbers it follows TensorFlow's rule: dC/dx = dC/dy
// times the conjugate of the derivative, which is why the macros X and Y conjugate (for real
// numbers that adds no node). The gradient ops are differentiable too, for second derivatives.
#include "graph/inference/inference.h"
#include "ops/math/arithmetic.h"
#include "ops/math/integer_value.h"
#include "ops/op_rows.h"

#define MUL leat_arithmetic_mul
#define SUB leat_arithmetic_sub
#define ADD leat_arithmetic_add
#define DIV leat_arithmetic_div
#define NEG leat_arithmetic_neg
#define CONJ leat_arithmetic_conj
#define SQUARE leat_arithmetic_square
#define CONSTANT leat_arithmetic_constant_like
#define SCALE leat_arithmetic_scale
#define UNARY leat_build_unary

// Defines <name>_gradient: dC/dx is |expression| over the builder |b|, |dy|, and X and Y, the
// conjugates of the input and the output.
#define GRADIENT(name, expression)                                     \
  static leat_status_t name##_gradient(leat_gradient_t* g) {           \
    leat_builder_t* b = &g->builder;                                   \
    const leat_output_t dy = leat_gradient_of_output(g, 0);            \
    leat_gradient_set_input(g, 0, expression);                         \
    return leat_ok_status();                                           \
  }
#define X CONJ(b, leat_gradient_input(g, 0))
#define Y CONJ(b, leat_gradient_output(g, 0))

GRADIENT(abs, MUL(b, dy, UNARY(b, "Sign", leat_gradient_input(g, 0))))
GRADIENT(neg, NEG(b, dy))
GRADIENT(sign, ((void)dy, leat_arithmetic_zeros_like(b, leat_gradient_input(g, 0))))
GRADIENT(expm1, MUL(b, dy, UNARY(b, "Exp", X)))
GRADIENT(exp, MUL(b, dy, Y))
GRADIENT(log, MUL(b, dy, UNARY(b, "Reciprocal", X)))
GRADIENT(sinh, MUL(b, dy, UNARY(b, "Cosh", X)))
GRADIENT(cosh, MUL(b, dy, UNARY(b, "Sinh", X)))
GRADIENT(asinh, DIV(b, dy, UNARY(b, "Cosh", Y)))
GRADIENT(acosh, DIV(b, dy, UNARY(b, "Sinh", Y)))
GRADIENT(sin, MUL(b, dy, UNARY(b, "Cos", X)))
GRADIENT(cos, MUL(b, NEG(b, dy), UNARY(b, "Sin", X)))
GRADIENT(tan, MUL(b, SQUARE(b, UNARY(b, "Reciprocal", UNARY(b, "Cos", X))), dy))
GRADIENT(reciprocal, leat_build_binary(b, "ReciprocalGrad", leat_gradient_output(g, 0), dy))
GRADIENT(sqrt, leat_build_binary(b, "SqrtGrad", leat_gradient_output(g, 0), dy))
GRADIENT(rsqrt, leat_build_binary(b, "RsqrtGrad", leat_gradient_output(g, 0), dy))
GRADIENT(tanh, leat_build_binary(b, "TanhGrad", Y, dy))
GRADIENT(sigmoid, leat_build_binary(b, "SigmoidGrad", Y, dy))

#define TWO_OVER_ROOT_PI 1.1283791670955126
// exp(-x^2), the shape of the derivative of erf.
static leat_output_t bell(leat_builder_t* b, leat_output_t x) {
  return UNARY(b, "Exp", NEG(b, SQUARE(b, x)));
}
GRADIENT(erf, MUL(b, SCALE(b, dy, TWO_OVER_ROOT_PI), bell(b, X)))
GRADIENT(erfc, MUL(b, SCALE(b, dy, -TWO_OVER_ROOT_PI), bell(b, X)))

static leat_status_t square_gradient(leat_gradient_t* g) {
  leat_builder_t* b = &g->builder;
  leat_output_t x = X;
  leat_output_t doubled = leat_build_binary(b, "Mul", x, CONSTANT(b, x, 2));
  leat_gradient_set_input(g, 0,
                          leat_build_binary(b, "Mul", leat_gradient_of_output(g, 0), doubled));
  return leat_ok_status();
}

static leat_status_t log1p_gradient(leat_gradient_t* g) {
  leat_builder_t* b = &g->builder;
  leat_output_t x = X;
  leat_output_t reciprocal = UNARY(b, "Reciprocal", ADD(b, CONSTANT(b, x, 1), x));
  leat_gradient_set_input(g, 0, MUL(b, leat_gradient_of_output(g, 0), reciprocal));
  return leat_ok_status();
}

// 1 / (1 + x^2) where |is_sum|, else 1 / (1 - x^2); the denominator under a root where |rooted|.
static leat_output_t over_one_and_square(leat_gradient_t* g, bool is_sum, bool rooted) {
  leat_builder_t* b = &g->builder;
  leat_output_t square = SQUARE(b, X);
  leat_output_t one = CONSTANT(b, square, 1);
  leat_output_t below = is_sum ? ADD(b, one, square) : SUB(b, one, square);
  if (rooted) below = UNARY(b, "Sqrt", below);
  return UNARY(b, "Reciprocal", below);
}
GRADIENT(atanh, MUL(b, dy, over_one_and_square(g, false, false)))
GRADIENT(atan, MUL(b, dy, over_one_and_square(g, true, false)))
GRADIENT(asin, MUL(b, dy, over_one_and_square(g, false, true)))
GRADIENT(acos, MUL(b, NEG(b, dy), over_one_and_square(g, false, true)))

// ---- Gradients of the gradient ops: z = f(a, b), a is the forward op's value, b its gradient
// -----

// z = -b a^2: dz/da = -2 a b, dz/db = -a^2.
static leat_status_t reciprocal_grad_gradient(leat_gradient_t* g) {
  leat_builder_t* b = &g->builder;
  leat_output_t dz = leat_gradient_of_output(g, 0), a = X;
  leat_output_t scaled = MUL(b, SCALE(b, CONJ(b, dz), -2), leat_gradient_input(g, 1));
  leat_gradient_set_input(g, 0, MUL(b, scaled, a));
  leat_gradient_set_input(g, 1, leat_build_binary(b, "ReciprocalGrad", a, dz));
  return leat_ok_status();
}

// z = b / (2 a): dz/da = -z / a, dz/db = 1 / (2 a).
static leat_status_t sqrt_grad_gradient(leat_gradient_t* g) {
  leat_builder_t* b = &g->builder;
  leat_output_t ratio = DIV(b, leat_gradient_of_output(g, 0), leat_gradient_input(g, 0));
  leat_output_t da = MUL(b, NEG(b, CONJ(b, ratio)), leat_gradient_output(g, 0));
  leat_gradient_set_input(g, 0, da);
  leat_gradient_set_input(g, 1, MUL(b, CONSTANT(b, ratio, 0.5), ratio));
  return leat_ok_status();
}

// z = -b a^3 / 2: dz/da = -3/2 a^2 b, dz/db = -a^3 / 2.
static leat_status_t rsqrt_grad_gradient(leat_gradient_t* g) {
  leat_builder_t* b = &g->builder;
  leat_output_t dz = leat_gradient_of_output(g, 0), a = X;
  leat_output_t scaled = MUL(b, SCALE(b, CONJ(b, dz), -1.5), leat_gradient_input(g, 1));
  leat_gradient_set_input(g, 0, MUL(b, scaled, SQUARE(b, a)));
  leat_gradient_set_input(g, 1, leat_build_binary(b, "RsqrtGrad", a, dz));
  return leat_ok_status();
}

// z = b (1 - a^2): dz/da = -2 a b, dz/db = 1 - a^2.
static leat_status_t tanh_grad_gradient(leat_gradient_t* g) {
  leat_builder_t* b = &g->builder;
  leat_output_t dz = leat_gradient_of_output(g, 0), a = X;
  leat_output_t scaled = MUL(b, SCALE(b, dz, -2), CONJ(b, leat_gradient_input(g, 1)));
  leat_gradient_set_input(g, 0, MUL(b, scaled, a));
  leat_gradient_set_input(g, 1, leat_build_binary(b, "TanhGrad", a, dz));
  return leat_ok_status();
}

// z = b a (1 - a): dz/da = b (1 - 2 a), dz/db = a (1 - a).
static leat_status_t sigmoid_grad_gradient(leat_gradient_t* g) {
  leat_builder_t* b = &g->builder;
  leat_output_t dz = leat_gradient_of_output(g, 0), a = X;
  leat_output_t product = MUL(b, dz, CONJ(b, leat_gradient_input(g, 1)));
  leat_output_t twice = MUL(b, CONSTANT(b, product, 2), product);
  leat_gradient_set_input(g, 0, SUB(b, product, MUL(b, twice, a)));
  leat_gradient_set_input(g, 1, leat_build_binary(b, "SigmoidGrad", a, dz));
  return leat_ok_status();
}

// ---- Values of small integers, for shape inference ----------------------------------------------

static bool value_neg(int64_t x, int64_t* y) { return !__builtin_sub_overflow(0, x, y); }
static bool value_abs(int64_t x, int64_t* y) {
  *y = x;
  return x >= 0 || value_neg(x, y);
}
static leat_status_t neg_values(leat_inference_t* c) {
  return leat_integer_value_unary(c, value_neg);
}
static leat_status_t abs_values(leat_inference_t* c) {
  return leat_integer_value_unary(c, value_abs);
}

// ---- Rows ---------------------------------------------------------------------------------------

#define REAL "T: {bfloat16, half, float, double}"
#define COMPLEX "T: {bfloat16, half, float, double, complex64, complex128}"
#define SIGNED "T: {bfloat16, half, float, double, int8, int16, int32, int64}"
#define NUMBER \
  "T: {bfloat16, half, float, double, int8, int16, int32, int64, complex64, complex128}"
#define ANY_NUMBER                                                                             \
  "T: {bfloat16, half, float, double, int8, int16, int32, int64, uint8, uint16, uint32, uint64, " \
  "complex64, complex128}"
#define ROW(op, types, gradient_fn, text) \
  {.name = op,                            \
   .cost = LEAT_COST_FUNCTION,            \
   .inputs = "x: T",                      \
   .outputs = "y: T",                     \
   .attrs = types,                        \
   .shape = leat_shape_unchanged,         \
   .flags = LEAT_OP_CHEAP,                \
   .gradient = gradient_fn,               \
   .doc = text}
#define IDEMPOTENT(op, types, gradient_fn, text) \
  {.name = op,                                   \
   .inputs = "x: T",                             \
   .outputs = "y: T",                            \
   .attrs = types,                               \
   .shape = leat_shape_unchanged,                \
   .flags = LEAT_OP_CHEAP,                       \
   .gradient = gradient_fn,                      \
   .identities = LEAT_IDENTITY_IDEMPOTENT,       \
   .doc = text}
#define TEST(op, text)              \
  {.name = op,                      \
   .inputs = "x: T",                \
   .outputs = "y: bool",            \
   .attrs = REAL,                   \
   .shape = leat_shape_unchanged,   \
   .doc = text}
#define GRADIENT_OP(op, gradient_fn, text) \
  {.name = op,                             \
   .inputs = "y: T; dy: T",                \
   .outputs = "z: T",                      \
   .attrs = COMPLEX,                       \
   .shape = leat_shape_unchanged,          \
   .gradient = gradient_fn,                \
   .doc = text}

const leat_op_row_t leat_unary_ops[] = {
    {.name = "Abs",
     .inputs = "x: T",
     .outputs = "y: T",
     .attrs = SIGNED,
     .shape = leat_shape_unchanged,
     .value = abs_values,
     .gradient = abs_gradient,
     .identities = LEAT_IDENTITY_IDEMPOTENT,
     .flags = LEAT_OP_CHEAP,
     .doc = "The absolute value of x."},
    {.name = "Neg",
     .inputs = "x: T",
     .outputs = "y: T",
     .attrs = NUMBER,
     .shape = leat_shape_unchanged,
     .value = neg_values,
     .gradient = neg_gradient,
     .identities = LEAT_IDENTITY_INVOLUTION,
     .flags = LEAT_OP_CHEAP,
     .doc = "-x."},
    ROW("Inv", NUMBER, reciprocal_gradient, "1 / x."),
    GRADIENT_OP("InvGrad", reciprocal_grad_gradient, "-dy y^2: the gradient of y = 1 / x."),
    ROW("Reciprocal", NUMBER, reciprocal_gradient, "1 / x."),
    GRADIENT_OP("ReciprocalGrad", reciprocal_grad_gradient, "-dy y^2: the gradient of y = 1 / x."),
    ROW("Square", ANY_NUMBER, square_gradient, "x times x."),
    ROW("Sqrt", COMPLEX, sqrt_gradient, "The square root of x."),
    GRADIENT_OP("SqrtGrad", sqrt_grad_gradient, "dy / (2 y): the gradient of y = sqrt(x)."),
    ROW("Rsqrt", COMPLEX, rsqrt_gradient, "1 / sqrt(x)."),
    IDEMPOTENT("Round", NUMBER, leat_gradient_none, "The nearest integer, halves to the even one."),
    GRADIENT_OP("RsqrtGrad", rsqrt_grad_gradient, "-dy y^3 / 2: the gradient of y = 1 / sqrt(x)."),
    ROW("Exp", COMPLEX, exp_gradient, "e to the power of x."),
    ROW("Expm1", COMPLEX, expm1_gradient, "e to the power of x, less 1."),
    ROW("Log", COMPLEX, log_gradient, "The natural logarithm of x."),
    ROW("Log1p", COMPLEX, log1p_gradient, "The natural logarithm of 1 + x."),
    ROW("Sinh", COMPLEX, sinh_gradient, "The hyperbolic sine."),
    ROW("Cosh", COMPLEX, cosh_gradient, "The hyperbolic cosine."),
    ROW("Tanh", COMPLEX, tanh_gradient, "The hyperbolic tangent."),
    ROW("Asinh", COMPLEX, asinh_gradient, "The inverse hyperbolic sine."),
    ROW("Acosh", COMPLEX, acosh_gradient, "The inverse hyperbolic cosine."),
    ROW("Atanh", COMPLEX, atanh_gradient, "The inverse hyperbolic tangent."),
    GRADIENT_OP("TanhGrad", tanh_grad_gradient, "dy (1 - y^2): the gradient of y = tanh(x)."),
    ROW("Erf", REAL, erf_gradient, "The error function."),
    ROW("Erfc", REAL, erfc_gradient, "1 less the error function."),
    ROW("Sigmoid", COMPLEX, sigmoid_gradient, "1 / (1 + exp(-x))."),
    GRADIENT_OP("SigmoidGrad", sigmoid_grad_gradient,
                "dy y (1 - y): the gradient of y = sigmoid(x)."),
    ROW("Sin", COMPLEX, sin_gradient, "The sine of x radians."),
    ROW("Cos", COMPLEX, cos_gradient, "The cosine of x radians."),
    ROW("Tan", COMPLEX, tan_gradient, "The tangent of x radians."),
    ROW("Asin", COMPLEX, asin_gradient, "The inverse sine."),
    ROW("Acos", COMPLEX, acos_gradient, "The inverse cosine."),
    ROW("Atan", COMPLEX, atan_gradient, "The inverse tangent."),
    TEST("IsNan", "Whether x is not a number."),
    TEST("IsInf", "Whether x is infinite."),
    TEST("IsFinite", "Whether x is a finite number."),
    ROW("Sign", NUMBER, sign_gradient, "-1, 0 or 1 as x; for complex x, x / |x|."),
    IDEMPOTENT("Floor", REAL, leat_gradient_none, "The largest integer that is not above x."),
    IDEMPOTENT("Ceil", REAL, leat_gradient_none, "The smallest integer that is not below x."),
    IDEMPOTENT("Rint", REAL, leat_gradient_none, "The nearest integer, halves to the even one."),
    {.name = "LogicalNot",
     .inputs = "x: bool",
     .outputs = "y: bool",
     .shape = leat_shape_unchanged,
     .gradient = leat_gradient_none,
     .identities = LEAT_IDENTITY_INVOLUTION,
     .doc = "Whether x is false."},
    LEAT_OP_ROWS_END,
};
