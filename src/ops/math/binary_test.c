// Cases of arithmetic on two operands: every way of broadcasting that the engine tells apart, all
// types, gradients, and the faults of integers. The harness runs each case and compares it with the
// operation in double, where the element of each operand is found by the definition of broadcasting
// (operand). Sizes lie on both sides of the borders at which the engine changes its loops.
// Comparisons and logic are tested in compare_test.c.
#include <math.h>

#include "op_harness/op_harness.h"

// Element of operand |k| under element |index| of the output.
static double operand(const leat_reference_t* r, int k, int64_t index) {
  const leat_shape_t* out = &r->outputs[0].shape;
  const leat_shape_t* own = &r->inputs[k].shape;
  int64_t offset = 0, stride = 1;
  for (int d = out->rank - 1; d >= 0; --d) {
    int64_t coordinate = index % leat_shape_dim(out, d);
    index /= leat_shape_dim(out, d);
    int own_d = d - (out->rank - own->rank);
    if (own_d < 0) continue;
    int64_t size = leat_shape_dim(own, own_d);
    if (size > 1) offset += coordinate * stride;
    stride *= size;
  }
  return r->in[k][offset];
}

#define REFERENCE(name, expression)                                              \
  static void name(const leat_reference_t* r) {                                  \
    for (int64_t i = 0; i < r->outputs[0].shape.element_count; ++i) {            \
      const double x = operand(r, 0, i), y = operand(r, 1, i);                   \
      r->out[0][i] = expression;                                                 \
    }                                                                            \
  }
REFERENCE(add, x + y)
REFERENCE(sub, x - y)
REFERENCE(mul, x * y)
REFERENCE(quotient, x / y)
REFERENCE(floor_quotient, floor(x / y))
REFERENCE(truncated_quotient, trunc(x / y))
REFERENCE(floor_remainder, x - y * floor(x / y))
REFERENCE(larger, fmax(x, y))
REFERENCE(smaller, fmin(x, y))
REFERENCE(squared, (x - y) * (x - y))
REFERENCE(power, pow(x, y))
REFERENCE(angle, atan2(x, y))
REFERENCE(x_log_y, x == 0 ? 0 : x * log(y))
REFERENCE(x_over_y, x == 0 ? 0 : x / y)
REFERENCE(tanh_slope, y * (1 - x * x))

#define RANDOM(low, high, ...) LEAT_RANDOM(FLOAT, LEAT_DIMS(__VA_ARGS__), low, high)
#define NUMBER(low, high) LEAT_RANDOM(FLOAT, LEAT_SCALAR_DIMS, low, high)
#define PAIR(op_name, reference_fn, gradient_check, ...) \
  {.op = op_name,                                        \
   .inputs = {__VA_ARGS__},                              \
   .types = LEAT_DTYPES_FLOATING,                        \
   .reference = reference_fn,                            \
   .gradient = LEAT_GRADIENT_##gradient_check}
#define D LEAT_DIMS

static const leat_op_case_t kCases[] = {
    PAIR("AddV2", add, TWICE, RANDOM(-2, 2, 3, 4), RANDOM(-2, 2, 3, 4)),
    PAIR("AddV2", add, TWICE, NUMBER(-2, 2), NUMBER(-2, 2)),
    PAIR("AddV2", add, TWICE, RANDOM(-2, 2, 5), NUMBER(-2, 2)),
    PAIR("Add", add, TWICE, RANDOM(-2, 2, 4, 3), RANDOM(-2, 2, 3)),
    PAIR("Add", add, TWICE, RANDOM(-2, 2, 4, 1), RANDOM(-2, 2, 1, 3)),
    PAIR("Sub", sub, TWICE, RANDOM(-2, 2, 2, 3, 4), RANDOM(-2, 2, 2, 1, 4)),
    PAIR("Sub", sub, UNCHECKED, RANDOM(-2, 2, 3, 1), RANDOM(-2, 2, 2, 3, 70)),
    PAIR("Sub", sub, UNCHECKED, RANDOM(-2, 2, 2000, 3), RANDOM(-2, 2, 2000, 1)),
    PAIR("Sub", sub, UNCHECKED, RANDOM(-2, 2, 30, 200), RANDOM(-2, 2, 30, 1)),
    PAIR("Sub", sub, UNCHECKED, RANDOM(-2, 2, 30, 255), RANDOM(-2, 2, 255)),
    PAIR("Mul", mul, UNCHECKED, RANDOM(-2, 2, 7, 1, 5, 1), RANDOM(-2, 2, 6, 1, 4)),
    PAIR("Mul", mul, UNCHECKED, RANDOM(-2, 2, 1000, 3), RANDOM(-2, 2, 3)),
    PAIR("Mul", mul, TWICE, RANDOM(-2, 2, 2, 3), RANDOM(-2, 2, 2, 1)),
    PAIR("Mul", mul, UNCHECKED, RANDOM(-2, 2, 0, 3), RANDOM(-2, 2, 1, 3)),
    PAIR("RealDiv", quotient, TWICE, RANDOM(1, 3, 3, 4), RANDOM(1, 3, 4)),
    PAIR("Div", quotient, TWICE, RANDOM(1, 3, 3), RANDOM(1, 3, 3)),
    PAIR("DivNoNan", quotient, TWICE, RANDOM(1, 3, 3), RANDOM(1, 3, 3)),
    PAIR("Maximum", larger, ONCE, RANDOM(-2, 2, 3, 4), RANDOM(-2, 2, 4)),
    PAIR("Minimum", smaller, ONCE, RANDOM(-2, 2, 3, 4), RANDOM(-2, 2, 3, 1)),
    PAIR("SquaredDifference", squared, TWICE, RANDOM(-2, 2, 3, 4), RANDOM(-2, 2, 4)),
    PAIR("Pow", power, TWICE, RANDOM(0.5, 2, 3, 4), RANDOM(0.5, 2, 4)),
    PAIR("Atan2", angle, TWICE, RANDOM(0.5, 2, 3), RANDOM(0.5, 2, 3)),
    PAIR("Xlogy", x_log_y, TWICE, RANDOM(0.5, 2, 3, 2), RANDOM(0.5, 2, 2)),
    PAIR("Xdivy", x_over_y, TWICE, RANDOM(0.5, 2, 3, 2), RANDOM(0.5, 2, 2)),
    PAIR("TanhGrad", tanh_slope, TWICE, RANDOM(-0.9, 0.9, 6), RANDOM(-0.9, 0.9, 6)),
    {.op = "AddV2",
     .name = "integers",
     .inputs = {LEAT_RANDOM(INT32, D(33, 5), 0, 50), LEAT_RANDOM(INT32, D(5), 0, 50)},
     .types = LEAT_DTYPES_INTEGER,
     .reference = add},
    {.op = "AddV2",
     .name = "a column of integers, short rows",
     .inputs = {LEAT_RANDOM(INT32, D(600, 3), 0, 50), LEAT_RANDOM(INT32, D(600, 1), 0, 50)},
     .types = LEAT_DTYPES_INTEGER,
     .reference = add},
    {.op = "AddV2",
     .name = "a column of integers",
     .inputs = {LEAT_RANDOM(INT32, D(100, 29), 0, 50), LEAT_RANDOM(INT32, D(100, 1), 0, 50)},
     .types = LEAT_DTYPES_INTEGER,
     .reference = add},
    {.op = "AddV2",
     .name = "a column of integers, long rows",
     .inputs = {LEAT_RANDOM(INT32, D(4, 1031), 0, 50), LEAT_RANDOM(INT32, D(4, 1), 0, 50)},
     .types = LEAT_DTYPES_INTEGER,
     .reference = add},
    {.op = "FloorDiv",
     .inputs = {LEAT_ITEMS(INT32, D(6), 7, -7, 7, -7, 8, -1),
                LEAT_ITEMS(INT32, D(6), 2, 2, -2, -2, 4, 5)},
     .types = LEAT_DTYPES_SIGNED | LEAT_DTYPE_BIT(FLOAT) | LEAT_DTYPE_BIT(HALF),
     .reference = floor_quotient},
    {.op = "FloorMod",
     .inputs = {LEAT_ITEMS(INT32, D(6), 7, -7, 7, -7, 8, -1),
                LEAT_ITEMS(INT32, D(6), 2, 2, -2, -2, 4, 5)},
     .types = LEAT_DTYPES_SIGNED | LEAT_DTYPES_FLOATING,
     .reference = floor_remainder},
    {.op = "TruncateDiv",
     .inputs = {LEAT_ITEMS(INT32, D(4), 7, -7, 7, -7), LEAT_ITEMS(INT32, D(4), 2, 2, -2, -2)},
     .types = LEAT_DTYPES_SIGNED | LEAT_DTYPE_BIT(DOUBLE),
     .reference = truncated_quotient},
    {.op = "Div",
     .name = "least by -1 wraps",
     .inputs = {LEAT_SCALAR_ITEM(INT32, -2147483648.0), LEAT_SCALAR_ITEM(INT32, -1)},
     .expected = {LEAT_SCALAR_ITEM(INT32, -2147483648.0)}},
    {.op = "FloorMod",
     .name = "least by -1",
     .inputs = {LEAT_SCALAR_ITEM(INT64, -9223372036854775808.0), LEAT_SCALAR_ITEM(INT64, -1)},
     .expected = {LEAT_SCALAR_ITEM(INT64, 0)}},
    {.op = "FloorDiv",
     .name = "by zero",
     .inputs = {LEAT_ITEMS(INT32, D(3), 1, 2, 3), LEAT_ITEMS(INT32, D(3), 1, 0, 1)},
     .types = LEAT_DTYPES_INTEGER,
     .code = LEAT_INVALID_ARGUMENT,
     .message = "Integer division by zero"},
    {.op = "Pow",
     .name = "negative power",
     .inputs = {LEAT_SCALAR_ITEM(INT32, 2), LEAT_SCALAR_ITEM(INT32, -1)},
     .types = LEAT_DTYPES_SIGNED,
     .code = LEAT_INVALID_ARGUMENT,
     .message = "negative integer powers"},
    {.op = "Pow",
     .name = "integers",
     .inputs = {LEAT_ITEMS(INT32, D(3), 2, -3, 0), LEAT_ITEMS(INT32, D(3), 5, 3, 0)},
     .types = LEAT_DTYPE_BIT(INT32) | LEAT_DTYPE_BIT(INT64),
     .expected = {LEAT_ITEMS(INT32, D(3), 32, -27, 1)}},
    {.op = "Maximum",
     .name = "not a number",
     .inputs = {LEAT_ITEMS(FLOAT, D(3), NAN, 1, 2), LEAT_ITEMS(FLOAT, D(3), 1, NAN, 3)},
     .expected = {LEAT_ITEMS(FLOAT, D(3), NAN, NAN, 3)}},
    {.op = "MulNoNan",
     .inputs = {LEAT_ITEMS(FLOAT, D(3), INFINITY, NAN, 2), LEAT_ITEMS(FLOAT, D(3), 0, 0, 3)},
     .expected = {LEAT_ITEMS(FLOAT, D(3), 0, 0, 6)}},
    {.op = "AddV2",
     .name = "a complex column",
     .inputs = {LEAT_ITEMS(COMPLEX64, D(2, 2), 1, 2, 3, 4, 5, 6, 7, 8),
                LEAT_ITEMS(COMPLEX64, D(2, 1), 1, -1, 10, 20)},
     .types = LEAT_DTYPES_COMPLEX,
     .expected = {LEAT_ITEMS(COMPLEX64, D(2, 2), 2, 1, 4, 3, 15, 26, 17, 28)}},
    {.op = "Mul",
     .name = "complex",
     .inputs = {LEAT_ITEMS(COMPLEX64, D(2), 1, 2, 0, 1), LEAT_ITEMS(COMPLEX64, D(1), 3, -1)},
     .types = LEAT_DTYPES_COMPLEX,
     .expected = {LEAT_ITEMS(COMPLEX64, D(2), 5, 5, 1, 3)}},
    {.op = "Add",
     .name = "strings",
     .inputs = {LEAT_TEXTS(D(2, 1), "a long enough string to lie on the heap ", "b"),
                LEAT_TEXTS(D(2), "x", "")},
     .expected = {LEAT_TEXTS(D(2, 2), "a long enough string to lie on the heap x",
                             "a long enough string to lie on the heap ", "bx", "b")}},
    {.op = "AddV2",
     .name = "shapes that do not fit",
     .inputs = {LEAT_RANDOM(FLOAT, D(2, 3), 0, 1), LEAT_RANDOM(FLOAT, D(2), 0, 1)},
     .code = LEAT_INVALID_ARGUMENT},
    {.op = "AddV2",
     .name = "speed: scalars",
     .inputs = {LEAT_SCALAR_ITEM(FLOAT, 1), LEAT_SCALAR_ITEM(FLOAT, 2)},
     .expected = {LEAT_SCALAR_ITEM(FLOAT, 3)},
     .bench = true},
    {.op = "AddV2",
     .name = "speed: a million and a row",
     .inputs = {LEAT_RANDOM(FLOAT, D(1024, 1024), -1, 1), LEAT_RANDOM(FLOAT, D(1024), -1, 1)},
     .bench = true,
     .bench_only = true},
};

LEAT_OP_TEST_MAIN(kCases)
