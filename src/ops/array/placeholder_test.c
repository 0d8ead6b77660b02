// FakeParam: zeros, and no elements where a size is not known.
#include "op_harness/op_harness.h"

static const leat_op_case_t kCases[] = {
    {.op = "FakeParam",
     .attrs = {LEAT_CASE_TYPE("dtype", FLOAT), LEAT_CASE_SHAPE("shape", 2, 3)},
     .expected = {LEAT_ITEMS(FLOAT, LEAT_DIMS(2, 3), 0, 0, 0, 0, 0, 0)}},
    {.op = "FakeParam",
     .name = "FakeParam, an unknown size",
     .attrs = {LEAT_CASE_TYPE("dtype", INT32), LEAT_CASE_SHAPE("shape", -1, 3)},
     .expected = {LEAT_NO_ITEMS(INT32, LEAT_DIMS(0, 3))}},
    {.op = "FakeParam",
     .name = "FakeParam, a string",
     .attrs = {LEAT_CASE_TYPE("dtype", STRING), LEAT_CASE_SHAPE("shape", 1)},
     .expected = {LEAT_TEXTS(LEAT_DIMS(1), "")}},
};

LEAT_OP_TEST_MAIN(kCases)
