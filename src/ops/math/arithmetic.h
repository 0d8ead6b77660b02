// Short names for the arithmetic nodes of which gradients are made. Each function adds nodes to the
// graph of the builder |b| (graph/builder.h) and returns output 0 of the last one, so that a
// formula is written from the inside out. dy (1 - y^2), the gradient of tanh, is for example:
//
//   leat_output_t one = leat_arithmetic_constant_like(b, y, 1);
//   leat_output_t slope = leat_arithmetic_sub(b, one, leat_arithmetic_square(b, y));
//   leat_output_t dx = leat_arithmetic_mul(b, dy, slope);
//
// A constant has the type of the operand beside it; conj and cast return their operand where they
// would change nothing. The operands of one function have one type, and broadcast as the op's do.
// After a failure (b->status is set) every function does nothing and returns LEAT_OUTPUT_NONE or
// its operand, so that a gradient builds a whole formula and the error is checked once, at its end.
// Source files that write many formulas shorten the names further by macros of their own. The nodes
// have the names that Python's operators give in TensorFlow's gradient functions: add, sub, mul.
#ifndef LEAT_OPS_MATH_ARITHMETIC_H_
#define LEAT_OPS_MATH_ARITHMETIC_H_

#include "graph/gradient.h"

// x + y. The op is AddV2, which does not join strings as Add does.
static inline leat_output_t leat_arithmetic_add(leat_builder_t* b, leat_output_t x,
                                                leat_output_t y) {
  return leat_build_named(b, "add", "AddV2", LEAT_INPUTS(x, y), LEAT_NO_ATTRS);
}
// x - y, element by element.
static inline leat_output_t leat_arithmetic_sub(leat_builder_t* b, leat_output_t x,
                                                leat_output_t y) {
  return leat_build_named(b, "sub", "Sub", LEAT_INPUTS(x, y), LEAT_NO_ATTRS);
}
// x y, element by element; the product of matrices is the op MatMul.
static inline leat_output_t leat_arithmetic_mul(leat_builder_t* b, leat_output_t x,
                                                leat_output_t y) {
  return leat_build_named(b, "mul", "Mul", LEAT_INPUTS(x, y), LEAT_NO_ATTRS);
}
// x / y, as a real or complex number: RealDiv has no kernel for integers.
static inline leat_output_t leat_arithmetic_div(leat_builder_t* b, leat_output_t x,
                                                leat_output_t y) {
  return leat_build_named(b, "truediv", "RealDiv", LEAT_INPUTS(x, y), LEAT_NO_ATTRS);
}
// -x.
static inline leat_output_t leat_arithmetic_neg(leat_builder_t* b, leat_output_t x) {
  return leat_build_unary(b, "Neg", x);
}
// x^2, in one node instead of a product of |x| with itself.
static inline leat_output_t leat_arithmetic_square(leat_builder_t* b, leat_output_t x) {
  return leat_build_unary(b, "Square", x);
}
// A scalar constant |value|, rounded to the type of |x|. A type that is no number is an error of
// the builder.
static inline leat_output_t leat_arithmetic_constant_like(leat_builder_t* b, leat_output_t x,
                                                          double value) {
  if (b->status) return LEAT_OUTPUT_NONE;
  return leat_build_scalar(b, leat_build_type_of(b, x), value);
}
// |factor| x, with the factor as a constant of the type of |x|.
static inline leat_output_t leat_arithmetic_scale(leat_builder_t* b, leat_output_t x,
                                                  double factor) {
  return leat_arithmetic_mul(b, x, leat_arithmetic_constant_like(b, x, factor));
}
// The complex conjugate. The gradient of an analytic op is dy times the conjugate of its
// derivative, so that gradients call this whatever the type is; real types get no node.
static inline leat_output_t leat_arithmetic_conj(leat_builder_t* b, leat_output_t x) {
  if (b->status || !leat_dtype_in(leat_build_type_of(b, x), LEAT_DTYPES_COMPLEX)) return x;
  return leat_build_unary(b, "Conj", x);
}
// Zeros in the shape and type of |x|, whose value is not used.
static inline leat_output_t leat_arithmetic_zeros_like(leat_builder_t* b, leat_output_t x) {
  return leat_build_unary(b, "ZerosLike", x);
}
// |x| converted to |dtype|, a LEAT_DTYPE_x.
static inline leat_output_t leat_arithmetic_cast(leat_builder_t* b, leat_output_t x, int dtype) {
  if (b->status || leat_build_type_of(b, x) == dtype) return x;
  return leat_build(b, "Cast", LEAT_INPUTS(x), LEAT_ATTRS(LEAT_TYPE("DstT", dtype)));
}
// x where |condition|, a tensor of bools, is true, y elsewhere; all three broadcast (SelectV2).
static inline leat_output_t leat_arithmetic_select(leat_builder_t* b, leat_output_t condition,
                                                   leat_output_t x, leat_output_t y) {
  return leat_build(b, "SelectV2", LEAT_INPUTS(condition, x, y), LEAT_NO_ATTRS);
}

#endif  // LEAT_OPS_MATH_ARITHMETIC_H_
