// Cases of counting ops.
#include "op_harness/op_harness.h"

#define V(DTYPE, count, ...) LEAT_ITEMS(DTYPE, LEAT_DIMS(count), __VA_ARGS__)
#define N(value) LEAT_SCALAR_ITEM(INT32, value)
#define NO_WEIGHTS LEAT_NO_ITEMS(FLOAT, LEAT_DIMS(0))

static const leat_op_case_t kCases[] = {
    {.op = "Bincount",
     .inputs = {V(INT32, 5, 0, 2, 2, 9, 1), N(4), NO_WEIGHTS},
     .expected = {V(FLOAT, 4, 1, 1, 2, 0)}},
    {.op = "Bincount",
     .name = "weighted",
     .inputs = {V(INT32, 3, 0, 2, 2), N(3), V(INT64, 3, 5, 6, 7)},
     .expected = {V(INT64, 3, 5, 0, 13)}},
    {.op = "Bincount",
     .name = "negative",
     .inputs = {V(INT32, 2, 0, -1), N(3), NO_WEIGHTS},
     .code = LEAT_INVALID_ARGUMENT},
    {.op = "Bincount",
     .name = "weights of another count",
     .inputs = {V(INT32, 2, 0, 1), N(3), V(FLOAT, 3, 1, 1, 1)},
     .code = LEAT_INVALID_ARGUMENT},
    {.op = "Bincount",
     .name = "a negative size",
     .inputs = {V(INT32, 2, 0, 1), N(-1), NO_WEIGHTS},
     .code = LEAT_INVALID_ARGUMENT},
    {.op = "DenseBincount",
     .attrs = {LEAT_CASE_BOOL("binary_output", true)},
     .inputs = {LEAT_ITEMS(INT32, LEAT_DIMS(2, 2), 0, 0, 1, 5), N(2), NO_WEIGHTS},
     .expected = {LEAT_ITEMS(FLOAT, LEAT_DIMS(2, 2), 1, 0, 0, 1)}},
    {.op = "SparseBincount",
     .inputs = {LEAT_ITEMS(INT64, LEAT_DIMS(2, 2), 0, 1, 1, 3), V(INT32, 2, 1, 0),
                V(INT64, 2, 2, 4), N(2), NO_WEIGHTS},
     .expected = {LEAT_ITEMS(FLOAT, LEAT_DIMS(2, 2), 0, 1, 1, 0)}},
    {.op = "SparseBincount",
     .name = "an index outside",
     .inputs = {LEAT_ITEMS(INT64, LEAT_DIMS(1, 2), 2, 1), V(INT32, 1, 1), V(INT64, 2, 2, 4), N(2),
                NO_WEIGHTS},
     .code = LEAT_INVALID_ARGUMENT},
    {.op = "RaggedBincount",
     .inputs = {V(INT64, 4, 0, 2, 2, 3), V(INT32, 3, 1, 1, 0), N(2), NO_WEIGHTS},
     .expected = {LEAT_ITEMS(FLOAT, LEAT_DIMS(3, 2), 0, 2, 0, 0, 1, 0)}},
    {.op = "RaggedBincount",
     .name = "splits that end elsewhere",
     .inputs = {V(INT64, 2, 0, 2), V(INT32, 3, 1, 1, 0), N(2), NO_WEIGHTS},
     .code = LEAT_INVALID_ARGUMENT},
};

LEAT_OP_TEST_MAIN(kCases)
