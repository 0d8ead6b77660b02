// Edit distances: sequences on both sides, on one side, and what has no order.
#include "op_harness/op_harness.h"

// Sequences "ab", "" and "xyz" against "b", "q" and "xyz!".
#define HYPOTHESIS                                                                       \
  LEAT_ITEMS(INT64, LEAT_DIMS(5, 2), 0, 0, 0, 1, 2, 0, 2, 1, 2, 2),                      \
      LEAT_TEXTS(LEAT_DIMS(5), "a", "b", "x", "y", "z"), LEAT_ITEMS(INT64, LEAT_DIMS(2), 4, 3)
#define TRUTH                                                                            \
  LEAT_ITEMS(INT64, LEAT_DIMS(6, 2), 0, 0, 1, 0, 2, 0, 2, 1, 2, 2, 2, 3),                \
      LEAT_TEXTS(LEAT_DIMS(6), "b", "q", "x", "y", "z", "!"), LEAT_ITEMS(INT64, LEAT_DIMS(2), 3, 4)

static const leat_op_case_t kCases[] = {
    {.op = "EditDistance",
     .attrs = {LEAT_CASE_BOOL("normalize", false)},
     .inputs = {HYPOTHESIS, TRUTH},
     .expected = {LEAT_ITEMS(FLOAT, LEAT_DIMS(4), 1, 1, 1, 0)}},
    {.op = "EditDistance",
     .name = "EditDistance over the length",
     .inputs = {HYPOTHESIS, TRUTH},
     .expected = {LEAT_ITEMS(FLOAT, LEAT_DIMS(4), 1, 1, 0.25, 0)}},
    {.op = "EditDistance",
     .name = "EditDistance, nothing true, numbers that are not equal to themselves",
     .inputs = {LEAT_ITEMS(INT64, LEAT_DIMS(2, 2), 0, 0, 1, 0),
                LEAT_ITEMS(FLOAT, LEAT_DIMS(2), 0.0 / 0.0, 1),
                LEAT_ITEMS(INT64, LEAT_DIMS(2), 2, 1), LEAT_ITEMS(INT64, LEAT_DIMS(1, 2), 0, 0),
                LEAT_ITEMS(FLOAT, LEAT_DIMS(1), 0.0 / 0.0), LEAT_ITEMS(INT64, LEAT_DIMS(2), 2, 1)},
     .expected = {LEAT_ITEMS(FLOAT, LEAT_DIMS(2), 1, 1.0 / 0.0)}},
    {.op = "EditDistance",
     .name = "EditDistance, an entry outside",
     .inputs = {LEAT_ITEMS(INT64, LEAT_DIMS(1, 2), 7, 0), LEAT_ITEMS(FLOAT, LEAT_DIMS(1), 1),
                LEAT_ITEMS(INT64, LEAT_DIMS(2), 2, 1), LEAT_ITEMS(INT64, LEAT_DIMS(1, 2), 0, 0),
                LEAT_ITEMS(FLOAT, LEAT_DIMS(1), 1), LEAT_ITEMS(INT64, LEAT_DIMS(2), 2, 1)},
     .code = LEAT_INTERNAL},
    {.op = "EditDistance",
     .name = "EditDistance, other ranks",
     .inputs = {HYPOTHESIS, LEAT_ITEMS(INT64, LEAT_DIMS(1, 3), 0, 0, 0),
                LEAT_TEXTS(LEAT_DIMS(1), "a"), LEAT_ITEMS(INT64, LEAT_DIMS(3), 4, 3, 1)},
     .code = LEAT_INVALID_ARGUMENT},
};

LEAT_OP_TEST_MAIN(kCases)
