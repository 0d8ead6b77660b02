// FusedPadConv2D and FusedResizeAndPadConv2D: a MirrorPad, or a ResizeBilinear and a MirrorPad,
// before a Conv2D, which TensorFlow's graph transforms put in the place of these nodes.
//
//   input [batch, height, width, in], paddings [4, 2], filter [height, width, in, out] -> output
//
// They are made of graphs that are no longer trained and have no gradient, as in TensorFlow. The
// kernels are in fused_pad_conv2d_cpu.c.
#include "ops/array/pad.h"
#include "ops/image/image_shape.h"
#include "ops/nn/window_op.h"
#include "ops/op_rows.h"

// The output for images of shape |images|; the paddings are input |paddings|, the filter is behind
// them. Unlike Conv2D these ops know no groups of channels.
static leat_status_t padded_shape(leat_inference_t* c, leat_partial_shape_t images, int paddings) {
  leat_partial_shape_t filter;
  leat_window_t window;
  int64_t depth;
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank(c, images, 4, &images));
  LEAT_RETURN_IF_ERROR(leat_pad_infer(c, images, paddings, 1, &images));
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank(c, images, 4, &images));
  LEAT_RETURN_IF_ERROR(
      leat_inference_with_rank(c, leat_inference_input(c, paddings + 1), 4, &filter));
  LEAT_RETURN_IF_ERROR(leat_window_read(c->node->attrs, c->node->attr_count, 2, &window));
  LEAT_RETURN_IF_ERROR(leat_inference_merge_dim(images.dims[3], filter.dims[2], &depth));
  return leat_window_set_output(c, &window, 0, images, filter.dims, filter.dims[3]);
}

static leat_status_t pad_shape(leat_inference_t* c) {
  return padded_shape(c, leat_inference_input(c, 0), 1);
}

static leat_status_t resize_and_pad_shape(leat_inference_t* c) {
  LEAT_RETURN_IF_ERROR(leat_image_resize_shape(c));
  return padded_shape(c, c->outputs[0], 2);
}

#define CONVOLUTION \
  "mode: {'REFLECT', 'SYMMETRIC'}; strides: list(int); padding: {'SAME', 'VALID'}"

const leat_op_row_t leat_fused_pad_conv2d_ops[] = {
    {.name = "FusedPadConv2D",
     .cost = LEAT_COST_CONVOLUTION,
     .inputs = "input: T; paddings: int32; filter: T",
     .outputs = "output: T",
     .attrs = "T: {half, bfloat16, float, double}; " CONVOLUTION,
     .shape = pad_shape,
     .contract = LEAT_RULES(LEAT_RULE_RANK(0, 4), LEAT_RULE_NOT_EMPTY(0), LEAT_RULE_RANK(2, 4)),
     .doc = "Conv2D of images with their mirror image around."},
    {.name = "FusedResizeAndPadConv2D",
     .cost = LEAT_COST_CONVOLUTION,
     .inputs = "input: T; size: int32; paddings: int32; filter: T",
     .outputs = "output: T",
     .attrs = "T: {half, float, double}; resize_align_corners: bool = false; " CONVOLUTION,
     .shape = resize_and_pad_shape,
     .contract = LEAT_RULES(LEAT_RULE_RANK(0, 4), LEAT_RULE_NOT_EMPTY(0), LEAT_RULE_RANK(3, 4)),
     .doc = "Conv2D of images resized bilinearly, with their mirror image around."},
    LEAT_OP_ROWS_END,
};
