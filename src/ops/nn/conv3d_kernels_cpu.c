// CPU kernels of Conv3D, of its gradients, and of Conv.
//
// The convolutions themselves are in conv3d_cpu.c and conv2d_cpu.c; the kernels check what their op
// takes and allocate outputs. The gradient ops come in two versions: the first takes a tensor of
// the shape of its result, the second takes the five sizes as a vector. read_sizes serves both.
//
// Conv is a newer op of two or three spatial dimensions, which the length of its "strides" decides,
// with any number of batch dimensions. They are flattened into one before the convolution, which
// does not copy anything. Groups other than 1 are UNIMPLEMENTED, as in TensorFlow.
#include "ops/kernel_rows.h"
#include "ops/nn/conv2d_cpu.h"
#include "ops/nn/conv3d_cpu.h"

typedef struct leat_conv3d_s {
  leat_window_t window;
  leat_convolution_direction_t direction;
} leat_conv3d_t;

static leat_status_t create(leat_kernel_creation_t* c, void* state,
                            leat_convolution_direction_t direction) {
  leat_conv3d_t* conv = state;
  conv->direction = direction;
  LEAT_RETURN_IF_ERROR(leat_window_read(c->attrs, c->attr_count, 3, &conv->window));
  return leat_conv3d_check_window(&conv->window, LEAT_INVALID_ARGUMENT);
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
  leat_conv3d_shape_t shape;
  int64_t sizes[5];
  LEAT_RETURN_IF_ERROR(leat_conv3d_measure(c, &conv->window, leat_shape_dims(&input->shape),
                                           leat_shape_dims(&filter->shape), &shape, sizes));
  leat_tensor_t* output;
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_sized(c, 0, 5, sizes, &output));
  return leat_conv3d_run(c, &conv->window, conv->direction, &shape, input, filter, output);
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
  leat_conv3d_shape_t shape;
  int64_t input[5], filter[5], sizes[5];
  LEAT_RETURN_IF_ERROR(read_sizes(c, to_input ? 0 : 1, to_input ? input : filter));
  const leat_tensor_t* other = leat_kernel_input(c, to_input ? 1 : 0);
  for (int d = 0; d < 5; ++d) {
    (to_input ? filter : input)[d] = leat_shape_dim(&other->shape, d);
  }
  LEAT_RETURN_IF_ERROR(leat_conv3d_measure(c, &conv->window, input, filter, &shape, sizes));
  LEAT_RETURN_IF_ERROR(check_gradient(c, sizes));
  leat_tensor_t* output;
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_sized(c, 0, 5, to_input ? input : filter, &output));
  return leat_conv3d_run(c, &conv->window, conv->direction, &shape, other, leat_kernel_input(c, 2),
                         output);
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
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_int(c, "groups", &groups));
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
  if (!conv->is_flat && conv->flat.dtype == LEAT_DTYPE_INT32) {
    return leat_make_status(LEAT_UNIMPLEMENTED, "Conv of int32 in three dimensions");
  }
  return leat_conv3d_check_window(window, LEAT_INVALID_ARGUMENT);
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
  leat_conv3d_shape_t solid;
  int64_t sizes[5];
  if (conv->is_flat) {
    LEAT_RETURN_IF_ERROR(leat_conv2d_measure(c, &conv->flat, in, by, &flat, sizes));
  } else {
    LEAT_RETURN_IF_ERROR(leat_conv3d_measure(c, &conv->window, in, by, &solid, sizes));
  }
  leat_tensor_t *output, joined;
  LEAT_RETURN_IF_ERROR(allocate_conv(c, conv->batch_dims, rank, sizes, &output));
  LEAT_RETURN_IF_ERROR(flatten(c, output, conv->batch_dims, rank, &joined));
  leat_status_t status =
      conv->is_flat
          ? leat_conv2d_run(&conv->flat, c, &flat, input, filter, NULL, &joined)
          : leat_conv3d_run(c, &conv->window, LEAT_CONVOLUTION_FORWARD, &solid, input, filter,
                            &joined);
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
    LEAT_KERNEL_ROWS_END,
};
