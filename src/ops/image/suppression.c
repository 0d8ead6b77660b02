// Definitions of non-maximum suppression, the last stage of an object detector: of boxes that
// overlap, those with the best scores are selected, and the others are dropped.
//
//   boxes [count, 4], scores [count], max_output_size [], thresholds [] -> selected_indices [n]
//
// There are five versions of the op. They add, one after the other, the threshold as an input, a
// least score, padding to a fixed size with the number of valid outputs, and soft suppression,
// which lowers the scores of overlapping boxes and outputs them. A sixth op takes the overlaps of
// all pairs in place of the boxes. CombinedNonMaxSuppression does it for each class of each image
// of a batch, and gives the best boxes of all classes, padded with zeros. How many boxes are
// selected depends on the values, so the output's size is known only where it is padded. The
// kernels are in suppression_cpu.c and combined_suppression_cpu.c; there is no gradient.
#include "graph/gradient.h"
#include "graph/inference/inference.h"
#include "ops/op_rows.h"

// Sets the outputs. The number of selected boxes is known only where the output is padded and
// max_output_size is a constant. The last of several outputs is a count.
static leat_status_t set_selected(leat_inference_t* c) {
  int64_t count = LEAT_DIM_UNKNOWN;
  if (leat_node_attr_bool(c->node, "pad_to_max_output_size", false)) {
    leat_partial_value_t most;
    LEAT_RETURN_IF_ERROR(leat_inference_input_value(c, 2, &most));
    if (most.rank == 0 && most.count == 1 && most.items[0] >= 0) count = most.items[0];
  }
  for (int i = 0; i < c->node->output_count; ++i) {
    leat_partial_shape_t shape;
    bool is_count = i > 0 && i == c->node->output_count - 1;
    LEAT_RETURN_IF_ERROR(leat_inference_make(c, is_count ? 0 : 1, &count, &shape));
    leat_inference_set_output(c, i, shape);
  }
  return leat_ok_status();
}

// Checks that input 0 has |columns| columns (-1: as many as rows) and that there is a score for
// each of its rows.
static leat_status_t suppression_shape(leat_inference_t* c, int64_t columns) {
  leat_partial_shape_t boxes, scores, scalar;
  int64_t unused;
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank(c, leat_inference_input(c, 0), 2, &boxes));
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank(c, leat_inference_input(c, 1), 1, &scores));
  for (int i = 2; i < leat_inference_input_count(c); ++i) {
    LEAT_RETURN_IF_ERROR(leat_inference_with_rank(c, leat_inference_input(c, i), 0, &scalar));
  }
  if (boxes.rank == 2) {
    LEAT_RETURN_IF_ERROR(leat_inference_merge_dim(
        boxes.dims[0], scores.rank == 1 ? scores.dims[0] : LEAT_DIM_UNKNOWN, &unused));
    LEAT_RETURN_IF_ERROR(
        columns < 0 ? leat_inference_merge_dim(boxes.dims[1], boxes.dims[0], &unused)
                    : leat_inference_dim_with_value(boxes.dims[1], columns, &unused));
  }
  return set_selected(c);
}

static leat_status_t boxes_shape(leat_inference_t* c) { return suppression_shape(c, 4); }
static leat_status_t overlaps_shape(leat_inference_t* c) { return suppression_shape(c, -1); }

// boxes [batch, count, classes or 1, 4], scores [batch, count, classes]. The output of an image has
// max_total_size boxes; with pad_per_class at most as many as all classes may give.
static leat_status_t combined_shape(leat_inference_t* c) {
  leat_partial_shape_t boxes, scores, shape;
  leat_partial_value_t per_class, total;
  int64_t four;
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank(c, leat_inference_input(c, 0), 4, &boxes));
  LEAT_RETURN_IF_ERROR(leat_inference_dim_with_value(boxes.dims[3], 4, &four));
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank(c, leat_inference_input(c, 1), 3, &scores));
  for (int i = 2; i < 6; ++i) LEAT_RETURN_IF_ERROR(leat_shape_check_scalar(c, i));
  LEAT_RETURN_IF_ERROR(leat_inference_input_value(c, 2, &per_class));
  LEAT_RETURN_IF_ERROR(leat_inference_input_value(c, 3, &total));
  int64_t dims[3] = {boxes.dims[0], LEAT_DIM_UNKNOWN, 4};
  if (total.rank == 0 && total.count == 1 && total.items[0] >= 0) dims[1] = total.items[0];
  if (leat_node_attr_bool(c->node, "pad_per_class", false) && dims[1] != LEAT_DIM_UNKNOWN) {
    int64_t most = LEAT_DIM_UNKNOWN;
    if (per_class.rank == 0 && per_class.count == 1 && per_class.items[0] >= 0) {
      LEAT_RETURN_IF_ERROR(leat_inference_multiply(scores.dims[2], per_class.items[0], &most));
    }
    dims[1] = most == LEAT_DIM_UNKNOWN || most < dims[1] ? most : dims[1];
  }
  for (int i = 0; i < 4; ++i) {
    static const int kRanks[] = {3, 2, 2, 1};
    LEAT_RETURN_IF_ERROR(leat_inference_make(c, kRanks[i], dims, &shape));
    leat_inference_set_output(c, i, shape);
  }
  return leat_ok_status();
}

#define TYPES "T: {half, float} = float"
#define THRESHOLD_TYPES TYPES "; T_threshold: {half, float} = float"
#define PADDED "; pad_to_max_output_size: bool = false"
#define BOXES "boxes: T; scores: T; max_output_size: int32; "

const leat_op_row_t leat_suppression_ops[] = {
    {.name = "NonMaxSuppression",
     .inputs = "boxes: float; scores: float; max_output_size: int32",
     .outputs = "selected_indices: int32",
     .attrs = "iou_threshold: float = 0.5",
     .shape = boxes_shape,
     .gradient = leat_gradient_none,
     .doc = "Boxes by falling score, without those that overlap one before too much."},
    {.name = "NonMaxSuppressionV2",
     .inputs = BOXES "iou_threshold: T_threshold",
     .outputs = "selected_indices: int32",
     .attrs = THRESHOLD_TYPES,
     .shape = boxes_shape,
     .gradient = leat_gradient_none,
     .doc = "As NonMaxSuppression, with the limit as an input."},
    {.name = "NonMaxSuppressionV3",
     .inputs = BOXES "iou_threshold: T_threshold; score_threshold: T_threshold",
     .outputs = "selected_indices: int32",
     .attrs = THRESHOLD_TYPES,
     .shape = boxes_shape,
     .doc = "As NonMaxSuppressionV2, without boxes of low scores."},
    {.name = "NonMaxSuppressionV4",
     .inputs = BOXES "iou_threshold: T_threshold; score_threshold: T_threshold",
     .outputs = "selected_indices: int32; valid_outputs: int32",
     .attrs = THRESHOLD_TYPES PADDED,
     .shape = boxes_shape,
     .doc = "As NonMaxSuppressionV3, perhaps padded with zeros."},
    {.name = "NonMaxSuppressionV5",
     .inputs = BOXES "iou_threshold: T; score_threshold: T; soft_nms_sigma: T",
     .outputs = "selected_indices: int32; selected_scores: T; valid_outputs: int32",
     .attrs = TYPES PADDED,
     .shape = boxes_shape,
     .doc = "As NonMaxSuppressionV4; overlaps may lower a score instead of ending the box."},
    {.name = "NonMaxSuppressionWithOverlaps",
     .inputs = "overlaps: float; scores: float; max_output_size: int32; overlap_threshold: float; "
               "score_threshold: float",
     .outputs = "selected_indices: int32",
     .shape = overlaps_shape,
     .gradient = leat_gradient_none,
     .doc = "As NonMaxSuppressionV3, of any things whose overlaps are given."},
    {.name = "CombinedNonMaxSuppression",
     .inputs = "boxes: float; scores: float; max_output_size_per_class: int32; "
               "max_total_size: int32; iou_threshold: float; score_threshold: float",
     .outputs = "nmsed_boxes: float; nmsed_scores: float; nmsed_classes: float; "
                "valid_detections: int32",
     .attrs = "pad_per_class: bool = false; clip_boxes: bool = true",
     .shape = combined_shape,
     .doc = "The best boxes of all classes of each image, without those that overlap."},
    LEAT_OP_ROWS_END,
};
