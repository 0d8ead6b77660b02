// Definitions of the ops that draw the outlines of boxes into images: images [batch, height, width,
// depth], boxes [batch, boxes, 4] -> images. Colours are fixed in the first version and an input in
// the second.
#include "graph/inference/inference.h"
#include "ops/op_rows.h"

// Images have one channel (grey), three (RGB) or four (RGBA).
static leat_status_t draw_shape(leat_inference_t* c) {
  leat_partial_shape_t images, boxes;
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank(c, leat_inference_input(c, 0), 4, &images));
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank(c, leat_inference_input(c, 1), 3, &boxes));
  int64_t depth = images.rank == 4 ? images.dims[3] : LEAT_DIM_UNKNOWN, four;
  if (depth >= 0 && depth != 1 && depth != 3 && depth != 4) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "Channel depth should be either 1 (GRY), 3 (RGB), or 4 (RGBA)");
  }
  LEAT_RETURN_IF_ERROR(
      leat_inference_merge_dim(boxes.rank == 3 ? boxes.dims[2] : LEAT_DIM_UNKNOWN, 4, &four));
  leat_inference_set_output(c, 0, images);
  return leat_ok_status();
}

static leat_status_t draw_v2_shape(leat_inference_t* c) {
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank_at_least(c, leat_inference_input(c, 0), 3));
  return leat_shape_unchanged(c);
}

#define RULES \
  LEAT_RULE_RANK(0, 4), LEAT_RULE_RANK(1, 3), LEAT_RULE_SAME_DIM(0, 0, 1, 0), LEAT_RULE_DIM(1, 2, 4)

const leat_op_row_t leat_drawing_ops[] = {
    {.name = "DrawBoundingBoxes",
     .inputs = "images: T; boxes: float",
     .outputs = "output: T",
     .attrs = "T: {float, half} = DT_FLOAT",
     .shape = draw_shape,
     .contract = LEAT_RULES(RULES),
     .doc = "Images with the outlines of boxes, in ten colours."},
    {.name = "DrawBoundingBoxesV2",
     .inputs = "images: T; boxes: float; colors: float",
     .outputs = "output: T",
     .attrs = "T: {float, half} = DT_FLOAT",
     .shape = draw_v2_shape,
     .contract = LEAT_RULES(RULES, LEAT_RULE_RANK(2, 2)),
     .doc = "Images with the outlines of boxes, in the colours given."},
    LEAT_OP_ROWS_END,
};
