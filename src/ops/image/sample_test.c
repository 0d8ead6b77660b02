// Cases of the ops that cut random parts out of images, recorded with TensorFlow 2.21 where a seed
// decides.
#include <math.h>

#include "op_harness/op_harness.h"

#define SHAPE(...) LEAT_ITEMS(INT32, LEAT_DIMS(3), __VA_ARGS__)
#define BOX(...) LEAT_ITEMS(FLOAT, LEAT_DIMS(1, 1, 4), __VA_ARGS__)
#define NO_BOX LEAT_NO_ITEMS(FLOAT, LEAT_DIMS(1, 0, 4))
#define COVERED(x) LEAT_SCALAR_ITEM(FLOAT, x)
#define SEED LEAT_ITEMS(INT32, LEAT_DIMS(2), 1, 2)
#define IMAGE LEAT_ITEMS(FLOAT, LEAT_DIMS(1, 2, 3, 1), 1, 2, 3, 4, 5, 6)
#define WINDOW(height, width) LEAT_ITEMS(INT32, LEAT_DIMS(2), height, width)
#define OFFSET(y, x) LEAT_ITEMS(FLOAT, LEAT_DIMS(1, 2), y, x)
#define ZEROS LEAT_CASE_BOOL("uniform_noise", false), LEAT_CASE_STR("noise", "zero")
#define SAMPLE(text, ...) {.op = "StatelessSampleDistortedBoundingBox", .name = text, __VA_ARGS__}

static const leat_op_case_t kCases[] = {
    SAMPLE("a ratio of one half", .attrs = {LEAT_CASE_FLOATS("aspect_ratio_range", 0.5f, 0.5f)},
           .inputs = {SHAPE(40, 50, 3), BOX(.1, .1, .9, .9), COVERED(.1), SEED},
           .expected = {SHAPE(0, 6, 0), SHAPE(34, 17, -1), BOX(0, .12, .85, .46)}),
    SAMPLE("more than any box covers",
           .inputs = {SHAPE(40, 50, 3), BOX(.1, .1, .9, .9), COVERED(2), SEED},
           .expected = {SHAPE(0, 0, 0), SHAPE(40, 50, -1), BOX(0, 0, 1, 1)}),
    SAMPLE("no pixels", .inputs = {SHAPE(0, 5, 3), BOX(.1, .1, .9, .9), COVERED(.1), SEED},
           .expected = {SHAPE(0, 0, 0), SHAPE(0, 5, -1), BOX(NAN, 0, NAN, 1)}),
    SAMPLE("no box", .inputs = {SHAPE(40, 50, 3), NO_BOX, COVERED(.1), SEED},
           .code = LEAT_INVALID_ARGUMENT, .message = "use_image_if_no_bounding_boxes"),
    SAMPLE("a box that leaves the image",
           .inputs = {SHAPE(40, 50, 3), BOX(.1, .1, 1.9, .9), COVERED(.1), SEED},
           .code = LEAT_INVALID_ARGUMENT, .message = "coordinate 1.9"),
    SAMPLE("an area above the image's", .attrs = {LEAT_CASE_FLOATS("area_range", 0.5f, 1.5f)},
           .inputs = {SHAPE(40, 50, 3), BOX(.1, .1, .9, .9), COVERED(.1), SEED},
           .code = LEAT_INVALID_ARGUMENT, .message = "area_range"),
    SAMPLE("a negative height",
           .inputs = {SHAPE(-1, 50, 3), BOX(.1, .1, .9, .9), COVERED(.1), SEED},
           .code = LEAT_INVALID_ARGUMENT),
    {.op = "RandomCrop",
     .name = "higher than the image",
     .inputs = {LEAT_RANDOM(UINT8, LEAT_DIMS(2, 3, 1), 0, 9),
                LEAT_ITEMS(INT64, LEAT_DIMS(2), 3, 1)},
     .code = LEAT_FAILED_PRECONDITION,
     .message = "3 by 1"},
    {.op = "RandomCrop",
     .name = "a negative width",
     .inputs = {LEAT_RANDOM(UINT8, LEAT_DIMS(2, 3, 1), 0, 9),
                LEAT_ITEMS(INT64, LEAT_DIMS(2), 1, -1)},
     .code = LEAT_INVALID_ARGUMENT},
    {.op = "ExtractGlimpse",
     .name = "at the center",
     .attrs = {ZEROS},
     .inputs = {IMAGE, WINDOW(2, 1), OFFSET(0, 0)},
     .expected = {LEAT_ITEMS(FLOAT, LEAT_DIMS(1, 2, 1, 1), 2, 5)}},
    {.op = "ExtractGlimpse",
     .name = "across a corner",
     .attrs = {ZEROS, LEAT_CASE_BOOL("centered", false), LEAT_CASE_BOOL("normalized", false)},
     .inputs = {IMAGE, WINDOW(2, 2), OFFSET(2, 3)},
     .expected = {LEAT_ITEMS(FLOAT, LEAT_DIMS(1, 2, 2, 1), 6, 0, 0, 0)}},
    {.op = "ExtractGlimpseV2",
     .name = "from the window's corner",
     .attrs = {ZEROS, LEAT_CASE_BOOL("centered", false), LEAT_CASE_BOOL("normalized", false)},
     .inputs = {IMAGE, WINDOW(2, 2), OFFSET(0, 1)},
     .expected = {LEAT_ITEMS(FLOAT, LEAT_DIMS(1, 2, 2, 1), 2, 3, 5, 6)}},
    {.op = "ExtractGlimpse",
     .name = "far outside",
     .attrs = {ZEROS},
     .inputs = {IMAGE, WINDOW(1, 1), OFFSET(INFINITY, NAN)},
     .expected = {LEAT_ITEMS(FLOAT, LEAT_DIMS(1, 1, 1, 1), 0)}},
    {.op = "ExtractGlimpse",
     .name = "two kinds of noise",
     .attrs = {LEAT_CASE_STR("noise", "gaussian")},
     .inputs = {IMAGE, WINDOW(1, 1), OFFSET(0, 0)},
     .code = LEAT_INVALID_ARGUMENT},
    {.op = "CombinedNonMaxSuppression",
     .name = "two classes",
     .inputs = {LEAT_ITEMS(FLOAT, LEAT_DIMS(1, 3, 1, 4), 0, 0, 1, 1, 0, 0, 1, 1.25, 0, 2, 1, 3),
                LEAT_ITEMS(FLOAT, LEAT_DIMS(1, 3, 2), .9, .1, .8, .2, .7, .95),
                LEAT_SCALAR_ITEM(INT32, 2), LEAT_SCALAR_ITEM(INT32, 4), COVERED(.5), COVERED(.15)},
     .expected = {LEAT_ITEMS(FLOAT, LEAT_DIMS(1, 4, 4), 0, 1, 1, 1, 0, 0, 1, 1, 0, 1, 1, 1, 0, 0, 1,
                             1),
                  LEAT_ITEMS(FLOAT, LEAT_DIMS(1, 4), .95, .9, .7, .2),
                  LEAT_ITEMS(FLOAT, LEAT_DIMS(1, 4), 1, 0, 0, 1),
                  LEAT_ITEMS(INT32, LEAT_DIMS(1), 4)}},
};

LEAT_OP_TEST_MAIN(kCases)
