// The losses SoftmaxCrossEntropyWithLogits and its sparse form, which give the gradient as a second
// output. The reference subtracts the row's maximum before exp(), in double, and shares nothing
// with the vectorized kernels. Rows of 1037 classes cross the blocks of these kernels; one row of
// labels may be broadcast over all rows of logits. _ScaledCrossEntropy is what the optimizer makes
// of a loss whose gradient is multiplied by a number for each row. A label that is no class is an
// error on the CPU, as in TensorFlow.
#include <math.h>

#include "op_harness/op_harness.h"

static void softmax(const double* x, int64_t n, double* out) {
  double most = x[0], sum = 0;
  for (int64_t i = 1; i < n; ++i) most = x[i] > most ? x[i] : most;
  for (int64_t i = 0; i < n; ++i) sum += out[i] = exp(x[i] - most);
  for (int64_t i = 0; i < n; ++i) out[i] /= sum;
}

static void dense_reference(const leat_reference_t* r) {
  const int64_t n = leat_shape_dim(&r->outputs[1].shape, 1);
  for (int64_t row = 0; row < r->outputs[0].shape.element_count; ++row) {
    double* y = r->out[1] + row * n;
    const double* labels = r->in[1] + row * n % r->inputs[1].shape.element_count;
    softmax(r->in[0] + row * n, n, y);
    r->out[0][row] = 0;
    for (int64_t i = 0; i < n; ++i) r->out[0][row] -= labels[i] * log(y[i]);
    for (int64_t i = 0; i < n; ++i) y[i] -= labels[i];
  }
}

static void sparse_reference(const leat_reference_t* r) {
  const int64_t n = leat_shape_dim(&r->outputs[1].shape, 1);
  for (int64_t row = 0; row < r->outputs[0].shape.element_count; ++row) {
    double* y = r->out[1] + row * n;
    const int64_t label = (int64_t)r->in[1][row];
    softmax(r->in[0] + row * n, n, y);
    r->out[0][row] = -log(y[label]);
    y[label] -= 1;
  }
}

static void scale_rows(const leat_reference_t* r) {
  const int64_t n = leat_shape_dim(&r->outputs[1].shape, 1);
  const bool is_one = r->inputs[2].shape.element_count == 1;
  for (int64_t i = 0; i < r->outputs[1].shape.element_count; ++i) {
    r->out[1][i] *= r->in[2][is_one ? 0 : i / n];
  }
}

static void scaled_dense_reference(const leat_reference_t* r) {
  dense_reference(r);
  scale_rows(r);
}

static void scaled_sparse_reference(const leat_reference_t* r) {
  sparse_reference(r);
  scale_rows(r);
}

#define X(...) LEAT_RANDOM(FLOAT, LEAT_DIMS(__VA_ARGS__), -6, 6)
#define P(...) LEAT_RANDOM(FLOAT, LEAT_DIMS(__VA_ARGS__), 0, 1)
#define DENSE "SoftmaxCrossEntropyWithLogits"
#define SPARSE "SparseSoftmaxCrossEntropyWithLogits"
#define SCALED "_ScaledCrossEntropy"
#define WIDE (LEAT_DTYPE_BIT(FLOAT) | LEAT_DTYPE_BIT(DOUBLE))

static const leat_op_case_t kCases[] = {
    {.op = DENSE,
     .inputs = {X(4, 5), P(4, 5)},
     .types = LEAT_DTYPES_FLOATING,
     .reference = dense_reference},
    {.op = DENSE, .name = "labels for all", .inputs = {X(4, 5), P(1, 5)},
     .reference = dense_reference},
    {.op = DENSE, .name = "long rows", .inputs = {X(3, 1037), P(3, 1037)},
     .reference = dense_reference, .tolerance = 1e-4},
    {.op = DENSE,
     .name = "none",
     .inputs = {LEAT_NO_ITEMS(FLOAT, LEAT_DIMS(0, 3)), LEAT_NO_ITEMS(FLOAT, LEAT_DIMS(0, 3))},
     .expected = {LEAT_NO_ITEMS(FLOAT, LEAT_DIMS(0)), LEAT_NO_ITEMS(FLOAT, LEAT_DIMS(0, 3))}},
    {.op = DENSE, .name = "vectors", .inputs = {X(5), P(5)}, .code = LEAT_INVALID_ARGUMENT},
    {.op = DENSE, .name = "shapes that differ", .inputs = {X(4, 5), P(4, 6)},
     .code = LEAT_INVALID_ARGUMENT},
    {.op = SPARSE,
     .inputs = {X(3, 4), LEAT_ITEMS(INT64, LEAT_DIMS(3), 3, 0, 1)},
     .types = LEAT_DTYPES_FLOATING,
     .reference = sparse_reference},
    {.op = SPARSE,
     .name = "short labels",
     .inputs = {X(3, 4), LEAT_ITEMS(INT32, LEAT_DIMS(3), 3, 0, 1)},
     .reference = sparse_reference},
    {.op = SPARSE,
     .name = "a label that is no class",
     .inputs = {X(2, 4), LEAT_ITEMS(INT64, LEAT_DIMS(2), 3, 4)},
     .code = LEAT_INVALID_ARGUMENT},
    {.op = SPARSE,
     .name = "a negative label",
     .inputs = {X(2, 4), LEAT_ITEMS(INT64, LEAT_DIMS(2), -1, 0)},
     .code = LEAT_INVALID_ARGUMENT},
    {.op = SPARSE,
     .name = "too few labels",
     .inputs = {X(2, 4), LEAT_ITEMS(INT64, LEAT_DIMS(1), 1)},
     .code = LEAT_INVALID_ARGUMENT},
    {.op = SCALED,
     .inputs = {X(4, 5), P(1, 5), X(4, 1)},
     .types = WIDE,
     .reference = scaled_dense_reference},
    {.op = SCALED,
     .inputs = {X(3, 4), LEAT_ITEMS(INT64, LEAT_DIMS(3), 3, 0, 1), X(3, 1)},
     .types = WIDE,
     .reference = scaled_sparse_reference},
    {.op = SCALED,
     .name = "one number for all rows",
     .inputs = {X(4, 5), P(4, 5), X(1, 1)},
     .types = WIDE,
     .reference = scaled_dense_reference},
    {.op = SCALED,
     .name = "several numbers for one row",
     .inputs = {LEAT_ITEMS(FLOAT, LEAT_DIMS(1, 2), 0, 0), LEAT_ITEMS(INT64, LEAT_DIMS(1), 1),
                LEAT_ITEMS(FLOAT, LEAT_DIMS(3, 1), 2, 4, -8)},
     .types = WIDE,
     .expected = {LEAT_ITEMS(FLOAT, LEAT_DIMS(1), 0.6931471805599453),
                  LEAT_ITEMS(FLOAT, LEAT_DIMS(3, 2), 1, -1, 2, -2, -4, 4)}},
    {.op = SCALED,
     .name = "short labels that are scaled",
     .inputs = {X(3, 4), LEAT_ITEMS(INT32, LEAT_DIMS(3), 3, 0, 1), X(3, 1)},
     .types = WIDE,
     .reference = scaled_sparse_reference},
    {.op = SCALED,
     .name = "classes of a vector",
     .inputs = {X(4), LEAT_ITEMS(INT32, LEAT_DIMS(1), 3), X(1, 1)},
     .code = LEAT_INVALID_ARGUMENT,
     .message = "must be rank 2 but is rank 1"},
    {.op = SCALED,
     .name = "too few numbers",
     .inputs = {X(4, 5), P(4, 5), X(3, 1)},
     .code = LEAT_INVALID_ARGUMENT,
     .message = "[3,1]"},
    {.op = DENSE, .name = "ten classes", .inputs = {X(128, 10), P(128, 10)},
     .reference = dense_reference, .bench = true, .bench_only = true},
    {.op = DENSE, .name = "a thousand classes", .inputs = {X(1024, 1000), P(1024, 1000)},
     .reference = dense_reference, .tolerance = 1e-4, .bench = true, .bench_only = true},
};

LEAT_OP_TEST_MAIN(kCases)
