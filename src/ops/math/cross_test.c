// Cases of Cross.
#include "op_harness/op_harness.h"

static void cross_reference(const leat_reference_t* r) {
  const double *a = r->in[0], *b = r->in[1];
  for (int64_t i = 0; i < r->outputs[0].shape.element_count; ++i) {
    int64_t first = i - i % 3, next = first + (i + 1) % 3, last = first + (i + 2) % 3;
    r->out[0][i] = a[next] * b[last] - a[last] * b[next];
  }
}

static const leat_op_case_t kCases[] = {
    {.op = "Cross",
     .inputs = {LEAT_ITEMS(FLOAT, LEAT_DIMS(3), 1, 0, 0), LEAT_ITEMS(FLOAT, LEAT_DIMS(3), 0, 1, 0)},
     .expected = {LEAT_ITEMS(FLOAT, LEAT_DIMS(3), 0, 0, 1)}},
    {.op = "Cross",
     .name = "unsigned numbers wrap",
     .inputs = {LEAT_ITEMS(UINT8, LEAT_DIMS(3), 0, 0, 1), LEAT_ITEMS(UINT8, LEAT_DIMS(3), 0, 1, 0)},
     .expected = {LEAT_ITEMS(UINT8, LEAT_DIMS(3), 255, 0, 0)}},
    {.op = "Cross",
     .name = "many",
     .inputs = {LEAT_RANDOM(FLOAT, LEAT_DIMS(2, 5, 3), -4, 4),
                LEAT_RANDOM(FLOAT, LEAT_DIMS(2, 5, 3), -4, 4)},
     .types = LEAT_DTYPES_FLOATING | LEAT_DTYPES_SIGNED,
     .reference = cross_reference,
     .gradient = LEAT_GRADIENT_TWICE},
    {.op = "Cross",
     .name = "none",
     .inputs = {LEAT_NO_ITEMS(DOUBLE, LEAT_DIMS(0, 3)), LEAT_NO_ITEMS(DOUBLE, LEAT_DIMS(0, 3))},
     .expected = {LEAT_NO_ITEMS(DOUBLE, LEAT_DIMS(0, 3))}},
    {.op = "Cross",
     .name = "of scalars",
     .inputs = {LEAT_SCALAR_ITEM(FLOAT, 1), LEAT_SCALAR_ITEM(FLOAT, 2)},
     .code = LEAT_INVALID_ARGUMENT},
    {.op = "Cross",
     .name = "of different shapes",
     .inputs = {LEAT_RANDOM(FLOAT, LEAT_DIMS(2, 3), 0, 1), LEAT_RANDOM(FLOAT, LEAT_DIMS(3), 0, 1)},
     .code = LEAT_INVALID_ARGUMENT},
    {.op = "Cross",
     .name = "a million",
     .inputs = {LEAT_RANDOM(FLOAT, LEAT_DIMS(1000000, 3), -1, 1),
                LEAT_RANDOM(FLOAT, LEAT_DIMS(1000000, 3), -1, 1)},
     .reference = cross_reference,
     .bench = true,
     .bench_only = true},
};

LEAT_OP_TEST_MAIN(kCases)
