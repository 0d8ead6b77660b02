// CPU kernels of Conv3D, its gradients, Conv and _FusedConv3D, over tensors [batch, planes, rows,
// columns, channels] (or the channels second) and filters [planes, rows, columns, in / groups,
// out]. A kernel checks its window when it is made, measures in each step, allocates its output and
// runs.
//
// The convolution and its gradients are matrix products ("im2col"). At each output
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
// Groups are separate products over slices of the channels. What follows a fused convolution
// (epilogue_cpu.h) is applied to the positions of a shard when all groups of them are there. How
// threads split the work does not change any sum's order, except what the matrix product itself
// does. The tensors are wide with the channels last; channels_cpu.c brings them there.
#include <string.h>

#include "base/checked.h"
#include "device/cpu/convolution.h"
#include "device/cpu/gemm.h"
#include "kernel/kernel.h"
#include "ops/kernel_rows.h"
#include "ops/nn/channels_cpu.h"
#include "ops/nn/conv2d_cpu.h"
#include "ops/nn/epilogue_cpu.h"
#include "ops/nn/window.h"

// The sizes of one convolution; the arrays are for planes, rows, columns. |before| is the padding
// in front.
typedef struct conv3d_shape_s {
  int64_t batch, in_channels, out_channels, groups;
  int64_t in[3], filter[3], out[3], stride[3], dilation[3], before[3];
} conv3d_shape_t;

// ---- Sizes --------------------------------------------------------------------------------------

// Refuses strides and dilations over batch or channels with the code |misplaced|, and others that
// are not positive with INVALID_ARGUMENT.
static leat_status_t conv3d_check_window(const leat_window_t* w, leat_status_code_t misplaced) {
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

// Fills |out_shape| and the five sizes of the forward output. |input| and |out_output| are in the
// order of the window's data format. INVALID_ARGUMENT when the sizes do not fit.
static leat_status_t conv3d_measure(const leat_kernel_context_t* c, const leat_window_t* w,
                                    const int64_t* input, const int64_t* filter,
                                    conv3d_shape_t* out_shape, int64_t* out_output) {
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
  *out_shape = (conv3d_shape_t){.batch = input[0],
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
  const conv3d_shape_t* shape;
  // run_tile for the type of the elements.
  void (*run_tile)(const struct conv3d_run_s* run, int64_t begin, int64_t end, int64_t group,
                   void* patches);
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
  const leat_row_step_t* step;  // of a fused convolution; NULL: nothing follows
  leat_thread_pool_t* pool;
} conv3d_run_t;

// The input position (counted over all images) that tap |tap| of the filter meets at output
// position |p|; -1 where it falls into the padding.
static inline int64_t find_place(const conv3d_shape_t* s, int64_t p, int64_t tap) {
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

static void multiply_i32(const leat_gemm_shape_t* shape, const int32_t* a, const int32_t* b,
                         const int32_t* d, int32_t* c, void* workspace,
                         leat_thread_pool_t* pool) {
  leat_gemm_i32(shape, a, b, d != NULL, c, pool);
}

#define REAL float
#define SUFFIX(name) name##_f32
#define MULTIPLY leat_gemm_f32
#include "ops/nn/conv3d_steps.inc"
#define REAL double
#define SUFFIX(name) name##_f64
#define MULTIPLY leat_gemm_f64
#include "ops/nn/conv3d_steps.inc"
#define REAL int32_t
#define SUFFIX(name) name##_i32
#define MULTIPLY multiply_i32
#include "ops/nn/conv3d_steps.inc"

// Runs shards [begin, end), each over all groups and all tiles of the shard.
static void run_shards(void* data, int64_t begin, int64_t end) {
  const conv3d_run_t* run = data;
  for (int64_t shard = begin; shard < end; ++shard) {
    const int64_t first = shard * run->shard;
    const int64_t last = LEAT_MIN(first + run->shard, run->positions);
    char* patches = run->patches + (size_t)(shard * run->tile * run->depth) * run->item_bytes;
    for (int64_t group = 0; group < run->shape->groups; ++group) {
      for (int64_t p = first; p < last; p += run->tile) {
        run->run_tile(run, p, LEAT_MIN(p + run->tile, last), group, patches);
      }
    }
    if (!run->step) continue;
    char* rows = (char*)run->y + (size_t)(first * run->shape->out_channels) * run->item_bytes;
    run->step->apply(run->step->data, rows, first, last - first, false);
  }
}

// Patches of a tile should stay in the second-level cache between their making and the product.
#define TILE_BYTES (256 << 10)
#define MOST_SHARDS 32

// Divides the work as the head of this file says and runs it. A run of one shard is not put on the
// pool, so that the matrix products within it may use the pool.
static leat_status_t run_tiles(leat_kernel_context_t* c, conv3d_run_t* run, int dtype) {
  const conv3d_shape_t* s = run->shape;
  const int64_t image = s->out[0] * s->out[1] * s->out[2];
  run->taps = s->filter[0] * s->filter[1] * s->filter[2];
  run->depth = run->taps * (s->in_channels / s->groups);
  run->positions = s->batch * image;
  run->item_bytes = leat_dtype_size(dtype);
  run->run_tile = dtype == LEAT_DTYPE_DOUBLE  ? run_tile_f64
                  : dtype == LEAT_DTYPE_INT32 ? run_tile_i32
                                              : run_tile_f32;
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

// Runs the convolution |shape| in |direction|, which says what the three tensors are. They are of
// float, double, half, bfloat16 or, forward, int32, all of one type, in the window's data format.
// |step|, or NULL, follows a forward convolution, even one that meets nothing but padding. Blocks
// until the result is there.
static leat_status_t conv3d_run(leat_kernel_context_t* c, const leat_window_t* window,
                                leat_convolution_direction_t direction,
                                const conv3d_shape_t* shape, const leat_tensor_t* first,
                                const leat_tensor_t* second, const leat_row_step_t* step,
                                leat_tensor_t* result) {
  LEAT_DCHECK(!step || direction == LEAT_CONVOLUTION_FORWARD);
  if (result->shape.element_count == 0) return leat_ok_status();
  if (!step && (first->shape.element_count == 0 || second->shape.element_count == 0)) {
    leat_tensor_fill_zero(result);
    return leat_ok_status();
  }
  const bool is_transposed = window->channels_first;
  conv3d_run_t run = {.shape = shape, .direction = direction, .step = step};
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

// ---- The kernels --------------------------------------------------------------------------------

// The kernels check what their op takes and allocate outputs. The gradient ops come in two
// versions: the first takes a tensor of the shape of its result, the second takes the five sizes as
// a vector. read_sizes serves both.
//
// Conv is a newer op of two or three spatial dimensions, which the length of its "strides" decides,
// with any number of batch dimensions. They are flattened into one before the convolution, which
// does not copy anything. Groups other than 1 are UNIMPLEMENTED, as in TensorFlow.

typedef struct leat_conv3d_s {
  leat_window_t window;
  leat_convolution_direction_t direction;
} leat_conv3d_t;

static leat_status_t create(leat_kernel_creation_t* c, void* state,
                            leat_convolution_direction_t direction) {
  leat_conv3d_t* conv = state;
  conv->direction = direction;
  LEAT_RETURN_IF_ERROR(leat_window_read(c->attrs, c->attr_count, 3, &conv->window));
  return conv3d_check_window(&conv->window, LEAT_INVALID_ARGUMENT);
}
static leat_status_t create_forward(leat_kernel_creation_t* c, void* state) {
  return create(c, state, LEAT_CONVOLUTION_FORWARD);
}
static leat_status_t create_to_input(leat_kernel_creation_t* c, void* state) {
  return create(c, state, LEAT_CONVOLUTION_BACKWARD_INPUT);
}
static leat_status_t create_to_filter(leat_kernel_creation_t* c, void* state) {
  return create(c, state, LEAT_CONVOLUTION_BACKWARD_FILTER);
}

static leat_status_t conv3d__cpu(leat_kernel_context_t* c) {
  const leat_conv3d_t* conv = leat_kernel_state(c);
  const leat_tensor_t* input = leat_kernel_input(c, 0);
  const leat_tensor_t* filter = leat_kernel_input(c, 1);
  conv3d_shape_t shape;
  int64_t sizes[5];
  LEAT_RETURN_IF_ERROR(conv3d_measure(c, &conv->window, leat_shape_dims(&input->shape),
                                      leat_shape_dims(&filter->shape), &shape, sizes));
  leat_tensor_t* output;
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_sized(c, 0, 5, sizes, &output));
  return conv3d_run(c, &conv->window, conv->direction, &shape, input, filter, NULL, output);
}

// Reads five sizes from input |index|: its shape if it has rank 5, else the items that it holds.
static leat_status_t read_sizes(const leat_kernel_context_t* c, int index, int64_t* out_sizes) {
  const leat_tensor_t* tensor = leat_kernel_input(c, index);
  const bool is_vector = tensor->shape.rank == 1;
  if (is_vector && tensor->shape.element_count != 5) {
    return leat_kernel_invalid(c, "sizes have %lld values, must have 5",
                               (long long)tensor->shape.element_count);
  }
  for (int d = 0; d < 5; ++d) {
    out_sizes[d] = is_vector ? leat_tensor_index_at(tensor, d) : leat_shape_dim(&tensor->shape, d);
    if (out_sizes[d] >= 0) continue;
    return leat_kernel_invalid(c, "size %d is %lld, must be >= 0", d, (long long)out_sizes[d]);
  }
  return leat_ok_status();
}

static leat_status_t check_gradient(const leat_kernel_context_t* c, const int64_t* expected) {
  const leat_shape_t* shape = &leat_kernel_input(c, 2)->shape;
  for (int d = 0; d < 5; ++d) {
    if (leat_shape_dim(shape, d) == expected[d]) continue;
    return leat_kernel_invalid(c, "out_backprop is %s, its size %d must be %lld",
                               LEAT_SHAPE_TEXT(shape), d, (long long)expected[d]);
  }
  return leat_ok_status();
}

// The gradient of the input or of the filter. |other| is the operand that is not differentiated
// for: the filter or the input.
static leat_status_t conv3d_gradient__cpu(leat_kernel_context_t* c) {
  const leat_conv3d_t* conv = leat_kernel_state(c);
  const bool to_input = conv->direction == LEAT_CONVOLUTION_BACKWARD_INPUT;
  conv3d_shape_t shape;
  int64_t input[5], filter[5], sizes[5];
  LEAT_RETURN_IF_ERROR(read_sizes(c, to_input ? 0 : 1, to_input ? input : filter));
  const leat_tensor_t* other = leat_kernel_input(c, to_input ? 1 : 0);
  for (int d = 0; d < 5; ++d) {
    (to_input ? filter : input)[d] = leat_shape_dim(&other->shape, d);
  }
  LEAT_RETURN_IF_ERROR(conv3d_measure(c, &conv->window, input, filter, &shape, sizes));
  LEAT_RETURN_IF_ERROR(check_gradient(c, sizes));
  leat_tensor_t* output;
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_sized(c, 0, 5, to_input ? input : filter, &output));
  return conv3d_run(c, &conv->window, conv->direction, &shape, other, leat_kernel_input(c, 2),
                    NULL, output);
}

// ---- Conv ---------------------------------------------------------------------------------------

typedef struct leat_conv_s {
  leat_conv2d_t flat;    // used with two spatial dimensions (is_flat)
  leat_window_t window;  // used with three
  bool is_flat;
  int batch_dims;
} leat_conv_t;

static leat_status_t create_conv(leat_kernel_creation_t* c, void* state) {
  leat_conv_t* conv = state;
  const int64_t* strides;
  int rank;
  int64_t batch_dims, groups;
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_ints(c, "strides", &strides, &rank));
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_int(c, "batch_dims", &batch_dims));
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_int32(c, "groups", &groups));
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_type(c, "T", &conv->flat.dtype));
  if (groups != 1) {
    return leat_make_status(LEAT_UNIMPLEMENTED,
                            "Grouped/Depthwise Convolutions are not supported yet.");
  }
  if (rank != 4 && rank != 5) {
    return leat_make_status(LEAT_INVALID_ARGUMENT, "strides has %d values, must have 4 or 5", rank);
  }
  conv->batch_dims = (int)batch_dims;
  conv->is_flat = rank == 4;
  leat_window_t* window = conv->is_flat ? &conv->flat.window : &conv->window;
  LEAT_RETURN_IF_ERROR(leat_window_read(c->attrs, c->attr_count, rank - 2, window));
  return conv3d_check_window(window, LEAT_INVALID_ARGUMENT);
}
static void destroy_conv(void* state) {
  leat_convolution_cache_clear(&((leat_conv_t*)state)->flat.cache);
}

// Makes one dimension of the first |batch_dims| of |tensor|, so that it has |rank|. The elements
// are shared. No batch dimension gives a batch of 1.
static leat_status_t flatten(const leat_kernel_context_t* c, const leat_tensor_t* tensor,
                             int batch_dims, int rank, leat_tensor_t* out_tensor) {
  if (tensor->shape.rank != rank + batch_dims - 1 || batch_dims < 0) {
    return leat_kernel_invalid(c, "input is %s, must be of rank %d and %d batch dimensions",
                               LEAT_SHAPE_TEXT(&tensor->shape), rank, batch_dims);
  }
  int64_t sizes[5];
  sizes[0] = leat_shape_product(&tensor->shape, 0, batch_dims);
  for (int d = 1; d < rank; ++d) sizes[d] = leat_shape_dim(&tensor->shape, batch_dims - 1 + d);
  leat_shape_t shape;
  LEAT_RETURN_IF_ERROR(leat_shape_create(rank, sizes, &shape));
  return leat_tensor_reshape(tensor, &shape, out_tensor);
}

// Allocates the output: the batch dimensions of the input, then the sizes of the convolution.
static leat_status_t allocate_conv(leat_kernel_context_t* c, int batch_dims, int rank,
                                   const int64_t* sizes, leat_tensor_t** out_tensor) {
  const leat_shape_t* input = &leat_kernel_input(c, 0)->shape;
  int64_t dims[LEAT_SHAPE_MAX_RANK];
  for (int d = 0; d < batch_dims; ++d) dims[d] = leat_shape_dim(input, d);
  for (int d = 1; d < rank; ++d) dims[batch_dims - 1 + d] = sizes[d];
  return leat_kernel_allocate_sized(c, 0, batch_dims - 1 + rank, dims, out_tensor);
}

// Runs the convolution; |input| has one batch dimension.
static leat_status_t run_conv(leat_kernel_context_t* c, leat_conv_t* conv,
                              const leat_tensor_t* input) {
  const leat_tensor_t* filter = leat_kernel_input(c, 1);
  const int64_t* in = leat_shape_dims(&input->shape);
  const int64_t* by = leat_shape_dims(&filter->shape);
  const int rank = input->shape.rank;
  leat_convolution_shape_t flat;
  conv3d_shape_t solid;
  int64_t sizes[5];
  if (conv->is_flat) {
    LEAT_RETURN_IF_ERROR(leat_conv2d_measure(c, &conv->flat, in, by, &flat, sizes));
  } else {
    LEAT_RETURN_IF_ERROR(conv3d_measure(c, &conv->window, in, by, &solid, sizes));
  }
  leat_tensor_t *output, joined;
  LEAT_RETURN_IF_ERROR(allocate_conv(c, conv->batch_dims, rank, sizes, &output));
  LEAT_RETURN_IF_ERROR(flatten(c, output, conv->batch_dims, rank, &joined));
  leat_status_t status =
      conv->is_flat
          ? leat_conv2d_run(&conv->flat, c, &flat, input, filter, NULL, &joined)
          : conv3d_run(c, &conv->window, LEAT_CONVOLUTION_FORWARD, &solid, input, filter,
                       NULL, &joined);
  leat_tensor_release(&joined);
  return status;
}

static leat_status_t conv__cpu(leat_kernel_context_t* c) {
  leat_conv_t* conv = leat_kernel_state(c);
  const leat_tensor_t* filter = leat_kernel_input(c, 1);
  const int rank = conv->is_flat ? 4 : 5;
  if (filter->shape.rank != rank) {
    return leat_kernel_invalid(c, "filter is %s, must be of rank %d",
                               LEAT_SHAPE_TEXT(&filter->shape), rank);
  }
  leat_tensor_t input;
  LEAT_RETURN_IF_ERROR(flatten(c, leat_kernel_input(c, 0), conv->batch_dims, rank, &input));
  leat_status_t status = run_conv(c, conv, &input);
  leat_tensor_release(&input);
  return status;
}

// ---- _FusedConv3D -------------------------------------------------------------------------------

// |conv| is first, so that conv3d__cpu can run where only a Pad was fused.
typedef struct leat_fused_conv3d_s {
  leat_conv3d_t conv;
  bool only_pads;
  leat_epilogue_t epilogue;
} leat_fused_conv3d_t;

static leat_status_t create_fused(leat_kernel_creation_t* c, void* state) {
  leat_fused_conv3d_t* fused = state;
  const leat_attr_value_t* ops;
  int dtype;
  LEAT_RETURN_IF_ERROR(create_forward(c, &fused->conv));
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_type(c, "T", &dtype));
  LEAT_RETURN_IF_ERROR(leat_kernel_attr(c, "fused_ops", &ops));
  fused->only_pads = ops->count == 0 && fused->conv.window.padding == LEAT_PADDING_EXPLICIT;
  if (fused->only_pads) return leat_ok_status();
  return leat_epilogue_create(c, dtype, &fused->epilogue);
}

// Runs the convolution |shape| and what follows. |addend| is what Add adds, wide and with the
// channels last, or without elements where there is no Add.
static leat_status_t run_fused(leat_kernel_context_t* c, const conv3d_shape_t* shape,
                               const leat_tensor_t* addend, leat_tensor_t* output) {
  const leat_fused_conv3d_t* fused = leat_kernel_state(c);
  leat_epilogue_run_t epilogue;
  LEAT_RETURN_IF_ERROR(leat_epilogue_begin(
      c, &fused->epilogue, output->shape.element_count / shape->out_channels, shape->out_channels,
      false, addend->data, &epilogue));
  leat_status_t status =
      conv3d_run(c, &fused->conv.window, LEAT_CONVOLUTION_FORWARD, shape, leat_kernel_input(c, 0),
                 leat_kernel_input(c, 1), &epilogue.step, output);
  leat_epilogue_end(&epilogue);
  return status;
}

static leat_status_t fused_conv3d__cpu(leat_kernel_context_t* c) {
  const leat_fused_conv3d_t* fused = leat_kernel_state(c);
  const leat_window_t* window = &fused->conv.window;
  if (fused->only_pads) return conv3d__cpu(c);
  conv3d_shape_t shape;
  leat_tensor_t* output;
  const leat_tensor_t* given;
  int64_t sizes[5];
  LEAT_RETURN_IF_ERROR(conv3d_measure(c, window, leat_shape_dims(&leat_kernel_input(c, 0)->shape),
                                      leat_shape_dims(&leat_kernel_input(c, 1)->shape), &shape,
                                      sizes));
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_sized(c, 0, 5, sizes, &output));
  LEAT_RETURN_IF_ERROR(leat_epilogue_addend(c, &fused->epilogue, &output->shape, &given));
  leat_tensor_t addend = {0};
  if (given) {
    LEAT_RETURN_IF_ERROR(leat_widen_transposed(c, window->channels_first, given, &addend));
  }
  leat_status_t status = run_fused(c, &shape, &addend, output);
  leat_tensor_release(&addend);
  return status;
}

#define FLOATING "T: half, bfloat16, float, double"
#define ROW(name, types, create_fn, compute_fn)                                         \
  LEAT_CPU_KERNEL(name, types, leat_conv3d_t, create_fn, compute_fn, .expensive = true)

const leat_kernel_row_t leat_conv3d_kernels_cpu[] = {
    ROW("Conv3D", FLOATING, create_forward, conv3d__cpu),
    ROW("Conv3DBackpropInput", "T: half, float, double", create_to_input, conv3d_gradient__cpu),
    ROW("Conv3DBackpropInputV2", FLOATING, create_to_input, conv3d_gradient__cpu),
    ROW("Conv3DBackpropFilter", "T: half, float, double", create_to_filter, conv3d_gradient__cpu),
    ROW("Conv3DBackpropFilterV2", FLOATING, create_to_filter, conv3d_gradient__cpu),
    {.op = "Conv",
     .device_type = "CPU",
     .constraints = FLOATING ", int32",
     .create = create_conv,
     .destroy = destroy_conv,
     .state_bytes = sizeof(leat_conv_t),
     .compute = conv__cpu,
     .expensive = true},
    LEAT_CPU_KERNEL("_FusedConv3D", "T: half, bfloat16, float", leat_fused_conv3d_t, create_fused,
                    fused_conv3d__cpu, .expensive = true),
    LEAT_KERNEL_ROWS_END,
};
