// Cases of AddN and AccumulateNV2.
#include "op_harness/op_harness.h"

static void sum(const leat_reference_t* r) {
  for (int64_t i = 0; i < r->outputs[0].shape.element_count; ++i) {
    r->out[0][i] = 0;
    for (int k = 0; k < r->input_count; ++k) r->out[0][i] += r->in[k][i];
  }
}
#define X(...) LEAT_RANDOM(FLOAT, LEAT_DIMS(__VA_ARGS__), 0, 9)

static const leat_op_case_t kCases[] = {
    {.op = "AddN",
     .inputs = {X(3, 2), X(3, 2), X(3, 2)},
     .types = LEAT_DTYPES_REAL,
     .reference = sum,
     .gradient = LEAT_GRADIENT_ONCE},
    {.op = "AddN", .name = "one", .inputs = {X(3)}, .reference = sum},
    {.op = "AddN",
     .name = "more than a block",
     .inputs = {X(5000), X(5000), X(5000), X(5000)},
     .types = LEAT_DTYPES_FLOATING,
     .reference = sum},
    {.op = "AddN",
     .name = "scalars",
     .inputs = {LEAT_SCALAR_ITEM(FLOAT, 1), LEAT_SCALAR_ITEM(FLOAT, 2), LEAT_SCALAR_ITEM(FLOAT, 3)},
     .reference = sum},
    {.op = "AccumulateNV2",
     .attrs = {LEAT_CASE_SHAPE("shape", 2)},
     .inputs = {X(2), X(2)},
     .reference = sum},
    {.op = "AddN",
     .name = "shapes that differ",
     .inputs = {X(3), X(1)},
     .code = LEAT_INVALID_ARGUMENT},
};

LEAT_OP_TEST_MAIN(kCases)
