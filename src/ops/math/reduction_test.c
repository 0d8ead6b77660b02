// Cases of reductions: each way of lying in memory that the plan tells apart, lengths on both sides
// of a chunk, empty ones, axes that are wrong. The harness runs each case and compares it with a
// fold over all elements in double (fold), which finds the result's element by the definition.
// Gradients are checked where the reduction has one. Reductions that end a fused program are
// compared in tests/session/row_reduction_test.c.
#include <math.h>

#include "op_harness/op_harness.h"

// Folds input 0 over the axes of input 1 into |totals|, which hold the start.
static void fold(const leat_reference_t* r, double (*combine)(double, double)) {
  const leat_shape_t* shape = &r->inputs[0].shape;
  const leat_tensor_t* axes = &r->inputs[1];
  bool reduced[8] = {false};
  for (int64_t i = 0; i < axes->shape.element_count; ++i) {
    int64_t axis = leat_tensor_index_at(axes, i);
    reduced[axis < 0 ? axis + shape->rank : axis] = true;
  }
  for (int64_t i = 0; i < shape->element_count; ++i) {
    int64_t rest = i, offset = 0, stride = 1;
    for (int d = shape->rank - 1; d >= 0; --d) {
      int64_t size = leat_shape_dim(shape, d), coordinate = rest % size;
      rest /= size;
      if (reduced[d]) continue;
      offset += coordinate * stride;
      stride *= size;
    }
    r->out[0][offset] = combine(r->out[0][offset], r->in[0][i]);
  }
}
static void start(const leat_reference_t* r, double value) {
  for (int64_t i = 0; i < r->outputs[0].shape.element_count; ++i) r->out[0][i] = value;
}
static double plus(double a, double b) { return a + b; }
static double times(double a, double b) { return a * b; }
static double plus_square(double a, double b) { return a + b * b; }
static void sum(const leat_reference_t* r) {
  start(r, 0);
  fold(r, plus);
}
static void mean(const leat_reference_t* r) {
  sum(r);
  int64_t results = r->outputs[0].shape.element_count;
  for (int64_t i = 0; i < results; ++i) {
    r->out[0][i] *= (double)results / (double)r->inputs[0].shape.element_count;
  }
}
static void prod(const leat_reference_t* r) {
  start(r, 1);
  fold(r, times);
}
static void max(const leat_reference_t* r) {
  start(r, -INFINITY);
  fold(r, fmax);
}
static void min(const leat_reference_t* r) {
  start(r, INFINITY);
  fold(r, fmin);
}
static void norm(const leat_reference_t* r) {
  start(r, 0);
  fold(r, plus_square);
  for (int64_t i = 0; i < r->outputs[0].shape.element_count; ++i) {
    r->out[0][i] = sqrt(r->out[0][i]);
  }
}

#define AXES(count, ...) LEAT_ITEMS(INT32, LEAT_DIMS(count), __VA_ARGS__)
#define LONG_AXES(count, ...) LEAT_ITEMS(INT64, LEAT_DIMS(count), __VA_ARGS__)
#define X(...) LEAT_RANDOM(FLOAT, LEAT_DIMS(__VA_ARGS__), 0.5, 1.5)
#define OVER(op_name, reference_fn, gradient_check, ...)      \
  {.op = op_name,                                             \
   .inputs = {__VA_ARGS__},                                   \
   .types = LEAT_DTYPES_FLOATING,                             \
   .reference = reference_fn,                                 \
   .gradient = LEAT_GRADIENT_##gradient_check,                \
   .constant_inputs = 2}

static const leat_op_case_t kCases[] = {
    OVER("Sum", sum, TWICE, X(3, 4), AXES(1, 0)),
    OVER("Sum", sum, TWICE, X(3, 4), AXES(1, -1)),
    OVER("Sum", sum, ONCE, X(3, 4), AXES(2, 0, 1)),
    OVER("Sum", sum, ONCE, X(2, 3, 4), AXES(2, 0, 2)),
    OVER("Sum", sum, ONCE, X(2, 3, 4), AXES(1, 1)),
    OVER("Sum", sum, UNCHECKED, X(700, 3), AXES(1, 0)),
    OVER("Sum", sum, UNCHECKED, X(3, 700), AXES(1, 1)),
    OVER("Sum", sum, UNCHECKED, X(130, 600), AXES(1, 0)),
    OVER("Sum", sum, UNCHECKED, X(9, 5, 70), AXES(2, 0, 2)),
    OVER("Sum", sum, UNCHECKED, X(5, 3, 2, 3, 2), AXES(3, 0, 2, 4)),
    OVER("Sum", sum, UNCHECKED, X(1, 3, 1), AXES(2, 0, 2)),
    OVER("Mean", mean, TWICE, X(3, 4), AXES(1, 0)),
    OVER("Mean", mean, ONCE, X(3, 4), AXES(2, 0, 1)),
    OVER("Prod", prod, ONCE, X(3, 4), AXES(1, 1)),
    OVER("Max", max, ONCE, X(3, 40), AXES(1, 1)),
    OVER("Max", max, ONCE, X(30, 4), AXES(1, 0)),
    OVER("Min", min, ONCE, X(3, 40), AXES(1, 1)),
    OVER("EuclideanNorm", norm, TWICE, X(3, 4), AXES(1, 1)),
    {.op = "Sum",
     .name = "keeps dimensions",
     .attrs = {LEAT_CASE_BOOL("keep_dims", true)},
     .inputs = {LEAT_ITEMS(DOUBLE, LEAT_DIMS(2, 3), 1, 2, 3, 4, 5, 6), AXES(1, 1)},
     .expected = {LEAT_ITEMS(DOUBLE, LEAT_DIMS(2, 1), 6, 15)},
     .gradient = LEAT_GRADIENT_TWICE,
     .constant_inputs = 2},
    {.op = "Sum",
     .name = "chunks",
     .inputs = {LEAT_RANDOM(FLOAT, LEAT_DIMS(200001), 0, 1), AXES(1, 0)},
     .types = LEAT_DTYPE_BIT(FLOAT) | LEAT_DTYPE_BIT(DOUBLE) | LEAT_DTYPE_BIT(INT64),
     .reference = sum},
    {.op = "Sum",
     .name = "chunks of rows",
     .inputs = {LEAT_RANDOM(FLOAT, LEAT_DIMS(70000, 3), 0, 1), AXES(1, 0)},
     .reference = sum},
    {.op = "Sum",
     .name = "integers",
     .inputs = {LEAT_RANDOM(INT32, LEAT_DIMS(4, 5), 0, 6), LONG_AXES(1, 0)},
     .types = LEAT_DTYPES_INTEGER,
     .reference = sum},
    {.op = "Max",
     .name = "integers",
     .inputs = {LEAT_RANDOM(INT32, LEAT_DIMS(4, 50), 0, 90), LONG_AXES(1, 1)},
     .types = LEAT_DTYPES_INTEGER,
     .reference = max},
    {.op = "Sum",
     .name = "complex",
     .inputs = {LEAT_ITEMS(COMPLEX64, LEAT_DIMS(3), 1, 2, 3, 4, 5, -6), AXES(1, 0)},
     .types = LEAT_DTYPES_COMPLEX,
     .expected = {LEAT_ITEMS(COMPLEX64, LEAT_SCALAR_DIMS, 9, 0)}},
    {.op = "Max",
     .name = "not a number",
     .inputs = {LEAT_ITEMS(FLOAT, LEAT_DIMS(3), 1, NAN, 2), AXES(1, 0)},
     .expected = {LEAT_SCALAR_ITEM(FLOAT, NAN)}},
    {.op = "Sum",
     .name = "of nothing",
     .inputs = {LEAT_NO_ITEMS(FLOAT, LEAT_DIMS(2, 0)), AXES(1, 1)},
     .types = LEAT_DTYPES_REAL,
     .expected = {LEAT_ITEMS(FLOAT, LEAT_DIMS(2), 0, 0)}},
    {.op = "Mean",
     .name = "of nothing",
     .inputs = {LEAT_NO_ITEMS(FLOAT, LEAT_DIMS(0)), AXES(1, 0)},
     .expected = {LEAT_SCALAR_ITEM(FLOAT, NAN)}},
    {.op = "Min",
     .name = "of nothing",
     .inputs = {LEAT_NO_ITEMS(FLOAT, LEAT_DIMS(0)), AXES(1, 0)},
     .expected = {LEAT_SCALAR_ITEM(FLOAT, INFINITY)}},
    {.op = "Sum",
     .name = "over no axes",
     .inputs = {LEAT_ITEMS(FLOAT, LEAT_DIMS(2), 1, 2), LEAT_NO_ITEMS(INT32, LEAT_DIMS(0))},
     .expected = {LEAT_ITEMS(FLOAT, LEAT_DIMS(2), 1, 2)}},
    {.op = "All",
     .inputs = {LEAT_ITEMS(BOOL, LEAT_DIMS(2, 2), 1, 0, 1, 1), AXES(1, 1)},
     .expected = {LEAT_ITEMS(BOOL, LEAT_DIMS(2), 0, 1)}},
    {.op = "Any",
     .inputs = {LEAT_ITEMS(BOOL, LEAT_DIMS(2, 2), 1, 0, 0, 0), AXES(1, 0)},
     .expected = {LEAT_ITEMS(BOOL, LEAT_DIMS(2), 1, 0)}},
    {.op = "Sum",
     .name = "an axis too many",
     .inputs = {X(2, 3), AXES(1, 2)},
     .code = LEAT_INVALID_ARGUMENT},
    {.op = "Sum",
     .name = "speed: all of 16 million",
     .inputs = {LEAT_RANDOM(FLOAT, LEAT_DIMS(1 << 24), 0, 1), AXES(1, 0)},
     .bench = true,
     .bench_only = true},
    {.op = "Sum",
     .name = "speed: the gradient of a bias",
     .inputs = {LEAT_RANDOM(FLOAT, LEAT_DIMS(4096, 256), 0, 1), AXES(1, 0)},
     .bench = true,
     .bench_only = true},
};

LEAT_OP_TEST_MAIN(kCases)
