// Ops that round floats to a quantised type's numbers and give floats again. The recorded cases
// have their values; here it is what becomes of NaN and infinity: a NaN stays one, and in a
// gradient 0 times infinity is one.
#include <math.h>

#include "op_harness/op_harness.h"

#define NUMBERS LEAT_ITEMS(FLOAT, LEAT_DIMS(4), -INFINITY, NAN, 0.3, 7)
#define RANGE LEAT_SCALAR_ITEM(FLOAT, -1), LEAT_SCALAR_ITEM(FLOAT, 1)
#define QUANTIZED LEAT_ITEMS(FLOAT, LEAT_DIMS(4), -254. / 255, NAN, 76. / 255, 256. / 255)
#define OUTSIDE LEAT_ITEMS(FLOAT, LEAT_DIMS(3), -5, 5, 0)

static const leat_op_case_t kCases[] = {
    {.op = "FakeQuantWithMinMaxArgs",
     .attrs = {LEAT_CASE_REAL("min", -1), LEAT_CASE_REAL("max", 1)},
     .inputs = {NUMBERS},
     .expected = {QUANTIZED}},
    {.op = "FakeQuantWithMinMaxVars", .inputs = {NUMBERS, RANGE}, .expected = {QUANTIZED}},
    {.op = "FakeQuantWithMinMaxVarsPerChannel",
     .inputs = {LEAT_ITEMS(FLOAT, LEAT_DIMS(2, 1), NAN, 0.3), LEAT_ITEMS(FLOAT, LEAT_DIMS(1), -1),
                LEAT_ITEMS(FLOAT, LEAT_DIMS(1), 1)},
     .expected = {LEAT_ITEMS(FLOAT, LEAT_DIMS(2, 1), NAN, 76. / 255)}},
    {.op = "FakeQuantWithMinMaxVarsGradient",
     .inputs = {LEAT_ITEMS(FLOAT, LEAT_DIMS(3), 1, 2, 3), OUTSIDE, RANGE},
     .expected = {LEAT_ITEMS(FLOAT, LEAT_DIMS(3), 0, 0, 3), LEAT_SCALAR_ITEM(FLOAT, 1),
                  LEAT_SCALAR_ITEM(FLOAT, 2)}},
    {.op = "FakeQuantWithMinMaxVarsGradient",
     .name = "an infinite gradient",
     .inputs = {LEAT_ITEMS(FLOAT, LEAT_DIMS(3), INFINITY, 2, 3), OUTSIDE, RANGE},
     .expected = {LEAT_ITEMS(FLOAT, LEAT_DIMS(3), NAN, 0, 3), LEAT_SCALAR_ITEM(FLOAT, INFINITY),
                  LEAT_SCALAR_ITEM(FLOAT, NAN)}},
    {.op = "QuantizeAndDequantizeV2",
     .attrs = {LEAT_CASE_BOOL("range_given", true)},
     .inputs = {NUMBERS, RANGE},
     .expected = {LEAT_ITEMS(FLOAT, LEAT_DIMS(4), -128. / 127, NAN, 38. / 127, 1)}},
};

LEAT_OP_TEST_MAIN(kCases)
