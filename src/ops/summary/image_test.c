// Summaries of images and sound. (What the files hold: formats/media/png_test.c,
// formats/media/wav_test.c.)
#include "op_harness/op_harness.h"

#define TAG LEAT_TEXTS(LEAT_SCALAR_DIMS, "i")
#define BAD_IMAGES(case_name, ...)                                     \
  {.op = "ImageSummary",                                               \
   .name = case_name,                                                  \
   .inputs = {TAG, LEAT_RANDOM(UINT8, LEAT_DIMS(__VA_ARGS__), 0, 255)}, \
   .code = LEAT_INVALID_ARGUMENT}

static const leat_op_case_t kCases[] = {
    {.op = "ImageSummary",
     .name = "ImageSummary, no images",
     .inputs = {TAG, LEAT_NO_ITEMS(FLOAT, LEAT_DIMS(0, 2, 2, 3))},
     .expected = {LEAT_TEXTS(LEAT_SCALAR_DIMS, "")}},
    BAD_IMAGES("ImageSummary, two channels", 1, 2, 2, 2),
    BAD_IMAGES("ImageSummary, rank 3", 2, 2, 3),
    BAD_IMAGES("ImageSummary, no pixels", 1, 0, 2, 3),
    {.op = "AudioSummaryV2",
     .name = "AudioSummaryV2, no sounds",
     .inputs = {TAG, LEAT_NO_ITEMS(FLOAT, LEAT_DIMS(0, 3, 2)), LEAT_SCALAR_ITEM(FLOAT, 8)},
     .expected = {LEAT_TEXTS(LEAT_SCALAR_DIMS, "")}},
    {.op = "AudioSummaryV2",
     .name = "AudioSummaryV2, no rate",
     .inputs = {TAG, LEAT_ITEMS(FLOAT, LEAT_DIMS(1, 1), 1), LEAT_SCALAR_ITEM(FLOAT, 0)},
     .code = LEAT_INVALID_ARGUMENT,
     .message = "sample_rate is 0"},
    {.op = "AudioSummaryV2",
     .name = "AudioSummaryV2, no channels",
     .inputs = {TAG, LEAT_NO_ITEMS(FLOAT, LEAT_DIMS(1, 1, 0)), LEAT_SCALAR_ITEM(FLOAT, 8)},
     .code = LEAT_INVALID_ARGUMENT},
};

LEAT_OP_TEST_MAIN(kCases)
