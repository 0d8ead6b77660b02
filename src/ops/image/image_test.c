// Resizing, cropping, drawing boxes and choosing among boxes. A resize is compared in its three
// conventions of where a pixel lies (plain, align_corners, half_pixel_centers), since these are
// what programs confuse; the latter two at once are an error. Boxes that are drawn may lie partly
// outside of the image, upside down or be no numbers, and an image without pixels stays one. The
// suppression of overlapping boxes is checked in all its versions, up to the soft one, which lowers
// scores instead of dropping boxes. Suppression with numbers that are not finite has a file of its
// own, suppression_test.c.
#include <math.h>
#include <string.h>

#include "op_harness/op_harness.h"

#define SIZE(height, width) LEAT_ITEMS(INT32, LEAT_DIMS(2), height, width)
#define IMAGE(...) LEAT_ITEMS(FLOAT, LEAT_DIMS(1, 2, 2, 1), __VA_ARGS__)
#define WIDE(...) LEAT_ITEMS(FLOAT, LEAT_DIMS(1, 2, 4, 1), __VA_ARGS__)
#define RESIZE(op_name, align, half, ...)                                                          \
  {                                                                                                \
    .op = op_name,                                                                                 \
    .attrs = {LEAT_CASE_BOOL("align_corners", align), LEAT_CASE_BOOL("half_pixel_centers", half)}, \
    .inputs = {IMAGE(1, 2, 3, 4), SIZE(2, 4)}, .expected = {                                       \
      WIDE(__VA_ARGS__)                                                                            \
    }                                                                                              \
  }

#define BOXES LEAT_ITEMS(FLOAT, LEAT_DIMS(3, 4), 0, 0, 1, 1, 0, 0.1, 1, 1.1, 1, 11, 0, 10)
#define SCORES LEAT_ITEMS(FLOAT, LEAT_DIMS(3), 0.75, 0.9, 0.5)
#define NUMBER(value) LEAT_SCALAR_ITEM(FLOAT, value)
#define MOST(count) LEAT_SCALAR_ITEM(INT32, count)
#define INDICES(...) LEAT_ITEMS(INT32, LEAT_DIMS(2), __VA_ARGS__)

static void copy_reference(const leat_reference_t* r) {
  memcpy(r->out[0], r->in[0], (size_t)r->outputs[0].shape.element_count * sizeof(double));
}

static const leat_op_case_t kCases[] = {
    RESIZE("ResizeBilinear", false, false, 1, 1.5, 2, 2, 3, 3.5, 4, 4),
    RESIZE("ResizeBilinear", true, false, 1, 4. / 3, 5. / 3, 2, 3, 10. / 3, 11. / 3, 4),
    RESIZE("ResizeBilinear", false, true, 1, 1.25, 1.75, 2, 3, 3.25, 3.75, 4),
    RESIZE("ResizeNearestNeighbor", false, false, 1, 1, 2, 2, 3, 3, 4, 4),
    RESIZE("ResizeNearestNeighbor", true, false, 1, 1, 2, 2, 3, 3, 4, 4),
    RESIZE("ResizeBicubic", false, false, 1, 1.5, 2, 2.09375, 3, 3.5, 4, 4.09375),
    RESIZE("ResizeBicubic", false, true, 0.9117648, 1.2071428, 1.7928572, 2.0882353, 2.9117649,
           3.2071428, 3.7928572, 4.0882359),
    {.op = "ResizeBicubicGrad",
     .inputs = {WIDE(1, 2, 3, 4, 5, 6, 7, 8),
                LEAT_ITEMS(DOUBLE, LEAT_DIMS(1, 2, 2, 1), 0, 0, 0, 0)},
     .expected = {LEAT_ITEMS(DOUBLE, LEAT_DIMS(1, 2, 2, 1), 1.625, 8.375, 7.25, 18.75)}},
    {.op = "ResizeBicubic",
     .name = "many rows and channels, to their own size",
     .inputs = {LEAT_RANDOM(FLOAT, LEAT_DIMS(2, 19, 3, 5), -1, 1), SIZE(19, 3)},
     .reference = copy_reference},
    {.op = "ResizeBicubic",
     .name = "no channels",
     .inputs = {LEAT_NO_ITEMS(FLOAT, LEAT_DIMS(1, 2, 2, 0)), SIZE(1, 1)},
     .code = LEAT_INVALID_ARGUMENT,
     .message = "channel"},
    {.op = "ResizeBilinear",
     .name = "corners and centres at once",
     .attrs = {LEAT_CASE_BOOL("align_corners", true), LEAT_CASE_BOOL("half_pixel_centers", true)},
     .inputs = {IMAGE(1, 2, 3, 4), SIZE(2, 4)},
     .code = LEAT_INVALID_ARGUMENT},
    {.op = "ResizeBilinear",
     .name = "to nothing",
     .inputs = {IMAGE(1, 2, 3, 4), SIZE(0, 4)},
     .code = LEAT_INVALID_ARGUMENT,
     .message = "must be positive"},
    {.op = "QuantizedResizeBilinear",
     .inputs = {LEAT_ITEMS(QUINT8, LEAT_DIMS(1, 2, 2, 1), 0, 100, 200, 255), SIZE(2, 4), NUMBER(-1),
                NUMBER(3)},
     .expected = {LEAT_ITEMS(QUINT8, LEAT_DIMS(1, 2, 4, 1), 0, 50, 100, 100, 200, 228, 255, 255),
                  NUMBER(-1), NUMBER(3)}},
    {.op = "QuantizedResizeBilinear",
     .name = "words",
     .inputs = {LEAT_ITEMS(QINT32, LEAT_DIMS(1, 2, 2, 1), -7, -134, -1000000, 243), SIZE(3, 3),
                NUMBER(-1), NUMBER(3)},
     .expected = {LEAT_ITEMS(QINT32, LEAT_DIMS(1, 3, 3, 1), -6, -91, -133, -666668, -222143, 117,
                             -999999, -333170, 243),
                  NUMBER(-1), NUMBER(3)}},
    {.op = "QuantizedResizeBilinear",
     .name = "bytes whose quotients are cut",
     .inputs = {LEAT_ITEMS(QUINT8, LEAT_DIMS(1, 2, 2, 1), 7, 134, 1, 243), SIZE(4, 3), NUMBER(-1),
                NUMBER(3)},
     .expected = {LEAT_ITEMS(QUINT8, LEAT_DIMS(1, 4, 3, 1), 7, 91, 134, 4, 126, 189, 1, 162, 243,
                             1, 162, 243),
                  NUMBER(-1), NUMBER(3)}},
    {.op = "ResizeNearestNeighbor",
     .name = "gradient",
     .inputs = {LEAT_ITEMS(DOUBLE, LEAT_DIMS(1, 2, 2, 1), 1, 2, 3, 4), SIZE(3, 3)},
     .expected = {LEAT_ITEMS(DOUBLE, LEAT_DIMS(1, 3, 3, 1), 1, 1, 2, 1, 1, 2, 3, 3, 4)},
     .gradient = LEAT_GRADIENT_ONCE,
     .constant_inputs = 2},
    {.op = "ResizeNearestNeighbor",
     .name = "an empty image",
     .inputs = {LEAT_NO_ITEMS(FLOAT, LEAT_DIMS(1, 0, 2, 1)), SIZE(1, 1)},
     .code = LEAT_INVALID_ARGUMENT},
    {.op = "DrawBoundingBoxes",
     .inputs = {LEAT_RANDOM(HALF, LEAT_DIMS(1, 2, 3, 1), 0, 1),
                LEAT_ITEMS(FLOAT, LEAT_DIMS(1, 1, 4), 0, 0, 1, 1)},
     .expected = {LEAT_ITEMS(HALF, LEAT_DIMS(1, 2, 3, 1), 1, 1, 1, 1, 1, 1)}},
    {.op = "DrawBoundingBoxes",
     .name = "partly outside, upside down, not a number",
     .inputs = {LEAT_ITEMS(FLOAT, LEAT_DIMS(1, 3, 3, 1), 0, 0, 0, 0, 0, 0, 0, 0, 0),
                LEAT_ITEMS(FLOAT, LEAT_DIMS(1, 3, 4), 0.5, 0.5, 9, 9, 1, 0, 0, 1, NAN, 0, NAN, 0)},
     .expected = {LEAT_ITEMS(FLOAT, LEAT_DIMS(1, 3, 3, 1), 0, 0, 0, 0, 1, 1, 0, 1, 0)}},
    {.op = "DrawBoundingBoxesV2",
     .name = "two images, colours in turn",
     .inputs = {LEAT_ITEMS(FLOAT, LEAT_DIMS(2, 1, 2, 3), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
                LEAT_ITEMS(FLOAT, LEAT_DIMS(2, 2, 4), 0, 0, 1, 0, 0, 1, 1, 1, 0, 1, 1, 1, 0, 0, 1,
                           0),
                LEAT_ITEMS(FLOAT, LEAT_DIMS(2, 4), 1, 2, 3, 4, 5, 6, 7, 8)},
     .expected = {LEAT_ITEMS(FLOAT, LEAT_DIMS(2, 1, 2, 3), 1, 2, 3, 5, 6, 7, 5, 6, 7, 1, 2, 3)}},
    {.op = "DrawBoundingBoxes",
     .name = "two channels",
     .inputs = {LEAT_NO_ITEMS(FLOAT, LEAT_DIMS(0, 1, 1, 2)),
                LEAT_NO_ITEMS(FLOAT, LEAT_DIMS(0, 1, 4))},
     .code = LEAT_INVALID_ARGUMENT},
    {.op = "CropAndResize",
     .attrs = {LEAT_CASE_REAL("extrapolation_value", -1)},
     .inputs = {IMAGE(1, 2, 3, 4), LEAT_ITEMS(FLOAT, LEAT_DIMS(1, 4), 0.2, 0.3, 0.6, 1.8),
                LEAT_ITEMS(INT32, LEAT_DIMS(1), 0), SIZE(2, 2)},
     .expected = {IMAGE(1.7, -1, 2.5, -1)}},
    {.op = "CropAndResize",
     .name = "a box of no image",
     .inputs = {IMAGE(1, 2, 3, 4), LEAT_ITEMS(FLOAT, LEAT_DIMS(1, 4), 0, 0, 1, 1),
                LEAT_ITEMS(INT32, LEAT_DIMS(1), 1), SIZE(2, 2)},
     .code = LEAT_OUT_OF_RANGE},
    {.op = "NonMaxSuppressionV3",
     .name = "the second box is better than the first, which it covers",
     .inputs = {BOXES, SCORES, MOST(3), NUMBER(0.5), NUMBER(0)},
     .expected = {INDICES(1, 2)}},
    {.op = "NonMaxSuppressionV3",
     .name = "low scores",
     .inputs = {BOXES, SCORES, MOST(3), NUMBER(1), NUMBER(0.6)},
     .expected = {INDICES(1, 0)}},
    {.op = "NonMaxSuppressionV2",
     .name = "no such overlap",
     .inputs = {BOXES, SCORES, MOST(3), NUMBER(1.5)},
     .code = LEAT_INVALID_ARGUMENT,
     .message = "[0, 1]"},
    {.op = "NonMaxSuppressionV4",
     .name = "padded",
     .attrs = {LEAT_CASE_BOOL("pad_to_max_output_size", true)},
     .inputs = {BOXES, SCORES, MOST(4), NUMBER(0.5), NUMBER(0)},
     .expected = {LEAT_ITEMS(INT32, LEAT_DIMS(4), 1, 2, 0, 0), MOST(2)}},
    {.op = "NonMaxSuppressionV5",
     .name = "a soft one lowers the score",
     .inputs = {BOXES, SCORES, MOST(3), NUMBER(0.5), NUMBER(0), NUMBER(0.5)},
     .expected = {LEAT_ITEMS(INT32, LEAT_DIMS(3), 1, 2, 0),
                  LEAT_ITEMS(FLOAT, LEAT_DIMS(3), 0.9, 0.5, 0.3840069), MOST(3)}},
};

LEAT_OP_TEST_MAIN(kCases)
