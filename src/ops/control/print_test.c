// Where PrintV2 cannot write.
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
};

LEAT_OP_TEST_MAIN(kCases)
