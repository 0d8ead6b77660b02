// Functions of one operand, against the C library's function in double. Each has two cases: one
// over random numbers in every floating type, and a small one in double whose gradient is compared
// with differences, once or twice as the function allows. The ranges keep away from poles and
// kinks, where differences say nothing. Round is compared with rint(), since both round halves to
// even. The vectorized kernels are included for every instruction set of the machine, which the
// harness (tests/op_harness/op_harness.h) chooses in turn.
#include <math.h>

#include "op_harness/op_harness.h"

#define REFERENCE(name, expression)                                   \
  static void name(const leat_reference_t* r) {                       \
    for (int64_t i = 0; i < r->outputs[0].shape.element_count; ++i) { \
      const double x = r->in[0][i];                                   \
      r->out[0][i] = expression;                                      \
    }                                                                 \
  }
REFERENCE(of_neg, -x)
REFERENCE(of_abs, fabs(x))
REFERENCE(of_sign, (x > 0) - (x < 0))
REFERENCE(of_square, x * x)
REFERENCE(of_sqrt, sqrt(x))
REFERENCE(of_rsqrt, 1 / sqrt(x))
REFERENCE(of_reciprocal, 1 / x)
REFERENCE(of_exp, exp(x))
REFERENCE(of_expm1, expm1(x))
REFERENCE(of_log, log(x))
REFERENCE(of_log1p, log1p(x))
REFERENCE(of_tanh, tanh(x))
REFERENCE(of_sigmoid, 1 / (1 + exp(-x)))
REFERENCE(of_erf, erf(x))
REFERENCE(of_erfc, erfc(x))
REFERENCE(of_sin, sin(x))
REFERENCE(of_cos, cos(x))
REFERENCE(of_tan, tan(x))
REFERENCE(of_asin, asin(x))
REFERENCE(of_acos, acos(x))
REFERENCE(of_atan, atan(x))
REFERENCE(of_sinh, sinh(x))
REFERENCE(of_cosh, cosh(x))
REFERENCE(of_asinh, asinh(x))
REFERENCE(of_acosh, acosh(x))
REFERENCE(of_atanh, atanh(x))
REFERENCE(of_floor, floor(x))
REFERENCE(of_ceil, ceil(x))
REFERENCE(of_rint, rint(x))

#define ONE(op_name, reference_fn, low, high, gradient_check)          \
  {.op = op_name,                                                      \
   .inputs = {LEAT_RANDOM(FLOAT, LEAT_DIMS(3, 45), low, high)},        \
   .types = LEAT_DTYPES_FLOATING,                                      \
   .reference = reference_fn},                                         \
  {                                                                    \
    .op = op_name, .name = "gradient",                                 \
    .inputs = {LEAT_RANDOM(DOUBLE, LEAT_DIMS(2, 3), low, high)},       \
    .reference = reference_fn, .gradient = LEAT_GRADIENT_##gradient_check \
  }

static const leat_op_case_t kCases[] = {
    ONE("Neg", of_neg, -3, 3, TWICE),
    ONE("Abs", of_abs, 0.1, 3, ONCE),
    ONE("Sign", of_sign, -3, 3, UNCHECKED),
    ONE("Square", of_square, -3, 3, TWICE),
    ONE("Sqrt", of_sqrt, 0.2, 3, TWICE),
    ONE("Rsqrt", of_rsqrt, 0.2, 3, TWICE),
    ONE("Reciprocal", of_reciprocal, 0.3, 3, TWICE),
    ONE("Inv", of_reciprocal, 0.3, 3, TWICE),
    ONE("Exp", of_exp, -3, 3, TWICE),
    ONE("Expm1", of_expm1, -3, 3, TWICE),
    ONE("Log", of_log, 0.2, 3, TWICE),
    ONE("Log1p", of_log1p, -0.5, 3, TWICE),
    ONE("Tanh", of_tanh, -3, 3, TWICE),
    ONE("Sigmoid", of_sigmoid, -3, 3, TWICE),
    ONE("Erf", of_erf, -3, 3, TWICE),
    ONE("Erfc", of_erfc, -2, 2, TWICE),
    ONE("Sin", of_sin, -3, 3, TWICE),
    ONE("Cos", of_cos, -3, 3, TWICE),
    ONE("Tan", of_tan, -1, 1, TWICE),
    ONE("Asin", of_asin, -0.8, 0.8, TWICE),
    ONE("Acos", of_acos, -0.8, 0.8, TWICE),
    ONE("Atan", of_atan, -3, 3, TWICE),
    ONE("Sinh", of_sinh, -2, 2, TWICE),
    ONE("Cosh", of_cosh, -2, 2, TWICE),
    ONE("Asinh", of_asinh, -3, 3, TWICE),
    ONE("Acosh", of_acosh, 1.2, 3, TWICE),
    ONE("Atanh", of_atanh, -0.8, 0.8, TWICE),
    ONE("Floor", of_floor, -9, 9, UNCHECKED),
    ONE("Ceil", of_ceil, -9, 9, UNCHECKED),
    ONE("Round", of_rint, -9, 9, UNCHECKED),
    {.op = "Rint",
     .inputs = {LEAT_ITEMS(FLOAT, LEAT_DIMS(6), 0.5, 1.5, -0.5, -1.5, 2.4, -2.6)},
     .expected = {LEAT_ITEMS(FLOAT, LEAT_DIMS(6), 0, 2, -0.0, -2, 2, -3)}},
    {.op = "Round",
     .name = "integers stay",
     .inputs = {LEAT_ITEMS(INT32, LEAT_DIMS(3), 7, -7, 0)},
     .types = LEAT_DTYPE_BIT(INT32) | LEAT_DTYPE_BIT(INT64),
     .expected = {LEAT_ITEMS(INT32, LEAT_DIMS(3), 7, -7, 0)}},
    {.op = "Abs",
     .name = "the least integer wraps",
     .inputs = {LEAT_ITEMS(INT8, LEAT_DIMS(2), -128, -5)},
     .expected = {LEAT_ITEMS(INT8, LEAT_DIMS(2), -128, 5)}},
    {.op = "IsNan",
     .inputs = {LEAT_ITEMS(FLOAT, LEAT_DIMS(4), 1, INFINITY, NAN, -INFINITY)},
     .types = LEAT_DTYPES_FLOATING,
     .expected = {LEAT_ITEMS(BOOL, LEAT_DIMS(4), 0, 0, 1, 0)}},
    {.op = "IsInf",
     .inputs = {LEAT_ITEMS(FLOAT, LEAT_DIMS(4), 1, INFINITY, NAN, -INFINITY)},
     .types = LEAT_DTYPES_FLOATING,
     .expected = {LEAT_ITEMS(BOOL, LEAT_DIMS(4), 0, 1, 0, 1)}},
    {.op = "IsFinite",
     .inputs = {LEAT_ITEMS(FLOAT, LEAT_DIMS(4), 1, INFINITY, NAN, -INFINITY)},
     .types = LEAT_DTYPES_FLOATING,
     .expected = {LEAT_ITEMS(BOOL, LEAT_DIMS(4), 1, 0, 0, 0)}},
    {.op = "LogicalNot",
     .inputs = {LEAT_ITEMS(BOOL, LEAT_DIMS(3), 0, 1, 0)},
     .expected = {LEAT_ITEMS(BOOL, LEAT_DIMS(3), 1, 0, 1)}},
    {.op = "Sqrt",
     .name = "complex",
     .inputs = {LEAT_ITEMS(COMPLEX128, LEAT_DIMS(2), -4, 0, 3, 4)},
     .types = LEAT_DTYPES_COMPLEX,
     .expected = {LEAT_ITEMS(COMPLEX128, LEAT_DIMS(2), 0, 2, 2, 1)}},
    {.op = "Exp",
     .name = "empty",
     .inputs = {LEAT_NO_ITEMS(FLOAT, LEAT_DIMS(2, 0))},
     .types = LEAT_DTYPES_FLOATING | LEAT_DTYPES_COMPLEX,
     .expected = {LEAT_NO_ITEMS(FLOAT, LEAT_DIMS(2, 0))}},
    {.op = "TanhGrad",
     .name = "shapes that differ",
     .inputs = {LEAT_RANDOM(FLOAT, LEAT_DIMS(3), 0, 1), LEAT_RANDOM(FLOAT, LEAT_DIMS(4), 0, 1)},
     .code = LEAT_INVALID_ARGUMENT},
    {.op = "Tanh",
     .name = "speed",
     .inputs = {LEAT_RANDOM(FLOAT, LEAT_DIMS(1024, 1024), -3, 3)},
     .bench = true,
     .bench_only = true},
};

LEAT_OP_TEST_MAIN(kCases)
