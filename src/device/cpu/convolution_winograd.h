// 3x3 convolutions with stride 1 by Winograd's algorithm (Lavin and Gray, "Fast Algorithms for
// Convolutional Neural Networks", F(4x4, 3x3)): 36 multiplications for sixteen results instead of
// 144. The image is cut into tiles of 4x4 results, each of which depends on 6x6 values:
//
//   V = B^T d B       transforms the values of a tile          [6, 6, tiles, in_channels]
//   U = G g G^T       transforms the filter, once              [6, 6, in_channels, out_channels]
//   M = V * U         36 matrix products
//   y = A^T M A       transforms the products into results     [4, 4, tiles, out_channels]
//
// The matrices come from interpolation at the points 0, 5/8, -5/8, 3/2, -3/2 and infinity, which
// keep the error at about twice that of a direct sum in float (the usual 0, 1, -1, 2, -2 give ten
// times it). The gradient of the input is the same convolution of the output's gradient with the
// filter turned round and its channels exchanged.
//
// convolution_plan.c decides where this way is taken, and is the only caller. Nothing here
// allocates or fails; all functions are thread-safe. A result depends on its own tile alone, so
// that its bits do not depend on how the tiles are divided among blocks and threads.
#ifndef LEAT_DEVICE_CPU_CONVOLUTION_WINOGRAD_H_
#define LEAT_DEVICE_CPU_CONVOLUTION_WINOGRAD_H_

#include "base/cpu.h"
#include "device/cpu/convolution.h"

// One convolution, seen as a forward one whichever its direction. A block is a run of rows of
// tiles, which may go on in the next image.
typedef struct leat_winograd_s {
  bool is_gradient;  // of the input
  int64_t batch, in_height, in_width, in_channels, out_height, out_width, out_channels;
  int64_t pad_top, pad_left;
  int64_t tiles_across, tile_rows;  // tile_rows: those of all images
  int64_t block_tile_rows, block_count;
} leat_winograd_t;

// Describes the convolution for a pool of |width| threads. false where the algorithm does not
// apply: other filters, strides or dilations, groups, channels that fill no vectors, or the
// gradient of the filter.
bool leat_winograd_describe(leat_convolution_direction_t direction,
                            const leat_convolution_shape_t* shape, int width,
                            leat_winograd_t* out_winograd);

// The bytes of U, and of the V and M of one block. Both are 64-byte aligned.
size_t leat_winograd_packed_bytes(const leat_winograd_t* winograd);
size_t leat_winograd_scratch_bytes(const leat_winograd_t* winograd);

// Computes U.
void leat_winograd_pack(const leat_winograd_t* winograd, const float* filter, float* packed);
// Computes block |block| of the output, and then |step|, unless it is NULL, on its rows.
void leat_winograd_run(const leat_winograd_t* winograd, int64_t block, const float* input,
                       const float* packed, const leat_row_step_t* step, float* output,
                       float* scratch);

// ---- Compiled once per instruction set (convolution_winograd_isa.c) -----------------------------

// V and M are [36, tiles of the block, channels], U is [36, panels of out_channels, in_channels,
// panel]. Their 36 planes lie LEAT_WINOGRAD_GAP elements further apart than their size, because 36
// addresses with equal low bits would meet in the same few lines of the first-level cache.
#define LEAT_WINOGRAD_GAP 16

typedef struct leat_winograd_kernels_s {
  int64_t panel;  // a multiple of the elements of a vector
  void (*pack)(const leat_winograd_t* winograd, const float* filter, float* packed);
  // The tiles of row |tile_row| become tiles |first|, ... of |tiles| ones in V.
  void (*transform_input)(const leat_winograd_t* winograd, const float* input, int64_t tile_row,
                          int64_t first, int64_t tiles, float* v);
  void (*multiply)(const leat_winograd_t* winograd, int64_t tiles, const float* v, const float* u,
                   float* m);
  void (*transform_output)(const leat_winograd_t* winograd, const float* m, int64_t tile_row,
                           int64_t first, int64_t tiles, float* output);
} leat_winograd_kernels_t;

LEAT_ISA_DECLARE(leat_winograd_kernels_t, leat_winograd_kernels);

#endif  // LEAT_DEVICE_CPU_CONVOLUTION_WINOGRAD_H_
