// Cases of DataFormatDimMap and DataFormatVecPermute.
#include "op_harness/op_harness.h"

#define FORMATS(from, to) {LEAT_CASE_STR("src_format", from), LEAT_CASE_STR("dst_format", to)}

static const leat_op_case_t kCases[] = {
    {.op = "DataFormatDimMap",
     .inputs = {LEAT_ITEMS(INT32, LEAT_DIMS(6), 0, 1, 2, 3, -1, -4)},
     .expected = {LEAT_ITEMS(INT32, LEAT_DIMS(6), 0, 2, 3, 1, 1, 0)}},
    {.op = "DataFormatDimMap",
     .name = "back, long",
     .attrs = FORMATS("NCHW", "NHWC"),
     .inputs = {LEAT_ITEMS(INT64, LEAT_DIMS(2, 2), 0, 1, 2, 3)},
     .expected = {LEAT_ITEMS(INT64, LEAT_DIMS(2, 2), 0, 3, 1, 2)}},
    {.op = "DataFormatVecPermute",
     .inputs = {LEAT_ITEMS(INT32, LEAT_DIMS(4), 10, 20, 30, 40)},
     .expected = {LEAT_ITEMS(INT32, LEAT_DIMS(4), 10, 40, 20, 30)}},
    {.op = "DataFormatVecPermute",
     .name = "pairs",
     .inputs = {LEAT_ITEMS(INT32, LEAT_DIMS(4, 2), 1, 2, 3, 4, 5, 6, 7, 8)},
     .expected = {LEAT_ITEMS(INT32, LEAT_DIMS(4, 2), 1, 2, 7, 8, 3, 4, 5, 6)}},
    {.op = "DataFormatVecPermute",
     .name = "the spatial ones alone",
     .inputs = {LEAT_ITEMS(INT64, LEAT_DIMS(2), 3, 4)},
     .expected = {LEAT_ITEMS(INT64, LEAT_DIMS(2), 3, 4)}},
    {.op = "DataFormatVecPermute",
     .name = "of three",
     .inputs = {LEAT_ITEMS(INT32, LEAT_DIMS(3), 1, 2, 3)},
     .code = LEAT_INVALID_ARGUMENT},
};

LEAT_OP_TEST_MAIN(kCases)
