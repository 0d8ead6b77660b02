// Optimizers: one step of each form, errors, repeated rows, speed.
#include "op_harness/op_harness.h"

#define MANY(kind) \
  {.dtype = LEAT_DTYPE_FLOAT, LEAT_DIMS(4194304), .low = 0, .high = 1, .role = (kind)}
#define S(value) LEAT_SCALAR_ITEM(FLOAT, value)

static const leat_op_case_t kCases[] = {
    {.op = "ApplyGradientDescent",
     .inputs = {LEAT_REFERENCE_TO(FLOAT, LEAT_DIMS(3), 1, 2, 3), S(0.5),
                LEAT_ITEMS(FLOAT, LEAT_DIMS(3), 2, 0, -2)},
     .types = LEAT_DTYPE_BIT(FLOAT) | LEAT_DTYPE_BIT(DOUBLE) | LEAT_DTYPE_BIT(HALF) |
              LEAT_DTYPE_BIT(BFLOAT16),
     .after = {LEAT_ITEMS(FLOAT, LEAT_DIMS(3), 0, 2, 4)}},
    {.op = "ResourceApplyGradientDescent",
     .inputs = {LEAT_HANDLE_OF(FLOAT, LEAT_DIMS(3), 1, 2, 3), S(0.5),
                LEAT_ITEMS(FLOAT, LEAT_DIMS(3), 2, 0, -2)},
     .after = {LEAT_ITEMS(FLOAT, LEAT_DIMS(3), 0, 2, 4)}},
    {.op = "ApplyMomentum",
     .attrs = {LEAT_CASE_BOOL("use_nesterov", true)},
     .inputs = {LEAT_REFERENCE_TO(FLOAT, LEAT_DIMS(2), 1, 2),
                LEAT_REFERENCE_TO(FLOAT, LEAT_DIMS(2), 4, 8), S(0.5),
                LEAT_ITEMS(FLOAT, LEAT_DIMS(2), 2, 4), S(0.5)},
     .after = {LEAT_ITEMS(FLOAT, LEAT_DIMS(2), -1, -2), LEAT_ITEMS(FLOAT, LEAT_DIMS(2), 4, 8)}},
    {.op = "ResourceApplyAdam",
     .inputs = {LEAT_HANDLE_OF(FLOAT, LEAT_DIMS(1), 1), LEAT_HANDLE_OF(FLOAT, LEAT_DIMS(1), 0),
                LEAT_HANDLE_OF(FLOAT, LEAT_DIMS(1), 0), S(0.5), S(0.75), S(0.25), S(0.5), S(0.75),
                S(0), LEAT_ITEMS(FLOAT, LEAT_DIMS(1), 2)},
     .after = {LEAT_ITEMS(FLOAT, LEAT_DIMS(1), 0.75), LEAT_ITEMS(FLOAT, LEAT_DIMS(1), 1),
               LEAT_ITEMS(FLOAT, LEAT_DIMS(1), 1)}},
    {.op = "SparseApplyAdagrad",
     .name = "SparseApplyAdagrad, a row twice",
     .inputs = {LEAT_REFERENCE_TO(FLOAT, LEAT_DIMS(3, 2), 1, 1, 2, 2, 3, 3),
                LEAT_REFERENCE_TO(FLOAT, LEAT_DIMS(3, 2), 0, 0, 9, 9, 0, 0), S(1),
                LEAT_ITEMS(FLOAT, LEAT_DIMS(2, 2), 4, 4, 12, 12),
                LEAT_ITEMS(INT32, LEAT_DIMS(2), 1, 1)},
     .after = {LEAT_ITEMS(FLOAT, LEAT_DIMS(3, 2), 1, 1, 0.276923077, 0.276923077, 3, 3),
               LEAT_ITEMS(FLOAT, LEAT_DIMS(3, 2), 0, 0, 169, 169, 0, 0)}},
    {.op = "SparseApplyAdagrad",
     .name = "SparseApplyAdagrad, a row that is not",
     .inputs = {LEAT_REFERENCE_TO(FLOAT, LEAT_DIMS(2, 1), 1, 1),
                LEAT_REFERENCE_TO(FLOAT, LEAT_DIMS(2, 1), 1, 1), S(1),
                LEAT_ITEMS(FLOAT, LEAT_DIMS(1, 1), 4), LEAT_ITEMS(INT32, LEAT_DIMS(1), 2)},
     .code = LEAT_INVALID_ARGUMENT,
     .message = "out of range"},
    {.op = "ApplyAdagrad",
     .inputs = {LEAT_REFERENCE_TO(FLOAT, LEAT_DIMS(2), 1, 1),
                LEAT_REFERENCE_TO(FLOAT, LEAT_DIMS(2), 1, 1), S(1),
                LEAT_ITEMS(FLOAT, LEAT_DIMS(3), 1, 2, 3)},
     .code = LEAT_INVALID_ARGUMENT},
    {.op = "ApplyAdam",
     .name = "adam 4M",
     .inputs = {MANY(LEAT_CASE_REFERENCE), MANY(LEAT_CASE_REFERENCE), MANY(LEAT_CASE_REFERENCE),
                S(0.5), S(0.75), S(0.25), S(0.5), S(0.75), S(0), MANY(LEAT_CASE_VALUE)},
     .bench = true,
     .bench_only = true},
};
LEAT_OP_TEST_MAIN(kCases)
