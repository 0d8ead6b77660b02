// The ops of debuggers: what they count, and what they refuse.
#include <math.h>

#include "op_harness/op_harness.h"

#define NAME LEAT_CASE_STR("tensor_name", "a:0")
#define MIXED LEAT_ITEMS(DOUBLE, LEAT_DIMS(1, 7), 1, NAN, INFINITY, -INFINITY, 0, -3, 7.5)
#define DESCRIBED(case_name, mode, ...)                                                \
  {.op = "DebugNumericSummaryV2",                                                      \
   .name = "DebugNumericSummaryV2, " case_name,                                        \
   .inputs = {MIXED},                                                                  \
   .attrs = {LEAT_CASE_INT("tensor_debug_mode", mode), LEAT_CASE_INT("tensor_id", 5)}, \
   __VA_ARGS__}

static const leat_op_case_t kCases[] = {
    {.op = "Copy", .inputs = {MIXED}, .expected = {MIXED}},
    {.op = "DebugIdentity", .inputs = {MIXED}, .attrs = {NAME}, .expected = {MIXED}},
    {.op = "DebugIdentity",
     .name = "DebugIdentity, no name",
     .inputs = {MIXED},
     .code = LEAT_INVALID_ARGUMENT,
     .message = "tensor_name is ''"},
    {.op = "DebugIdentity",
     .name = "DebugIdentity, no output",
     .inputs = {MIXED},
     .attrs = {LEAT_CASE_STR("tensor_name", "a:x")},
     .code = LEAT_INVALID_ARGUMENT,
     .message = "tensor_name is 'a:x'"},
    {.op = "DebugNumericSummary",
     .name = "DebugNumericSummary, behind a gate",
     .inputs = {MIXED},
     .attrs = {NAME, LEAT_CASE_BOOL("gated_grpc", true)},
     .expected = {LEAT_NO_ITEMS(DOUBLE, LEAT_DIMS(0))}},
    {.op = "DebugIdentity",
     .name = "DebugIdentity, behind a gate",
     .inputs = {MIXED},
     .attrs = {NAME, LEAT_CASE_BOOL("gated_grpc", true)},
     .expected = {LEAT_NO_ITEMS(DOUBLE, LEAT_DIMS(0))}},
    {.op = "DebugNanCount",
     .name = "DebugNanCount, behind a gate",
     .inputs = {MIXED},
     .attrs = {NAME, LEAT_CASE_BOOL("gated_grpc", true)},
     .expected = {LEAT_NO_ITEMS(INT64, LEAT_DIMS(0))}},
    {.op = "DebugNanCount",
     .inputs = {MIXED},
     .attrs = {NAME},
     .expected = {LEAT_ITEMS(INT64, LEAT_DIMS(1), 1)}},
    {.op = "DebugNumericSummary",
     .inputs = {MIXED},
     .attrs = {NAME},
     .expected = {LEAT_ITEMS(DOUBLE, LEAT_DIMS(16), 1, 7, 1, 1, 1, 1, 2, 1, -3, 7.5, 1.375,
                             14.671875, LEAT_DTYPE_DOUBLE, 2, 1, 7)}},
    {.op = "DebugNumericSummary",
     .name = "DebugNumericSummary, nothing",
     .inputs = {LEAT_NO_ITEMS(DOUBLE, LEAT_DIMS(0))},
     .attrs = {NAME},
     .expected = {LEAT_ITEMS(DOUBLE, LEAT_DIMS(15), 1, 0, 0, 0, 0, 0, 0, 0, INFINITY, -INFINITY,
                             NAN, NAN, LEAT_DTYPE_DOUBLE, 1, 0)}},
    DESCRIBED("health", 2, .expected = {LEAT_ITEMS(FLOAT, LEAT_DIMS(2), 5, 1)}),
    DESCRIBED("counts", 3, .expected = {LEAT_ITEMS(FLOAT, LEAT_DIMS(5), 5, 7, 1, 1, 1)}),
    DESCRIBED("all counts", 4,
              .expected = {LEAT_ITEMS(FLOAT, LEAT_DIMS(11), 5, -1, LEAT_DTYPE_DOUBLE, 2, 7, 1, 1, 1,
                                      1, 1, 2)}),
    DESCRIBED("shape", 5,
              .expected = {LEAT_ITEMS(FLOAT, LEAT_DIMS(10), 5, LEAT_DTYPE_DOUBLE, 2, 7, 1, 7, 0, 0,
                                      0, 0)}),
    DESCRIBED("slots", 8,
              .expected = {LEAT_ITEMS(FLOAT, LEAT_DIMS(3), -INFINITY, INFINITY, NAN)}),
    DESCRIBED("no mode", 7, .code = LEAT_UNIMPLEMENTED, .message = "tensor debug mode: 7"),
    {.op = "DebugNumericSummaryV2",
     .name = "DebugNumericSummaryV2, a number that float cannot hold",
     .inputs = {MIXED},
     .attrs = {LEAT_CASE_INT("tensor_debug_mode", 2), LEAT_CASE_INT("tensor_id", 16777217)},
     .code = LEAT_INVALID_ARGUMENT,
     .message = "tensor_id is 16777217, must be at most 2^24"},
};

LEAT_OP_TEST_MAIN(kCases)
