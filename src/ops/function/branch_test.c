// What is true of a condition: cases of ToBool, whose function the conditions of If and While go
// through as well. Expected values are TensorFlow's.
#include "op_harness/op_harness.h"

#define TRUE LEAT_SCALAR_ITEM(BOOL, 1)
#define FALSE LEAT_SCALAR_ITEM(BOOL, 0)

static const leat_op_case_t kCases[] = {
    {.op = "ToBool", .inputs = {LEAT_SCALAR_ITEM(DOUBLE, 0.5)}, .expected = {TRUE}},
    {.op = "ToBool",
     .name = "ToBool, zero",
     .inputs = {LEAT_SCALAR_ITEM(UINT8, 0)},
     .expected = {FALSE}},
    {.op = "ToBool",
     .name = "ToBool, a string",
     .inputs = {LEAT_TEXTS(LEAT_SCALAR_DIMS, "0")},
     .expected = {TRUE}},
    {.op = "ToBool",
     .name = "ToBool, nothing",
     .inputs = {LEAT_NO_ITEMS(FLOAT, LEAT_DIMS(0))},
     .expected = {FALSE}},
    {.op = "ToBool",
     .name = "ToBool, a vector of zeros",
     .inputs = {LEAT_ITEMS(UINT16, LEAT_DIMS(2), 0, 0)},
     .expected = {TRUE}},
    {.op = "ToBool",
     .name = "ToBool, unsigned words",
     .inputs = {LEAT_SCALAR_ITEM(UINT32, 1)},
     .code = LEAT_INVALID_ARGUMENT,
     .message = "of type uint32"},
};

LEAT_OP_TEST_MAIN(kCases)
