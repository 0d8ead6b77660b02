// Random tensors: TensorFlow's numbers for TensorFlow's seeds, bounds, shapes, errors.
#include "op_harness/op_harness.h"

#define SEEDS LEAT_CASE_INT("seed", 87654321), LEAT_CASE_INT("seed2", 42)

// Within two deviations, and not all the same.
static void truncated_reference(const leat_reference_t* r) {
  for (int64_t i = 0; i < r->outputs[0].shape.element_count; ++i) {
    float x = leat_tensor_data(&r->outputs[0], float)[i];
    r->out[0][i] = x > -2 && x < 2 ? (double)x : 1e9;
  }
}

static const leat_op_case_t kCases[] = {
    {.op = "RandomUniform",
     .name = "RandomUniform empty",
     .attrs = {SEEDS, LEAT_CASE_TYPE("dtype", FLOAT)},
     .inputs = {LEAT_ITEMS(INT32, LEAT_DIMS(2), 0, 3)},
     .expected = {LEAT_NO_ITEMS(FLOAT, LEAT_DIMS(0, 3))}},
    {.op = "StatelessRandomUniformInt",
     .attrs = {LEAT_CASE_TYPE("dtype", INT32)},
     .inputs = {LEAT_ITEMS(INT32, LEAT_DIMS(1), 7), LEAT_ITEMS(INT32, LEAT_DIMS(2), 1, 2),
                LEAT_SCALAR_ITEM(INT32, 4), LEAT_SCALAR_ITEM(INT32, 5)},
     .expected = {LEAT_ITEMS(INT32, LEAT_DIMS(7), 4, 4, 4, 4, 4, 4, 4)}},
    {.op = "StatelessTruncatedNormal",
     .attrs = {LEAT_CASE_TYPE("dtype", FLOAT)},
     .inputs = {LEAT_ITEMS(INT32, LEAT_DIMS(2), 37, 101), LEAT_ITEMS(INT32, LEAT_DIMS(2), 1, 2)},
     .reference = truncated_reference},
    {.op = "RandomUniform",
     .attrs = {SEEDS, LEAT_CASE_TYPE("dtype", FLOAT)},
     .inputs = {LEAT_ITEMS(INT32, LEAT_DIMS(1), -3)},
     .code = LEAT_INVALID_ARGUMENT},
    {.op = "RandomUniform",
     .attrs = {SEEDS, LEAT_CASE_TYPE("dtype", FLOAT)},
     .inputs = {LEAT_ITEMS(INT64, LEAT_DIMS(3), 4e9, 4e9, 4e9)},
     .code = LEAT_INVALID_ARGUMENT},
    {.op = "RandomUniformInt",
     .attrs = {SEEDS},
     .inputs = {LEAT_ITEMS(INT32, LEAT_DIMS(1), 3), LEAT_SCALAR_ITEM(INT64, 5),
                LEAT_SCALAR_ITEM(INT64, 5)},
     .code = LEAT_INVALID_ARGUMENT,
     .message = "minval"},
    {.op = "StatelessRandomUniform",
     .attrs = {LEAT_CASE_TYPE("dtype", FLOAT)},
     .inputs = {LEAT_ITEMS(INT32, LEAT_DIMS(1), 3), LEAT_ITEMS(INT32, LEAT_DIMS(3), 1, 2, 3)},
     .code = LEAT_INVALID_ARGUMENT},
    {.op = "StatelessRandomUniform",
     .name = "uniform 16M",
     .attrs = {LEAT_CASE_TYPE("dtype", FLOAT)},
     .inputs = {LEAT_ITEMS(INT32, LEAT_DIMS(1), 16777216), LEAT_ITEMS(INT32, LEAT_DIMS(2), 1, 2)},
     .bench = true,
     .bench_only = true},
    {.op = "StatelessRandomNormal",
     .name = "normal 4M",
     .attrs = {LEAT_CASE_TYPE("dtype", FLOAT)},
     .inputs = {LEAT_ITEMS(INT32, LEAT_DIMS(1), 4194304), LEAT_ITEMS(INT32, LEAT_DIMS(2), 1, 2)},
     .bench = true,
     .bench_only = true},
    {.op = "StatelessTruncatedNormal",
     .name = "truncated 4M",
     .attrs = {LEAT_CASE_TYPE("dtype", FLOAT)},
     .inputs = {LEAT_ITEMS(INT32, LEAT_DIMS(1), 4194304), LEAT_ITEMS(INT32, LEAT_DIMS(2), 1, 2)},
     .bench = true,
     .bench_only = true},
};
LEAT_OP_TEST_MAIN(kCases)
