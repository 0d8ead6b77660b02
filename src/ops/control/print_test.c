// Where PrintV2 cannot write; what Print forwards.
#include "op_harness/op_harness.h"

static const leat_op_case_t kCases[] = {
    {.op = "PrintV2",
     .inputs = {LEAT_TEXTS(LEAT_SCALAR_DIMS, "a")},
     .attrs = {LEAT_CASE_STR("output_stream", "nowhere")},
     .code = LEAT_INVALID_ARGUMENT,
     .message = "Unknown output stream: nowhere"},
    {.op = "PrintV2",
     .name = "PrintV2, a vector",
     .inputs = {LEAT_TEXTS(LEAT_DIMS(1), "a")},
     .code = LEAT_INVALID_ARGUMENT},
    {.op = "Print",
     .inputs = {LEAT_ITEMS(DOUBLE, LEAT_DIMS(2), 1, 2), LEAT_TEXTS(LEAT_SCALAR_DIMS, "a"),
                LEAT_ITEMS(INT32, LEAT_DIMS(4), 1, 2, 3, 4)},
     .attrs = {LEAT_CASE_STR("message", "Print: "), LEAT_CASE_INT("first_n", 1)},
     .expected = {LEAT_ITEMS(DOUBLE, LEAT_DIMS(2), 1, 2)}},
};

LEAT_OP_TEST_MAIN(kCases)
