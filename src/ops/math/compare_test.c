// Cases of comparisons and of and/or.
#include <math.h>

#include "op_harness/op_harness.h"

#define COMPARE(op_name, a, b, c, d)                                             \
  {.op = op_name,                                                                \
   .inputs = {LEAT_ITEMS(FLOAT, LEAT_DIMS(2, 2), 1, 2, 3, 4),                    \
              LEAT_ITEMS(FLOAT, LEAT_DIMS(2), 3, 2)},                            \
   .types = LEAT_DTYPES_REAL,                                                    \
   .expected = {LEAT_ITEMS(BOOL, LEAT_DIMS(2, 2), a, b, c, d)}}

static const leat_op_case_t kCases[] = {
    COMPARE("Less", 1, 0, 0, 0),
    COMPARE("LessEqual", 1, 1, 1, 0),
    COMPARE("Greater", 0, 0, 0, 1),
    COMPARE("GreaterEqual", 0, 1, 1, 1),
    COMPARE("Equal", 0, 1, 1, 0),
    COMPARE("NotEqual", 1, 0, 0, 1),
    {.op = "Equal",
     .name = "not a number",
     .inputs = {LEAT_ITEMS(FLOAT, LEAT_DIMS(2), NAN, 0),
                LEAT_ITEMS(FLOAT, LEAT_DIMS(2), NAN, -0.0)},
     .types = LEAT_DTYPES_FLOATING,
     .expected = {LEAT_ITEMS(BOOL, LEAT_DIMS(2), 0, 1)}},
    {.op = "Equal",
     .name = "strings",
     .inputs = {LEAT_TEXTS(LEAT_DIMS(3), "leat", "water", ""),
                LEAT_TEXTS(LEAT_SCALAR_DIMS, "leat")},
     .expected = {LEAT_ITEMS(BOOL, LEAT_DIMS(3), 1, 0, 0)}},
    {.op = "NotEqual",
     .name = "complex",
     .inputs = {LEAT_ITEMS(COMPLEX64, LEAT_DIMS(2), 1, 2, 1, 2),
                LEAT_ITEMS(COMPLEX64, LEAT_DIMS(2), 1, 2, 1, 3)},
     .types = LEAT_DTYPES_COMPLEX,
     .expected = {LEAT_ITEMS(BOOL, LEAT_DIMS(2), 0, 1)}},
    {.op = "Equal",
     .name = "other shapes are not equal",
     .attrs = {LEAT_CASE_BOOL("incompatible_shape_error", false)},
     .inputs = {LEAT_ITEMS(INT32, LEAT_DIMS(2), 1, 2), LEAT_ITEMS(INT32, LEAT_DIMS(3), 1, 2, 3)},
     .expected = {LEAT_SCALAR_ITEM(BOOL, 0)}},
    {.op = "NotEqual",
     .name = "other shapes are an error",
     .inputs = {LEAT_ITEMS(INT32, LEAT_DIMS(2), 1, 2), LEAT_ITEMS(INT32, LEAT_DIMS(3), 1, 2, 3)},
     .code = LEAT_INVALID_ARGUMENT},
    {.op = "ApproximateEqual",
     .attrs = {LEAT_CASE_REAL("tolerance", 0.01f)},
     .inputs = {LEAT_ITEMS(DOUBLE, LEAT_DIMS(3), 1, 2, NAN),
                LEAT_ITEMS(DOUBLE, LEAT_DIMS(3), 1.001, 2.02, NAN)},
     .expected = {LEAT_ITEMS(BOOL, LEAT_DIMS(3), 1, 0, 0)}},
    {.op = "LogicalAnd",
     .inputs = {LEAT_ITEMS(BOOL, LEAT_DIMS(2, 1), 0, 1), LEAT_ITEMS(BOOL, LEAT_DIMS(2), 0, 1)},
     .expected = {LEAT_ITEMS(BOOL, LEAT_DIMS(2, 2), 0, 0, 0, 1)}},
    {.op = "LogicalOr",
     .inputs = {LEAT_ITEMS(BOOL, LEAT_DIMS(2, 1), 0, 1), LEAT_ITEMS(BOOL, LEAT_DIMS(2), 0, 1)},
     .expected = {LEAT_ITEMS(BOOL, LEAT_DIMS(2, 2), 0, 1, 1, 1)}},
};

LEAT_OP_TEST_MAIN(kCases)
