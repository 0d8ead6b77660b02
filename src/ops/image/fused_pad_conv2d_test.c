// Cases of the convolutions that resize and mirror their images first. Those of one image were
// recorded with TensorFlow 2.21.
#include "op_harness/op_harness.h"

#define IMAGE LEAT_ITEMS(FLOAT, LEAT_DIMS(1, 2, 3, 1), 1, 2, 3, 4, 5, 6)
#define FILTER LEAT_ITEMS(FLOAT, LEAT_DIMS(2, 2, 1, 1), 1, 2, 3, 4)
#define PADDINGS(...) LEAT_ITEMS(INT32, LEAT_DIMS(4, 2), __VA_ARGS__)
#define ABOVE_AND_RIGHT PADDINGS(0, 0, 1, 0, 0, 1, 0, 0)
#define SIZE(height, width) LEAT_ITEMS(INT32, LEAT_DIMS(2), height, width)
#define ATTRS(mode, height, width, padding)                                          \
  LEAT_CASE_STR("mode", mode), LEAT_CASE_INTS("strides", 1, height, width, 1),       \
      LEAT_CASE_STR("padding", padding)
#define PAD(text, mode, paddings, ...)                                                     \
  {.op = "FusedPadConv2D", .name = text, .attrs = {ATTRS(mode, 1, 1, "VALID")},            \
   .inputs = {IMAGE, paddings, FILTER}, __VA_ARGS__}
#define RESIZE(text, corners, size, ...)                                                   \
  {.op = "FusedResizeAndPadConv2D", .name = text,                                          \
   .attrs = {ATTRS("REFLECT", 1, 1, "VALID"), LEAT_CASE_BOOL("resize_align_corners", corners)}, \
   .inputs = {IMAGE, size, ABOVE_AND_RIGHT, FILTER}, __VA_ARGS__}

static const leat_op_case_t kCases[] = {
    PAD("the border is not repeated", "REFLECT", ABOVE_AND_RIGHT,
        .expected = {LEAT_ITEMS(FLOAT, LEAT_DIMS(1, 2, 3, 1), 25, 35, 33, 37, 47, 45)}),
    PAD("the border is repeated", "SYMMETRIC", ABOVE_AND_RIGHT,
        .expected = {LEAT_ITEMS(FLOAT, LEAT_DIMS(1, 2, 3, 1), 16, 26, 30, 37, 47, 51)}),
    {.op = "FusedPadConv2D",
     .name = "strides, and zeros around the mirror image",
     .attrs = {ATTRS("SYMMETRIC", 2, 2, "SAME")},
     .inputs = {IMAGE, ABOVE_AND_RIGHT, FILTER},
     .types = LEAT_DTYPES_FLOATING,
     .expected = {LEAT_ITEMS(FLOAT, LEAT_DIMS(1, 2, 2, 1), 16, 30, 14, 18)}},
    {.op = "FusedPadConv2D",
     .name = "two images",
     .attrs = {ATTRS("REFLECT", 1, 1, "VALID")},
     .inputs = {LEAT_ITEMS(FLOAT, LEAT_DIMS(2, 1, 2, 1), 1, 2, 3, 4),
                PADDINGS(0, 0, 0, 0, 1, 0, 0, 0),
                LEAT_ITEMS(FLOAT, LEAT_DIMS(1, 2, 1, 1), 1, 10)},
     .expected = {LEAT_ITEMS(FLOAT, LEAT_DIMS(2, 1, 2, 1), 12, 21, 34, 43)}},
    PAD("as much as there is", "REFLECT", PADDINGS(0, 0, 2, 0, 0, 0, 0, 0),
        .code = LEAT_INVALID_ARGUMENT, .message = "paddings[1]"),
    PAD("over the batch", "SYMMETRIC", PADDINGS(0, 1, 0, 0, 0, 0, 0, 0),
        .code = LEAT_INVALID_ARGUMENT, .message = "only height and width"),
    PAD("a negative padding", "SYMMETRIC", PADDINGS(0, 0, -1, 0, 0, 0, 0, 0),
        .code = LEAT_INVALID_ARGUMENT),
    {.op = "FusedPadConv2D",
     .name = "a stride over the batch",
     .attrs = {LEAT_CASE_STR("mode", "REFLECT"), LEAT_CASE_INTS("strides", 2, 1, 1, 1),
               LEAT_CASE_STR("padding", "SAME")},
     .inputs = {IMAGE, ABOVE_AND_RIGHT, FILTER},
     .code = LEAT_INVALID_ARGUMENT},
    {.op = "FusedPadConv2D",
     .name = "groups of channels",
     .attrs = {ATTRS("REFLECT", 1, 1, "SAME")},
     .inputs = {LEAT_RANDOM(FLOAT, LEAT_DIMS(1, 2, 2, 4), -1, 1), ABOVE_AND_RIGHT,
                LEAT_RANDOM(FLOAT, LEAT_DIMS(1, 1, 2, 2), -1, 1)},
     .code = LEAT_INVALID_ARGUMENT},
    {.op = "FusedPadConv2D",
     .name = "no image",
     .attrs = {ATTRS("REFLECT", 1, 1, "SAME")},
     .inputs = {LEAT_NO_ITEMS(FLOAT, LEAT_DIMS(0, 2, 3, 1)), ABOVE_AND_RIGHT, FILTER},
     .code = LEAT_INVALID_ARGUMENT},
    RESIZE("larger", false, SIZE(3, 2),
           .expected = {LEAT_ITEMS(FLOAT, LEAT_DIMS(1, 3, 2, 1), 25, 22, 33, 30, 46, 43)}),
    RESIZE("corner to corner", true, SIZE(3, 2),
           .expected = {LEAT_ITEMS(FLOAT, LEAT_DIMS(1, 3, 2, 1), 26.5, 22.5, 32.5, 28.5, 47.5,
                                   43.5)}),
    {.op = "FusedResizeAndPadConv2D",
     .name = "in half, whose pixels are rounded after they are resized",
     .attrs = {ATTRS("REFLECT", 1, 1, "VALID")},
     .inputs = {LEAT_ITEMS(HALF, LEAT_DIMS(1, 1, 2, 1), 1024, 1025), SIZE(1, 4),
                PADDINGS(0, 0, 0, 0, 0, 0, 0, 0),
                LEAT_ITEMS(HALF, LEAT_DIMS(1, 2, 1, 1), -1, 1)},
     .expected = {LEAT_ITEMS(HALF, LEAT_DIMS(1, 1, 3, 1), 0, 1, 0)}},
    RESIZE("to nothing", false, SIZE(0, 2), .code = LEAT_INVALID_ARGUMENT),
    RESIZE("too small to mirror", false, SIZE(1, 1), .code = LEAT_INVALID_ARGUMENT),
};
LEAT_OP_TEST_MAIN(kCases)
