// Winograd's algorithm for one convolution: where it applies, how the tiles are cut into blocks,
// and the order of the work in a block. The arithmetic is in convolution_winograd_isa.c.
//
// The V and M of a block should stay in the second-level cache, where the products read and write
// them; but each block reads all of U once, so that a block of few tiles would be bound by that.
// Therefore a block has as many tiles as fit BLOCK_BYTES, and LEAST_TILES at least.
#include "device/cpu/convolution_winograd.h"

#include "base/checked.h"

#define POINTS 36
#define BLOCK_BYTES (768 * 1024)
#define LEAST_TILES 32

static int64_t count_blocks(int64_t total, int64_t block) { return (total + block - 1) / block; }

// Swaps the two sides: the gradient of the input is a convolution of the output's gradient.
static leat_winograd_t describe_sizes(leat_convolution_direction_t direction,
                                      const leat_convolution_shape_t* s) {
  if (direction == LEAT_CONVOLUTION_FORWARD) {
    return (leat_winograd_t){.batch = s->batch,
                             .in_height = s->in_height,
                             .in_width = s->in_width,
                             .in_channels = s->in_channels,
                             .out_height = s->out_height,
                             .out_width = s->out_width,
                             .out_channels = s->out_channels,
                             .pad_top = s->pad_top,
                             .pad_left = s->pad_left};
  }
  return (leat_winograd_t){.is_gradient = true,
                           .batch = s->batch,
                           .in_height = s->out_height,
                           .in_width = s->out_width,
                           .in_channels = s->out_channels,
                           .out_height = s->in_height,
                           .out_width = s->in_width,
                           .out_channels = s->in_channels,
                           .pad_top = 2 - s->pad_top,
                           .pad_left = 2 - s->pad_left};
}

bool leat_winograd_describe(leat_convolution_direction_t direction,
                            const leat_convolution_shape_t* s, int width,
                            leat_winograd_t* out_winograd) {
  const int64_t panel = LEAT_ISA_SELECT(leat_winograd_kernels)->panel;
  if (direction == LEAT_CONVOLUTION_BACKWARD_FILTER || s->groups != 1 || s->filter_height != 3 ||
      s->filter_width != 3 || s->stride_height != 1 || s->stride_width != 1 ||
      s->dilation_height != 1 || s->dilation_width != 1 || s->pad_top > 2 || s->pad_left > 2) {
    return false;
  }
  leat_winograd_t w = describe_sizes(direction, s);
  if (w.in_channels % 16 != 0 || w.out_channels % panel != 0) return false;
  w.tiles_across = count_blocks(w.out_width, 4);
  w.tile_rows = w.batch * count_blocks(w.out_height, 4);
  if (w.tiles_across == 0 || w.tile_rows == 0) return false;
  const int64_t tile_bytes = POINTS * (w.in_channels + w.out_channels) * (int64_t)sizeof(float);
  const int64_t tiles = LEAT_MAX(BLOCK_BYTES / tile_bytes, LEAST_TILES);
  w.block_tile_rows = LEAT_MAX(tiles / w.tiles_across, 1);
  // Every thread gets a block, and the blocks are of about equal size.
  w.block_tile_rows = LEAT_MIN(w.block_tile_rows, count_blocks(w.tile_rows, width));
  w.block_count = count_blocks(w.tile_rows, w.block_tile_rows);
  w.block_tile_rows = count_blocks(w.tile_rows, w.block_count);
  w.block_count = count_blocks(w.tile_rows, w.block_tile_rows);
  *out_winograd = w;
  return true;
}

static int64_t block_elements(const leat_winograd_t* w, int64_t channels) {
  return POINTS * (w->block_tile_rows * w->tiles_across * channels + LEAT_WINOGRAD_GAP);
}

size_t leat_winograd_packed_bytes(const leat_winograd_t* w) {
  return (size_t)(POINTS * (w->in_channels * w->out_channels + LEAT_WINOGRAD_GAP)) * sizeof(float);
}

size_t leat_winograd_scratch_bytes(const leat_winograd_t* w) {
  return (size_t)(block_elements(w, w->in_channels) + block_elements(w, w->out_channels)) *
         sizeof(float);
}

void leat_winograd_pack(const leat_winograd_t* w, const float* filter, float* packed) {
  LEAT_ISA_SELECT(leat_winograd_kernels)->pack(w, filter, packed);
}

// Applies |step| to the results of one row of tiles, which are up to four rows of an image.
static void apply_step(const leat_winograd_t* w, const leat_row_step_t* step, int64_t tile_row,
                       float* output) {
  const int64_t tiles_down = count_blocks(w->out_height, 4);
  const int64_t y = tile_row % tiles_down * 4;
  const int64_t first = (tile_row / tiles_down * w->out_height + y) * w->out_width;
  step->apply(step->data, output + first * w->out_channels, first,
              LEAT_MIN(w->out_height - y, 4) * w->out_width, false);
}

void leat_winograd_run(const leat_winograd_t* w, int64_t block, const float* input,
                       const float* packed, const leat_row_step_t* step, float* output,
                       float* scratch) {
  const leat_winograd_kernels_t* kernels = LEAT_ISA_SELECT(leat_winograd_kernels);
  const int64_t begin = block * w->block_tile_rows;
  const int64_t end = LEAT_MIN(begin + w->block_tile_rows, w->tile_rows);
  const int64_t across = w->tiles_across, tiles = (end - begin) * across;
  float* v = scratch;
  float* m = scratch + block_elements(w, w->in_channels);
  for (int64_t row = begin; row < end; ++row) {
    kernels->transform_input(w, input, row, (row - begin) * across, tiles, v);
  }
  kernels->multiply(w, tiles, v, packed, m);
  for (int64_t row = begin; row < end; ++row) {
    kernels->transform_output(w, m, row, (row - begin) * across, tiles, output);
    if (step) apply_step(w, step, row, output);
  }
}
