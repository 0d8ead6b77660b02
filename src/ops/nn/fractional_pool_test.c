// Cases of the fractional pools; the random sequences are checked by recorded cases.
#include "op_harness/op_harness.h"

#define X(...) LEAT_RANDOM(FLOAT, LEAT_DIMS(__VA_ARGS__), -2, 2)
#define SEQUENCE(...) LEAT_ITEMS(INT64, LEAT_DIMS(3), __VA_ARGS__)
#define SEEDED LEAT_CASE_BOOL("deterministic", true), LEAT_CASE_INT("seed", 7)
#define RATIOS(y, x) LEAT_CASE_FLOATS("pooling_ratio", 1, y, x, 1)
#define OVERLAPPING {LEAT_CASE_BOOL("overlapping", true)}

static const leat_op_case_t kCases[] = {
    {.op = "FractionalMaxPool",
     .name = "a ratio below 1",
     .attrs = {RATIOS(0.5, 2), SEEDED},
     .inputs = {X(1, 4, 4, 1)},
     .code = LEAT_INVALID_ARGUMENT},
    {.op = "FractionalAvgPool",
     .name = "over the batch",
     .attrs = {LEAT_CASE_FLOATS("pooling_ratio", 2, 1, 1, 1), SEEDED},
     .inputs = {X(2, 4, 4, 1)},
     .code = LEAT_UNIMPLEMENTED},
    {.op = "FractionalMaxPool",
     .name = "a seed that is not used",
     .attrs = {RATIOS(2, 2), LEAT_CASE_INT("seed", 7)},
     .inputs = {X(1, 4, 4, 1)},
     .code = LEAT_INVALID_ARGUMENT},
    {.op = "FractionalAvgPoolGrad",
     .inputs = {LEAT_ITEMS(INT64, LEAT_DIMS(4), 1, 3, 2, 1),
                LEAT_ITEMS(FLOAT, LEAT_DIMS(1, 2, 2, 1), 1, 2, 4, 8), SEQUENCE(0, 1, 3),
                SEQUENCE(0, 1, 2)},
     .expected = {LEAT_ITEMS(FLOAT, LEAT_DIMS(1, 3, 2, 1), 1, 2, 2, 4, 2, 4)}},
    {.op = "FractionalAvgPoolGrad",
     .name = "overlapping",
     .attrs = OVERLAPPING,
     .inputs = {LEAT_ITEMS(INT64, LEAT_DIMS(4), 1, 3, 2, 1),
                LEAT_ITEMS(FLOAT, LEAT_DIMS(1, 2, 1, 1), 4, 8), SEQUENCE(0, 1, 3),
                LEAT_ITEMS(INT64, LEAT_DIMS(2), 0, 2)},
     .expected = {LEAT_ITEMS(FLOAT, LEAT_DIMS(1, 3, 2, 1), 1, 1, 3, 3, 2, 2)}},
    {.op = "FractionalAvgPoolGrad",
     .name = "a sequence that goes below 0",
     .inputs = {LEAT_ITEMS(INT64, LEAT_DIMS(4), 1, 3, 2, 1), X(1, 2, 2, 1), SEQUENCE(-1, 1, 3),
                SEQUENCE(0, 1, 2)},
     .code = LEAT_INVALID_ARGUMENT},
    {.op = "FractionalMaxPoolGrad",
     .inputs = {LEAT_ITEMS(FLOAT, LEAT_DIMS(1, 3, 2, 1), 1, 2, 4, 3, 4, 9),
                LEAT_ITEMS(FLOAT, LEAT_DIMS(1, 2, 2, 1), 1, 2, 4, 9),
                LEAT_ITEMS(FLOAT, LEAT_DIMS(1, 2, 2, 1), 5, 6, 7, 8), SEQUENCE(0, 1, 3),
                SEQUENCE(0, 1, 2)},
     .expected = {LEAT_ITEMS(FLOAT, LEAT_DIMS(1, 3, 2, 1), 5, 6, 7, 0, 0, 8)}},
    {.op = "FractionalMaxPoolGrad",
     .name = "an output that is not the input's",
     .inputs = {LEAT_ITEMS(FLOAT, LEAT_DIMS(1, 3, 2, 1), 1, 2, 4, 3, 4, 9),
                LEAT_ITEMS(FLOAT, LEAT_DIMS(1, 2, 2, 1), 1, 2, 5, 9), X(1, 2, 2, 1),
                SEQUENCE(0, 1, 3), SEQUENCE(0, 1, 2)},
     .code = LEAT_INVALID_ARGUMENT},
};

LEAT_OP_TEST_MAIN(kCases)
