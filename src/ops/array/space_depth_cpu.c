// The CPU kernels of SpaceToDepth and DepthToSpace: one strided copy (strided_cpu.h) of six
// dimensions in each direction. The fine image has the pixels of a block as pixels, the coarse one
// has them as channels:
//
//   fine    [batch, height, block, width, block, depth]        [batch, rows, columns, channels]
//   coarse  [batch, height, width, block, block, depth]
//
// With NCHW the channels stand before the pixels:
//
//   fine    [batch, depth, height, block, width, block]
//   coarse  [batch, block, block, depth, height, width]
//
// Both images have the same elements. A table of strides for each image therefore says all. The
// dimensions are added to the copy in the order of the output. No product of the sizes may
// overflow: block_size comes from the graph, and it is checked against the input in each step.
#include "base/checked.h"
#include "ops/array/index_cpu.h"
#include "ops/array/strided_cpu.h"
#include "ops/array/types.h"
#include "ops/kernel_rows.h"

typedef struct depth_state_s {
  int64_t block;
  bool to_depth;
  bool channels_first;
} depth_state_t;

static leat_status_t create(leat_kernel_creation_t* creation, void* memory) {
  depth_state_t* state = memory;
  leat_string_view_t format;
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_int(creation, "block_size", &state->block));
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_string(creation, "data_format", &format));
  state->to_depth = leat_string_view_equals(creation->kernel->op->name, "SpaceToDepth");
  state->channels_first = leat_string_view_equals(format, "NCHW");
  if (state->channels_first || leat_string_view_equals(format, "NHWC")) return leat_ok_status();
  return leat_make_status(LEAT_UNIMPLEMENTED,
                          "Kernel creation failed for node '%.*s' (%.*s): data_format is %.*s, "
                          "must be NHWC or NCHW on CPU",
                          LEAT_SV_ARG(creation->kernel->node_name),
                          LEAT_SV_ARG(creation->kernel->op->name), LEAT_SV_ARG(format));
}

// Height and width are those of the coarse image, and depth that of the fine one: the sizes of the
// six dimensions.
typedef struct image_s {
  int64_t batch, height, width, depth, block;
} image_t;

// Reads the sizes from the input; checks that blocks divide it and that no product overflows.
static leat_status_t read_image(const leat_kernel_context_t* c, image_t* image) {
  const depth_state_t* state = leat_kernel_state(c);
  const leat_shape_t* shape = &leat_kernel_input(c, 0)->shape;
  if (shape->rank != 4) {
    return leat_kernel_invalid(c, "input has shape %s, must have rank 4", LEAT_SHAPE_TEXT(shape));
  }
  int64_t block = image->block = state->block, area;
  image->batch = leat_shape_dim(shape, 0);
  image->height = leat_shape_dim(shape, state->channels_first ? 2 : 1);
  image->width = leat_shape_dim(shape, state->channels_first ? 3 : 2);
  image->depth = leat_shape_dim(shape, state->channels_first ? 1 : 3);
  bool fits = leat_checked_multiply(block, block, &area);
  if (fits && state->to_depth) {
    fits = image->height % block == 0 && image->width % block == 0;
    image->height /= block;
    image->width /= block;
  } else if (fits) {
    fits = image->depth % area == 0;
    image->depth /= area;
  }
  int64_t unused;
  fits = fits && leat_checked_multiply(image->height, block, &unused) &&
         leat_checked_multiply(image->width, block, &unused) &&
         leat_checked_multiply(image->depth, area, &unused);
  if (fits) return leat_ok_status();
  return leat_kernel_invalid(c, "input has shape %s, must be divisible by block_size %lld%s",
                             LEAT_SHAPE_TEXT(shape), (long long)block,
                             state->to_depth ? "" : " squared in depth");
}

static leat_status_t make_output(leat_kernel_context_t* c, const image_t* image,
                                 leat_tensor_t** out_output) {
  const depth_state_t* state = leat_kernel_state(c);
  int64_t block = image->block;
  int64_t height = image->height * (state->to_depth ? 1 : block);
  int64_t width = image->width * (state->to_depth ? 1 : block);
  int64_t depth = image->depth * (state->to_depth ? block * block : 1);
  int64_t last[4] = {image->batch, height, width, depth};
  int64_t first[4] = {image->batch, depth, height, width};
  return leat_kernel_allocate_sized(c, 0, 4, state->channels_first ? first : last, out_output);
}

enum { BATCH, HEIGHT, BLOCK_ROW, WIDTH, BLOCK_COLUMN, DEPTH, DIMS };

// Sets the strides, in elements, of the six dimensions in both images.
static void set_strides(const image_t* i, bool channels_first, int64_t* fine, int64_t* coarse) {
  int64_t block = i->block, pixels = i->height * i->width;
  int64_t all = pixels * block * block * i->depth;
  fine[BATCH] = coarse[BATCH] = all;
  int64_t pixel = channels_first ? 1 : i->depth;  // the stride between pixels of the fine image
  fine[DEPTH] = channels_first ? pixels * block * block : 1;
  fine[BLOCK_COLUMN] = pixel;
  fine[WIDTH] = pixel * block;
  fine[BLOCK_ROW] = pixel * block * i->width;
  fine[HEIGHT] = pixel * block * i->width * block;
  // The stride from one channel of the coarse image to the next.
  int64_t channel = channels_first ? pixels : 1;
  coarse[DEPTH] = channel;
  coarse[BLOCK_COLUMN] = channel * i->depth;
  coarse[BLOCK_ROW] = channel * i->depth * block;
  coarse[WIDTH] = channels_first ? 1 : i->depth * block * block;
  coarse[HEIGHT] = coarse[WIDTH] * i->width;
}

static leat_status_t move_depth__cpu(leat_kernel_context_t* c) {
  const depth_state_t* state = leat_kernel_state(c);
  const leat_tensor_t* input = leat_kernel_input(c, 0);
  image_t image = {0};
  leat_tensor_t* output;
  LEAT_RETURN_IF_ERROR(read_image(c, &image));
  LEAT_RETURN_IF_ERROR(make_output(c, &image, &output));
  if (output->shape.element_count == 0) return leat_ok_status();
  int64_t fine[DIMS], coarse[DIMS];
  int64_t sizes[DIMS] = {image.batch, image.height, image.block,
                         image.width, image.block,  image.depth};
  set_strides(&image, state->channels_first, fine, coarse);
  // The dimensions of the output from the outermost to the innermost, by format and direction.
  static const int orders[2][2][DIMS] = {
      {{BATCH, HEIGHT, BLOCK_ROW, WIDTH, BLOCK_COLUMN, DEPTH},
       {BATCH, HEIGHT, WIDTH, BLOCK_ROW, BLOCK_COLUMN, DEPTH}},
      {{BATCH, DEPTH, HEIGHT, BLOCK_ROW, WIDTH, BLOCK_COLUMN},
       {BATCH, BLOCK_ROW, BLOCK_COLUMN, DEPTH, HEIGHT, WIDTH}}};
  const int* order = orders[state->channels_first][state->to_depth];
  leat_strided_t block;
  leat_strided_begin(&block, input->dtype);
  for (int d = 0; d < DIMS; ++d) {
    int at = order[d];
    leat_strided_add(&block, sizes[at], state->to_depth ? coarse[at] : fine[at],
                     state->to_depth ? fine[at] : coarse[at]);
  }
  return leat_strided_copy(c, &block, input->data, output->data);
}

const leat_kernel_row_t leat_space_depth_kernels_cpu[] = {
    {.op = "SpaceToDepth",
     .device_type = "CPU",
     .constraints = "T: " LEAT_TYPES_ALL ", qint8",
     .create = create,
     .state_bytes = sizeof(depth_state_t),
     .compute = move_depth__cpu},
    {.op = "DepthToSpace",
     .device_type = "CPU",
     .constraints = "T: " LEAT_TYPES_ALL,
     .create = create,
     .state_bytes = sizeof(depth_state_t),
     .compute = move_depth__cpu},
    LEAT_KERNEL_ROWS_END,
};
