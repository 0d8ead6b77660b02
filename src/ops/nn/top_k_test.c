// TopKV2, NthElement and InTopKV2. Among equal values the one with the lower index comes first,
// which the reference states by counting for each element how many come before it. One value, all
// values and a few of many are cases of their own, because kernels choose another algorithm for
// them. With sorted = false the order is that of TensorFlow's heap, which programs should not rely
// on and do, so that it is compared too. In InTopKV2 a class out of range and a row with a NaN give
// false and no error.
#include <math.h>

#include "op_harness/op_harness.h"

#define K(value) LEAT_SCALAR_ITEM(INT32, value)
#define ROWS LEAT_ITEMS(FLOAT, LEAT_DIMS(2, 4), 3, 1, 4, 1, 5, 9, 2, 6)

// Values in descending order, the lower index first among equals.
static void top_reference(const leat_reference_t* r) {
  const leat_shape_t *in = &r->inputs[0].shape, *out = &r->outputs[0].shape;
  const int64_t n = leat_shape_dim(in, in->rank - 1), k = leat_shape_dim(out, out->rank - 1);
  for (int64_t row = 0; row < in->element_count / n; ++row) {
    const double* x = r->in[0] + row * n;
    for (int64_t i = 0; i < n; ++i) {
      int64_t place = 0;
      for (int64_t j = 0; j < n; ++j) place += x[j] > x[i] || (x[j] == x[i] && j < i);
      if (place >= k) continue;
      r->out[0][row * k + place] = x[i];
      r->out[1][row * k + place] = (double)i;
    }
  }
}

static const leat_op_case_t kCases[] = {
    {.op = "ApproxTopK",
     .inputs = {ROWS},
     .attrs = {LEAT_CASE_INT("k", 2)},
     .types = LEAT_DTYPE_BIT(HALF) | LEAT_DTYPE_BIT(BFLOAT16),
     .reference = top_reference},
    {.op = "ApproxTopK",
     .name = "ApproxTopK, the smallest",
     .inputs = {ROWS},
     .attrs = {LEAT_CASE_INT("k", 2), LEAT_CASE_BOOL("is_max_k", false)},
     .code = LEAT_INVALID_ARGUMENT,
     .message = "is_max_k is false"},
    {.op = "ApproxTopK",
     .name = "ApproxTopK, a scalar",
     .inputs = {LEAT_SCALAR_ITEM(FLOAT, 1)},
     .attrs = {LEAT_CASE_INT("k", 0)},
     .code = LEAT_INVALID_ARGUMENT},
    {.op = "TopKV2",
     .inputs = {ROWS, K(2)},
     .types = LEAT_DTYPES_REAL,
     .reference = top_reference},
    {.op = "TopKV2", .name = "all", .inputs = {ROWS, K(4)}, .reference = top_reference},
    {.op = "TopKV2",
     .name = "one",
     .inputs = {LEAT_RANDOM(FLOAT, LEAT_DIMS(7, 100), -9, 9), K(1)},
     .reference = top_reference},
    {.op = "TopKV2",
     .name = "many of equal ones",
     .inputs = {LEAT_RANDOM(INT32, LEAT_DIMS(3, 200), 0, 20), K(150)},
     .reference = top_reference},
    {.op = "TopKV2",  // the order is that of TensorFlow's heap
     .name = "unsorted",
     .attrs = {LEAT_CASE_BOOL("sorted", false)},
     .inputs = {LEAT_ITEMS(FLOAT, LEAT_DIMS(2, 8), 5, 1, 4, 9, 3, 7, 2, 8, 1, 2, 3, 4, 5, 6, 7, 8),
                K(3)},
     .expected = {LEAT_ITEMS(FLOAT, LEAT_DIMS(2, 3), 7, 9, 8, 6, 7, 8),
                  LEAT_ITEMS(INT32, LEAT_DIMS(2, 3), 5, 3, 7, 5, 6, 7)}},
    {.op = "TopKV2",
     .name = "none",
     .inputs = {ROWS, K(0)},
     .expected = {LEAT_NO_ITEMS(FLOAT, LEAT_DIMS(2, 0)), LEAT_NO_ITEMS(INT32, LEAT_DIMS(2, 0))}},
    {.op = "TopKV2", .name = "too many", .inputs = {ROWS, K(5)}, .code = LEAT_INVALID_ARGUMENT},
    {.op = "TopKV2", .name = "a negative number", .inputs = {ROWS, K(-1)},
     .code = LEAT_INVALID_ARGUMENT},
    {.op = "TopKV2", .name = "of a scalar", .inputs = {LEAT_SCALAR_ITEM(FLOAT, 1), K(1)},
     .code = LEAT_INVALID_ARGUMENT},
    {.op = "NthElement",
     .inputs = {ROWS, K(1)},
     .expected = {LEAT_ITEMS(FLOAT, LEAT_DIMS(2), 1, 5)},
     .types = LEAT_DTYPES_REAL,
     .gradient = LEAT_GRADIENT_ONCE},
    {.op = "NthElement",
     .name = "from the top",
     .attrs = {LEAT_CASE_BOOL("reverse", true)},
     .inputs = {ROWS, K(1)},
     .expected = {LEAT_ITEMS(FLOAT, LEAT_DIMS(2), 3, 6)}},
    {.op = "NthElement", .name = "past the end", .inputs = {ROWS, K(4)},
     .code = LEAT_INVALID_ARGUMENT},
    {.op = "InTopKV2",
     .inputs = {ROWS, LEAT_ITEMS(INT32, LEAT_DIMS(2), 0, 2), K(2)},
     .expected = {LEAT_ITEMS(BOOL, LEAT_DIMS(2), 1, 0)}},
    {.op = "InTopKV2",
     .name = "no class, NaN",
     .inputs = {LEAT_ITEMS(FLOAT, LEAT_DIMS(2, 2), 1, 2, NAN, 1),
                LEAT_ITEMS(INT32, LEAT_DIMS(2), 7, 1), K(2)},
     .expected = {LEAT_ITEMS(BOOL, LEAT_DIMS(2), 0, 0)}},
    {.op = "TopKV2",
     .name = "10 of 10000",
     .inputs = {LEAT_RANDOM(FLOAT, LEAT_DIMS(64, 10000), -9, 9), K(10)},
     .reference = top_reference,
     .bench = true,
     .bench_only = true},
};

LEAT_OP_TEST_MAIN(kCases)
