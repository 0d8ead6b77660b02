// Three-dimensional convolution and its gradients as matrix products ("im2col"). At each output
// position the filter meets taps * channels input elements; they are copied side by side into a row
// of a matrix, so that the convolution becomes one product with the filter seen as a matrix:
//
//   patches [positions, taps * channels] x filter [taps * channels, out] -> output [positions, out]
//
// The matrix of all patches would be many times as large as the input, so it is made a tile of
// positions at a time, small enough for the second-level cache. The tiles are shared among threads:
//
//   forward    each thread takes some of the output positions
//   to input   patches = dy x transposed filter, added into the images; threads take whole
//              images, since patches overlap
//   to filter  transposed patches x dy, summed over all positions: one thread goes over the tiles
//              and the threads meet within each product
//
// Groups are separate products over slices of the channels. How threads split the work does not
// change any sum's order, except what the matrix product itself does. The tensors are wide with the
// channels last; channels_cpu.c brings them there.
#include "ops/nn/conv3d_cpu.h"

#include <string.h>

#include "base/checked.h"
#include "device/cpu/gemm.h"
#include "ops/nn/channels_cpu.h"

// ---- Sizes --------------------------------------------------------------------------------------

leat_status_t leat_conv3d_check_window(const leat_window_t* w, leat_status_code_t misplaced) {
  if (w->batch.stride != 1 || w->channels.stride != 1 || w->batch.dilation != 1 ||
      w->channels.dilation != 1) {
    return leat_make_status(misplaced, "Current implementation does not support strides or "
                            "dilations in the batch and depth dimensions.");
  }
  for (int i = 0; i < w->spatial; ++i) {
    if (w->axes[i].stride > 0 && w->axes[i].dilation > 0) continue;
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "Spatial strides and dilations should be larger than 0.");
  }
  return leat_ok_status();
}

leat_status_t leat_conv3d_measure(const leat_kernel_context_t* c, const leat_window_t* w,
                                  const int64_t* input, const int64_t* filter,
                                  leat_conv3d_shape_t* out_shape, int64_t* out_output) {
  const int channel = leat_window_channel_dim(w);
  const int64_t in = input[channel], filter_in = filter[3], out = filter[4];
  for (int d = 0; d < 5; ++d) {
    if (filter[d] > 0) continue;
    return leat_kernel_invalid(c, "filter must not have zero elements: size %d is %lld", d,
                               (long long)filter[d]);
  }
  if (in % filter_in != 0 || in == 0 || out % (in / filter_in) != 0) {
    return leat_kernel_invalid(c, "Input depth must be evenly divisible by filter depth and output "
                               "depth by the groups: they are %lld, %lld and %lld", (long long)in,
                               (long long)filter_in, (long long)out);
  }
  *out_shape = (leat_conv3d_shape_t){.batch = input[0],
                                     .in_channels = in,
                                     .out_channels = out,
                                     .groups = in / filter_in};
  for (int i = 0; i < 3; ++i) {
    const int d = leat_window_dim(w, i);
    out_shape->in[i] = input[d];
    out_shape->filter[i] = filter[i];
    out_shape->stride[i] = w->axes[i].stride;
    out_shape->dilation[i] = w->axes[i].dilation;
    LEAT_RETURN_IF_ERROR(leat_window_count(&w->axes[i], w->padding, input[d], filter[i],
                                           &out_shape->out[i], &out_shape->before[i]));
    out_output[d] = out_shape->out[i];
  }
  out_output[0] = input[0];
  out_output[channel] = out;
  return leat_ok_status();
}

// ---- Tiles --------------------------------------------------------------------------------------

typedef struct conv3d_run_s {
  const leat_conv3d_shape_t* shape;
  leat_convolution_direction_t direction;
  void* x;       // the input or its gradient
  void* filter;  // the filter or its gradient
  void* y;       // the output or its gradient
  char* patches;
  int64_t taps, depth;  // positions of the filter; those times the channels of a group
  // All output positions; those of a tile; those that a thread takes at once (a shard). Each shard
  // has its own memory for the patches of a tile.
  int64_t positions, tile, shard;
  size_t item_bytes;
  leat_thread_pool_t* pool;
} conv3d_run_t;

// The input position (counted over all images) that tap |tap| of the filter meets at output
// position |p|; -1 where it falls into the padding.
static inline int64_t find_place(const leat_conv3d_shape_t* s, int64_t p, int64_t tap) {
  int64_t places[3];
  for (int i = 2; i >= 0; --i) {
    places[i] = p % s->out[i] * s->stride[i] - s->before[i] +
                tap % s->filter[i] * s->dilation[i];
    if (places[i] < 0 || places[i] >= s->in[i]) return -1;
    p /= s->out[i];
    tap /= s->filter[i];
  }
  return ((p * s->in[0] + places[0]) * s->in[1] + places[1]) * s->in[2] + places[2];
}

#define REAL float
#define SUFFIX(name) name##_f32
#include "ops/nn/conv3d_steps.inc"
#define REAL double
#define SUFFIX(name) name##_f64
#include "ops/nn/conv3d_steps.inc"

// Runs shards [begin, end), each over all groups and all tiles of the shard.
static void run_shards(void* data, int64_t begin, int64_t end) {
  const conv3d_run_t* run = data;
  for (int64_t shard = begin; shard < end; ++shard) {
    const int64_t last = LEAT_MIN((shard + 1) * run->shard, run->positions);
    char* patches = run->patches + (size_t)(shard * run->tile * run->depth) * run->item_bytes;
    for (int64_t group = 0; group < run->shape->groups; ++group) {
      for (int64_t p = shard * run->shard; p < last; p += run->tile) {
        (run->item_bytes == 8 ? run_tile_f64 : run_tile_f32)(
            run, p, LEAT_MIN(p + run->tile, last), group, patches);
      }
    }
  }
}

// Patches of a tile should stay in the second-level cache between their making and the product.
#define TILE_BYTES (256 << 10)
#define MOST_SHARDS 32

// Divides the work as the head of this file says and runs it. A run of one shard is not put on the
// pool, so that the matrix products within it may use the pool.
static leat_status_t run_tiles(leat_kernel_context_t* c, conv3d_run_t* run, int dtype) {
  const leat_conv3d_shape_t* s = run->shape;
  const int64_t image = s->out[0] * s->out[1] * s->out[2];
  run->taps = s->filter[0] * s->filter[1] * s->filter[2];
  run->depth = run->taps * (s->in_channels / s->groups);
  run->positions = s->batch * image;
  run->item_bytes = leat_dtype_size(dtype);
  run->tile = LEAT_MAX(TILE_BYTES / (run->depth * (int64_t)run->item_bytes), 8);
  run->tile = LEAT_MIN(run->tile, run->positions);
  switch (run->direction) {
    case LEAT_CONVOLUTION_FORWARD:
      run->shard = LEAT_MAX((run->positions + MOST_SHARDS - 1) / MOST_SHARDS, run->tile);
      break;
    case LEAT_CONVOLUTION_BACKWARD_INPUT:  // whole images
      run->shard = (s->batch + MOST_SHARDS - 1) / MOST_SHARDS * image;
      break;
    default:
      run->shard = run->positions;
  }
  const int64_t shards = (run->positions + run->shard - 1) / run->shard;
  const leat_shape_t flat = leat_shape_vector(shards * run->tile * run->depth);
  leat_tensor_t patches;
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_temporary(c, dtype, &flat, &patches));
  run->patches = patches.data;
  run->pool = c->services->pool;
  const double shard_ns =
      0.05 * (double)run->shard * (double)run->depth * (double)(s->out_channels / s->groups);
  if (shards == 1) {
    run_shards(run, 0, 1);
  } else {
    leat_kernel_parallel_for(c, shards, shard_ns, run_shards, run);
  }
  leat_tensor_release(&patches);
  return leat_ok_status();
}

// ---- Whole tensors ------------------------------------------------------------------------------

// Makes |result| what the run writes to, runs, and converts back. Gradients are added up, so their
// tensor must be zero before. |inout_place| is the field of |run| that stands for the result.
static leat_status_t run_into(leat_kernel_context_t* c, conv3d_run_t* run, bool is_transposed,
                              void** inout_place, leat_tensor_t* result) {
  leat_transposed_output_t transposed;
  LEAT_RETURN_IF_ERROR(leat_transposed_output_begin(c, is_transposed, result, &transposed));
  *inout_place = transposed.wide.data;
  if (run->direction != LEAT_CONVOLUTION_FORWARD) leat_tensor_fill_zero(&transposed.wide);
  return leat_transposed_output_end(c, &transposed, run_tiles(c, run, transposed.wide.dtype));
}

leat_status_t leat_conv3d_run(leat_kernel_context_t* c, const leat_window_t* window,
                              leat_convolution_direction_t direction,
                              const leat_conv3d_shape_t* shape, const leat_tensor_t* first,
                              const leat_tensor_t* second, leat_tensor_t* result) {
  if (result->shape.element_count == 0) return leat_ok_status();
  if (first->shape.element_count == 0 || second->shape.element_count == 0) {
    leat_tensor_fill_zero(result);
    return leat_ok_status();
  }
  const bool is_transposed = window->channels_first;
  conv3d_run_t run = {.shape = shape, .direction = direction};
  // For each direction: which fields of the run are the first operand, the second, and the result.
  void** const places[3][3] = {{&run.x, &run.filter, &run.y},
                               {&run.filter, &run.y, &run.x},
                               {&run.x, &run.y, &run.filter}};
  leat_tensor_t a, b;
  LEAT_RETURN_IF_ERROR(
      leat_widen_transposed(c, is_transposed && places[direction][0] != &run.filter, first, &a));
  leat_status_t status =
      leat_widen_transposed(c, is_transposed && places[direction][1] != &run.filter, second, &b);
  if (!status) {
    *places[direction][0] = a.data;
    *places[direction][1] = b.data;
    void** const place = places[direction][2];
    status = run_into(c, &run, is_transposed && place != &run.filter, place, result);
    leat_tensor_release(&b);
  }
  leat_tensor_release(&a);
  return status;
}
