// Definitions of the ops that cut random parts out of images: boxes for the training of
// classifiers, glimpses for models of attention, and plain crops of a fixed size.
//
//   SampleDistortedBoundingBox*  image_size [3], bounding_boxes [batch, n, 4]
//                                -> begin [3], size [3], bboxes [1, 1, 4]
//   ExtractGlimpse*              input, size [2], offsets [batch, 2] -> glimpse
//   RandomCrop                   image [height, width, channels], size [2] -> output
//
// begin and size are those of a Slice of the image. The kernels are in sample_cpu.c and
// glimpse_cpu.c.
#include "graph/gradient.h"
#include "graph/inference/inference.h"
#include "ops/image/image_shape.h"
#include "ops/op_rows.h"

static leat_status_t sample_shape(leat_inference_t* c) {
  static const int64_t kBoxes[] = {1, 1, 4}, kPlace[] = {3};
  leat_partial_shape_t size, boxes, place, box;
  int64_t unused;
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank(c, leat_inference_input(c, 0), 1, &size));
  LEAT_RETURN_IF_ERROR(leat_inference_dim_with_value(size.dims[0], 3, &unused));
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank(c, leat_inference_input(c, 1), 3, &boxes));
  LEAT_RETURN_IF_ERROR(leat_inference_dim_with_value(boxes.dims[2], 4, &unused));
  if (leat_inference_input_count(c) > 2) LEAT_RETURN_IF_ERROR(leat_shape_check_scalar(c, 2));
  if (leat_inference_input_count(c) > 3) {
    leat_partial_shape_t seed;
    LEAT_RETURN_IF_ERROR(leat_inference_with_rank(c, leat_inference_input(c, 3), 1, &seed));
    LEAT_RETURN_IF_ERROR(leat_inference_dim_with_value(seed.dims[0], 2, &unused));
  }
  LEAT_RETURN_IF_ERROR(leat_inference_make(c, 1, kPlace, &place));
  LEAT_RETURN_IF_ERROR(leat_inference_make(c, 3, kBoxes, &box));
  leat_inference_set_output(c, 0, place);
  leat_inference_set_output(c, 1, place);
  leat_inference_set_output(c, 2, box);
  return leat_ok_status();
}

static leat_status_t glimpse_shape(leat_inference_t* c) {
  leat_partial_shape_t input, offsets;
  int64_t batch, two;
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank(c, leat_inference_input(c, 0), 4, &input));
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank(c, leat_inference_input(c, 2), 2, &offsets));
  LEAT_RETURN_IF_ERROR(leat_inference_merge_dim(input.dims[0], offsets.dims[0], &batch));
  LEAT_RETURN_IF_ERROR(leat_inference_dim_with_value(offsets.dims[1], 2, &two));
  return leat_image_set_resized(c, 1, batch, input.dims[3]);
}

// The size has two numbers; the channels stay.
static leat_status_t crop_shape(leat_inference_t* c) {
  leat_partial_shape_t image, size, output;
  leat_partial_value_t value;
  int64_t two;
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank(c, leat_inference_input(c, 0), 3, &image));
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank(c, leat_inference_input(c, 1), 1, &size));
  LEAT_RETURN_IF_ERROR(leat_inference_dim_with_value(size.dims[0], 2, &two));
  LEAT_RETURN_IF_ERROR(leat_inference_input_value(c, 1, &value));
  int64_t dims[3] = {LEAT_DIM_UNKNOWN, LEAT_DIM_UNKNOWN, image.dims[2]};
  for (int i = 0; i < 2 && value.rank == 1 && value.count == 2; ++i) {
    if (value.items[i] >= 0) dims[i] = value.items[i];
  }
  LEAT_RETURN_IF_ERROR(leat_inference_make(c, 3, dims, &output));
  leat_inference_set_output(c, 0, output);
  return leat_ok_status();
}

#define TYPES "T: {uint8, int8, int16, int32, int64}"
#define SEEDS "; seed: int = 0; seed2: int = 0"
#define BOXES "image_size: T; bounding_boxes: float"
#define LIMITS                                                                             \
  "; aspect_ratio_range: list(float) = [0.75, 1.33]; area_range: list(float) = [0.05, 1.0]; " \
  "max_attempts: int = 100; use_image_if_no_bounding_boxes: bool = false"
#define GLIMPSE                                                                     \
  .inputs = "input: float; size: int32; offsets: float", .outputs = "glimpse: float", \
  .attrs = "centered: bool = true; normalized: bool = true; uniform_noise: bool = true; " \
           "noise: string = 'uniform'",                                             \
  .shape = glimpse_shape

const leat_op_row_t leat_sample_ops[] = {
    {.name = "SampleDistortedBoundingBox",
     .inputs = BOXES,
     .outputs = "begin: T; size: T; bboxes: float",
     .attrs = TYPES SEEDS "; min_object_covered: float = 0.1" LIMITS,
     .flags = LEAT_OP_STATEFUL,
     .shape = sample_shape,
     .gradient = leat_gradient_none,
     .doc = "A random box of an image that covers enough of one of its objects."},
    {.name = "SampleDistortedBoundingBoxV2",
     .inputs = BOXES "; min_object_covered: float",
     .outputs = "begin: T; size: T; bboxes: float",
     .attrs = TYPES SEEDS LIMITS,
     .flags = LEAT_OP_STATEFUL,
     .shape = sample_shape,
     .gradient = leat_gradient_none,
     .doc = "As SampleDistortedBoundingBox, with the least share as an input."},
    {.name = "StatelessSampleDistortedBoundingBox",
     .inputs = BOXES "; min_object_covered: float; seed: Tseed",
     .outputs = "begin: T; size: T; bboxes: float",
     .attrs = TYPES "; Tseed: {int32, int64}" LIMITS,
     .shape = sample_shape,
     .doc = "As SampleDistortedBoundingBoxV2, the box that a seed names."},
    {.name = "ExtractGlimpse",
     GLIMPSE,
     .gradient = leat_gradient_none,
     .doc = "A window of each image about its offset, with noise for what lies outside."},
    {.name = "ExtractGlimpseV2",
     GLIMPSE,
     .doc = "As ExtractGlimpse, with offsets that are not centered from the window's corner."},
    {.name = "RandomCrop",
     .inputs = "image: T; size: int64",
     .outputs = "output: T",
     .attrs = "T: {uint8, int8, int16, int32, int64, float, double}" SEEDS,
     .flags = LEAT_OP_STATEFUL,
     .shape = crop_shape,
     .gradient = leat_gradient_none,
     .deprecated_since = 8,
     .deprecation = "Random crop is now pure Python",
     .doc = "A window of an image at a random place."},
    LEAT_OP_ROWS_END,
};
