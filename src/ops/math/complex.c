// Ops that make complex numbers and take them apart: Complex, Real, Imag, Angle, ComplexAbs and
// Conj. Here are their shapes, gradients and registration; complex_cpu.c has the kernels. float
// goes with complex64 and double with complex128. The attribute Tout states the type of the output,
// and the kernel's type constraints check that it fits.
//
// A gradient of a real function of z is the complex number whose parts are the derivatives by the
// parts of z (TensorFlow's convention):
//
//    Real: dy + 0i      Imag: 0 + dy i      ComplexAbs: dy z / |z|      Angle: -dy / (im + i re)
//
// At 0, where |z| has no derivative, the gradient of ComplexAbs is 0.
#include "graph/inference/inference.h"
#include "ops/math/arithmetic.h"
#include "ops/op_rows.h"

// The complex type whose parts have the type of |x|.
static int complex_of(const leat_builder_t* b, leat_output_t x) {
  bool is_double = !b->status && leat_build_type_of(b, x) == LEAT_DTYPE_DOUBLE;
  return is_double ? LEAT_DTYPE_COMPLEX128 : LEAT_DTYPE_COMPLEX64;
}
static leat_output_t build_complex(leat_builder_t* b, leat_output_t re, leat_output_t im) {
  return leat_build(b, "Complex", LEAT_INPUTS(re, im),
                    LEAT_ATTRS(LEAT_TYPE("Tout", complex_of(b, re))));
}
static leat_output_t build_part(leat_builder_t* b, const char* op, leat_output_t z) {
  bool is_double = !b->status && leat_build_type_of(b, z) == LEAT_DTYPE_COMPLEX128;
  int dtype = is_double ? LEAT_DTYPE_DOUBLE : LEAT_DTYPE_FLOAT;
  return leat_build(b, op, LEAT_INPUTS(z), LEAT_ATTRS(LEAT_TYPE("Tout", dtype)));
}

static leat_status_t complex_gradient(leat_gradient_t* g) {
  leat_builder_t* b = &g->builder;
  leat_output_t dz = leat_gradient_of_output(g, 0);
  leat_output_t dre = build_part(b, "Real", dz);
  leat_gradient_set_broadcast_inputs(g, dre, build_part(b, "Imag", dz));
  return leat_ok_status();
}

static leat_status_t real_gradient(leat_gradient_t* g) {
  leat_builder_t* b = &g->builder;
  leat_output_t dy = leat_gradient_of_output(g, 0);
  leat_gradient_set_input(g, 0, build_complex(b, dy, leat_arithmetic_constant_like(b, dy, 0)));
  return leat_ok_status();
}

static leat_status_t imag_gradient(leat_gradient_t* g) {
  leat_builder_t* b = &g->builder;
  leat_output_t dy = leat_gradient_of_output(g, 0);
  leat_gradient_set_input(g, 0, build_complex(b, leat_arithmetic_constant_like(b, dy, 0), dy));
  return leat_ok_status();
}

// The gradient is -dy / (im + i re).
static leat_status_t angle_gradient(leat_gradient_t* g) {
  leat_builder_t* b = &g->builder;
  leat_output_t z = leat_gradient_input(g, 0), dy = leat_gradient_of_output(g, 0);
  leat_output_t re = build_part(b, "Real", z), im = build_part(b, "Imag", z);
  leat_output_t reciprocal = leat_build_unary(b, "Reciprocal", build_complex(b, im, re));
  leat_output_t whole = build_complex(b, dy, leat_arithmetic_constant_like(b, dy, 0));
  leat_output_t dz = leat_arithmetic_mul(b, leat_arithmetic_neg(b, whole), reciprocal);
  leat_gradient_set_input(g, 0, dz);
  return leat_ok_status();
}

static leat_status_t conj_gradient(leat_gradient_t* g) {
  leat_builder_t* b = &g->builder;
  leat_gradient_set_input(g, 0, leat_arithmetic_conj(b, leat_gradient_of_output(g, 0)));
  return leat_ok_status();
}

// The gradient is dy z / |z|, and 0 at 0, where DivNoNan gives it.
static leat_status_t complex_abs_gradient(leat_gradient_t* g) {
  leat_builder_t* b = &g->builder;
  leat_output_t dy = leat_gradient_of_output(g, 0), y = leat_gradient_output(g, 0);
  leat_output_t whole = build_complex(b, dy, leat_arithmetic_zeros_like(b, dy));
  leat_output_t above = leat_arithmetic_mul(b, whole, leat_gradient_input(g, 0));
  leat_output_t below = build_complex(b, y, leat_arithmetic_zeros_like(b, y));
  leat_gradient_set_input(g, 0, leat_build_binary(b, "DivNoNan", above, below));
  return leat_ok_status();
}

#define PART(op, gradient_fn, text)                                                     \
  {.name = op,                                                                          \
   .inputs = "input: T",                                                                \
   .outputs = "output: Tout",                                                           \
   .attrs = "T: {complex64, complex128} = complex64; Tout: {float, double} = float",    \
   .shape = leat_shape_unchanged,                                                       \
   .gradient = gradient_fn,                                                             \
   .doc = text}

const leat_op_row_t leat_complex_ops[] = {
    {.name = "ComplexAbs",
     .inputs = "x: T",
     .outputs = "y: Tout",
     .attrs = "T: {complex64, complex128} = complex64; Tout: {float, double} = float",
     .shape = leat_shape_unchanged,
     .gradient = complex_abs_gradient,
     .doc = "The absolute value of complex numbers."},
    {.name = "Complex",
     .inputs = "real: T; imag: T",
     .outputs = "out: Tout",
     .attrs = "T: {float, double} = float; Tout: {complex64, complex128} = complex64",
     .shape = leat_shape_broadcast_binary,
     .gradient = complex_gradient,
     .doc = "Complex numbers of their real and imaginary parts."},
    PART("Real", real_gradient, "The real parts."),
    PART("Imag", imag_gradient, "The imaginary parts."),
    PART("Angle", angle_gradient, "The angles of complex numbers, in radians."),
    {.name = "Conj",
     .inputs = "input: T",
     .outputs = "output: T",
     .attrs = "T: {complex64, complex128, variant} = complex64",
     .shape = leat_shape_unchanged,
     .gradient = conj_gradient,
     .identities = LEAT_IDENTITY_INVOLUTION,
     .doc = "The complex conjugates."},
    LEAT_OP_ROWS_END,
};
