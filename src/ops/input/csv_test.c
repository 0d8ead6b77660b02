// Comma-separated values.
#include "op_harness/op_harness.h"

static const leat_op_case_t kCases[] = {
    {.op = "DecodeCSV",
     .name = "DecodeCSV, a field too few",
     .inputs = {LEAT_TEXTS(LEAT_DIMS(2), "1,a", "2"), LEAT_ITEMS(FLOAT, LEAT_DIMS(1), -1),
                LEAT_TEXTS(LEAT_DIMS(1), "none")},
     .attrs = {LEAT_CASE_TYPES("OUT_TYPE", LEAT_DTYPE_FLOAT, LEAT_DTYPE_STRING)},
     .code = LEAT_INVALID_ARGUMENT,
     .message = "Expect 2 fields"},
    {.op = "DecodeCSV",
     .name = "DecodeCSV, defaults and quotes",
     .inputs = {LEAT_TEXTS(LEAT_DIMS(3), "1,a", "2,\"b,\"\"c\"", ","),
                LEAT_ITEMS(FLOAT, LEAT_DIMS(1), -1), LEAT_TEXTS(LEAT_DIMS(1), "none")},
     .attrs = {LEAT_CASE_TYPES("OUT_TYPE", LEAT_DTYPE_FLOAT, LEAT_DTYPE_STRING)},
     .expected = {LEAT_ITEMS(FLOAT, LEAT_DIMS(3), 1, 2, -1),
                  LEAT_TEXTS(LEAT_DIMS(3), "a", "b,\"c", "none")}},
    {.op = "DecodeCSV",
     .name = "DecodeCSV, selected columns",
     .inputs = {LEAT_TEXTS(LEAT_SCALAR_DIMS, "1;x;3;y"), LEAT_NO_ITEMS(INT64, LEAT_DIMS(0)),
                LEAT_NO_ITEMS(INT32, LEAT_DIMS(0))},
     .attrs = {LEAT_CASE_TYPES("OUT_TYPE", LEAT_DTYPE_INT64, LEAT_DTYPE_INT32),
               LEAT_CASE_INTS("select_cols", 0, 2), LEAT_CASE_STR("field_delim", ";")},
     .expected = {LEAT_SCALAR_ITEM(INT64, 1), LEAT_SCALAR_ITEM(INT32, 3)}},
    {.op = "DecodeCSV",
     .name = "DecodeCSV, required field",
     .inputs = {LEAT_TEXTS(LEAT_DIMS(1), ","), LEAT_NO_ITEMS(INT32, LEAT_DIMS(0)),
                LEAT_NO_ITEMS(INT32, LEAT_DIMS(0))},
     .attrs = {LEAT_CASE_TYPES("OUT_TYPE", LEAT_DTYPE_INT32, LEAT_DTYPE_INT32)},
     .code = LEAT_INVALID_ARGUMENT,
     .message = "Field 0 is required"},
};
LEAT_OP_TEST_MAIN(kCases)
