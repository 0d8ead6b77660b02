// Cases of ops on bits.
#include "op_harness/op_harness.h"

#define PAIR(op_name, ...)                                                               \
  {.op = op_name,                                                                        \
   .inputs = {LEAT_ITEMS(INT32, LEAT_DIMS(3), 12, 5, 1),                                 \
              LEAT_ITEMS(INT32, LEAT_DIMS(3), 10, 1, 2)},                                \
   .types = LEAT_DTYPES_INTEGER,                                                         \
   .expected = {LEAT_ITEMS(INT32, LEAT_DIMS(3), __VA_ARGS__)}}

static const leat_op_case_t kCases[] = {
    PAIR("BitwiseAnd", 8, 1, 0),
    PAIR("BitwiseOr", 14, 5, 3),
    PAIR("BitwiseXor", 6, 4, 3),
    {.op = "LeftShift",
     .inputs = {LEAT_ITEMS(INT32, LEAT_DIMS(4), 1, 3, 1, 1),
                LEAT_ITEMS(INT32, LEAT_DIMS(4), 4, 1, 99, -3)},
     .expected = {LEAT_ITEMS(INT32, LEAT_DIMS(4), 16, 6, INT32_MIN, 1)}},
    {.op = "RightShift",
     .inputs = {LEAT_ITEMS(INT8, LEAT_DIMS(3), -16, 64, -1),
                LEAT_ITEMS(INT8, LEAT_DIMS(3), 2, 3, 99)},
     .expected = {LEAT_ITEMS(INT8, LEAT_DIMS(3), -4, 8, -1)}},
    {.op = "Invert",
     .inputs = {LEAT_ITEMS(INT16, LEAT_DIMS(2), 0, 5)},
     .expected = {LEAT_ITEMS(INT16, LEAT_DIMS(2), -1, -6)}},
    {.op = "PopulationCount",
     .inputs = {LEAT_ITEMS(INT8, LEAT_DIMS(3), -1, 5, 0)},
     .expected = {LEAT_ITEMS(UINT8, LEAT_DIMS(3), 8, 2, 0)}},
};

LEAT_OP_TEST_MAIN(kCases)
