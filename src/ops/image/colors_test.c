// Cases of the ops on colours. Expected values are TensorFlow's.
#include <math.h>

#include "op_harness/op_harness.h"

#define PIXELS(...) LEAT_ITEMS(FLOAT, LEAT_DIMS(1, 5, 3), __VA_ARGS__)
#define INPUT PIXELS(.1, .5, .9, 1, 0, 0, .2, .2, .2, 0, 0, 0, -.5, .3, 2)
#define NUMBER(value) LEAT_SCALAR_ITEM(FLOAT, value)

static const leat_op_case_t kCases[] = {
    {.op = "AdjustSaturation",
     .inputs = {INPUT, NUMBER(.5)},
     .expected = {PIXELS(.5, .7, .9, 1, .5, .5, .2, .2, .2, 0, 0, 0, .75, 1.15, 2)}},
    {.op = "AdjustSaturation",
     .name = "no more than full saturation",
     .inputs = {INPUT, NUMBER(3)},
     .expected = {PIXELS(0, .45, .9, 1, 0, 0, .2, .2, .2, 0, 0, 0, 0, .64, 2)}},
    {.op = "AdjustHue",
     .inputs = {INPUT, NUMBER(.25)},
     .expected = {PIXELS(.9, .1, .9, .5, 1, 0, .2, .2, .2, 0, 0, 0, 2, -.5, 1.55)}},
    {.op = "AdjustHue",
     .name = "more than once round",
     .inputs = {INPUT, NUMBER(-1.3)},
     .expected = {PIXELS(.34, .9, .1, .2, 0, 1, .2, .2, .2, 0, 0, 0, -.2, 2, -.5)}},
    {.op = "AdjustContrastv2",
     .inputs = {INPUT, NUMBER(2)},
     .expected = {PIXELS(.04, .8, 1.18, 1.84, -.2, -.62, .24, .2, -.22, -.16, -.2, -.62, -1.16, .4,
                         3.38)}},
    {.op = "RGBToHSV",
     .inputs = {INPUT},
     .expected = {PIXELS(.5833333, .8888889, .9, 0, 1, 1, 0, 0, .2, 0, 0, 0, .6133333, 1.25, 2)}},
    // Each channel as the largest, the smallest and between.
    {.op = "RGBToHSV",
     .name = "gradient",
     .inputs = {LEAT_ITEMS(DOUBLE, LEAT_DIMS(2, 3, 3), .1, .5, .9, .2, .8, .3, .7, .1, .4, .9, .6,
                           .1, .3, .6, .2, .5, .2, .7)},
     .gradient = LEAT_GRADIENT_TWICE},
    {.op = "HSVToRGB",
     .inputs = {LEAT_ITEMS(DOUBLE, LEAT_DIMS(4, 3), 1, 1, 1, .99, .5, .5, 1.25, .5, .5, -.25, .5,
                           .5)},
     .expected = {LEAT_ITEMS(DOUBLE, LEAT_DIMS(4, 3), 1, 0, 0, .5, .25, .265, .5, .25, .25, .5, .25,
                             .25)}},
    {.op = "AdjustHue",
     .name = "no positive number",
     .inputs = {LEAT_ITEMS(FLOAT, LEAT_DIMS(1, 2, 3), -.25, -.5, -1, -1, 0, -.5), NUMBER(.25)},
     .expected = {LEAT_ITEMS(FLOAT, LEAT_DIMS(1, 2, 3), -1, -.25, -.875, -1, -1, 0)}},
    // Each step is rounded: in bfloat16 the hue of the first is 0.58203125 else.
    {.op = "RGBToHSV",
     .name = "of narrow floats",
     .inputs = {LEAT_ITEMS(BFLOAT16, LEAT_DIMS(2, 3), .1, .5, .9, -.5, .3, 2)},
     .expected = {LEAT_ITEMS(BFLOAT16, LEAT_DIMS(2, 3), .5859375, .88671875, .8984375, .61328125,
                             1.25, 2)}},
    {.op = "HSVToRGB",
     .name = "to narrow floats",
     .inputs = {LEAT_ITEMS(HALF, LEAT_DIMS(2, 3), .99, .5, .5, .123, .456, .789)},
     .expected = {LEAT_ITEMS(HALF, LEAT_DIMS(2, 3), .5, .25, .2646484375, .7890625, .69482421875,
                             .42919921875)}},
    {.op = "AdjustContrast",
     .name = "a mean without end",
     .inputs = {LEAT_ITEMS(FLOAT, LEAT_DIMS(1, 1, 3), INFINITY, 1, 2), NUMBER(2), NUMBER(0),
                NUMBER(10)},
     .expected = {LEAT_ITEMS(FLOAT, LEAT_DIMS(1, 1, 3), NAN, 1, 2)}},
    {.op = "AdjustHue",
     .name = "no images",
     .inputs = {LEAT_NO_ITEMS(FLOAT, LEAT_DIMS(0, 2, 3)), NUMBER(1)},
     .expected = {LEAT_NO_ITEMS(FLOAT, LEAT_DIMS(0, 2, 3))}},
    {.op = "AdjustSaturation",
     .name = "two channels",
     .inputs = {LEAT_ITEMS(FLOAT, LEAT_DIMS(1, 1, 2), 1, 2), NUMBER(1)},
     .code = LEAT_INVALID_ARGUMENT,
     .message = "3 channels"},
};

int main(void) { return leat_op_cases_main(__FILE__, kCases, sizeof kCases / sizeof *kCases); }
