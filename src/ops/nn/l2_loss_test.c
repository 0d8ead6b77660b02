// Cases of L2Loss.
#include "op_harness/op_harness.h"

static void reference(const leat_reference_t* r) {
  r->out[0][0] = 0;
  for (int64_t i = 0; i < r->inputs[0].shape.element_count; ++i) {
    r->out[0][0] += r->in[0][i] * r->in[0][i] / 2;
  }
}
#define X(...) LEAT_RANDOM(FLOAT, LEAT_DIMS(__VA_ARGS__), -1, 1)

static const leat_op_case_t kCases[] = {
    {.op = "L2Loss",
     .inputs = {X(3, 5)},
     .types = LEAT_DTYPES_FLOATING,
     .reference = reference,
     .gradient = LEAT_GRADIENT_TWICE},
    {.op = "L2Loss", .name = "scalar", .inputs = {LEAT_SCALAR_ITEM(FLOAT, 3)},
     .expected = {LEAT_SCALAR_ITEM(FLOAT, 4.5)}},
    {.op = "L2Loss", .name = "none", .inputs = {LEAT_NO_ITEMS(FLOAT, LEAT_DIMS(0))},
     .expected = {LEAT_SCALAR_ITEM(FLOAT, 0)}},
    {.op = "L2Loss", .name = "many", .inputs = {X(100003)}, .reference = reference,
     .tolerance = 1e-5},
    {.op = "L2Loss", .name = "a million", .inputs = {X(1 << 20)}, .reference = reference,
     .bench = true, .bench_only = true},
};

LEAT_OP_TEST_MAIN(kCases)
