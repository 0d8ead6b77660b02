// Cases of IsotonicRegression, which makes the numbers of a row non-increasing by replacing runs of
// them with their means. Small rows have results that are worked out by hand: pools, equal numbers,
// NaN, integers, and halves whose sums are rounded. Random rows are compared with the min-max
// formula below, which needs no pools and so cannot share a mistake with the kernel; their
// gradient, and its own gradient, are compared with finite differences. The cases catch pools that
// are not merged again after a merge, equal numbers that are pooled, numbers of segments that do
// not fall together with the pools, and rows that are mixed up. TensorFlow 2.21 gives the same
// results for all literal rows, also where the rounding of halves decides what is pooled.
#include <math.h>

#include "op_harness/op_harness.h"

// Of each row the sequence whose element i is the least, over all beginnings up to i, of the
// greatest mean over all ends from i on: the min-max formula, which needs no pools.
static void isotonic_reference(const leat_reference_t* r) {
  const leat_shape_t* shape = &r->inputs[0].shape;
  const int64_t n = leat_shape_dim(shape, shape->rank - 1);
  for (int64_t row = 0; row < shape->element_count / n; ++row) {
    const double* x = r->in[0] + row * n;
    for (int64_t i = 0; i < n; ++i) {
      double value = INFINITY;
      for (int64_t begin = 0; begin <= i; ++begin) {
        double most = -INFINITY, sum = 0;
        for (int64_t end = begin; end < n; ++end) {
          sum += x[end];
          if (end >= i) most = fmax(most, sum / (double)(end - begin + 1));
        }
        value = fmin(value, most);
      }
      r->out[0][row * n + i] = value;
      const double* before = &r->out[0][row * n + i - 1];
      r->out[1][row * n + i] =
          i == 0 ? 0 : r->out[1][row * n + i - 1] + (fabs(*before - value) > 1e-9);
    }
  }
}

#define ROWS(...) LEAT_ITEMS(FLOAT, LEAT_DIMS(2, 5), __VA_ARGS__)
#define SEGMENTS(...) LEAT_ITEMS(INT32, LEAT_DIMS(2, 5), __VA_ARGS__)
#define ROW(...) LEAT_ITEMS(FLOAT, LEAT_DIMS(4), __VA_ARGS__)
#define PARTS(...) LEAT_ITEMS(INT32, LEAT_DIMS(4), __VA_ARGS__)

static const leat_op_case_t kCases[] = {
    {.op = "IsotonicRegression",
     .name = "pools",
     .inputs = {ROWS(3, 1, 2, 4, 3, 5, 4, 3, 2, 1)},
     .expected = {ROWS(3, 2.5, 2.5, 2.5, 2.5, 5, 4, 3, 2, 1),
                  SEGMENTS(0, 1, 1, 1, 1, 0, 1, 2, 3, 4)}},
    {.op = "IsotonicRegression",
     .name = "equal numbers are not pooled",
     .inputs = {ROW(3, 3, 1, 1)},
     .expected = {ROW(3, 3, 1, 1), PARTS(0, 1, 2, 3)}},
    {.op = "IsotonicRegression",
     .name = "NaN stays alone",
     .inputs = {ROW(1, NAN, 2, 3)},
     .expected = {ROW(1, NAN, 2.5, 2.5), PARTS(0, 1, 2, 2)}},
    {.op = "IsotonicRegression",
     .name = "a scalar",
     .inputs = {LEAT_SCALAR_ITEM(FLOAT, 3)},
     .expected = {LEAT_SCALAR_ITEM(FLOAT, 3), LEAT_SCALAR_ITEM(INT32, 0)}},
    {.op = "IsotonicRegression",
     .name = "rows of nothing",
     .inputs = {LEAT_NO_ITEMS(FLOAT, LEAT_DIMS(2, 0))},
     .expected = {LEAT_NO_ITEMS(FLOAT, LEAT_DIMS(2, 0)), LEAT_NO_ITEMS(INT32, LEAT_DIMS(2, 0))}},
    {.op = "IsotonicRegression",
     .name = "sums are halves",  // 1000 + 1000.5 + 1001 is 3000, whose third is below 1000.5
     .attrs = {LEAT_CASE_TYPE("output_dtype", HALF)},
     .inputs = {LEAT_ITEMS(HALF, LEAT_DIMS(4), 1000, 1000.5, 1001, 1000.5)},
     .expected = {LEAT_ITEMS(HALF, LEAT_DIMS(4), 1000, 1000, 1000, 1000), PARTS(0, 0, 0, 0)}},
    {.op = "IsotonicRegression",
     .name = "integers",
     .attrs = {LEAT_CASE_TYPE("output_dtype", DOUBLE)},
     .inputs = {LEAT_ITEMS(INT64, LEAT_DIMS(4), 1, 4, 2, 3)},
     .expected = {LEAT_ITEMS(DOUBLE, LEAT_DIMS(4), 2.5, 2.5, 2.5, 2.5), PARTS(0, 0, 1, 1)}},
    {.op = "IsotonicRegression",
     .name = "many rows",
     .attrs = {LEAT_CASE_TYPE("output_dtype", DOUBLE)},
     .inputs = {LEAT_RANDOM(DOUBLE, LEAT_DIMS(3, 4, 9), -5, 5)},
     .reference = isotonic_reference,
     .gradient = LEAT_GRADIENT_TWICE},
    {.op = "IsotonicRegression",
     .name = "the gradient of a scalar",
     .attrs = {LEAT_CASE_TYPE("output_dtype", DOUBLE)},
     .inputs = {LEAT_SCALAR_ITEM(DOUBLE, 3)},
     .gradient = LEAT_GRADIENT_ONCE},
    {.op = "IsotonicRegression",
     .name = "no kernel gives half for float",
     .attrs = {LEAT_CASE_TYPE("output_dtype", HALF)},
     .inputs = {ROW(1, 2, 3, 4)},
     .code = LEAT_NOT_FOUND},
};
LEAT_OP_TEST_MAIN(kCases)
