// The ops SpaceToDepth and DepthToSpace: their shapes, gradients and registration. SpaceToDepth
// moves the pixels of each block into the channels, DepthToSpace moves them back, and each is the
// gradient of the other.
//
//   NHWC  [n, h, w, c] -> [n, h / block, w / block, c * block * block]
//
// NCHW has the channels before the pixels. NCHW_VECT_C has a fifth dimension, also of channels,
// which stays as it is; it has no gradient, as in TensorFlow.
#include "graph/gradient.h"
#include "graph/inference/inference_index.h"
#include "ops/op_rows.h"

// The rank of an image format, and which dimension is its height, width and depth.
typedef struct format_s {
  int rank, height, width, depth;
} format_t;

static format_t format_of(const leat_node_t* node) {
  leat_string_view_t name = leat_node_attr_string(node, "data_format");
  if (leat_string_view_equals(name, "NCHW")) return (format_t){4, 2, 3, 1};
  if (leat_string_view_equals(name, "NCHW_VECT_C")) return (format_t){5, 2, 3, 1};
  return (format_t){4, 1, 2, 3};
}

static leat_status_t moved_shape(leat_inference_t* c, bool to_depth) {
  format_t f = format_of(c->node);
  leat_partial_shape_t input, shape;
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank(c, leat_inference_input(c, 0), f.rank, &input));
  int64_t block = leat_node_attr_int(c->node, "block_size", 2), area, dims[5];
  LEAT_RETURN_IF_ERROR(leat_inference_multiply(block, block, &area));
  for (int d = 0; d < f.rank; ++d) dims[d] = input.dims[d];
  if (to_depth) {
    LEAT_RETURN_IF_ERROR(leat_inference_divide(dims[f.height], block, &dims[f.height]));
    LEAT_RETURN_IF_ERROR(leat_inference_divide(dims[f.width], block, &dims[f.width]));
    LEAT_RETURN_IF_ERROR(leat_inference_multiply(dims[f.depth], area, &dims[f.depth]));
  } else {
    LEAT_RETURN_IF_ERROR(leat_inference_multiply(dims[f.height], block, &dims[f.height]));
    LEAT_RETURN_IF_ERROR(leat_inference_multiply(dims[f.width], block, &dims[f.width]));
    LEAT_RETURN_IF_ERROR(leat_inference_divide(dims[f.depth], area, &dims[f.depth]));
  }
  LEAT_RETURN_IF_ERROR(leat_inference_make(c, f.rank, dims, &shape));
  leat_inference_set_output(c, 0, shape);
  return leat_ok_status();
}
static leat_status_t space_to_depth_shape(leat_inference_t* c) { return moved_shape(c, true); }
static leat_status_t depth_to_space_shape(leat_inference_t* c) { return moved_shape(c, false); }

static leat_status_t opposite(leat_gradient_t* g, const char* op) {
  const leat_node_t* node = leat_gradient_node(g);
  int64_t block = leat_node_attr_int(node, "block_size", 2);
  leat_string_view_t format = leat_node_attr_string(node, "data_format");
  if (leat_string_view_equals(format, "NCHW_VECT_C")) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "Cannot compute the gradient of %.*s with NCHW_VECT_C",
                            LEAT_SV_ARG(node->op->name));
  }
  leat_gradient_set_input(
      g, 0, leat_build(&g->builder, op, LEAT_INPUTS(leat_gradient_of_output(g, 0)),
                       LEAT_ATTRS(LEAT_INT("block_size", block),
                                  LEAT_STRING("data_format", format))));
  return leat_ok_status();
}
static leat_status_t space_to_depth_gradient(leat_gradient_t* g) {
  return opposite(g, "DepthToSpace");
}
static leat_status_t depth_to_space_gradient(leat_gradient_t* g) {
  return opposite(g, "SpaceToDepth");
}

#define ATTRS "T: type; block_size: int >= 2; data_format: {'NHWC', 'NCHW', 'NCHW_VECT_C'} = 'NHWC'"

const leat_op_row_t leat_space_depth_ops[] = {
    {.name = "SpaceToDepth",
     .inputs = "input: T",
     .outputs = "output: T",
     .attrs = ATTRS,
     .shape = space_to_depth_shape,
     .gradient = space_to_depth_gradient,
     .doc = "Images whose blocks of pixels become channels."},
    {.name = "DepthToSpace",
     .inputs = "input: T",
     .outputs = "output: T",
     .attrs = ATTRS,
     .shape = depth_to_space_shape,
     .gradient = depth_to_space_gradient,
     .doc = "Images whose channels become blocks of pixels."},
    LEAT_OP_ROWS_END,
};
