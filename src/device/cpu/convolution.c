// The portable convolution, as matrix products. Output positions are taken a tile at a time, and
// the patches of the input under a tile are unrolled into the rows of a matrix ("im2col"):
//
//   patches [positions, filter_height * filter_width * channels of a group]
//
//   FORWARD          output   = patches * filter                   threads share the tiles
//   BACKWARD_INPUT   patches  = output gradient * filter^T, then added back to the input gradient
//                                                                  threads share the images
//   BACKWARD_FILTER  filter  += patches^T * output gradient        threads share filter positions
//
// Unrolling one tile at a time, rather than the whole input, keeps the patches in the second-level
// cache. Invariant: a thread writes nothing that another one reads or writes, and adds in a fixed
// order, so that the bits do not depend on the number of threads. convolution_patches.inc has the
// code for one element type and is included for float, double and int32; half and bfloat16 are
// converted to float. Depthwise convolutions of float have kernels of their own, since they contain
// no matrix product. For float, kernels of ops call convolution_plan.h, which chooses between this
// file and faster ways.
#include "device/cpu/convolution.h"

#include <string.h>

#include "base/checked.h"
#include "base/sync.h"
#include "device/cpu/convolution_depthwise.h"
#include "device/cpu/gemm.h"
#include "device/cpu/vector_math.h"

#define MOST_SLOTS 64
// The elements of a tile's patches: with the packed filter they fit the second-level cache.
#define TILE_ELEMENTS (192 * 1024)
#define TILE_MOST_ROWS 1008

// false when the product of the factors overflows.
static bool multiply_all(const int64_t* factors, int count) {
  int64_t product = 1;
  for (int i = 0; i < count; ++i) {
    if (!leat_checked_multiply(product, factors[i], &product)) return false;
  }
  return true;
}

// false when positions along an axis, which reach |out| strides plus the filter, overflow.
static bool is_reach_valid(int64_t out, int64_t stride, int64_t filter, int64_t dilation,
                           int64_t in, int64_t pad) {
  int64_t reach, span;
  return leat_checked_multiply(out, stride, &reach) &&
         leat_checked_multiply(filter, dilation, &span) && leat_checked_add(reach, span, &reach) &&
         leat_checked_add(reach, in, &reach) && leat_checked_add(reach, pad, &reach);
}

bool leat_convolution_is_valid(const leat_convolution_shape_t* s) {
  const int64_t sizes[] = {s->batch,      s->in_height, s->in_width, s->out_height,
                           s->out_width, s->pad_top,   s->pad_left};
  const int64_t positive[] = {s->in_channels,   s->out_channels,  s->filter_height,
                              s->filter_width,  s->stride_height, s->stride_width,
                              s->dilation_height, s->dilation_width, s->groups};
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(sizes); ++i) {
    if (sizes[i] < 0) return false;
  }
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(positive); ++i) {
    if (positive[i] < 1) return false;
  }
  if (s->in_channels % s->groups != 0 || s->out_channels % s->groups != 0) return false;
  const int64_t input[] = {s->batch, s->in_height, s->in_width, s->in_channels, 16};
  const int64_t filter[] = {s->filter_height, s->filter_width, s->in_channels, s->out_channels, 16};
  const int64_t output[] = {s->batch, s->out_height, s->out_width, s->out_channels, 16};
  return multiply_all(input, 5) && multiply_all(filter, 5) && multiply_all(output, 5) &&
         is_reach_valid(s->out_height, s->stride_height, s->filter_height, s->dilation_height,
                        s->in_height, s->pad_top) &&
         is_reach_valid(s->out_width, s->stride_width, s->filter_width, s->dilation_width,
                        s->in_width, s->pad_left);
}

int64_t leat_convolution_input_count(const leat_convolution_shape_t* s) {
  return s->batch * s->in_height * s->in_width * s->in_channels;
}
int64_t leat_convolution_filter_count(const leat_convolution_shape_t* s) {
  return s->filter_height * s->filter_width * (s->in_channels / s->groups) * s->out_channels;
}
int64_t leat_convolution_output_count(const leat_convolution_shape_t* s) {
  return s->batch * s->out_height * s->out_width * s->out_channels;
}
double leat_convolution_flops(const leat_convolution_shape_t* s) {
  return 2.0 * (double)leat_convolution_output_count(s) * (double)s->filter_height *
         (double)s->filter_width * (double)(s->in_channels / s->groups);
}

static int64_t count_positions(const leat_convolution_shape_t* s) {
  return s->batch * s->out_height * s->out_width;
}

// The number of rows of a tile: enough to make packing the filter cheap, few enough for the cache.
static int64_t tile_rows(const leat_convolution_shape_t* s) {
  const int64_t depth = s->filter_height * s->filter_width * (s->in_channels / s->groups);
  const int64_t rows = LEAT_MAX(TILE_ELEMENTS / depth / 12 * 12, 12);
  return LEAT_MIN(LEAT_MIN(rows, TILE_MOST_ROWS), LEAT_MAX(count_positions(s), 1));
}

// true for 1x1 filters with stride 1 and no padding: the input is the matrix of its patches.
static bool is_pointwise(const leat_convolution_shape_t* s) {
  return s->filter_height == 1 && s->filter_width == 1 && s->stride_height == 1 &&
         s->stride_width == 1 && s->pad_top == 0 && s->pad_left == 0 &&
         s->in_height == s->out_height && s->in_width == s->out_width;
}

// The number of filter positions that are always computed together. A product of a single row adds
// in another order than one of several rows, so that the bits would show how the work was shared.
static int64_t filter_unit(const leat_convolution_shape_t* s) {
  if (s->in_channels / s->groups >= 2) return 1;
  return s->filter_width >= 2 ? s->filter_width : s->filter_height * s->filter_width;
}

static int pool_slots(const leat_thread_pool_t* pool) {
  return pool ? LEAT_MIN(leat_thread_pool_size(pool), MOST_SLOTS) : 1;
}

// The workspace is cut into as many slots as threads can run at once; a shard takes a free one.
typedef struct slots_s {
  _Atomic uint64_t taken;
  char* base;
  size_t slot_bytes;
  int count;
} slots_t;

// Takes a free slot. There is always one, unless another thread is about to return it.
static char* take_slot(slots_t* slots, int* out_index) {
  for (;;) {
    uint64_t taken = atomic_load_explicit(&slots->taken, memory_order_relaxed);
    const int index = taken == UINT64_MAX ? MOST_SLOTS : __builtin_ctzll(~taken);
    if (index < slots->count &&
        atomic_compare_exchange_weak_explicit(&slots->taken, &taken, taken | 1ull << index,
                                              memory_order_acquire, memory_order_relaxed)) {
      *out_index = index;
      return slots->base + (size_t)index * slots->slot_bytes;
    }
    leat_cpu_relax();
  }
}

static void give_slot(slots_t* slots, int index) {
  atomic_fetch_and_explicit(&slots->taken, ~(1ull << index), memory_order_release);
}

// The input position that filter position (0, 0) meets at output position |row| of batch *
// out_height * out_width.
typedef struct origin_s {
  int64_t image, y, x;
} origin_t;

static origin_t find_origin(const leat_convolution_shape_t* s, int64_t row) {
  const int64_t x = row % s->out_width, rest = row / s->out_width;
  return (origin_t){rest / s->out_height, rest % s->out_height * s->stride_height - s->pad_top,
                    x * s->stride_width - s->pad_left};
}

// A depthwise convolution in float, for kernels that need no workspace.
typedef struct depthwise_s {
  const leat_convolution_shape_t* shape;
  leat_convolution_direction_t direction;
  const float* first;
  const float* second;
  const leat_row_step_t* step;  // or NULL
  float* result;
} depthwise_t;

// The elements of output rows that are computed before the step follows: they fit the first-level
// cache.
#define STEP_ELEMENTS 4096

// Computes rows [begin, end) of batch * out_height, and the step some rows behind.
static void run_depthwise_forward(const depthwise_t* d, int64_t begin, int64_t end) {
  const leat_depthwise_kernels_t* kernels = LEAT_ISA_SELECT(leat_depthwise_kernels);
  const int64_t width = d->shape->out_width, elements = width * d->shape->out_channels;
  const int64_t rows = d->step ? LEAT_MAX(STEP_ELEMENTS / LEAT_MAX(elements, 1), 1) : end - begin;
  for (int64_t row = begin; row < end; row += rows) {
    const int64_t last = LEAT_MIN(row + rows, end);
    kernels->forward(d->shape, d->first, d->second, d->result, row, last);
    if (!d->step) continue;
    d->step->apply(d->step->data, d->result + row * elements, row * width, (last - row) * width,
                   false);
  }
}

static void run_depthwise_part(void* data, int64_t begin, int64_t end) {
  const depthwise_t* d = data;
  const leat_depthwise_kernels_t* kernels = LEAT_ISA_SELECT(leat_depthwise_kernels);
  switch (d->direction) {
    case LEAT_CONVOLUTION_FORWARD:
      run_depthwise_forward(d, begin, end);
      break;
    case LEAT_CONVOLUTION_BACKWARD_INPUT:
      kernels->backward_input(d->shape, d->first, d->second, d->result, begin, end);
      break;
    case LEAT_CONVOLUTION_BACKWARD_FILTER:
      kernels->backward_filter(d->shape, d->first, d->second, d->result, begin, end);
      break;
  }
}

// Runs a depthwise convolution; false when this is none, or has one channel, which is an ordinary
// convolution.
static bool run_depthwise_f32(leat_convolution_direction_t direction,
                              const leat_convolution_shape_t* shape, const float* first,
                              const float* second, const leat_row_step_t* step, float* result,
                              leat_thread_pool_t* pool) {
  if (shape->groups != shape->in_channels || shape->groups == 1) return false;
  depthwise_t depthwise = {shape, direction, first, second, step, result};
  const int64_t items = direction == LEAT_CONVOLUTION_FORWARD ? shape->batch * shape->out_height
                        : direction == LEAT_CONVOLUTION_BACKWARD_INPUT
                            ? shape->batch * shape->in_height
                            : shape->filter_height * shape->filter_width;
  const double item_ns = leat_convolution_flops(shape) * 0.1 / (double)LEAT_MAX(items, 1);
  leat_thread_pool_parallel_for(pool, 0, items, item_ns, run_depthwise_part, &depthwise);
  return true;
}

#define REAL float
#define SUFFIX(x) x##_f32
#define DEPTHWISE(...) run_depthwise_f32(__VA_ARGS__)
#define WORKSPACE_BYTES leat_convolution_f32_workspace_bytes
#define GEMM(shape, a, b, accumulate, c, workspace, pool) \
  leat_gemm_f32_portable(shape, a, b, (accumulate) ? c : NULL, c, workspace, pool)
#define GEMM_BYTES(shape) leat_gemm_f32_workspace_bytes(shape, NULL)
#include "device/cpu/convolution_patches.inc"
#undef REAL
#undef SUFFIX
#undef WORKSPACE_BYTES
#undef GEMM
#undef GEMM_BYTES

#undef DEPTHWISE
#define DEPTHWISE(...) false

#define REAL double
#define SUFFIX(x) x##_f64
#define WORKSPACE_BYTES leat_convolution_f64_workspace_bytes
#define GEMM(shape, a, b, accumulate, c, workspace, pool) \
  leat_gemm_f64(shape, a, b, (accumulate) ? c : NULL, c, workspace, pool)
#define GEMM_BYTES(shape) leat_gemm_f64_workspace_bytes(shape, NULL)
#include "device/cpu/convolution_patches.inc"
#undef REAL
#undef SUFFIX
#undef WORKSPACE_BYTES
#undef GEMM
#undef GEMM_BYTES

#define REAL int32_t
#define SUFFIX(x) x##_i32
#define WORKSPACE_BYTES leat_convolution_i32_workspace_bytes
#define ADD(a, b) (int32_t)((uint32_t)(a) + (uint32_t)(b))
#define GEMM(shape, a, b, accumulate, c, workspace, pool) \
  leat_gemm_i32(shape, a, b, accumulate, c, pool)
#define GEMM_BYTES(shape) ((size_t)0)
#include "device/cpu/convolution_patches.inc"
#undef ADD
#undef REAL
#undef SUFFIX
#undef WORKSPACE_BYTES
#undef GEMM
#undef GEMM_BYTES

// The number of elements of the three arrays, in the order first, second, result.
static void count_arrays(leat_convolution_direction_t direction, const leat_convolution_shape_t* s,
                         int64_t out_counts[3]) {
  const int64_t input = leat_convolution_input_count(s);
  const int64_t filter = leat_convolution_filter_count(s);
  const int64_t output = leat_convolution_output_count(s);
  out_counts[0] = direction == LEAT_CONVOLUTION_BACKWARD_INPUT ? filter : input;
  out_counts[1] = direction == LEAT_CONVOLUTION_FORWARD ? filter : output;
  out_counts[2] = direction == LEAT_CONVOLUTION_FORWARD          ? output
                  : direction == LEAT_CONVOLUTION_BACKWARD_INPUT ? input
                                                                 : filter;
}

#define NAME leat_convolution_f16
#define WORKSPACE_BYTES leat_convolution_f16_workspace_bytes
#define TO_FLOAT half_to_float
#define FROM_FLOAT half_from_float
#include "device/cpu/convolution_half.inc"

#define NAME leat_convolution_bf16
#define WORKSPACE_BYTES leat_convolution_bf16_workspace_bytes
#define TO_FLOAT bfloat16_to_float
#define FROM_FLOAT bfloat16_from_float
#include "device/cpu/convolution_half.inc"
