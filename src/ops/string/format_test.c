// Tensors in words, in templates.
#include "op_harness/op_harness.h"

static const leat_op_case_t kCases[] = {
    {.op = "StringFormat",
     .inputs = {LEAT_ITEMS(INT32, LEAT_DIMS(2, 3), 1, 2, 3, 4, 5, 6),
                LEAT_TEXTS(LEAT_SCALAR_DIMS, "a")},
     .attrs = {LEAT_CASE_STR("template", "x %s, %s."), LEAT_CASE_INT("summarize", 1)},
     .expected = {LEAT_TEXTS(LEAT_SCALAR_DIMS, "x [[1 ... 3]\n [4 ... 6]], \"a\".")}},
    {.op = "StringFormat",
     .name = "StringFormat, complex numbers have no text",
     .inputs = {LEAT_ITEMS(COMPLEX64, LEAT_DIMS(2, 2), 1, 2, 3, 4, 5, 6, 7, 8),
                LEAT_ITEMS(COMPLEX128, LEAT_SCALAR_DIMS, 1, 2)},
     .attrs = {LEAT_CASE_STR("template", "%s, %s"), LEAT_CASE_INT("summarize", 3)},
     .expected = {LEAT_TEXTS(LEAT_SCALAR_DIMS, "[? ? ?...], ?")}},
    {.op = "StringFormat",
     .name = "StringFormat, a place too many",
     .inputs = {LEAT_SCALAR_ITEM(FLOAT, 1.5)},
     .attrs = {LEAT_CASE_STR("template", "%s %s")},
     .code = LEAT_INVALID_ARGUMENT,
     .message = "2 vs. 1"},
};

LEAT_OP_TEST_MAIN(kCases)
