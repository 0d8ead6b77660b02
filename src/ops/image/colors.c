// Ops on the colours of images, whose last dimension is red, green and blue:
//
//   AdjustContrastv2   images [..., height, width, channels], factor [] -> images
//   AdjustHue          images [..., height, width, 3], delta []         -> images
//   AdjustSaturation   images [..., height, width, 3], scale []         -> images
//   RGBToHSV, HSVToRGB images [..., 3]                                  -> images
//
// Colours in HSV are hue, a place in [0, 1) on the circle of colours, saturation and value. The
// kernels are in colors_cpu.c. None of the ops has a gradient.
#include <string.h>

#include "graph/gradient.h"
#include "graph/inference/inference.h"
#include "ops/op_rows.h"

static leat_status_t adjusted_shape(leat_inference_t* c) {
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank_at_least(c, leat_inference_input(c, 0), 3));
  for (int i = 1; i < leat_inference_input_count(c); ++i) {
    LEAT_RETURN_IF_ERROR(leat_shape_check_scalar(c, i));
  }
  return leat_shape_unchanged(c);
}

static leat_status_t converted_shape(leat_inference_t* c) {
  leat_partial_shape_t images = leat_inference_input(c, 0);
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank_at_least(c, images, 1));
  if (images.rank > 0) {
    int64_t dims[LEAT_SHAPE_MAX_RANK], *channels = &dims[images.rank - 1];
    memcpy(dims, images.dims, (size_t)images.rank * sizeof *dims);
    LEAT_RETURN_IF_ERROR(leat_inference_dim_with_value(*channels, 3, channels));
    LEAT_RETURN_IF_ERROR(leat_inference_make(c, images.rank, dims, &images));
  }
  leat_inference_set_output(c, 0, images);
  return leat_ok_status();
}

#define ADJUSTS(op, input, text)                                      \
  {.name = op,                                                        \
   .inputs = "images: T; " input ": float",                           \
   .outputs = "output: T",                                            \
   .attrs = "T: {half, float} = DT_FLOAT",                            \
   .shape = adjusted_shape,                                           \
   .gradient = leat_gradient_none,                                    \
   .contract = LEAT_RULES(LEAT_RULE_RANK_AT_LEAST(0, 3), LEAT_RULE_SCALAR(1)), \
   .doc = text}
#define CONVERTS(op, text)                                   \
  {.name = op,                                               \
   .inputs = "images: T",                                    \
   .outputs = "output: T",                                   \
   .attrs = "T: {half, bfloat16, float, double} = DT_FLOAT", \
   .shape = converted_shape,                                 \
   .gradient = leat_gradient_none,                           \
   .contract = LEAT_RULES(LEAT_RULE_RANK_AT_LEAST(0, 1)),    \
   .doc = text}

const leat_op_row_t leat_colors_ops[] = {
    ADJUSTS("AdjustContrastv2", "contrast_factor",
            "(pixel - mean) * factor + mean, where the mean is that of a channel of an image."),
    {.name = "AdjustContrast",
     .inputs = "images: T; contrast_factor: float; min_value: float; max_value: float",
     .outputs = "output: float",
     .attrs = "T: {uint8, int8, int16, int32, int64, float, double}",
     .shape = adjusted_shape,
     .contract = LEAT_RULES(LEAT_RULE_RANK_AT_LEAST(0, 3), LEAT_RULE_SCALAR(1),
                            LEAT_RULE_SCALAR(2), LEAT_RULE_SCALAR(3)),
     .deprecated_since = 2,
     .deprecation = "Use AdjustContrastv2 instead",
     .doc = "As AdjustContrastv2, with limits for the result."},
    ADJUSTS("AdjustHue", "delta", "Images whose hue is moved round the circle of colours."),
    ADJUSTS("AdjustSaturation", "scale", "Images whose saturation is scaled, up to 1."),
    CONVERTS("RGBToHSV", "Red, green and blue as hue, saturation and value."),
    CONVERTS("HSVToRGB", "Hue, saturation and value as red, green and blue."),
    LEAT_OP_ROWS_END,
};
