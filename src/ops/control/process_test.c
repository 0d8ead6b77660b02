// Ops about the process. None of them ends it.
#include "op_harness/op_harness.h"

static const leat_op_case_t kCases[] = {
    {.op = "Abort",
     .attrs = {LEAT_CASE_STR("error_msg", "enough")},
     .code = LEAT_ABORTED,
     .message = "enough"},
    {.op = "Abort",
     .name = "Abort, without an error",
     .attrs = {LEAT_CASE_BOOL("exit_without_error", true)},
     .code = LEAT_ABORTED},
    {.op = "Fact", .expected = {LEAT_TEXTS(LEAT_SCALAR_DIMS, "0! == 1")}},
};

LEAT_OP_TEST_MAIN(kCases)
