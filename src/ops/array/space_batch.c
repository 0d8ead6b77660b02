// The ops SpaceToBatch, BatchToSpace and their N-dimensional forms: their shapes, gradients and
// registration. SpaceToBatch pads the spatial dimensions, cuts them into blocks and moves the
// position within a block into the batch; BatchToSpace moves it back and crops.
//
//   x [batch, size_0, size_1, ..., rest]
//     -> [batch * block_0 * block_1 ..., (before_0 + size_0 + after_0) / block_0, ..., rest]
//
// Each is the gradient of the other, with the paddings as crops. The forms without "ND" are for
// images [batch, rows, columns, depth] with one block size for both dimensions, an attribute; the
// others take the block sizes as an input.
#include "base/checked.h"
#include "graph/gradient.h"
#include "graph/inference/inference_index.h"
#include "ops/op_rows.h"

// What is known of the block sizes and of the margins, which are the paddings or the crops.
typedef struct blocks_s {
  int count;          // spatial dimensions
  const int64_t* sizes;    // NULL: unknown
  const leat_tensor_t* margins;  // NULL: unknown
} blocks_t;

// Checks that input |input| may be a matrix [count, 2].
static leat_status_t check_margins(leat_inference_t* c, int input, int count) {
  int64_t dims[2] = {count, 2};
  leat_partial_shape_t unused;
  return leat_inference_merge(c, leat_inference_input(c, input), (leat_partial_shape_t){2, dims},
                              &unused);
}

// Computes the size of the output's batch from |size|, the input's.
static leat_status_t batch_size(const blocks_t* b, int64_t size, bool to_batch,
                                int64_t* out_size) {
  *out_size = size;
  if (b->count > 0 && !b->sizes) *out_size = LEAT_DIM_UNKNOWN;
  for (int d = 0; b->sizes && d < b->count; ++d) {
    if (b->sizes[d] < 1) {
      return leat_make_status(LEAT_INVALID_ARGUMENT, "block_shape must be positive");
    }
    if (to_batch) {
      LEAT_RETURN_IF_ERROR(leat_inference_multiply(*out_size, b->sizes[d], out_size));
    } else {
      LEAT_RETURN_IF_ERROR(leat_inference_divide(*out_size, b->sizes[d], out_size));
    }
  }
  return leat_ok_status();
}

// Computes size |d| of the output's spatial dimensions from |size|, the input's.
static leat_status_t spatial_size(const blocks_t* b, int d, int64_t size, bool to_batch,
                                  int64_t* out_size) {
  *out_size = LEAT_DIM_UNKNOWN;
  if (!b->margins) return leat_ok_status();
  int64_t before = leat_tensor_index_at(b->margins, 2 * d);
  int64_t after = leat_tensor_index_at(b->margins, 2 * d + 1);
  if (before < 0 || after < 0) {
    return leat_make_status(LEAT_INVALID_ARGUMENT, "paddings and crops cannot be negative");
  }
  if (!b->sizes) return leat_ok_status();
  if (to_batch) {
    LEAT_RETURN_IF_ERROR(leat_inference_add(size, before, &size));
    LEAT_RETURN_IF_ERROR(leat_inference_add(size, after, &size));
    return leat_inference_divide(size, b->sizes[d], out_size);
  }
  LEAT_RETURN_IF_ERROR(leat_inference_multiply(size, b->sizes[d], &size));
  LEAT_RETURN_IF_ERROR(leat_inference_add(size, -before, &size));
  return leat_inference_add(size, -after, out_size);
}

static leat_status_t moved_shape(leat_inference_t* c, leat_partial_shape_t input,
                                 const blocks_t* b, bool to_batch) {
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank_at_least(c, input, b->count + 1));
  if (input.rank < 0) return leat_ok_status();
  int64_t dims[LEAT_SHAPE_MAX_RANK];
  for (int d = 0; d < input.rank; ++d) dims[d] = input.dims[d];
  LEAT_RETURN_IF_ERROR(batch_size(b, input.dims[0], to_batch, &dims[0]));
  for (int d = 0; d < b->count; ++d) {
    LEAT_RETURN_IF_ERROR(spatial_size(b, d, input.dims[d + 1], to_batch, &dims[d + 1]));
  }
  leat_partial_shape_t shape;
  LEAT_RETURN_IF_ERROR(leat_inference_make(c, input.rank, dims, &shape));
  leat_inference_set_output(c, 0, shape);
  return leat_ok_status();
}

static leat_status_t nd_shape(leat_inference_t* c, bool to_batch) {
  leat_partial_shape_t block;
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank(c, leat_inference_input(c, 1), 1, &block));
  if (block.dims[0] == LEAT_DIM_UNKNOWN) return leat_ok_status();
  if (block.dims[0] >= LEAT_SHAPE_MAX_RANK) {
    return leat_make_status(LEAT_INVALID_ARGUMENT, "block_shape has too many sizes.");
  }
  bool is_known;
  leat_partial_value_t sizes;
  blocks_t b = {.count = (int)block.dims[0]};
  LEAT_RETURN_IF_ERROR(check_margins(c, 2, b.count));
  LEAT_RETURN_IF_ERROR(leat_inference_indices(c, 1, &is_known, &sizes));
  if (is_known && sizes.count == b.count) b.sizes = sizes.items;
  b.margins = leat_inference_input_tensor(c, 2);
  if (b.margins && b.margins->shape.element_count != 2 * b.count) b.margins = NULL;
  return moved_shape(c, leat_inference_input(c, 0), &b, to_batch);
}
static leat_status_t space_to_batch_nd_shape(leat_inference_t* c) { return nd_shape(c, true); }
static leat_status_t batch_to_space_nd_shape(leat_inference_t* c) { return nd_shape(c, false); }

static leat_status_t image_shape(leat_inference_t* c, bool to_batch) {
  leat_partial_shape_t input;
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank(c, leat_inference_input(c, 0), 4, &input));
  int64_t block_size = leat_node_attr_int(c->node, "block_size", 2);
  int64_t sizes[2] = {block_size, block_size};
  LEAT_RETURN_IF_ERROR(check_margins(c, 1, 2));
  blocks_t b = {.count = 2, .sizes = sizes, .margins = leat_inference_input_tensor(c, 1)};
  if (b.margins && b.margins->shape.element_count != 4) b.margins = NULL;
  return moved_shape(c, input, &b, to_batch);
}
static leat_status_t space_to_batch_shape(leat_inference_t* c) { return image_shape(c, true); }
static leat_status_t batch_to_space_shape(leat_inference_t* c) { return image_shape(c, false); }

// ---- Gradients ----------------------------------------------------------------------------------

static leat_status_t image_gradient(leat_gradient_t* g, const char* op) {
  int64_t block_size = leat_node_attr_int(leat_gradient_node(g), "block_size", 2);
  leat_output_t margins = leat_gradient_input(g, 1);
  leat_gradient_set_input(g, 0,
                          leat_build(&g->builder, op,
                                     LEAT_INPUTS(leat_gradient_of_output(g, 0), margins),
                                     LEAT_ATTRS(LEAT_INT("block_size", block_size))));
  return leat_ok_status();
}
static leat_status_t space_to_batch_gradient(leat_gradient_t* g) {
  return image_gradient(g, "BatchToSpace");
}
static leat_status_t batch_to_space_gradient(leat_gradient_t* g) {
  return image_gradient(g, "SpaceToBatch");
}

static leat_status_t nd_gradient(leat_gradient_t* g, const char* op) {
  leat_output_t block = leat_gradient_input(g, 1), margins = leat_gradient_input(g, 2);
  leat_gradient_set_input(g, 0,
                          leat_build(&g->builder, op,
                                     LEAT_INPUTS(leat_gradient_of_output(g, 0), block, margins),
                                     LEAT_NO_ATTRS));
  return leat_ok_status();
}
static leat_status_t space_to_batch_nd_gradient(leat_gradient_t* g) {
  return nd_gradient(g, "BatchToSpaceND");
}
static leat_status_t batch_to_space_nd_gradient(leat_gradient_t* g) {
  return nd_gradient(g, "SpaceToBatchND");
}

const leat_op_row_t leat_space_batch_ops[] = {
    {.name = "SpaceToBatch",
     .inputs = "input: T; paddings: Tpaddings",
     .outputs = "output: T",
     .attrs = "T: type; Tpaddings: {int32, int64} = int32; block_size: int >= 2",
     .shape = space_to_batch_shape,
     .gradient = space_to_batch_gradient,
     .doc = "Images, padded, whose positions within blocks become batch entries."},
    {.name = "SpaceToBatchND",
     .inputs = "input: T; block_shape: Tblock_shape; paddings: Tpaddings",
     .outputs = "output: T",
     .attrs = "T: type; Tblock_shape: {int32, int64} = int32; Tpaddings: {int32, int64} = int32",
     .shape = space_to_batch_nd_shape,
     .gradient = space_to_batch_nd_gradient,
     .doc = "The input, padded, whose positions within blocks become batch entries."},
    {.name = "BatchToSpace",
     .inputs = "input: T; crops: Tidx",
     .outputs = "output: T",
     .attrs = "T: type; block_size: int >= 2; Tidx: {int32, int64} = int32",
     .shape = batch_to_space_shape,
     .gradient = batch_to_space_gradient,
     .doc = "Batch entries back as positions within blocks of images, cropped."},
    {.name = "BatchToSpaceND",
     .inputs = "input: T; block_shape: Tblock_shape; crops: Tcrops",
     .outputs = "output: T",
     .attrs = "T: type; Tblock_shape: {int32, int64} = int32; Tcrops: {int32, int64} = int32",
     .shape = batch_to_space_nd_shape,
     .gradient = batch_to_space_nd_gradient,
     .doc = "Batch entries back as positions within blocks, cropped."},
    LEAT_OP_ROWS_END,
};
