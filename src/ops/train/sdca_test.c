// Cases of the ops around stochastic dual coordinate ascent.
#include <math.h>

#include "op_harness/op_harness.h"

#define WEIGHTS LEAT_REFERENCE_TO(FLOAT, LEAT_DIMS(4), 1, -2, .1, 0)
#define SHRINK(text, l1, l2, ...)                                              \
  {.op = "SdcaShrinkL1", .name = text,                                         \
   .attrs = {LEAT_CASE_REAL("l1", l1), LEAT_CASE_REAL("l2", l2)},              \
   .inputs = {WEIGHTS, LEAT_REFERENCE_TO(FLOAT, LEAT_DIMS(2, 1), 3, NAN)},     \
   .after = __VA_ARGS__}

static const leat_op_case_t kCases[] = {
    {.op = "SdcaFprint",
     .name = "no strings",
     .inputs = {LEAT_NO_ITEMS(STRING, LEAT_DIMS(0))},
     .expected = {LEAT_NO_ITEMS(INT64, LEAT_DIMS(0, 2))}},
    {.op = "SdcaFprint",
     .name = "a scalar",
     .inputs = {LEAT_TEXTS(LEAT_SCALAR_DIMS, "x")},
     .code = LEAT_INVALID_ARGUMENT},
    SHRINK("by one half", .5f, 1,
           {LEAT_ITEMS(FLOAT, LEAT_DIMS(4), .5, -1.5, 0, 0),
            LEAT_ITEMS(FLOAT, LEAT_DIMS(2, 1), 2.5, NAN)}),
    SHRINK("away from 0", -.5f, 1,
           {LEAT_ITEMS(FLOAT, LEAT_DIMS(4), 1.5, -2.5, .6, 0),
            LEAT_ITEMS(FLOAT, LEAT_DIMS(2, 1), 3.5, NAN)}),
    SHRINK("all the way", 1, 0,
           {LEAT_ITEMS(FLOAT, LEAT_DIMS(4), 0, 0, 0, 0),
            LEAT_ITEMS(FLOAT, LEAT_DIMS(2, 1), 0, NAN)}),
    SHRINK("by 0 / 0", 0, 0,
           {LEAT_ITEMS(FLOAT, LEAT_DIMS(4), NAN, NAN, NAN, NAN),
            LEAT_ITEMS(FLOAT, LEAT_DIMS(2, 1), NAN, NAN)}),
};
LEAT_OP_TEST_MAIN(kCases)
