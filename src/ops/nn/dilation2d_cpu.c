// CPU kernels of Dilation2D (grayscale morphology) and its two gradients. With stride s, rate r and
// padding b in front, for each channel c on its own:
//
//   y[n, i, j, c] = max over (h, w) of x[n, i s + h r - b, j s' + w r' - b', c] + f[h, w, c]
//
// Positions outside the image do not take part. The gradients send dy to the input element, or to
// the filter element, of the maximum. They search each window again rather than store where the
// maxima were; of equal sums the first one counts, as in TensorFlow.
//
// One loop serves all three ops and each type. Half and bfloat16 are computed in float. Images are
// shared among threads, but for the gradient of the filter, whose elements every image adds to.
#include <string.h>

#include "base/checked.h"
#include "kernel/step_check.h"
#include "ops/kernel_rows.h"
#include "ops/nn/widen_cpu.h"
#include "ops/nn/window.h"

typedef enum direction_e { FORWARD, TO_INPUT, TO_FILTER } direction_t;

typedef struct leat_dilation2d_s {
  leat_window_t window;
  direction_t direction;
} leat_dilation2d_t;

typedef struct sizes_s {
  int64_t batch, depth;
  int64_t in[2], filter[2], out[2], stride[2], rate[2], before[2];
} sizes_t;

typedef struct run_s run_t;
typedef void (*run_fn_t)(const run_t* run, int64_t begin, int64_t end);  // for images [begin, end)
struct run_s {
  run_fn_t fn;
  sizes_t sizes;
  direction_t direction;
  const void* input;
  const void* filter;
  const void* dy;
  void* result;
  const leat_step_services_t* services;
  int64_t outputs_a_check;
};

#define TYPE float
#define SUFFIX(name) name##_f32
#define LOWEST -__FLT_MAX__
#include "ops/nn/dilation2d_loops.inc"

#define TYPE double
#define SUFFIX(name) name##_f64
#define LOWEST -__DBL_MAX__
#include "ops/nn/dilation2d_loops.inc"

#define TYPE int8_t
#define SUFFIX(name) name##_i8
#define LOWEST INT8_MIN
#include "ops/nn/dilation2d_loops.inc"

#define TYPE int16_t
#define SUFFIX(name) name##_i16
#define LOWEST INT16_MIN
#include "ops/nn/dilation2d_loops.inc"

#define TYPE int32_t
#define SUFFIX(name) name##_i32
#define LOWEST INT32_MIN
#include "ops/nn/dilation2d_loops.inc"

#define TYPE int64_t
#define SUFFIX(name) name##_i64
#define LOWEST INT64_MIN
#include "ops/nn/dilation2d_loops.inc"

#define TYPE uint8_t
#define SUFFIX(name) name##_u8
#define LOWEST 0
#include "ops/nn/dilation2d_loops.inc"

#define TYPE uint16_t
#define SUFFIX(name) name##_u16
#define LOWEST 0
#include "ops/nn/dilation2d_loops.inc"

#define TYPE uint32_t
#define SUFFIX(name) name##_u32
#define LOWEST 0
#include "ops/nn/dilation2d_loops.inc"

#define TYPE uint64_t
#define SUFFIX(name) name##_u64
#define LOWEST 0
#include "ops/nn/dilation2d_loops.inc"

// The loops for a type. Half and bfloat16 are widened before, so their results are floats too.
static run_fn_t function_of(int dtype) {
  switch (dtype) {
    case LEAT_DTYPE_DOUBLE: return run_f64;
    case LEAT_DTYPE_INT8: return run_i8;
    case LEAT_DTYPE_INT16: return run_i16;
    case LEAT_DTYPE_INT32: return run_i32;
    case LEAT_DTYPE_INT64: return run_i64;
    case LEAT_DTYPE_UINT8: return run_u8;
    case LEAT_DTYPE_UINT16: return run_u16;
    case LEAT_DTYPE_UINT32: return run_u32;
    case LEAT_DTYPE_UINT64: return run_u64;
    default: return run_f32;
  }
}

// Reads strides, rates and padding; windows over the batch or the channels are refused, as in
// TensorFlow.
static leat_status_t create(leat_kernel_creation_t* c, void* state, direction_t direction) {
  leat_dilation2d_t* dilation = state;
  dilation->direction = direction;
  LEAT_RETURN_IF_ERROR(leat_window_read(c->attrs, c->attr_count, 2, &dilation->window));
  const leat_window_t* w = &dilation->window;
  if (w->batch.stride == 1 && w->channels.stride == 1 && w->batch.dilation == 1 &&
      w->channels.dilation == 1) {
    return leat_ok_status();
  }
  return leat_make_status(LEAT_UNIMPLEMENTED,
                          "strides and rates are only supported across spatial dimensions");
}
static leat_status_t create_forward(leat_kernel_creation_t* c, void* state) {
  return create(c, state, FORWARD);
}
static leat_status_t create_to_input(leat_kernel_creation_t* c, void* state) {
  return create(c, state, TO_INPUT);
}
static leat_status_t create_to_filter(leat_kernel_creation_t* c, void* state) {
  return create(c, state, TO_FILTER);
}

// Fills |out_sizes| from the shapes of input and filter.
static leat_status_t measure(const leat_kernel_context_t* c, sizes_t* out_sizes) {
  const leat_dilation2d_t* dilation = leat_kernel_state(c);
  const int64_t* input = leat_shape_dims(&leat_kernel_input(c, 0)->shape);
  const int64_t* filter = leat_shape_dims(&leat_kernel_input(c, 1)->shape);
  if (input[3] != filter[2]) {
    return leat_kernel_invalid(c, "input and filter must have the same depth: %lld and %lld",
                               (long long)input[3], (long long)filter[2]);
  }
  *out_sizes = (sizes_t){.batch = input[0], .depth = input[3]};
  for (int i = 0; i < 2; ++i) {
    const leat_window_axis_t* axis = &dilation->window.axes[i];
    out_sizes->in[i] = input[1 + i];
    out_sizes->filter[i] = filter[i];
    out_sizes->stride[i] = axis->stride;
    out_sizes->rate[i] = axis->dilation;
    LEAT_RETURN_IF_ERROR(leat_window_count(axis, dilation->window.padding, input[1 + i], filter[i],
                                           &out_sizes->out[i], &out_sizes->before[i]));
  }
  return leat_ok_status();
}

static void run_shard(void* data, int64_t begin, int64_t end) {
  const run_t* run = data;
  run->fn(run, begin, end);
}

// Computes into |result|, which has the type that the loops compute in. Gradients are added up, so
// |result| is cleared first.
static leat_status_t run(leat_kernel_context_t* c, const sizes_t* sizes, leat_tensor_t* result) {
  const leat_dilation2d_t* dilation = leat_kernel_state(c);
  leat_wide_t wide;
  LEAT_RETURN_IF_ERROR(leat_wide_begin(c, &wide));
  run_t run = {.fn = function_of(result->dtype),
               .sizes = *sizes,
               .direction = dilation->direction,
               .input = wide.inputs[0].data,
               .filter = wide.inputs[1].data,
               .dy = wide.input_count > 2 ? wide.inputs[2].data : NULL,
               .result = result->data,
               .services = c->services};
  const double output_ns = 2 * (double)sizes->filter[0] * (double)sizes->filter[1];
  run.outputs_a_check = (int64_t)LEAT_MAX(1.0, LEAT_STEP_CHECK_NS / LEAT_MAX(1.0, output_ns));
  if (dilation->direction != FORWARD) leat_tensor_fill_zero(result);
  if (dilation->direction == TO_FILTER) {
    run.fn(&run, 0, sizes->batch);
  } else {
    const double image = (double)(sizes->out[0] * sizes->out[1] * sizes->depth) * output_ns;
    leat_kernel_parallel_for(c, sizes->batch, image, run_shard, &run);
  }
  leat_wide_end(&wide);
  return leat_ok_status();
}

static leat_status_t check_gradient(const leat_kernel_context_t* c, const sizes_t* sizes) {
  const leat_shape_t* dy = &leat_kernel_input(c, 2)->shape;
  if (dy->rank == 4 && leat_shape_dim(dy, 0) == sizes->batch &&
      leat_shape_dim(dy, 1) == sizes->out[0] && leat_shape_dim(dy, 2) == sizes->out[1] &&
      leat_shape_dim(dy, 3) == sizes->depth) {
    return leat_ok_status();
  }
  return leat_kernel_invalid(c, "out_backprop is %s, must be [%lld,%lld,%lld,%lld]",
                             LEAT_SHAPE_TEXT(dy), (long long)sizes->batch,
                             (long long)sizes->out[0], (long long)sizes->out[1],
                             (long long)sizes->depth);
}

static leat_status_t dilation2d__cpu(leat_kernel_context_t* c) {
  const leat_dilation2d_t* dilation = leat_kernel_state(c);
  sizes_t sizes;
  LEAT_RETURN_IF_ERROR(measure(c, &sizes));
  leat_shape_t shape;
  if (dilation->direction == FORWARD) {
    const int64_t dims[] = {sizes.batch, sizes.out[0], sizes.out[1], sizes.depth};
    LEAT_RETURN_IF_ERROR(leat_shape_create(4, dims, &shape));
  } else {
    LEAT_RETURN_IF_ERROR(check_gradient(c, &sizes));
    shape = leat_kernel_input(c, dilation->direction == TO_INPUT ? 0 : 1)->shape;
  }
  leat_tensor_t *output, wide;
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_output(c, 0, &shape, &output));
  if (shape.element_count == 0) return leat_ok_status();
  LEAT_RETURN_IF_ERROR(leat_widen_output(c, output, &wide));
  leat_status_t status = run(c, &sizes, &wide);
  if (!status) leat_narrow(c, &wide, output);
  leat_tensor_release(&wide);
  return status;
}

#define TYPES \
  "T: half, bfloat16, float, double, int8, int16, int32, int64, uint8, uint16, uint32, uint64"
#define ROW(name, create_fn) \
  LEAT_CPU_KERNEL(name, TYPES, leat_dilation2d_t, create_fn, dilation2d__cpu)

const leat_kernel_row_t leat_dilation2d_kernels_cpu[] = {
    ROW("Dilation2D", create_forward),
    ROW("Dilation2DBackpropInput", create_to_input),
    ROW("Dilation2DBackpropFilter", create_to_filter),
    LEAT_KERNEL_ROWS_END,
};
