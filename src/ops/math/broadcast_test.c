// Cases of BroadcastArgs and BroadcastGradientArgs.
#include "op_harness/op_harness.h"

#define V(count, ...) LEAT_ITEMS(INT32, LEAT_DIMS(count), __VA_ARGS__)
#define NONE LEAT_NO_ITEMS(INT32, LEAT_DIMS(0))

static const leat_op_case_t kCases[] = {
    {.op = "BroadcastArgs",
     .inputs = {V(3, 2, 1, 4), V(2, 3, 1)},
     .types = LEAT_DTYPE_BIT(INT32) | LEAT_DTYPE_BIT(INT64),
     .expected = {V(3, 2, 3, 4)}},
    {.op = "BroadcastArgs", .name = "of scalars", .inputs = {NONE, NONE}, .expected = {NONE}},
    {.op = "BroadcastArgs",
     .name = "shapes that do not fit",
     .inputs = {V(1, 2), V(1, 3)},
     .code = LEAT_INVALID_ARGUMENT},
    {.op = "BroadcastGradientArgs",
     .inputs = {V(3, 2, 1, 4), V(2, 3, 1)},
     .types = LEAT_DTYPE_BIT(INT32) | LEAT_DTYPE_BIT(INT64),
     .expected = {V(1, 1), V(2, 0, 2)}},
    {.op = "BroadcastGradientArgs",
     .name = "equal shapes",
     .inputs = {V(2, 1, 4), V(2, 1, 4)},
     .expected = {NONE, NONE}},
    {.op = "BroadcastGradientArgs",
     .name = "1 in both",
     .inputs = {V(2, 1, 4), V(1, 1)},
     .expected = {V(1, 0), V(2, 0, 1)}},
    {.op = "BroadcastGradientArgs",
     .name = "no vector",
     .inputs = {LEAT_SCALAR_ITEM(INT32, 1), V(1, 1)},
     .code = LEAT_INVALID_ARGUMENT},
};

LEAT_OP_TEST_MAIN(kCases)
