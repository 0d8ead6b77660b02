// The special functions as ops: gamma, beta, error and Bessel functions and others, with their
// gradients. Each op is a row of the table at the end of the file; special_cpu.c has the kernels,
// and special_functions_cpu.h the functions in double.
//
//   one variable:   x [any shape] -> y [the same shape]
//   two variables:  a, x -> the shape to which both broadcast
//   Betainc:        a, b, x of one shape, or scalars
//
// A gradient is a formula of other special functions, built as nodes: dC/dx = dC/dy times the
// derivative. Where a formula divides by x, a Select replaces the value at 0. Derivatives that have
// no closed form (by the order of a function, say) are not set, as in TensorFlow.
#include "graph/inference/inference.h"
#include "ops/math/arithmetic.h"
#include "ops/op_rows.h"

#define MUL leat_arithmetic_mul
#define ADD leat_arithmetic_add
#define SUB leat_arithmetic_sub
#define DIV leat_arithmetic_div
#define NEG leat_arithmetic_neg
#define SQUARE leat_arithmetic_square
#define CONSTANT leat_arithmetic_constant_like
#define SCALE leat_arithmetic_scale
#define UNARY leat_build_unary

#define PI 3.14159265358979323846

// Defines <name>_gradient: dC/dx is dC/dy times |expression| over the builder |b|, X and Y.
#define GRADIENT(name, expression)                                     \
  static leat_status_t name##_gradient(leat_gradient_t* g) {           \
    leat_builder_t* b = &g->builder;                                   \
    const leat_output_t dy = leat_gradient_of_output(g, 0);            \
    leat_gradient_set_input(g, 0, MUL(b, dy, expression));             \
    return leat_ok_status();                                           \
  }
#define X leat_gradient_input(g, 0)
#define Y leat_gradient_output(g, 0)

// A constant of X's type that broadcasts with it.
static leat_output_t constant(leat_gradient_t* g, double value) {
  return CONSTANT(&g->builder, X, value);
}
// Builds |value| where X is 0, and |otherwise| elsewhere.
static leat_output_t at_zero(leat_gradient_t* g, double value, leat_output_t otherwise) {
  leat_builder_t* b = &g->builder;
  leat_output_t is_zero = leat_build_binary(b, "Equal", X, constant(g, 0));
  return leat_arithmetic_select(b, is_zero, constant(g, value), otherwise);
}
static leat_output_t quotient(leat_gradient_t* g) { return DIV(&g->builder, Y, X); }

GRADIENT(lgamma, UNARY(b, "Digamma", X))
GRADIENT(digamma, leat_build_binary(b, "Polygamma", constant(g, 1), X))
GRADIENT(erfinv, MUL(b, constant(g, 0.88622692545275801), UNARY(b, "Exp", SQUARE(b, Y))))
GRADIENT(ndtri, MUL(b, constant(g, 2.5066282746310005),
                    UNARY(b, "Exp", DIV(b, SQUARE(b, Y), constant(g, 2)))))
GRADIENT(dawsn, SUB(b, constant(g, 1), MUL(b, SCALE(b, X, 2), Y)))
GRADIENT(expint, DIV(b, UNARY(b, "Exp", X), X))
GRADIENT(fresnel_cos, UNARY(b, "Cos", SCALE(b, SQUARE(b, X), PI / 2)))
GRADIENT(fresnel_sin, UNARY(b, "Sin", SCALE(b, SQUARE(b, X), PI / 2)))
GRADIENT(i0, UNARY(b, "BesselI1", X))
GRADIENT(i0e, SUB(b, UNARY(b, "BesselI1e", X), MUL(b, UNARY(b, "Sign", X), Y)))
// TensorFlow's gradient of I1 at 0 is 1, although the derivative is 1/2; the others have the limit.
GRADIENT(i1, at_zero(g, 1, SUB(b, UNARY(b, "BesselI0", X), quotient(g))))
GRADIENT(i1e, at_zero(g, 0.5,
                      SUB(b, UNARY(b, "BesselI0e", X),
                          MUL(b, Y, ADD(b, UNARY(b, "Sign", X), UNARY(b, "Reciprocal", X))))))
GRADIENT(k0, NEG(b, UNARY(b, "BesselK1", X)))
GRADIENT(k0e, SUB(b, Y, UNARY(b, "BesselK1e", X)))
GRADIENT(k1, SUB(b, NEG(b, UNARY(b, "BesselK0", X)), quotient(g)))
GRADIENT(k1e, SUB(b, MUL(b, Y, SUB(b, constant(g, 1), UNARY(b, "Reciprocal", X))),
                  UNARY(b, "BesselK0e", X)))
GRADIENT(j0, NEG(b, UNARY(b, "BesselJ1", X)))
GRADIENT(j1, at_zero(g, 0.5, SUB(b, UNARY(b, "BesselJ0", X), quotient(g))))
GRADIENT(y0, NEG(b, UNARY(b, "BesselY1", X)))
GRADIENT(y1, SUB(b, UNARY(b, "BesselY0", X), quotient(g)))

// d/dx Li2(1 - x) = ln(x) / (1 - x), whose limit at 1 is -1.
static leat_status_t spence_gradient(leat_gradient_t* g) {
  leat_builder_t* b = &g->builder;
  leat_output_t slope = DIV(b, UNARY(b, "Log", X), SUB(b, constant(g, 1), X));
  leat_output_t is_one = leat_build_binary(b, "Equal", X, constant(g, 1));
  slope = leat_arithmetic_select(b, is_one, constant(g, -1), slope);
  leat_gradient_set_input(g, 0, MUL(b, leat_gradient_of_output(g, 0), slope));
  return leat_ok_status();
}

// ---- Two and three variables --------------------------------------------------------------------

// The gradients of P(a, x) and of Q = 1 - P: d/dx P = exp(-x + (a - 1) ln(x) - lgamma(a)), and d/da
// P is the op IgammaGradA.
static void igamma_slopes(leat_gradient_t* g, bool is_upper) {
  leat_builder_t* b = &g->builder;
  leat_output_t a = leat_gradient_input(g, 0), x = leat_gradient_input(g, 1);
  leat_output_t dz = leat_gradient_of_output(g, 0);
  leat_output_t by_a = leat_build_binary(b, "IgammaGradA", a, x);
  leat_output_t power = MUL(b, SUB(b, a, CONSTANT(b, a, 1)), UNARY(b, "Log", x));
  leat_output_t log = SUB(b, ADD(b, NEG(b, x), power), UNARY(b, "Lgamma", a));
  leat_output_t da = MUL(b, by_a, dz), dx = MUL(b, UNARY(b, "Exp", log), dz);
  if (is_upper) {
    da = NEG(b, da);
    dx = NEG(b, dx);
  }
  leat_gradient_set_broadcast_inputs(g, da, dx);
}
static leat_status_t igamma_gradient(leat_gradient_t* g) {
  igamma_slopes(g, false);
  return leat_ok_status();
}
static leat_status_t igammac_gradient(leat_gradient_t* g) {
  igamma_slopes(g, true);
  return leat_ok_status();
}

// Builds |gradient| summed down to the shape of input |index|, over the dimensions in which that
// input was broadcast to the shape of input 0.
static leat_output_t reduce_to_input(leat_gradient_t* g, int index, leat_output_t gradient) {
  leat_builder_t* b = &g->builder;
  leat_output_t first = leat_build_shape_of(b, leat_gradient_input(g, 0));
  leat_output_t own = leat_build_shape_of(b, leat_gradient_input(g, index));
  int32_t args = leat_build_node(b, "BroadcastGradientArgs", LEAT_INPUTS(first, own),
                                 LEAT_NO_ATTRS);
  leat_output_t sum = leat_build_binary(b, "Sum", gradient, leat_node_output(args, 1));
  return leat_build_binary(b, "Reshape", sum, own);
}

// Only the derivative by x is known: x^(a - 1) (1 - x)^(b - 1) / B(a, b).
static leat_status_t betainc_gradient(leat_gradient_t* g) {
  leat_builder_t* b = &g->builder;
  leat_output_t a = leat_gradient_input(g, 0), c = leat_gradient_input(g, 1);
  leat_output_t x = leat_gradient_input(g, 2);
  leat_output_t log_beta = SUB(b, ADD(b, UNARY(b, "Lgamma", a), UNARY(b, "Lgamma", c)),
                               UNARY(b, "Lgamma", ADD(b, a, c)));
  leat_output_t high = leat_build_binary(b, "Xlog1py", SUB(b, c, CONSTANT(b, c, 1)), NEG(b, x));
  leat_output_t low = leat_build_binary(b, "Xlogy", SUB(b, a, CONSTANT(b, a, 1)), x);
  leat_output_t slope = UNARY(b, "Exp", SUB(b, ADD(b, high, low), log_beta));
  leat_output_t dx = MUL(b, slope, leat_gradient_of_output(g, 0));
  leat_gradient_set_input(g, 2, reduce_to_input(g, 2, dx));
  return leat_ok_status();
}

// d/dq zeta(x, q) = -x zeta(x + 1, q); the derivative by x has no closed form.
static leat_status_t zeta_gradient(leat_gradient_t* g) {
  leat_builder_t* b = &g->builder;
  leat_output_t x = leat_gradient_input(g, 0), q = leat_gradient_input(g, 1);
  leat_output_t next = leat_build_binary(b, "Zeta", ADD(b, x, CONSTANT(b, x, 1)), q);
  leat_output_t dq = MUL(b, MUL(b, NEG(b, x), next), leat_gradient_of_output(g, 0));
  leat_gradient_set_input(g, 1, reduce_to_input(g, 1, dq));
  return leat_ok_status();
}

// d/dx polygamma(n, x) = polygamma(n + 1, x).
static leat_status_t polygamma_gradient(leat_gradient_t* g) {
  leat_builder_t* b = &g->builder;
  leat_output_t n = leat_gradient_input(g, 0), x = leat_gradient_input(g, 1);
  leat_output_t next = leat_build_binary(b, "Polygamma", ADD(b, n, CONSTANT(b, n, 1)), x);
  leat_output_t dx = MUL(b, next, leat_gradient_of_output(g, 0));
  leat_gradient_set_input(g, 1, reduce_to_input(g, 1, dx));
  return leat_ok_status();
}

// ---- Rows ---------------------------------------------------------------------------------------

// The shape of the inputs that are no scalars, which must agree.
static leat_status_t betainc_shape(leat_inference_t* c) {
  leat_partial_shape_t shape = leat_partial_shape_scalar();
  bool is_partial = false, has_shape = false;
  for (int i = 0; i < 3; ++i) {
    leat_partial_shape_t input = leat_inference_input(c, i);
    is_partial |= input.rank < 0;
    if (input.rank <= 0) continue;
    if (has_shape) {
      LEAT_RETURN_IF_ERROR(leat_inference_merge(c, shape, input, &shape));
    } else {
      shape = input;
    }
    has_shape = true;
  }
  if (has_shape || !is_partial) leat_inference_set_output(c, 0, shape);
  return leat_ok_status();
}

#define REAL "T: {bfloat16, half, float, double}"
#define ONE(op, gradient_fn, text)  \
  {.name = op,                      \
   .inputs = "x: T",                \
   .outputs = "y: T",               \
   .attrs = REAL,                   \
   .shape = leat_shape_unchanged,   \
   .gradient = gradient_fn,         \
   .doc = text}
#define TWO(op, in, types, gradient_fn, text) \
  {.name = op,                                \
   .inputs = in,                              \
   .outputs = "z: T",                         \
   .attrs = types,                            \
   .shape = leat_shape_broadcast_binary,      \
   .gradient = gradient_fn,                   \
   .doc = text}

const leat_op_row_t leat_special_ops[] = {
    ONE("Lgamma", lgamma_gradient, "The logarithm of |gamma(x)|."),
    ONE("Digamma", digamma_gradient, "The derivative of lgamma(x)."),
    ONE("Erfinv", erfinv_gradient, "The inverse of the error function."),
    ONE("Ndtri", ndtri_gradient, "The quantile of the normal distribution."),
    TWO("Igammac", "a: T; x: T", REAL, igammac_gradient,
        "The upper incomplete gamma function over gamma(a)."),
    TWO("Igamma", "a: T; x: T", REAL, igamma_gradient,
        "The lower incomplete gamma function over gamma(a)."),
    TWO("IgammaGradA", "a: T; x: T", "T: {float, double}", NULL, "The derivative of Igamma by a."),
    TWO("Zeta", "x: T; q: T", "T: {float, double}", zeta_gradient, "The Hurwitz zeta function."),
    TWO("Polygamma", "a: T; x: T", "T: {float, double}", polygamma_gradient,
        "The derivative of digamma(x) of order a."),
    {.name = "Betainc",
     .inputs = "a: T; b: T; x: T",
     .outputs = "z: T",
     .attrs = "T: {float, double}",
     .shape = betainc_shape,
     .gradient = betainc_gradient,
     .doc = "The incomplete beta function over beta(a, b)."},
    ONE("Dawsn", dawsn_gradient, "Dawson's integral."),
    ONE("Expint", expint_gradient, "The exponential integral Ei."),
    ONE("FresnelCos", fresnel_cos_gradient, "The Fresnel integral of the cosine."),
    ONE("FresnelSin", fresnel_sin_gradient, "The Fresnel integral of the sine."),
    ONE("Spence", spence_gradient, "Spence's function: the dilogarithm of 1 - x."),
    ONE("BesselI0", i0_gradient, "The modified Bessel function of order 0."),
    ONE("BesselI1", i1_gradient, "The modified Bessel function of order 1."),
    ONE("BesselI0e", i0e_gradient, "BesselI0 times exp(-|x|)."),
    ONE("BesselI1e", i1e_gradient, "BesselI1 times exp(-|x|)."),
    ONE("BesselK0", k0_gradient, "The modified Bessel function of the second kind of order 0."),
    ONE("BesselK1", k1_gradient, "The modified Bessel function of the second kind of order 1."),
    ONE("BesselK0e", k0e_gradient, "BesselK0 times exp(x)."),
    ONE("BesselK1e", k1e_gradient, "BesselK1 times exp(x)."),
    ONE("BesselJ0", j0_gradient, "The Bessel function of order 0."),
    ONE("BesselJ1", j1_gradient, "The Bessel function of order 1."),
    ONE("BesselY0", y0_gradient, "The Bessel function of the second kind of order 0."),
    ONE("BesselY1", y1_gradient, "The Bessel function of the second kind of order 1."),
    LEAT_OP_ROWS_END,
};
