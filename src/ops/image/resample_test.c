// Cases of the ops that resample images: ResizeArea, ScaleAndTranslate with its gradient, and
// ImageProjectiveTransformV2 and V3. The images are lines of one to four pixels, so that the place
// and the weight of each pixel show in the result. Values were worked out by hand, those of scaling
// recorded with TensorFlow 2.21, which gives all the others too. The cases catch pixels whose
// centres are off by a half, weights that are not normalised at the edges, transforms that are
// inverted, and fills and reflections that begin at the wrong pixel. Sizes that are negative or 0,
// scales of 0 and places at infinity must not lead the kernel outside the image. Gradients are
// compared with differences in python/tests/resample_test.py.
#include "op_harness/op_harness.h"

#define SIZE(height, width) LEAT_ITEMS(INT32, LEAT_DIMS(2), height, width)
#define PAIR(y, x) LEAT_ITEMS(FLOAT, LEAT_DIMS(2), y, x)
#define LINE(n, ...) LEAT_ITEMS(FLOAT, LEAT_DIMS(1, 1, n, 1), __VA_ARGS__)
#define TRANSFORM(...) LEAT_ITEMS(FLOAT, LEAT_DIMS(1, 8), __VA_ARGS__)
#define RIGHT TRANSFORM(1, 0, -1, 0, 1, 0, 0, 0)  // by one pixel
#define HOW(interpolation_name, fill) \
  {LEAT_CASE_STR("interpolation", interpolation_name), LEAT_CASE_STR("fill_mode", fill)}
#define KERNEL(kernel) {LEAT_CASE_STR("kernel_type", kernel)}

static const leat_op_case_t kCases[] = {
    {.op = "ResizeArea",
     .inputs = {LINE(4, 1, 3, 5, 9), SIZE(1, 2)},
     .expected = {LINE(2, 2, 7)}},
    {.op = "ResizeArea",
     .name = "pieces of pixels",
     .inputs = {LINE(3, 1, 2, 4), SIZE(2, 2)},
     .expected = {LEAT_ITEMS(FLOAT, LEAT_DIMS(1, 2, 2, 1), 4. / 3, 10. / 3, 4. / 3, 10. / 3)}},
    {.op = "ResizeArea",
     .name = "one pixel with corners",
     .attrs = {LEAT_CASE_BOOL("align_corners", true)},
     .inputs = {LINE(1, 5), SIZE(1, 3)},
     .expected = {LINE(3, 5, 5, 5)}},
    {.op = "ResizeArea",
     .name = "no pixel",
     .inputs = {LEAT_NO_ITEMS(FLOAT, LEAT_DIMS(1, 0, 2, 1)), SIZE(1, 3)},
     .code = LEAT_INVALID_ARGUMENT},
    {.op = "ResizeArea",
     .name = "a negative size",
     .inputs = {LINE(1, 5), SIZE(1, -3)},
     .code = LEAT_INVALID_ARGUMENT},
    {.op = "ScaleAndTranslate",
     .attrs = KERNEL("triangle"),
     .inputs = {LINE(2, 1, 3), SIZE(1, 4), PAIR(1, 2), PAIR(0, 0)},
     .expected = {LINE(4, 1, 1.5, 2.5, 3)}},
    {.op = "ScaleAndTranslate",
     .name = "moved out of the image",
     .attrs = KERNEL("box"),
     .inputs = {LINE(3, 1, 2, 3), SIZE(1, 3), PAIR(1, 1), PAIR(0, 2)},
     .expected = {LINE(3, 0, 0, 1)}},
    {.op = "ScaleAndTranslate",
     .name = "no such kernel",
     .attrs = KERNEL("lanczos2"),
     .inputs = {LINE(3, 1, 2, 3), SIZE(1, 3), PAIR(1, 1), PAIR(0, 2)},
     .code = LEAT_INVALID_ARGUMENT},
    {.op = "ScaleAndTranslate",
     .name = "a scale of nothing",
     .inputs = {LINE(3, 1, 2, 3), SIZE(1, 3), PAIR(1, 0), PAIR(0, 2)},
     .code = LEAT_INVALID_ARGUMENT,
     .message = "It is [1, 0]"},
    {.op = "ScaleAndTranslateGrad",
     .attrs = KERNEL("triangle"),
     .inputs = {LINE(4, 1, 2, 3, 4), LINE(2, 0, 0), PAIR(1, 2), PAIR(0, 0)},
     .expected = {LINE(2, 3.25, 6.75)}},
    {.op = "ImageProjectiveTransformV2",
     .attrs = HOW("NEAREST", "CONSTANT"),
     .inputs = {LINE(3, 1, 2, 3), RIGHT, SIZE(1, 4)},
     .expected = {LINE(4, 0, 1, 2, 3)}},
    {.op = "ImageProjectiveTransformV3",
     .attrs = HOW("BILINEAR", "CONSTANT"),
     .inputs = {LINE(3, 1, 2, 3), TRANSFORM(1, 0, -0.5, 0, 1, 0, 0, 0), SIZE(1, 3),
                LEAT_SCALAR_ITEM(FLOAT, 9)},
     .expected = {LINE(3, 5, 1.5, 2.5)}},
    {.op = "ImageProjectiveTransformV2",
     .name = "reflected",
     .attrs = HOW("NEAREST", "REFLECT"),
     .inputs = {LINE(3, 1, 2, 3), TRANSFORM(1, 0, -4, 0, 1, 0, 0, 0), SIZE(1, 6)},
     .expected = {LINE(6, 3, 3, 2, 1, 1, 2)}},
    {.op = "ImageProjectiveTransformV2",
     .name = "a place without end",
     .attrs = HOW("NEAREST", "CONSTANT"),
     .inputs = {LINE(2, 1, 2), TRANSFORM(1, 0, 0, 0, 1, 0, -1, 0), SIZE(1, 2)},
     .expected = {LINE(2, 1, 0)}},
    // As many places as these would take minutes.
    {.op = "ImageProjectiveTransformV2",
     .name = "no channels",
     .attrs = HOW("NEAREST", "CONSTANT"),
     .inputs = {LEAT_NO_ITEMS(FLOAT, LEAT_DIMS(1, 2, 2, 0)), RIGHT, SIZE(1000000, 1000000)},
     .expected = {LEAT_NO_ITEMS(FLOAT, LEAT_DIMS(1, 1000000, 1000000, 0))}},
    {.op = "ImageProjectiveTransformV2",
     .name = "transforms for other images",
     .attrs = HOW("NEAREST", "CONSTANT"),
     .inputs = {LINE(2, 1, 2), LEAT_RANDOM(FLOAT, LEAT_DIMS(3, 8), 0, 1), SIZE(1, 2)},
     .code = LEAT_INVALID_ARGUMENT},
};

LEAT_OP_TEST_MAIN(kCases)
