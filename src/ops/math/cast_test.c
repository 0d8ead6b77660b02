// Cast between all kinds of types, and Bitcast. Small numbers that every type holds prove that a
// conversion exists for each pair; the other cases are where conversions lose something. A float
// beyond the range of an integer gives the least integer, as the processor's instruction does and
// TensorFlow with it; integers wrap; the attribute Truncate drops bits instead of rounding, but not
// for all pairs. Bitcast to a type of another width splits or joins the last dimension.
#include <math.h>

#include "op_harness/op_harness.h"

#define CAST(from, to)                                                     \
  {.op = "Cast",                                                                \
   .name = #from " to " #to,                                                    \
   .attrs = {LEAT_CASE_TYPE("DstT", to)},                                       \
   .inputs = {LEAT_ITEMS(from, LEAT_DIMS(5), 0, 1, 2, 100, 7)},                 \
   .expected = {LEAT_ITEMS(to, LEAT_DIMS(5), 0, 1, 2, 100, 7)}}

static const leat_op_case_t kCases[] = {
    CAST(FLOAT, DOUBLE), CAST(FLOAT, INT32), CAST(FLOAT, HALF), CAST(FLOAT, BFLOAT16),
    CAST(FLOAT, UINT8), CAST(FLOAT, INT64), CAST(FLOAT, UINT64), CAST(DOUBLE, HALF),
    CAST(DOUBLE, INT8), CAST(HALF, BFLOAT16), CAST(HALF, INT16), CAST(BFLOAT16, DOUBLE),
    CAST(INT32, FLOAT), CAST(INT64, FLOAT), CAST(INT64, HALF), CAST(UINT64, DOUBLE),
    CAST(UINT8, FLOAT), CAST(INT8, UINT16), CAST(UINT32, INT64), CAST(UINT16, BFLOAT16),
    CAST(QINT8, INT32), CAST(INT32, QUINT8), CAST(FLOAT, FLOAT8_E5M2),
    {.op = "Cast",
     .name = "what an integer does not hold",
     .attrs = {LEAT_CASE_TYPE("DstT", INT32)},
     .inputs = {LEAT_ITEMS(FLOAT, LEAT_DIMS(5), 3e9, -3e9, INFINITY, NAN, -2.9)},
     .types = LEAT_DTYPE_BIT(FLOAT) | LEAT_DTYPE_BIT(DOUBLE),
     .expected = {LEAT_ITEMS(INT32, LEAT_DIMS(5), INT32_MIN, INT32_MIN, INT32_MIN, INT32_MIN,
                             -2)}},
    {.op = "Cast",
     .name = "integers wrap",
     .attrs = {LEAT_CASE_TYPE("DstT", INT8)},
     .inputs = {LEAT_ITEMS(INT32, LEAT_DIMS(3), 300, -129, 128)},
     .expected = {LEAT_ITEMS(INT8, LEAT_DIMS(3), 44, 127, -128)}},
    {.op = "Cast",
     .name = "to bool",
     .attrs = {LEAT_CASE_TYPE("DstT", BOOL)},
     .inputs = {LEAT_ITEMS(FLOAT, LEAT_DIMS(3), 0, -0.5, 2)},
     .types = LEAT_DTYPES_FLOATING,
     .expected = {LEAT_ITEMS(BOOL, LEAT_DIMS(3), 0, 1, 1)}},
    {.op = "Cast",
     .name = "the real part",
     .attrs = {LEAT_CASE_TYPE("DstT", FLOAT)},
     .inputs = {LEAT_ITEMS(COMPLEX64, LEAT_DIMS(2), 1, 2, -3, 4)},
     .types = LEAT_DTYPES_COMPLEX,
     .expected = {LEAT_ITEMS(FLOAT, LEAT_DIMS(2), 1, -3)}},
    {.op = "Cast",
     .name = "truncated",
     .attrs = {LEAT_CASE_TYPE("DstT", BFLOAT16), LEAT_CASE_BOOL("Truncate", true)},
     .inputs = {LEAT_ITEMS(FLOAT, LEAT_DIMS(2), 1.0078, -1.0078)},
     .expected = {LEAT_ITEMS(BFLOAT16, LEAT_DIMS(2), 1, -1)}},
    {.op = "Cast",
     .name = "truncated, through float",
     .attrs = {LEAT_CASE_TYPE("DstT", HALF), LEAT_CASE_BOOL("Truncate", true)},
     .inputs = {LEAT_ITEMS(DOUBLE, LEAT_DIMS(2), 1.00146484375, -2047.9)},
     .expected = {LEAT_ITEMS(HALF, LEAT_DIMS(2), 1.0009765625, -2047)}},
    {.op = "Cast",
     .name = "truncated denormals",
     .attrs = {LEAT_CASE_TYPE("DstT", FLOAT8_E5M2), LEAT_CASE_BOOL("Truncate", true)},
     .inputs = {LEAT_ITEMS(HALF, LEAT_DIMS(2), 0x1.fp-16, 1.99)},
     .expected = {LEAT_ITEMS(FLOAT8_E5M2, LEAT_DIMS(2), 0x1p-16, 1.75)}},
    {.op = "Cast",
     .name = "rounded all the same",
     .attrs = {LEAT_CASE_TYPE("DstT", BFLOAT16), LEAT_CASE_BOOL("Truncate", true)},
     .inputs = {LEAT_ITEMS(DOUBLE, LEAT_DIMS(2), 1.0078, -2047.9)},
     .expected = {LEAT_ITEMS(BFLOAT16, LEAT_DIMS(2), 1.0078125, -2048)}},
    {.op = "Cast",
     .name = "no way",
     .attrs = {LEAT_CASE_TYPE("DstT", FLOAT)},
     .inputs = {LEAT_TEXTS(LEAT_DIMS(1), "1")},
     .code = LEAT_UNIMPLEMENTED},
    {.op = "Bitcast",
     .attrs = {LEAT_CASE_TYPE("type", INT32)},
     .inputs = {LEAT_ITEMS(FLOAT, LEAT_DIMS(2), 1, -0.0)},
     .expected = {LEAT_ITEMS(INT32, LEAT_DIMS(2), 0x3f800000, INT32_MIN)}},
    {.op = "Bitcast",
     .name = "to narrower",
     .attrs = {LEAT_CASE_TYPE("type", UINT8)},
     .inputs = {LEAT_ITEMS(UINT16, LEAT_DIMS(2), 258, 3)},
     .expected = {LEAT_ITEMS(UINT8, LEAT_DIMS(2, 2), 2, 1, 3, 0)}},
    {.op = "Bitcast",
     .name = "to wider",
     .attrs = {LEAT_CASE_TYPE("type", UINT16)},
     .inputs = {LEAT_ITEMS(UINT8, LEAT_DIMS(2, 2), 2, 1, 3, 0)},
     .expected = {LEAT_ITEMS(UINT16, LEAT_DIMS(2), 258, 3)}},
    {.op = "Bitcast",
     .name = "to wider, of another size",
     .attrs = {LEAT_CASE_TYPE("type", UINT32)},
     .inputs = {LEAT_ITEMS(UINT8, LEAT_DIMS(2, 2), 2, 1, 3, 0)},
     .code = LEAT_INVALID_ARGUMENT},
};

LEAT_OP_TEST_MAIN(kCases)
