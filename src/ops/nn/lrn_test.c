// Local response normalization divides each value by a power of the sum of squares of its
// neighbours among the channels. The kernel has two ways of adding: narrow windows are summed for
// 32 channels side by side, and beyond a radius of 8 the sums slide along the channels. The cases
// lie on both sides of that limit, with 70 channels so that blocks have a rest, and with a radius
// wider than all channels. The gradient's reference is the derivative term by term; as in
// TensorFlow it takes the output y as given, whether or not LRN would have computed it.
#include <math.h>

#include "op_harness/op_harness.h"

// Attributes: depth_radius, bias, alpha, beta.
static void reference(const leat_reference_t* r) {
  const leat_attr_t* attrs = r->op_case->attrs;
  const int64_t radius = attrs[0].value.i, n = leat_shape_dim(&r->inputs[0].shape, 3);
  for (int64_t i = 0; i < r->inputs[0].shape.element_count; ++i) {
    const int64_t c = i % n, row = i - c;
    double sum = 0;
    for (int64_t k = 0; k < n; ++k) {
      if (k >= c - radius && k <= c + radius) sum += r->in[0][row + k] * r->in[0][row + k];
    }
    const double base = (double)attrs[1].value.f + (double)attrs[2].value.f * sum;
    r->out[0][i] = r->in[0][i] * pow(base, -(double)attrs[3].value.f);
  }
}
// The derivative of y(j) = x(j) norm(j)^-beta, term by term: inputs are the gradient of y, x and y.
// As in TensorFlow y is taken as it is given, and need not be LRN's output.
static void gradient_reference(const leat_reference_t* r) {
  const leat_attr_t* attrs = r->op_case->attrs;
  const int64_t radius = attrs[0].value.i, n = leat_shape_dim(&r->inputs[0].shape, 3);
  const double bias = (double)attrs[1].value.f, alpha = (double)attrs[2].value.f;
  const double beta = (double)attrs[3].value.f;
  const double *dy = r->in[0], *x = r->in[1], *y = r->in[2];
  for (int64_t i = 0; i < r->inputs[0].shape.element_count; ++i) r->out[0][i] = 0;
  for (int64_t j = 0; j < r->inputs[0].shape.element_count; ++j) {
    const int64_t row = j - j % n;
    const int64_t begin = j % n > radius ? j - radius : row;
    const int64_t end = j + radius < row + n - 1 ? j + radius : row + n - 1;
    double norm = bias;
    for (int64_t k = begin; k <= end; ++k) norm += alpha * x[k] * x[k];
    r->out[0][j] += dy[j] * pow(norm, -beta);
    for (int64_t k = begin; k <= end; ++k) {
      r->out[0][k] -= dy[j] * y[j] * beta * alpha * 2 * x[k] / norm;
    }
  }
}

#define X(...) LEAT_RANDOM(FLOAT, LEAT_DIMS(__VA_ARGS__), -2, 2)
#define ATTRS(radius, bias, alpha, beta)                                                \
  {LEAT_CASE_INT("depth_radius", radius), LEAT_CASE_REAL("bias", bias),                 \
   LEAT_CASE_REAL("alpha", alpha), LEAT_CASE_REAL("beta", beta)}

static const leat_op_case_t kCases[] = {
    {.op = "LRN", .attrs = ATTRS(2, 1, 0.5, 0.75), .inputs = {X(2, 3, 3, 9)},
     .types = LEAT_DTYPE_BIT(FLOAT) | LEAT_DTYPE_BIT(HALF), .reference = reference},
    {.op = "LRN", .name = "a radius wider than the channels", .attrs = ATTRS(7, 2, 1, 0.5),
     .inputs = {X(1, 2, 2, 4)}, .reference = reference},
    // Narrow windows are summed for 32 channels side by side, and pixels are shared by 16.
    {.op = "LRN", .name = "70 channels", .attrs = ATTRS(3, 1, 0.5, 0.75),
     .inputs = {X(2, 3, 3, 70)}, .types = LEAT_DTYPE_BIT(FLOAT) | LEAT_DTYPE_BIT(HALF),
     .reference = reference},
    {.op = "LRN", .name = "a radius of 8, 64 channels", .attrs = ATTRS(8, 1, 0.5, 1),
     .inputs = {X(1, 1, 33, 64)}, .reference = reference},
    {.op = "LRN", .name = "a radius of 0", .attrs = ATTRS(0, 1, 0.5, 0.5),
     .inputs = {X(1, 1, 2, 40)}, .reference = reference},
    // Beyond a radius of 8 the sums slide along the channels.
    {.op = "LRN", .name = "a radius of 8", .attrs = ATTRS(8, 1, 0.5, 0.75),
     .inputs = {X(1, 2, 2, 31)}, .reference = reference},
    {.op = "LRN", .name = "a radius of 9", .attrs = ATTRS(9, 1, 0.5, 0.75),
     .inputs = {X(2, 3, 2, 31)}, .types = LEAT_DTYPE_BIT(FLOAT) | LEAT_DTYPE_BIT(HALF),
     .reference = reference},
    {.op = "LRN", .name = "a radius of 12, more than the channels", .attrs = ATTRS(12, 1, 1, 0.5),
     .inputs = {X(1, 2, 2, 10)}, .reference = reference},
    {.op = "LRN", .name = "a radius of 12, as many channels", .attrs = ATTRS(12, 1, 1, 1),
     .inputs = {X(1, 2, 2, 12)}, .reference = reference},
    {.op = "LRN", .name = "a radius of 40, many channels", .attrs = ATTRS(40, 1, 1, 1),
     .inputs = {X(1, 1, 2, 300)}, .reference = reference},
    {.op = "LRNGrad", .attrs = ATTRS(2, 1, 0.5, 0.75),
     .inputs = {X(1, 2, 2, 9), X(1, 2, 2, 9), X(1, 2, 2, 9)}, .reference = gradient_reference},
    {.op = "LRNGrad", .name = "70 channels", .attrs = ATTRS(8, 1, 0.5, 0.75),
     .inputs = {X(1, 3, 6, 70), X(1, 3, 6, 70), X(1, 3, 6, 70)}, .reference = gradient_reference},
    {.op = "LRNGrad", .name = "a radius of 9", .attrs = ATTRS(9, 1, 0.5, 0.75),
     .inputs = {X(2, 2, 2, 31), X(2, 2, 2, 31), X(2, 2, 2, 31)}, .reference = gradient_reference},
    {.op = "LRNGrad", .name = "a radius of 12, as many channels", .attrs = ATTRS(12, 1, 1, 1),
     .inputs = {X(1, 2, 2, 12), X(1, 2, 2, 12), X(1, 2, 2, 12)}, .reference = gradient_reference},
    {.op = "LRN", .name = "a matrix", .attrs = ATTRS(2, 1, 0.5, 0.75), .inputs = {X(3, 4)},
     .code = LEAT_INVALID_ARGUMENT},
    {.op = "LRNGrad", .name = "shapes that differ", .attrs = ATTRS(2, 1, 0.5, 0.75),
     .inputs = {X(1, 2, 2, 4), X(1, 2, 2, 4), X(1, 2, 2, 5)}, .code = LEAT_INVALID_ARGUMENT},
};

LEAT_OP_TEST_MAIN(kCases)
