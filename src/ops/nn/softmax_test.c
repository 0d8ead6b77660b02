// Cases of Softmax and LogSoftmax.
#include <math.h>

#include "op_harness/op_harness.h"

static void rows_reference(const leat_reference_t* r, bool is_logarithm) {
  const leat_shape_t* shape = &r->outputs[0].shape;
  const int64_t n = leat_shape_dim(shape, shape->rank - 1);
  for (int64_t row = 0; row < shape->element_count; row += n) {
    const double* x = r->in[0] + row;
    double most = x[0], sum = 0;
    for (int64_t i = 1; i < n; ++i) most = x[i] > most ? x[i] : most;
    for (int64_t i = 0; i < n; ++i) sum += exp(x[i] - most);
    for (int64_t i = 0; i < n; ++i) {
      const double y = x[i] - most - log(sum);
      r->out[0][row + i] = is_logarithm ? y : exp(y);
    }
  }
}
static void softmax_reference(const leat_reference_t* r) { rows_reference(r, false); }
static void log_softmax_reference(const leat_reference_t* r) { rows_reference(r, true); }

#define X(...) LEAT_RANDOM(FLOAT, LEAT_DIMS(__VA_ARGS__), -6, 6)
#define CASES(NAME, fn)                                                                       \
  {.op = NAME, .inputs = {X(4, 5)}, .types = LEAT_DTYPES_FLOATING, .reference = fn,           \
   .gradient = LEAT_GRADIENT_TWICE},                                                          \
  {.op = NAME, .name = "vector", .inputs = {X(9)}, .reference = fn,                         \
   .gradient = LEAT_GRADIENT_ONCE},                                                           \
  {.op = NAME, .name = "batch", .inputs = {X(2, 3, 70)}, .reference = fn},                  \
  {.op = NAME, .name = "long rows", .inputs = {X(3, 2051)}, .reference = fn},               \
  {.op = NAME, .name = "one column", .inputs = {X(3, 1)}, .reference = fn},                 \
  {.op = NAME, .name = "large", .inputs = {LEAT_ITEMS(FLOAT, LEAT_DIMS(3), 1e4, -1e4, 1e4)},  \
   .reference = fn},                                                                        \
  {.op = NAME, .name = "none", .inputs = {LEAT_NO_ITEMS(FLOAT, LEAT_DIMS(0, 3))},             \
   .expected = {LEAT_NO_ITEMS(FLOAT, LEAT_DIMS(0, 3))}},                                      \
  {.op = NAME, .name = "scalar", .inputs = {LEAT_SCALAR_ITEM(FLOAT, 1)},                      \
   .code = LEAT_INVALID_ARGUMENT}

static const leat_op_case_t kCases[] = {
    CASES("Softmax", softmax_reference),
    CASES("LogSoftmax", log_softmax_reference),
    {.op = "Softmax",
     .name = "NaN spoils its row alone",
     .inputs = {LEAT_ITEMS(FLOAT, LEAT_DIMS(2, 2), NAN, 1, 3, 3)},
     .expected = {LEAT_ITEMS(FLOAT, LEAT_DIMS(2, 2), NAN, NAN, 0.5, 0.5)}},
    {.op = "Softmax", .name = "4096 x 1024", .inputs = {X(4096, 1024)},
     .reference = softmax_reference, .bench = true, .bench_only = true},
    {.op = "Softmax", .name = "ten classes", .inputs = {X(128, 10)},
     .reference = softmax_reference, .bench = true, .bench_only = true},
    {.op = "LogSoftmax", .name = "4096 x 1024", .inputs = {X(4096, 1024)},
     .reference = log_softmax_reference, .bench = true, .bench_only = true},
};

LEAT_OP_TEST_MAIN(kCases)
