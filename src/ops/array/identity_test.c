// The ops that pass tensors on under another signature. Where the signature says another number or
// another type of tensors than there are, the node fails when it runs, as TensorFlow's does.
#include "op_harness/op_harness.h"

#define ONE LEAT_ITEMS(FLOAT, LEAT_DIMS(2), 1, -2)
#define TWO LEAT_ITEMS(FLOAT, LEAT_DIMS(1, 2), 3, 4)
#define INTEGERS LEAT_ITEMS(INT32, LEAT_DIMS(1, 2), 3, 4)
#define F LEAT_DTYPE_FLOAT

static const leat_op_case_t kCases[] = {
    {.op = "_EagerConst",
     .inputs = {ONE},
     .types = LEAT_DTYPES_FLOATING | LEAT_DTYPES_SIGNED,
     .expected = {ONE}},
    {.op = "_ListToArray",
     .attrs = {LEAT_CASE_TYPE("T", FLOAT), LEAT_CASE_INT("N", 2)},
     .inputs = {ONE, TWO},
     .expected = {ONE, TWO}},
    {.op = "_ListToArray",
     .name = "three of two",
     .attrs = {LEAT_CASE_TYPE("T", FLOAT), LEAT_CASE_INT("N", 3)},
     .inputs = {ONE, TWO},
     .code = LEAT_INTERNAL,
     .message = "#inputs != #outputs : 2 vs. 3"},
    {.op = "_ListToArray",
     .name = "of two types",
     .attrs = {LEAT_CASE_TYPE("T", FLOAT), LEAT_CASE_INT("N", 2)},
     .inputs = {ONE, INTEGERS},
     .code = LEAT_INVALID_ARGUMENT,
     .message = "actual int32 vs. expect float of tensor 1"},
    {.op = "_ArrayToList",
     .attrs = {LEAT_CASE_TYPES("out_types", F, F)},
     .inputs = {ONE, TWO},
     .expected = {ONE, TWO}},
    {.op = "_ArrayToList",
     .name = "one of two",
     .attrs = {LEAT_CASE_TYPES("out_types", F)},
     .inputs = {ONE, TWO},
     .code = LEAT_INTERNAL,
     .message = "#inputs != #outputs : 2 vs. 1"},
    {.op = "_ArrayToList",
     .name = "to another type",
     .attrs = {LEAT_CASE_TYPES("out_types", F, LEAT_DTYPE_INT32)},
     .inputs = {ONE, TWO},
     .code = LEAT_INVALID_ARGUMENT,
     .message = "actual float vs. expect int32 of tensor 1"},
};

LEAT_OP_TEST_MAIN(kCases)
