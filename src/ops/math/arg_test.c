// Cases of ArgMax and ArgMin.
#include <math.h>

#include "op_harness/op_harness.h"

static double value_at(const leat_reference_t* r, int64_t row, int64_t column, bool by_row) {
  int64_t width = leat_shape_dim(&r->inputs[0].shape, 1);
  return by_row ? r->in[0][row * width + column] : r->in[0][column * width + row];
}
// Of a matrix, along dimension 1 or 0.
static void search(const leat_reference_t* r, bool is_max) {
  bool by_row = leat_tensor_index_at(&r->inputs[1], 0) == 1;
  int64_t n = leat_shape_dim(&r->inputs[0].shape, by_row ? 1 : 0);
  for (int64_t i = 0; i < r->outputs[0].shape.element_count; ++i) {
    int64_t best = 0;
    for (int64_t j = 1; j < n; ++j) {
      double value = value_at(r, i, j, by_row), champion = value_at(r, i, best, by_row);
      if (is_max ? value > champion : value < champion) best = j;
    }
    r->out[0][i] = (double)best;
  }
}
static void search_max(const leat_reference_t* r) { search(r, true); }
static void search_min(const leat_reference_t* r) { search(r, false); }

#define ALONG(op_name, reference_fn, axis, ...)                                          \
  {.op = op_name,                                                                        \
   .inputs = {LEAT_RANDOM(FLOAT, LEAT_DIMS(__VA_ARGS__), 0, 100), LEAT_SCALAR_ITEM(INT64, axis)}, \
   .types = LEAT_DTYPES_FLOATING | LEAT_DTYPE_BIT(INT32) | LEAT_DTYPE_BIT(UINT8),        \
   .reference = reference_fn}

static const leat_op_case_t kCases[] = {
    ALONG("ArgMax", search_max, 1, 3, 5),
    ALONG("ArgMax", search_max, 1, 3, 1000),
    ALONG("ArgMax", search_max, 0, 300, 7),
    ALONG("ArgMax", search_max, 0, 5, 600),
    ALONG("ArgMin", search_min, 1, 3, 1000),
    ALONG("ArgMin", search_min, 0, 300, 7),
    {.op = "ArgMax",
     .name = "the first of equal ones, as int32",
     .attrs = {LEAT_CASE_TYPE("output_type", INT32)},
     .inputs = {LEAT_ITEMS(INT8, LEAT_DIMS(4), 1, 7, 7, 2), LEAT_SCALAR_ITEM(INT32, -1)},
     .expected = {LEAT_SCALAR_ITEM(INT32, 1)}},
    {.op = "ArgMax",
     .name = "not a number loses",
     .inputs = {LEAT_ITEMS(FLOAT, LEAT_DIMS(4), NAN, 1, NAN, 0), LEAT_SCALAR_ITEM(INT32, 0)},
     .types = LEAT_DTYPES_FLOATING,
     .expected = {LEAT_SCALAR_ITEM(INT64, 1)}},
    {.op = "ArgMax",
     .name = "nothing to choose from",
     .inputs = {LEAT_NO_ITEMS(FLOAT, LEAT_DIMS(2, 0)), LEAT_SCALAR_ITEM(INT32, 1)},
     .code = LEAT_INVALID_ARGUMENT},
    {.op = "ArgMin",
     .name = "no such dimension",
     .inputs = {LEAT_RANDOM(FLOAT, LEAT_DIMS(2, 2), 0, 1), LEAT_SCALAR_ITEM(INT32, 2)},
     .code = LEAT_INVALID_ARGUMENT},
};

LEAT_OP_TEST_MAIN(kCases)
