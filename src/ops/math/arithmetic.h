// Short names for the arithmetic nodes of which gradients are made. A constant has the type of the
// operand beside it; conj and cast return their operand where they would change nothing. After a
// failure (b->status is set) every function does nothing, so that a gradient builds a whole formula
// and the error is checked once, at its end.
#ifndef LEAT_OPS_MATH_ARITHMETIC_H_
#define LEAT_OPS_MATH_ARITHMETIC_H_

#include "graph/gradient.h"

static inline leat_output_t leat_arithmetic_add(leat_builder_t* b, leat_output_t x,
                                                leat_output_t y) {
  return leat_build_binary(b, "AddV2", x, y);
}
static inline leat_output_t leat_arithmetic_sub(leat_builder_t* b, leat_output_t x,
                                                leat_output_t y) {
  return leat_build_binary(b, "Sub", x, y);
}
static inline leat_output_t leat_arithmetic_mul(leat_builder_t* b, leat_output_t x,
                                                leat_output_t y) {
  return leat_build_binary(b, "Mul", x, y);
}
static inline leat_output_t leat_arithmetic_div(leat_builder_t* b, leat_output_t x,
                                                leat_output_t y) {
  return leat_build_binary(b, "RealDiv", x, y);
}
static inline leat_output_t leat_arithmetic_neg(leat_builder_t* b, leat_output_t x) {
  return leat_build_unary(b, "Neg", x);
}
static inline leat_output_t leat_arithmetic_square(leat_builder_t* b, leat_output_t x) {
  return leat_build_unary(b, "Square", x);
}
static inline leat_output_t leat_arithmetic_constant_like(leat_builder_t* b, leat_output_t x,
                                                          double value) {
  if (b->status) return LEAT_OUTPUT_NONE;
  return leat_build_scalar(b, leat_build_type_of(b, x), value);
}
static inline leat_output_t leat_arithmetic_scale(leat_builder_t* b, leat_output_t x,
                                                  double factor) {
  return leat_arithmetic_mul(b, x, leat_arithmetic_constant_like(b, x, factor));
}
static inline leat_output_t leat_arithmetic_conj(leat_builder_t* b, leat_output_t x) {
  if (b->status || !leat_dtype_in(leat_build_type_of(b, x), LEAT_DTYPES_COMPLEX)) return x;
  return leat_build_unary(b, "Conj", x);
}
static inline leat_output_t leat_arithmetic_zeros_like(leat_builder_t* b, leat_output_t x) {
  return leat_build_unary(b, "ZerosLike", x);
}
static inline leat_output_t leat_arithmetic_cast(leat_builder_t* b, leat_output_t x, int dtype) {
  if (b->status || leat_build_type_of(b, x) == dtype) return x;
  return leat_build(b, "Cast", LEAT_INPUTS(x), LEAT_ATTRS(LEAT_TYPE("DstT", dtype)));
}
static inline leat_output_t leat_arithmetic_select(leat_builder_t* b, leat_output_t condition,
                                                   leat_output_t x, leat_output_t y) {
  return leat_build(b, "SelectV2", LEAT_INPUTS(condition, x, y), LEAT_NO_ATTRS);
}

#endif  // LEAT_OPS_MATH_ARITHMETIC_H_
