// Cases of RefSelect, the one op of control flow that a kernel computes alone.
#include "op_harness/op_harness.h"

#define INDEX(i) LEAT_SCALAR_ITEM(INT32, i)
#define ONE LEAT_REFERENCE_TO(FLOAT, LEAT_DIMS(2), 1, 2)
#define OTHER LEAT_REFERENCE_TO(FLOAT, LEAT_DIMS(2), 3, 4)

static const leat_op_case_t kCases[] = {
    {.op = "RefSelect",
     .name = "the second of two",
     .inputs = {INDEX(1), ONE, OTHER},
     .expected = {LEAT_ITEMS(FLOAT, LEAT_DIMS(2), 3, 4)}},
    {.op = "RefSelect",
     .name = "of another shape",
     .inputs = {INDEX(1), ONE, LEAT_REFERENCE_TO(FLOAT, LEAT_DIMS(1, 1), 5)},
     .expected = {LEAT_ITEMS(FLOAT, LEAT_DIMS(1, 1), 5)}},
    {.op = "RefSelect",
     .name = "beyond the last",
     .inputs = {INDEX(2), ONE, OTHER},
     .code = LEAT_INVALID_ARGUMENT,
     .message = "in the range [0, 2) but got 2"},
    {.op = "RefSelect",
     .name = "a negative index",
     .inputs = {INDEX(-1), ONE},
     .code = LEAT_INVALID_ARGUMENT},
    {.op = "RefSelect",
     .name = "a vector",
     .inputs = {LEAT_ITEMS(INT32, LEAT_DIMS(1), 0), ONE},
     .code = LEAT_INVALID_ARGUMENT},
};
LEAT_OP_TEST_MAIN(kCases)
