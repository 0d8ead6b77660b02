// Cases of the random ops whose generator lies in a variable. The numbers, and how far the variable
// moves on, were recorded with TensorFlow 2.21.
#include "op_harness/op_harness.h"

#define STATE(...) LEAT_HANDLE_OF(INT64, LEAT_DIMS(3), __VA_ARGS__)
#define AFTER(...) .after = {LEAT_ITEMS(INT64, LEAT_DIMS(3), __VA_ARGS__)}
#define NUMBER(DTYPE, x) LEAT_SCALAR_ITEM(DTYPE, x)
#define PHILOX NUMBER(INT64, 1)
#define SHAPE(...) LEAT_ITEMS(INT32, LEAT_DIMS(1), __VA_ARGS__)
#define BAD(text, why, ...)                                              \
  {.op = "StatefulUniform", .name = text, .inputs = {__VA_ARGS__},       \
   .code = LEAT_INVALID_ARGUMENT, .message = why}

static const leat_op_case_t kCases[] = {
    {.op = "StatefulUniform",
     .inputs = {STATE(5, 7, 9), PHILOX, SHAPE(3)},
     .expected = {LEAT_ITEMS(FLOAT, LEAT_DIMS(3), 0.16008341, 0.44395685, 0.57843053)},
     AFTER(773, 7, 9)},
    {.op = "StatefulUniform",
     .name = "a longer state, the algorithm of the device's choice",
     .inputs = {LEAT_HANDLE_OF(INT64, LEAT_DIMS(4), 5, 7, 9, 11), NUMBER(INT64, 3), SHAPE(2)},
     .expected = {LEAT_ITEMS(FLOAT, LEAT_DIMS(2), 0.16008341, 0.44395685)},
     .after = {LEAT_ITEMS(INT64, LEAT_DIMS(4), 517, 7, 9, 11)}},
    {.op = "StatefulUniformFullInt",
     .attrs = {LEAT_CASE_TYPE("dtype", UINT32)},
     .inputs = {STATE(5, 7, 9), PHILOX, SHAPE(3)},
     .expected = {LEAT_ITEMS(UINT32, LEAT_DIMS(3), 3625221533., 3006845844., 2076838403.)},
     AFTER(773, 7, 9)},
    {.op = "StatefulUniformInt",
     .inputs = {STATE(5, 7, 9), PHILOX, SHAPE(3), NUMBER(INT32, 3), NUMBER(INT32, 9)},
     .expected = {LEAT_ITEMS(INT32, LEAT_DIMS(3), 8, 3, 8)},
     AFTER(773, 7, 9)},
    {.op = "StatefulStandardNormalV2",
     .attrs = {LEAT_CASE_TYPE("dtype", DOUBLE)},
     .inputs = {STATE(5, 7, 9), PHILOX, SHAPE(2)},
     .expected = {LEAT_ITEMS(DOUBLE, LEAT_DIMS(2), -1.14438549, -1.10975117)},
     .tolerance = 1e-7,
     AFTER(517, 7, 9)},
    {.op = "StatefulTruncatedNormal",
     .attrs = {LEAT_CASE_TYPE("dtype", DOUBLE)},
     .inputs = {STATE(5, 7, 9), PHILOX, SHAPE(3)},
     .expected = {LEAT_ITEMS(DOUBLE, LEAT_DIMS(3), -1.14438549, -1.10975117, -1.22034507)},
     .tolerance = 1e-7,
     AFTER(773, 7, 9)},
    {.op = "StatefulRandomBinomial",
     .inputs = {STATE(5, 7, 9), PHILOX, SHAPE(4), NUMBER(FLOAT, 1000), NUMBER(FLOAT, 0.3)},
     .expected = {LEAT_ITEMS(INT64, LEAT_DIMS(4), 305, 316, 299, 290)},
     AFTER(89605, 7, 9)},
    {.op = "RngSkip",
     .inputs = {STATE(5, 7, 9), PHILOX, NUMBER(INT64, 3)},
     AFTER(773, 7, 9)},
    {.op = "RngSkip",
     .name = "across the end of the counter's lower half",
     .inputs = {STATE(-5, 7, 9), PHILOX, NUMBER(INT64, 3)},
     AFTER(763, 8, 9)},
    {.op = "RngReadAndSkip",
     .inputs = {STATE(5, 7, 9), NUMBER(INT32, 1), NUMBER(UINT64, 3)},
     .expected = {LEAT_ITEMS(INT64, LEAT_DIMS(3), 5, 7, 9)},
     AFTER(773, 7, 9)},
    {.op = "StatefulUniform",
     .name = "ThreeFry",
     .inputs = {STATE(5, 7, 9), NUMBER(INT64, 2), SHAPE(3)},
     .code = LEAT_UNIMPLEMENTED,
     .message = "ThreeFry"},
    BAD("no such algorithm", "algorithm id: 0", STATE(5, 7, 9), NUMBER(INT64, 0), SHAPE(3)),
    BAD("a short state", "at least 3; got 2", LEAT_HANDLE_OF(INT64, LEAT_DIMS(2), 5, 7), PHILOX,
        SHAPE(3)),
    BAD("a state of another type", "must be int64, not int32",
        LEAT_HANDLE_OF(INT32, LEAT_DIMS(3), 5, 7, 9), PHILOX, SHAPE(3)),
    BAD("a state of two dimensions", "one and only one dimension",
        LEAT_HANDLE_OF(INT64, LEAT_DIMS(1, 3), 5, 7, 9), PHILOX, SHAPE(3)),
    BAD("a negative size", NULL, STATE(5, 7, 9), PHILOX, SHAPE(-1)),
    BAD("a shape of another type", "shape", STATE(5, 7, 9), PHILOX,
        LEAT_ITEMS(UINT64, LEAT_DIMS(1), 3)),
};

LEAT_OP_TEST_MAIN(kCases)
