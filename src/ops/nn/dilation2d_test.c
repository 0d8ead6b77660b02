// Cases of Dilation2D and its gradients.
#include "op_harness/op_harness.h"

#define X(...) LEAT_RANDOM(FLOAT, LEAT_DIMS(__VA_ARGS__), -2, 2)
#define ONES LEAT_CASE_INTS("strides", 1, 1, 1, 1), LEAT_CASE_INTS("rates", 1, 1, 1, 1)
#define VALID LEAT_CASE_STR("padding", "VALID")

static const leat_op_case_t kCases[] = {
    {.op = "Dilation2D",
     .attrs = {ONES, VALID},
     .inputs = {LEAT_ITEMS(FLOAT, LEAT_DIMS(1, 2, 2, 1), 1, 2, 3, 4),
                LEAT_ITEMS(FLOAT, LEAT_DIMS(2, 1, 1), 0, -2)},
     .types = LEAT_DTYPES_FLOATING | LEAT_DTYPES_SIGNED,
     .expected = {LEAT_ITEMS(FLOAT, LEAT_DIMS(1, 1, 2, 1), 1, 2)}},
    {.op = "Dilation2D",
     .name = "padded",
     .attrs = {LEAT_CASE_INTS("strides", 1, 2, 1, 1), LEAT_CASE_INTS("rates", 1, 1, 2, 1),
               LEAT_CASE_STR("padding", "SAME")},
     .inputs = {X(2, 4, 5, 3), X(2, 2, 3)},
     .gradient = LEAT_GRADIENT_ONCE},
    {.op = "Dilation2D",
     .name = "channels that do not fit",
     .attrs = {ONES, VALID},
     .inputs = {X(1, 4, 4, 3), X(2, 2, 2)},
     .code = LEAT_INVALID_ARGUMENT},
    {.op = "Dilation2DBackpropFilter",
     .attrs = {ONES, VALID},
     .inputs = {LEAT_ITEMS(FLOAT, LEAT_DIMS(1, 2, 2, 1), 1, 2, 3, 4),
                LEAT_ITEMS(FLOAT, LEAT_DIMS(2, 1, 1), 0, 0),
                LEAT_ITEMS(FLOAT, LEAT_DIMS(1, 1, 2, 1), 5, 6)},
     .expected = {LEAT_ITEMS(FLOAT, LEAT_DIMS(2, 1, 1), 0, 11)}},
};

LEAT_OP_TEST_MAIN(kCases)
