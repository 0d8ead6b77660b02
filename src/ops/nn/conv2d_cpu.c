// CPU kernels of Conv2D, DepthwiseConv2dNative and their gradients.
//
//   forward    input [batch, height, width, in], filter [height, width, in / groups, out]
//              -> output [batch, out height, out width, out]
//   to input   sizes, filter, dy  -> dx
//   to filter  input, sizes, dy   -> dfilter
//
// The arithmetic is in device/cpu/convolution_plan.h, which knows float with the channels last.
// This file checks the sizes, brings tensors into that form and runs a plan:
//
//   NCHW ─transpose─▶ NHWC ─convert─▶ float ─plan─▶ float ─convert─▶ NHWC ─transpose─▶ NCHW
//
// Steps that a node does not need are left out. A filter is never transposed: its layout is the
// same in both formats. A depthwise convolution is one whose number of groups is the number of
// channels.
//
// leat_conv2d_measure and leat_conv2d_run also serve the op Conv (conv3d_cpu.c).
#include "ops/nn/conv2d_cpu.h"

#include "ops/kernel_rows.h"
#include "ops/nn/channels_cpu.h"

// ---- Making -------------------------------------------------------------------------------------

leat_status_t leat_conv2d_create(leat_kernel_creation_t* c, leat_conv2d_t* conv) {
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_type(c, "T", &conv->dtype));
  LEAT_RETURN_IF_ERROR(leat_window_read(c->attrs, c->attr_count, 2, &conv->window));
  const leat_window_t* w = &conv->window;
  if (w->batch.stride != 1 || w->channels.stride != 1) {
    return leat_make_status(LEAT_UNIMPLEMENTED, "strides of the batch and channel dimensions are "
                            "%lld and %lld, must be 1", (long long)w->batch.stride,
                            (long long)w->channels.stride);
  }
  if (w->batch.dilation != 1 || w->channels.dilation != 1) {
    return leat_make_status(LEAT_UNIMPLEMENTED, "dilations of the batch and channel dimensions are "
                            "%lld and %lld, must be 1", (long long)w->batch.dilation,
                            (long long)w->channels.dilation);
  }
  for (int i = 0; i < 2; ++i) {
    if (w->axes[i].stride > 0 && w->axes[i].dilation > 0) continue;
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "row and column strides and dilations must be larger than 0");
  }
  return leat_ok_status();
}

static leat_status_t create(leat_kernel_creation_t* c, void* state,
                            leat_convolution_direction_t direction, bool is_depthwise) {
  leat_conv2d_t* conv = state;
  conv->direction = direction;
  conv->is_depthwise = is_depthwise;
  return leat_conv2d_create(c, conv);
}
static leat_status_t create_forward(leat_kernel_creation_t* c, void* state) {
  return create(c, state, LEAT_CONVOLUTION_FORWARD, false);
}
static leat_status_t create_to_input(leat_kernel_creation_t* c, void* state) {
  return create(c, state, LEAT_CONVOLUTION_BACKWARD_INPUT, false);
}
static leat_status_t create_to_filter(leat_kernel_creation_t* c, void* state) {
  return create(c, state, LEAT_CONVOLUTION_BACKWARD_FILTER, false);
}
static leat_status_t create_depthwise_forward(leat_kernel_creation_t* c, void* state) {
  return create(c, state, LEAT_CONVOLUTION_FORWARD, true);
}
static leat_status_t create_depthwise_to_input(leat_kernel_creation_t* c, void* state) {
  return create(c, state, LEAT_CONVOLUTION_BACKWARD_INPUT, true);
}
static leat_status_t create_depthwise_to_filter(leat_kernel_creation_t* c, void* state) {
  return create(c, state, LEAT_CONVOLUTION_BACKWARD_FILTER, true);
}

static void destroy(void* state) { leat_convolution_cache_clear(&((leat_conv2d_t*)state)->cache); }

// ---- Sizes --------------------------------------------------------------------------------------

static bool is_empty(const int64_t* filter) {
  return filter[0] <= 0 || filter[1] <= 0 || filter[2] <= 0 || filter[3] <= 0;
}

// Finds the groups and the output's channels. TensorFlow refuses an empty filter in Conv2D, but
// takes one where the result is then empty or zero: in a depthwise convolution, or in the gradient
// of the input. A filter depth of 0 cannot divide the input's channels, so it is always refused.
static leat_status_t measure_channels(const leat_kernel_context_t* c, const leat_conv2d_t* conv,
                                      const int64_t* filter, leat_convolution_shape_t* shape) {
  const int64_t in = shape->in_channels;
  const bool may_be_empty = filter[2] > 0 && (conv->is_depthwise ||
                                              conv->direction == LEAT_CONVOLUTION_BACKWARD_INPUT);
  if (!may_be_empty && is_empty(filter)) {
    return leat_kernel_invalid(c, "filter must not have zero elements: its sizes are "
                               "[%lld,%lld,%lld,%lld]", (long long)filter[0], (long long)filter[1],
                               (long long)filter[2], (long long)filter[3]);
  }
  if (conv->is_depthwise) {
    if (in != filter[2]) {
      return leat_kernel_invalid(c, "input and filter must have the same depth: %lld and %lld",
                                 (long long)in, (long long)filter[2]);
    }
    shape->groups = in;
    if (__builtin_mul_overflow(in, filter[3], &shape->out_channels)) {
      return leat_kernel_invalid(c, "filter is too large");
    }
    return leat_ok_status();
  }
  shape->groups = in / filter[2];
  shape->out_channels = filter[3];
  if (in % filter[2] != 0 || shape->groups == 0 || filter[3] % shape->groups != 0) {
    return leat_kernel_invalid(c, "input depth is %lld, must be a multiple of filter depth %lld; "
                               "output depth is %lld, must be a multiple of the groups",
                               (long long)in, (long long)filter[2], (long long)filter[3]);
  }
  return leat_ok_status();
}

leat_status_t leat_conv2d_measure(const leat_kernel_context_t* c, const leat_conv2d_t* conv,
                                  const int64_t* input, const int64_t* filter,
                                  leat_convolution_shape_t* out_shape, int64_t* out_output) {
  const leat_window_t* w = &conv->window;
  const int channel = leat_window_channel_dim(w);
  const int row = leat_window_dim(w, 0), column = leat_window_dim(w, 1);
  *out_shape = (leat_convolution_shape_t){.batch = input[0],
                                          .in_height = input[row],
                                          .in_width = input[column],
                                          .in_channels = input[channel],
                                          .filter_height = filter[0],
                                          .filter_width = filter[1],
                                          .stride_height = w->axes[0].stride,
                                          .stride_width = w->axes[1].stride,
                                          .dilation_height = w->axes[0].dilation,
                                          .dilation_width = w->axes[1].dilation};
  LEAT_RETURN_IF_ERROR(measure_channels(c, conv, filter, out_shape));
  LEAT_RETURN_IF_ERROR(leat_window_count(&w->axes[0], w->padding, input[row], filter[0],
                                         &out_shape->out_height, &out_shape->pad_top));
  LEAT_RETURN_IF_ERROR(leat_window_count(&w->axes[1], w->padding, input[column], filter[1],
                                         &out_shape->out_width, &out_shape->pad_left));
  if (!is_empty(filter) && !leat_convolution_is_valid(out_shape)) {
    return leat_kernel_invalid(c, "sizes of input and filter are too large");
  }
  out_output[0] = input[0];
  out_output[channel] = out_shape->out_channels;
  out_output[row] = out_shape->out_height;
  out_output[column] = out_shape->out_width;
  return leat_ok_status();
}

// Reads the four sizes that |tensor| holds. The gradient of the input also takes two, rows and
// columns; batch and channels then follow from |dy| and |filter|, which are NULL where only four
// will do.
static leat_status_t read_sizes(const leat_kernel_context_t* c, const leat_tensor_t* tensor,
                                const leat_tensor_t* filter, const leat_tensor_t* dy,
                                int64_t* out_sizes) {
  const leat_conv2d_t* conv = leat_kernel_state(c);
  const int64_t count = tensor->shape.element_count;
  const bool is_short = count == 2 && filter && !conv->is_depthwise;
  if (count != 4 && !is_short) {
    return leat_kernel_invalid(c, "sizes have %lld values, must have 4", (long long)count);
  }
  if (is_short) {
    const int channel = leat_window_channel_dim(&conv->window);
    out_sizes[0] = leat_shape_dim(&dy->shape, 0);
    out_sizes[channel] = leat_shape_dim(&filter->shape, 2);
    for (int i = 0; i < 2; ++i) {
      out_sizes[leat_window_dim(&conv->window, i)] = leat_tensor_index_at(tensor, i);
    }
  } else {
    for (int i = 0; i < 4; ++i) out_sizes[i] = leat_tensor_index_at(tensor, i);
  }
  for (int i = 0; i < 4; ++i) {
    if (out_sizes[i] >= 0) continue;
    return leat_kernel_invalid(c, "size %d is %lld, must be >= 0", i, (long long)out_sizes[i]);
  }
  return leat_ok_status();
}

// INVALID_ARGUMENT unless |dy| has the four sizes |expected|, those of the forward output.
static leat_status_t check_gradient(const leat_kernel_context_t* c, const leat_tensor_t* dy,
                                    const int64_t* expected) {
  const int64_t* sizes = leat_shape_dims(&dy->shape);
  for (int d = 0; d < 4; ++d) {
    if (sizes[d] == expected[d]) continue;
    return leat_kernel_invalid(c, "out_backprop is %s, must be [%lld,%lld,%lld,%lld]",
                               LEAT_SHAPE_TEXT(&dy->shape), (long long)expected[0],
                               (long long)expected[1], (long long)expected[2],
                               (long long)expected[3]);
  }
  return leat_ok_status();
}

// ---- Running ------------------------------------------------------------------------------------

// Sets |result|, which is float (or double, or int32) with the channels last, to zero, which is a
// sum of no products, and applies the step.
static void run_empty(const leat_convolution_shape_t* shape, const leat_row_step_t* step,
                      leat_tensor_t* result) {
  leat_tensor_fill_zero(result);
  const int64_t rows = shape->batch * shape->out_height * shape->out_width;
  if (step) step->apply(step->data, result->data, 0, rows, false);
}

// Runs a plan over operands that are float (or double, or int32) with the channels last. |filter|
// is the kernel's input from which one of them comes; NULL where the filter is the result.
static leat_status_t run_prepared(leat_conv2d_t* conv, leat_kernel_context_t* c,
                                  const leat_convolution_shape_t* shape,
                                  const leat_tensor_t* first, const leat_tensor_t* second,
                                  const leat_tensor_t* filter, const leat_row_step_t* step,
                                  leat_tensor_t* result) {
  const bool is_transposed =
      conv->window.channels_first && conv->direction != LEAT_CONVOLUTION_BACKWARD_FILTER;
  leat_transposed_output_t transposed;
  leat_status_t status = leat_ok_status();
  LEAT_RETURN_IF_ERROR(leat_transposed_output_begin(c, is_transposed, result, &transposed));
  if (first->shape.element_count == 0 || second->shape.element_count == 0) {
    run_empty(shape, step, &transposed.wide);
  } else {
    leat_convolution_run_t run = {.direction = conv->direction, .shape = shape,
                                  .dtype = transposed.wide.dtype, .first = first->data,
                                  .second = second->data, .filter = filter, .step = step,
                                  .result = transposed.wide.data};
    status = leat_convolution_cache_run(&conv->cache, c, &run);
  }
  return leat_transposed_output_end(c, &transposed, status);
}

leat_status_t leat_conv2d_run(leat_conv2d_t* conv, leat_kernel_context_t* c,
                              const leat_convolution_shape_t* shape, const leat_tensor_t* first,
                              const leat_tensor_t* second, const leat_row_step_t* step,
                              leat_tensor_t* result) {
  const bool is_transposed = conv->window.channels_first;
  const bool first_is_filter = conv->direction == LEAT_CONVOLUTION_BACKWARD_INPUT;
  const bool second_is_filter = conv->direction == LEAT_CONVOLUTION_FORWARD;
  if (result->shape.element_count == 0) return leat_ok_status();
  leat_tensor_t a, b;
  LEAT_RETURN_IF_ERROR(leat_widen_transposed(c, is_transposed && !first_is_filter, first, &a));
  leat_status_t status = leat_widen_transposed(c, is_transposed && !second_is_filter, second, &b);
  if (!status) {
    const leat_tensor_t* filter = first_is_filter ? first : second_is_filter ? second : NULL;
    status = run_prepared(conv, c, shape, &a, &b, filter, step, result);
    leat_tensor_release(&b);
  }
  leat_tensor_release(&a);
  return status;
}

static leat_status_t forward__cpu(leat_kernel_context_t* c) {
  leat_conv2d_t* conv = leat_kernel_state(c);
  const leat_tensor_t* input = leat_kernel_input(c, 0);
  const leat_tensor_t* filter = leat_kernel_input(c, 1);
  leat_convolution_shape_t shape;
  int64_t sizes[4];
  LEAT_RETURN_IF_ERROR(leat_conv2d_measure(c, conv, leat_shape_dims(&input->shape),
                                           leat_shape_dims(&filter->shape), &shape, sizes));
  leat_tensor_t* output;
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_sized(c, 0, 4, sizes, &output));
  return leat_conv2d_run(conv, c, &shape, input, filter, NULL, output);
}

static leat_status_t to_input__cpu(leat_kernel_context_t* c) {
  leat_conv2d_t* conv = leat_kernel_state(c);
  const leat_tensor_t* filter = leat_kernel_input(c, 1);
  const leat_tensor_t* dy = leat_kernel_input(c, 2);
  leat_convolution_shape_t shape;
  int64_t input[4], sizes[4];
  LEAT_RETURN_IF_ERROR(read_sizes(c, leat_kernel_input(c, 0), filter, dy, input));
  LEAT_RETURN_IF_ERROR(
      leat_conv2d_measure(c, conv, input, leat_shape_dims(&filter->shape), &shape, sizes));
  LEAT_RETURN_IF_ERROR(check_gradient(c, dy, sizes));
  leat_tensor_t* output;
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_sized(c, 0, 4, input, &output));
  return leat_conv2d_run(conv, c, &shape, filter, dy, NULL, output);
}

static leat_status_t to_filter__cpu(leat_kernel_context_t* c) {
  leat_conv2d_t* conv = leat_kernel_state(c);
  const leat_tensor_t* input = leat_kernel_input(c, 0);
  const leat_tensor_t* dy = leat_kernel_input(c, 2);
  leat_convolution_shape_t shape;
  int64_t filter[4], sizes[4];
  LEAT_RETURN_IF_ERROR(read_sizes(c, leat_kernel_input(c, 1), NULL, NULL, filter));
  if (!conv->is_depthwise && filter[2] == 0) {
    return leat_kernel_invalid(c, "filter depth is 0, must be greater than zero");
  }
  leat_tensor_t* output;
  if (is_empty(filter)) {
    return leat_kernel_allocate_sized(c, 0, 4, filter, &output);
  }
  LEAT_RETURN_IF_ERROR(
      leat_conv2d_measure(c, conv, leat_shape_dims(&input->shape), filter, &shape, sizes));
  LEAT_RETURN_IF_ERROR(check_gradient(c, dy, sizes));
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_sized(c, 0, 4, filter, &output));
  return leat_conv2d_run(conv, c, &shape, input, dy, NULL, output);
}

#define FLOATING "T: half, bfloat16, float, double"
#define ROW(name, types, create_fn, compute_fn)                                          \
  LEAT_CPU_KERNEL(name, types, leat_conv2d_t, create_fn, compute_fn, .destroy = destroy, \
                  .expensive = true)

const leat_kernel_row_t leat_conv2d_kernels_cpu[] = {
    ROW("Conv2D", FLOATING ", int32", create_forward, forward__cpu),
    ROW("Conv2DBackpropInput", FLOATING ", int32", create_to_input, to_input__cpu),
    ROW("Conv2DBackpropFilter", FLOATING, create_to_filter, to_filter__cpu),
    ROW("DepthwiseConv2dNative", FLOATING, create_depthwise_forward, forward__cpu),
    ROW("DepthwiseConv2dNativeBackpropInput", FLOATING, create_depthwise_to_input, to_input__cpu),
    ROW("DepthwiseConv2dNativeBackpropFilter", FLOATING, create_depthwise_to_filter,
        to_filter__cpu),
    LEAT_KERNEL_ROWS_END,
};
