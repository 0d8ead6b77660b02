// CPU kernels of the max pools of two and three dimensions, of their gradients, and of the
// gradients of those.
//
//   MaxPool            input -> the largest element of each window
//   MaxPoolGrad        input, output, dy -> dx: dy at the position of each maximum, 0 elsewhere
//   MaxPoolGradGrad    input, output, ddx -> ddy: the element of ddx at each maximum
//   MaxPoolWithArgmax  input -> maxima and their positions in the flattened input
//
// A gradient op does not get the positions of the maxima: it searches each window again. That costs
// less than writing the positions in the forward pass and reading them back, since memory is slower
// than comparisons. Where several elements of a window are equal, the first one counts.
//
// Every kernel checks its window and its shapes here, brings the tensors into the form that the
// loops want (channels last; half and bfloat16 as float), and runs a loop of max_pool_loops.inc
// over them. Forward loops are shared among threads by output rows. Loops that scatter into dx are
// shared by images, because the windows of one image may overlap.
#include <string.h>

#include "base/checked.h"
#include "ops/kernel_rows.h"
#include "ops/nn/channels_cpu.h"
#include "ops/nn/pool_cpu.h"
#include "ops/nn/widen_cpu.h"

static const leat_max_pool_loops_t* loops_of(int dtype) {
  const leat_max_pool_floats_t* floats = LEAT_ISA_SELECT(leat_max_pool_floats);
  if (dtype == LEAT_DTYPE_DOUBLE) return floats->f64;
  if (dtype == LEAT_DTYPE_FLOAT || leat_is_narrow(dtype)) return floats->f32;
  return leat_max_pool_plain_loops(dtype);
}

static leat_status_t create_2d(leat_kernel_creation_t* c, void* state) {
  return leat_pool_create(c, state, 2, "T");
}
static leat_status_t create_3d(leat_kernel_creation_t* c, void* state) {
  return leat_pool_create(c, state, 3, "T");
}

// What the loops work on. The tensors have the channels last and the type that the loops compute
// in.
typedef struct run_s {
  leat_pool_t pool;
  const leat_max_pool_loops_t* loops;
  const void* input;
  const void* second;   // dy of a gradient, ddx of a gradient's gradient, else NULL
  void* output;
  int64_t* places;     // MaxPoolWithArgmax alone: where the positions go
  bool counts_batch;
} run_t;

static void run_maxima(void* data, int64_t begin, int64_t end) {
  const run_t* run = data;
  run->loops->maxima(&run->pool, run->input, run->output, begin, end);
}
static void run_spread(void* data, int64_t begin, int64_t end) {
  const run_t* run = data;
  run->loops->spread(&run->pool, run->input, run->second, run->output, begin, end);
}
static void run_gather(void* data, int64_t begin, int64_t end) {
  const run_t* run = data;
  run->loops->gather(&run->pool, run->input, run->second, run->output, begin, end);
}
static void run_find(void* data, int64_t begin, int64_t end) {
  const run_t* run = data;
  run->loops->find(&run->pool, run->input, run->output, run->places, run->counts_batch, begin,
                   end);
}

// Runs |fn| over |items|, each of which takes about |item_ns|. |input|, |second| (NULL if the run
// has none) and |output| are converted to the form of the loops before, and |output| back after;
// |is_transposed| says that their channels are second and must be transposed.
static leat_status_t run_prepared(leat_kernel_context_t* c, run_t* run, bool is_transposed,
                                  const leat_tensor_t* input, const leat_tensor_t* second,
                                  leat_tensor_t* output, leat_shard_fn_t fn, int64_t items,
                                  double item_ns) {
  leat_tensor_t wide_input, wide_second = {0};
  leat_transposed_output_t transposed;
  LEAT_RETURN_IF_ERROR(leat_widen_transposed(c, is_transposed, input, &wide_input));
  leat_status_t status =
      second ? leat_widen_transposed(c, is_transposed, second, &wide_second) : leat_ok_status();
  if (!status) status = leat_transposed_output_begin(c, is_transposed, output, &transposed);
  if (!status) {
    run->input = wide_input.data;
    run->second = wide_second.data;
    run->output = transposed.wide.data;
    leat_kernel_parallel_for(c, items, item_ns, fn, run);
    status = leat_transposed_output_end(c, &transposed, status);
  }
  leat_tensor_release(&wide_second);
  leat_tensor_release(&wide_input);
  return status;
}

// ---- Over channels ------------------------------------------------------------------------------

// Refuses a window over channels that is more than a group of them.
static leat_status_t check_channels(const leat_kernel_context_t* c, const leat_window_t* w) {
  if (w->channels_first) {
    return leat_kernel_error(c, LEAT_UNIMPLEMENTED,
                             "Depthwise max pooling is only implemented for NHWC");
  }
  for (int i = 0; i < w->spatial; ++i) {
    if (w->axes[i].size == 1) continue;
    return leat_kernel_error(c, LEAT_UNIMPLEMENTED, "MaxPooling supports exactly one of pooling "
                             "across depth or pooling across width/height.");
  }
  const leat_shape_t* input = &leat_kernel_input(c, 0)->shape;
  const int64_t depth = leat_shape_dim(input, input->rank - 1), size = w->channels.size;
  if (depth % size != 0) {
    return leat_kernel_error(c, LEAT_UNIMPLEMENTED, "Depthwise max pooling requires the depth "
                             "window to evenly divide the input depth; they are %lld and %lld",
                             (long long)size, (long long)depth);
  }
  if (w->channels.stride != size) {
    return leat_kernel_error(c, LEAT_UNIMPLEMENTED, "Depthwise max pooling requires the depth "
                             "window to equal the depth stride; they are %lld and %lld",
                             (long long)size, (long long)w->channels.stride);
  }
  return leat_ok_status();
}

// A pool over channels is run as a pool over rows: each group of |size| channels is a row of |size|
// positions of one channel, and one window covers it.
static leat_status_t max_over_channels(leat_kernel_context_t* c, const leat_window_t* w) {
  const leat_tensor_t* input = leat_kernel_input(c, 0);
  const leat_pool_kernel_t* kernel = leat_kernel_state(c);
  const int64_t size = w->channels.size;
  LEAT_RETURN_IF_ERROR(check_channels(c, w));
  leat_shape_t shape = input->shape;
  shape.inline_dims[shape.rank - 1] /= size;
  shape.element_count /= size;
  leat_tensor_t* output;
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_output(c, 0, &shape, &output));
  run_t run = {.loops = loops_of(kernel->dtype)};
  const int64_t count = shape.element_count;
  run.pool = (leat_pool_t){.batch = 1,
                           .channels = 1,
                           .in = {1, count, size},
                           .out = {1, count, 1},
                           .size = {1, 1, size},
                           .stride = {1, 1, size}};
  return run_prepared(c, &run, false, input, NULL, output, run_maxima, count, 5 + (double)size);
}

// ---- Kernels ------------------------------------------------------------------------------------

static leat_status_t max_pool__cpu(leat_kernel_context_t* c) {
  const leat_pool_kernel_t* kernel = leat_kernel_state(c);
  const leat_tensor_t* input = leat_kernel_input(c, 0);
  leat_window_t window;
  leat_shape_t shape;
  LEAT_RETURN_IF_ERROR(leat_pool_window(c, true, &window));
  if (window.channels.size != 1) return max_over_channels(c, &window);
  run_t run = {.loops = loops_of(kernel->dtype)};
  LEAT_RETURN_IF_ERROR(leat_pool_measure(c, &window, &input->shape, &run.pool, &shape));
  leat_tensor_t* output;
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_output(c, 0, &shape, &output));
  if (shape.element_count == 0) return leat_ok_status();
  return run_prepared(c, &run, window.channels_first, input, NULL, output, run_maxima,
                      leat_pool_rows(&run.pool), leat_pool_row_ns(&run.pool));
}

static leat_status_t check_shape(const leat_kernel_context_t* c, const char* what,
                                 const leat_tensor_t* tensor, const leat_shape_t* expected) {
  if (leat_shape_equal(&tensor->shape, expected)) return leat_ok_status();
  return leat_kernel_invalid(c, "Expected %s shape to be %s, but got %s", what,
                             LEAT_SHAPE_TEXT(expected), LEAT_SHAPE_TEXT(&tensor->shape));
}

// Prepares the run of a gradient op with inputs (input, output of the pool, gradient). |out_shape|
// is the shape of the pool's output; the gradient must have this shape if |of_output|, else the
// input's.
static leat_status_t begin_gradient(leat_kernel_context_t* c, bool of_output, run_t* out_run,
                                    bool* out_is_transposed, leat_shape_t* out_shape) {
  const leat_pool_kernel_t* kernel = leat_kernel_state(c);
  const leat_shape_t* input = &leat_kernel_input(c, 0)->shape;
  leat_window_t window;
  LEAT_RETURN_IF_ERROR(leat_pool_window(c, false, &window));
  if (window.spatial == 2 && window.channels.stride != 1) {
    return leat_kernel_error(c, LEAT_UNIMPLEMENTED, "the stride over channels is %lld, must be 1: "
                             "MaxPoolingGrad is not yet supported on the depth dimension.",
                             (long long)window.channels.stride);
  }
  *out_run = (run_t){.loops = loops_of(kernel->dtype)};
  *out_is_transposed = window.channels_first;
  LEAT_RETURN_IF_ERROR(leat_pool_measure(c, &window, input, &out_run->pool, out_shape));
  LEAT_RETURN_IF_ERROR(check_shape(c, "orig_output", leat_kernel_input(c, 1), out_shape));
  return check_shape(c, "grad", leat_kernel_input(c, 2), of_output ? out_shape : input);
}

static leat_status_t max_pool_grad__cpu(leat_kernel_context_t* c) {
  const leat_tensor_t* input = leat_kernel_input(c, 0);
  run_t run;
  bool is_transposed;
  leat_shape_t shape;
  leat_tensor_t* dx;
  LEAT_RETURN_IF_ERROR(begin_gradient(c, true, &run, &is_transposed, &shape));
  run.pool.shares_ties = input->shape.rank == 5;  // TensorFlow does so in three dimensions only
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_output(c, 0, &input->shape, &dx));
  if (dx->shape.element_count == 0) return leat_ok_status();
  const int64_t rows = run.pool.out[0] * run.pool.out[1];
  return run_prepared(c, &run, is_transposed, input, leat_kernel_input(c, 2), dx, run_spread,
                      run.pool.batch, 2 * (double)rows * leat_pool_row_ns(&run.pool));
}

static leat_status_t max_pool_grad_grad__cpu(leat_kernel_context_t* c) {
  run_t run;
  bool is_transposed;
  leat_shape_t shape;
  leat_tensor_t* output;
  LEAT_RETURN_IF_ERROR(begin_gradient(c, false, &run, &is_transposed, &shape));
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_output(c, 0, &shape, &output));
  if (shape.element_count == 0) return leat_ok_status();
  return run_prepared(c, &run, is_transposed, leat_kernel_input(c, 0), leat_kernel_input(c, 2),
                      output, run_gather, leat_pool_rows(&run.pool),
                      2 * leat_pool_row_ns(&run.pool));
}

// ---- With the places of the maxima --------------------------------------------------------------

typedef struct leat_argmax_s {
  leat_pool_kernel_t pool;  // comes first, where leat_pool_window looks for it
  bool counts_batch;
} leat_argmax_t;

static leat_status_t create_argmax(leat_kernel_creation_t* c, void* state) {
  leat_argmax_t* argmax = state;
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_bool(c, "include_batch_in_index", &argmax->counts_batch));
  return leat_pool_create(c, &argmax->pool, 2, "T");
}

// Converts positions to int32 for nodes whose argmax has this type.
static void shorten(const int64_t* places, leat_tensor_t* output) {
  int32_t* to = leat_tensor_data(output, int32_t);
  for (int64_t i = 0; i < output->shape.element_count; ++i) to[i] = (int32_t)places[i];
}

// The loops write positions of 64 bits; an output of 32 bits gets them from a temporary tensor.
static leat_status_t max_pool_with_argmax__cpu(leat_kernel_context_t* c) {
  const leat_argmax_t* kernel = leat_kernel_state(c);
  const leat_tensor_t* input = leat_kernel_input(c, 0);
  leat_window_t window;
  leat_shape_t shape;
  if (input->shape.element_count == 0) {
    return leat_kernel_invalid(c, "tensor_in must not be empty: it is %s",
                               LEAT_SHAPE_TEXT(&input->shape));
  }
  // TensorFlow's kernel checks a window over the channels and then ignores it, so this one does.
  LEAT_RETURN_IF_ERROR(leat_pool_window(c, true, &window));
  if (window.channels.size != 1) LEAT_RETURN_IF_ERROR(check_channels(c, &window));
  run_t run = {.loops = loops_of(kernel->pool.dtype), .counts_batch = kernel->counts_batch};
  LEAT_RETURN_IF_ERROR(leat_pool_measure(c, &window, &input->shape, &run.pool, &shape));
  leat_tensor_t *output, *argmax, places = {0};
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_output(c, 0, &shape, &output));
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_output(c, 1, &shape, &argmax));
  run.places = argmax->data;
  if (argmax->dtype == LEAT_DTYPE_INT32) {
    LEAT_RETURN_IF_ERROR(leat_kernel_allocate_temporary(c, LEAT_DTYPE_INT64, &shape, &places));
    run.places = places.data;
  }
  leat_status_t status =
      run_prepared(c, &run, false, input, NULL, output, run_find, leat_pool_rows(&run.pool),
                   3 * leat_pool_row_ns(&run.pool));
  if (!status && argmax->dtype == LEAT_DTYPE_INT32) shorten(run.places, argmax);
  leat_tensor_release(&places);
  return status;
}

// Defines dx[places[i]] += dy[i] for |count| elements of a type. Positions are relative to the
// image of |image_size| elements that the output's i / |image_count|-th image came from;
// |image_size| is 0 where they count over the whole batch.
#define DEFINE_SCATTER(name, type)                                                               \
  static void scatter_##name(const void* dy, const int64_t* places, int64_t count,               \
                             int64_t image_count, int64_t image_size, void* dx) {                \
    for (int64_t i = 0; i < count; ++i) {                                                        \
      type* to = (type*)dx + places[i] + i / image_count * image_size;                           \
      *to = (type)(*to + ((const type*)dy)[i]);                                                  \
    }                                                                                            \
  }
DEFINE_SCATTER(f32, float)
DEFINE_SCATTER(f64, double)
DEFINE_SCATTER(8, uint8_t)
DEFINE_SCATTER(16, uint16_t)
DEFINE_SCATTER(32, uint32_t)
DEFINE_SCATTER(64, uint64_t)

typedef void (*scatter_fn_t)(const void*, const int64_t*, int64_t, int64_t, int64_t, void*);
static scatter_fn_t scatter_of(int dtype) {
  if (dtype == LEAT_DTYPE_FLOAT) return scatter_f32;
  if (dtype == LEAT_DTYPE_DOUBLE) return scatter_f64;
  switch (leat_dtype_size(dtype)) {
    case 1: return scatter_8;
    case 2: return scatter_16;
    case 4: return scatter_32;
    default: return scatter_64;
  }
}

// Positions are an input, so each must be checked before it is used as an address.
static leat_status_t check_places(const leat_kernel_context_t* c, const leat_tensor_t* argmax,
                                  int64_t size) {
  const int64_t* places = leat_tensor_data(argmax, const int64_t);
  for (int64_t i = 0; i < argmax->shape.element_count; ++i) {
    if (places[i] >= 0 && places[i] < size) continue;
    return leat_kernel_invalid(c, "argmax[%lld] is %lld, must be in [0, %lld)", (long long)i,
                               (long long)places[i], (long long)size);
  }
  return leat_ok_status();
}

// Adds each element of dy to the position that argmax names. Positions are an input, so that each
// is checked before any is written to.
static leat_status_t max_pool_grad_with_argmax__cpu(leat_kernel_context_t* c) {
  const leat_argmax_t* kernel = leat_kernel_state(c);
  const leat_tensor_t* input = leat_kernel_input(c, 0);
  const leat_tensor_t* dy = leat_kernel_input(c, 1);
  const leat_tensor_t* argmax = leat_kernel_input(c, 2);
  leat_window_t window;
  leat_shape_t shape;
  leat_pool_t pool;
  LEAT_RETURN_IF_ERROR(leat_pool_window(c, false, &window));
  LEAT_RETURN_IF_ERROR(leat_pool_measure(c, &window, &input->shape, &pool, &shape));
  LEAT_RETURN_IF_ERROR(check_shape(c, "grad", dy, &shape));
  LEAT_RETURN_IF_ERROR(check_shape(c, "argmax", argmax, &shape));
  const int64_t image_size = kernel->counts_batch ? 0
                                                  : input->shape.element_count /
                                                        LEAT_MAX(pool.batch, 1);
  const int64_t limit = kernel->counts_batch ? input->shape.element_count : image_size;
  LEAT_RETURN_IF_ERROR(check_places(c, argmax, limit));
  leat_tensor_t *dx, wide_dy, wide_dx;
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_output(c, 0, &input->shape, &dx));
  if (dx->shape.element_count == 0) return leat_ok_status();
  LEAT_RETURN_IF_ERROR(leat_widen(c, dy, &wide_dy));
  leat_status_t status = leat_widen_output(c, dx, &wide_dx);
  if (!status) {
    const int64_t count = shape.element_count;
    leat_tensor_fill_zero(&wide_dx);
    scatter_of(wide_dx.dtype)(wide_dy.data, argmax->data, count,
                              LEAT_MAX(count / pool.batch, 1), image_size, wide_dx.data);
    leat_narrow(c, &wide_dx, dx);
    leat_tensor_release(&wide_dx);
  }
  leat_tensor_release(&wide_dy);
  return status;
}

#define REAL                                                                                   \
  "T: half, bfloat16, float, double, int8, int16, int32, int64, uint8, uint16, uint32, uint64"
#define ROW(name, types, create_fn, state, compute_fn)                          \
  LEAT_CPU_KERNEL(name, types, state, create_fn, compute_fn, .expensive = true)
#define POOL_2D(name, compute_fn) ROW(name, REAL, create_2d, leat_pool_kernel_t, compute_fn)
#define POOL_3D(name, types, compute_fn) \
  ROW(name, types, create_3d, leat_pool_kernel_t, compute_fn)

const leat_kernel_row_t leat_max_pool_kernels_cpu[] = {
    POOL_2D("MaxPool", max_pool__cpu),
    POOL_2D("MaxPoolV2", max_pool__cpu),
    POOL_2D("MaxPoolGrad", max_pool_grad__cpu),
    POOL_2D("MaxPoolGradV2", max_pool_grad__cpu),
    POOL_2D("MaxPoolGradGrad", max_pool_grad_grad__cpu),
    POOL_2D("MaxPoolGradGradV2", max_pool_grad_grad__cpu),
    ROW("MaxPoolWithArgmax", "Targmax: int32, int64; " REAL, create_argmax, leat_argmax_t,
        max_pool_with_argmax__cpu),
    ROW("MaxPoolGradWithArgmax", REAL "; Targmax: int64", create_argmax, leat_argmax_t,
        max_pool_grad_with_argmax__cpu),
    POOL_3D("MaxPool3D", "T: bfloat16, float", max_pool__cpu),
    POOL_3D("MaxPool3DGrad", "T: float; TInput: float", max_pool_grad__cpu),
    POOL_3D("MaxPool3DGrad", "T: bfloat16; TInput: bfloat16", max_pool_grad__cpu),
    POOL_3D("MaxPool3DGradGrad", "T: bfloat16, float", max_pool_grad_grad__cpu),
    LEAT_KERNEL_ROWS_END,
};
