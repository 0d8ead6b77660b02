// Activations and their gradient ops, from one table: for each there is a formula in double, a
// random case in every type, a case of points at the kinks and far out, and cases of a scalar and
// of no elements. Relu must keep NaN. Softplus switches to x itself beyond a limit, where
// log(exp(x) + 1) would round to the number after it; bfloat16 has a case exactly there.
// LeakyRelu with a slope above 1 is no maximum of two lines any more, and Relu6 of unsigned
// integers has no lower bound to apply. What the harness does with a case:
// tests/op_harness/op_harness.h.
#include <math.h>

#include "op_harness/op_harness.h"

#define ALPHA 0.2  // the default of LeakyRelu, as a float
#define SELU_SCALE 1.0507009873554805
#define SELU_SCALE_ALPHA 1.7580993408473768

static double relu(double x) { return x < 0 ? 0 : x; }
static double relu6(double x) { return x < 0 ? 0 : x > 6 ? 6 : x; }
static double elu(double x) { return x < 0 ? expm1(x) : x; }
static double selu(double x) { return x < 0 ? SELU_SCALE_ALPHA * expm1(x) : SELU_SCALE * x; }
static double leaky(double x) { return x < 0 ? (double)(float)ALPHA * x : x; }
static double softplus(double x) { return x > 30 ? x : log1p(exp(x)); }
static double softsign(double x) { return x / (1 + fabs(x)); }

// Of inputs (dy, x or y).
static double relu_grad(double dy, double x) { return x > 0 ? dy : 0; }
static double relu6_grad(double dy, double x) { return x > 0 && x < 6 ? dy : 0; }
static double elu_grad(double dy, double y) { return y < 0 ? dy * (y + 1) : dy; }
static double selu_grad(double dy, double y) {
  return dy * (y < 0 ? y + SELU_SCALE_ALPHA : SELU_SCALE);
}
static double leaky_grad(double dy, double x) { return x > 0 ? dy : (double)(float)ALPHA * dy; }
static double softplus_grad(double dy, double x) { return dy / (1 + exp(-x)); }
static double softsign_grad(double dy, double x) { return dy / ((1 + fabs(x)) * (1 + fabs(x))); }

#define REFERENCES(name)                                                                        \
  static void name##_reference(const leat_reference_t* r) {                                     \
    for (int64_t i = 0; i < r->outputs[0].shape.element_count; ++i) {                           \
      r->out[0][i] = name(r->in[0][i]);                                                         \
    }                                                                                           \
  }                                                                                             \
  static void name##_grad_reference(const leat_reference_t* r) {                                \
    for (int64_t i = 0; i < r->outputs[0].shape.element_count; ++i) {                           \
      r->out[0][i] = name##_grad(r->in[0][i], r->in[1][i]);                                     \
    }                                                                                           \
  }
REFERENCES(relu)
REFERENCES(relu6)
REFERENCES(elu)
REFERENCES(selu)
REFERENCES(leaky)
REFERENCES(softplus)
REFERENCES(softsign)

#define X(...) LEAT_RANDOM(FLOAT, LEAT_DIMS(__VA_ARGS__), -8, 8)
#define POINTS LEAT_ITEMS(FLOAT, LEAT_DIMS(6), -40, -1, 0, 0.5, 7, 40)
#define CASES(NAME, fn, element_types, order)                                                 \
  {.op = NAME, .inputs = {X(3, 37)}, .types = element_types, .reference = fn##_reference,     \
   .gradient = order},                                                                        \
  {.op = NAME, .name = "points", .inputs = {POINTS}, .types = LEAT_DTYPES_FLOATING,           \
   .reference = fn##_reference},                                                              \
  {.op = NAME, .name = "none", .inputs = {LEAT_NO_ITEMS(FLOAT, LEAT_DIMS(0))},                \
   .expected = {LEAT_NO_ITEMS(FLOAT, LEAT_DIMS(0))}},                                         \
  {.op = NAME, .name = "scalar", .inputs = {LEAT_SCALAR_ITEM(FLOAT, 2)},                      \
   .reference = fn##_reference, .gradient = order},                                           \
  {.op = NAME "Grad", .inputs = {X(2, 35), LEAT_RANDOM(FLOAT, LEAT_DIMS(2, 35), -1, 8)},      \
   .types = element_types, .reference = fn##_grad_reference},                                 \
  {.op = NAME "Grad", .name = "points", .inputs = {POINTS, POINTS},                           \
   .reference = fn##_grad_reference},                                                         \
  {.op = NAME "Grad", .name = "shapes that differ", .inputs = {X(3), X(4)},                   \
   .code = LEAT_INVALID_ARGUMENT}

static const leat_op_case_t kCases[] = {
    CASES("Relu", relu, LEAT_DTYPES_FLOATING | LEAT_DTYPES_SIGNED, LEAT_GRADIENT_TWICE),
    CASES("Relu6", relu6, LEAT_DTYPES_FLOATING | LEAT_DTYPES_SIGNED, LEAT_GRADIENT_TWICE),
    CASES("Elu", elu, LEAT_DTYPES_FLOATING, LEAT_GRADIENT_TWICE),
    CASES("Selu", selu, LEAT_DTYPES_FLOATING, LEAT_GRADIENT_TWICE),
    CASES("LeakyRelu", leaky, LEAT_DTYPES_FLOATING, LEAT_GRADIENT_TWICE),
    CASES("Softplus", softplus, LEAT_DTYPES_FLOATING, LEAT_GRADIENT_TWICE),
    CASES("Softsign", softsign, LEAT_DTYPES_FLOATING, LEAT_GRADIENT_ONCE),
    {.op = "Relu",
     .name = "NaN stays",
     .inputs = {LEAT_ITEMS(FLOAT, LEAT_DIMS(3), NAN, -INFINITY, INFINITY)},
     .expected = {LEAT_ITEMS(FLOAT, LEAT_DIMS(3), NAN, 0, INFINITY)}},
    {.op = "Relu6",
     .name = "unsigned",
     .inputs = {LEAT_ITEMS(UINT8, LEAT_DIMS(4), 0, 5, 6, 200)},
     .types = LEAT_DTYPES_UNSIGNED,
     .expected = {LEAT_ITEMS(UINT8, LEAT_DIMS(4), 0, 5, 6, 6)}},
    {.op = "Relu6Grad",
     .name = "unsigned",
     .inputs = {LEAT_ITEMS(UINT8, LEAT_DIMS(4), 1, 2, 3, 4),
                LEAT_ITEMS(UINT8, LEAT_DIMS(4), 0, 5, 6, 200)},
     .types = LEAT_DTYPES_UNSIGNED,
     .expected = {LEAT_ITEMS(UINT8, LEAT_DIMS(4), 0, 2, 0, 0)}},
    // Exactly x beyond the limit, where log(exp(x) + 1) would round to the number after it.
    {.op = "Softplus",
     .name = "half has no limit that shows",
     .inputs = {LEAT_ITEMS(HALF, LEAT_DIMS(3), 4.9296875, 5, 7.01171875)},
     .expected = {LEAT_ITEMS(HALF, LEAT_DIMS(3), 4.9375, 5.0078125, 7.01171875)}},
    {.op = "Softplus",
     .name = "bfloat16 beyond the limit",
     .inputs = {LEAT_ITEMS(BFLOAT16, LEAT_DIMS(2), 2.84375, 2.859375)},
     .expected = {LEAT_ITEMS(BFLOAT16, LEAT_DIMS(2), 2.90625, 2.859375)}},
    // Each step is rounded in half, which shows near 0 and in the last bit elsewhere. The values
    // are those of numpy, which computes in half as well, and of TensorFlow.
    {.op = "Elu",
     .name = "half is rounded in each step",
     .inputs = {LEAT_ITEMS(HALF, LEAT_DIMS(3), -0.0005002021789550781, -0.01000213623046875,
                           -1)},
     .expected = {LEAT_ITEMS(HALF, LEAT_DIMS(3), -0.00048828125, -0.009765625, -0.6318359375)},
     .exact = true},
    {.op = "Selu",
     .name = "half is rounded in each step",
     .inputs = {LEAT_ITEMS(HALF, LEAT_DIMS(3), -0.0005002021789550781, -1, -5)},
     .expected = {LEAT_ITEMS(HALF, LEAT_DIMS(3), -0.000858306884765625, -1.1103515625,
                             -1.74609375)},
     .exact = true},
    {.op = "EluGrad",
     .name = "half is rounded in each step",
     .inputs = {LEAT_ITEMS(HALF, LEAT_DIMS(2), 0.300048828125, 3.099609375),
                LEAT_ITEMS(HALF, LEAT_DIMS(2), -0.300048828125, 0.7001953125)},
     .expected = {LEAT_ITEMS(HALF, LEAT_DIMS(2), 0.2100830078125, 3.099609375)},
     .exact = true},
    {.op = "SeluGrad",
     .name = "half is rounded in each step",
     .inputs = {LEAT_ITEMS(HALF, LEAT_DIMS(2), 0.0999755859375, 3.099609375),
                LEAT_ITEMS(HALF, LEAT_DIMS(2), -0.89990234375, 0.7001953125)},
     .expected = {LEAT_ITEMS(HALF, LEAT_DIMS(2), 0.08575439453125, 3.2578125)},
     .exact = true},
    {.op = "LeakyRelu",
     .name = "one element",
     .inputs = {LEAT_ITEMS(FLOAT, LEAT_DIMS(1), -2)},
     .types = LEAT_DTYPES_FLOATING,
     .reference = leaky_reference},
    {.op = "LeakyRelu",
     .name = "alpha above 1",
     .attrs = {LEAT_CASE_REAL("alpha", 2)},
     .inputs = {LEAT_ITEMS(FLOAT, LEAT_DIMS(2), -3, 3)},
     .expected = {LEAT_ITEMS(FLOAT, LEAT_DIMS(2), -6, 3)}},
    {.op = "Relu", .name = "a million", .inputs = {X(1 << 20)}, .reference = relu_reference,
     .bench = true, .bench_only = true},
    {.op = "ReluGrad", .name = "a million", .inputs = {X(1 << 20), X(1 << 20)},
     .reference = relu_grad_reference, .bench = true, .bench_only = true},
    {.op = "Elu", .name = "a million", .inputs = {X(1 << 20)}, .reference = elu_reference,
     .bench = true, .bench_only = true},
    {.op = "Softplus", .name = "a million", .inputs = {X(1 << 20)},
     .reference = softplus_reference, .bench = true, .bench_only = true},
};

LEAT_OP_TEST_MAIN(kCases)
