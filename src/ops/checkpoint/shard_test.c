// Names of shards; reading what is not there.
#include "op_harness/op_harness.h"

static const leat_op_case_t kCases[] = {
    {.op = "ShardedFilename",
     .inputs = {LEAT_TEXTS(LEAT_SCALAR_DIMS, "/x/model"), LEAT_SCALAR_ITEM(INT32, 3),
                LEAT_SCALAR_ITEM(INT32, 100)},
     .expected = {LEAT_TEXTS(LEAT_SCALAR_DIMS, "/x/model-00003-of-00100")}},
    {.op = "ShardedFilespec",
     .inputs = {LEAT_TEXTS(LEAT_SCALAR_DIMS, "/x/model"), LEAT_SCALAR_ITEM(INT32, 100)},
     .expected = {LEAT_TEXTS(LEAT_SCALAR_DIMS, "/x/model-" "?????" "-of-00100")}},
    {.op = "ShardedFilename",
     .inputs = {LEAT_TEXTS(LEAT_DIMS(1), "/x/model"), LEAT_SCALAR_ITEM(INT32, 3),
                LEAT_SCALAR_ITEM(INT32, 100)},
     .code = LEAT_INVALID_ARGUMENT},
    {.op = "RestoreV2",
     .attrs = {LEAT_CASE_TYPES("dtypes", LEAT_DTYPE_FLOAT)},
     .inputs = {LEAT_TEXTS(LEAT_SCALAR_DIMS, "/no/such/checkpoint"), LEAT_TEXTS(LEAT_DIMS(1), "w"),
                LEAT_TEXTS(LEAT_DIMS(1), "")},
     .code = LEAT_NOT_FOUND},
    {.op = "SaveV2",
     .attrs = {LEAT_CASE_TYPES("dtypes", LEAT_DTYPE_FLOAT)},
     .inputs = {LEAT_TEXTS(LEAT_SCALAR_DIMS, "/no/such/checkpoint"),
                LEAT_TEXTS(LEAT_DIMS(2), "a", "b"), LEAT_TEXTS(LEAT_DIMS(2), "", ""),
                LEAT_SCALAR_ITEM(FLOAT, 1)},
     .code = LEAT_INVALID_ARGUMENT},
};
LEAT_OP_TEST_MAIN(kCases)
