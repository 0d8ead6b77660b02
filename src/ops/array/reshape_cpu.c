// The CPU kernels of Reshape, ExpandDims, Squeeze and EnsureShape. The output shares the bytes of
// the input and only its shape is new, so that no element is moved: what the kernels do is to find
// the shape and to check it.
//
//   Reshape [2, 6] to [3, -1]   ->  [3, 4]        the size -1 is elements / the other sizes
//   ExpandDims [2, 6], dim 1    ->  [2, 1, 6]
//   Squeeze [2, 1, 6]           ->  [2, 6]
//
// The invariant is that the element count does not change. The checks are made here although the
// shape functions (reshape.c) made them already where shapes were known, because the requested
// shape is an input that may become known only when the step runs.
#include "base/checked.h"
#include "ops/array/index_cpu.h"
#include "ops/kernel_rows.h"

// A shape as input 1 of Reshape requests it.
typedef struct requested_s {
  int rank;
  int64_t dims[LEAT_SHAPE_MAX_RANK];
  int missing;  // the axis whose size was given as -1, or -1
  int64_t product;  // of the sizes that are neither missing nor 0
  bool has_zero;
} requested_t;

// Reads the requested sizes and checks each of them.
static leat_status_t read_requested(const leat_kernel_context_t* c, const leat_tensor_t* sizes,
                                    requested_t* r) {
  if (sizes->shape.rank > 1) {
    return leat_kernel_invalid(c, "shape has shape %s, must be a vector",
                               LEAT_SHAPE_TEXT(&sizes->shape));
  }
  // TensorFlow allows a rank that is one less than that of other ops.
  if (sizes->shape.element_count >= LEAT_SHAPE_MAX_RANK) {
    return leat_kernel_invalid(c, "shape has %lld items, must have fewer than %d",
                               (long long)sizes->shape.element_count, LEAT_SHAPE_MAX_RANK);
  }
  r->rank = (int)sizes->shape.element_count;
  r->missing = -1;
  r->product = 1;
  r->has_zero = false;
  for (int d = 0; d < r->rank; ++d) {
    int64_t size = r->dims[d] = leat_tensor_index_at(sizes, d);
    if (size == -1 && r->missing < 0) {
      r->missing = d;
    } else if (size < 0) {
      return leat_kernel_invalid(c, "shape[%d] is %lld, must be non-negative, or -1 once", d,
                                 (long long)size);
    } else if (size == 0) {
      r->has_zero = true;
    } else if (!leat_checked_multiply(r->product, size, &r->product)) {
      return leat_kernel_invalid(c, "shape has too many elements, must have less than 2^63");
    }
  }
  return leat_ok_status();
}

// Finds the size that was given as -1, by dividing the elements of the input by the other sizes.
// Where the request has a size of 0, sizes of 0 in the input are left out of its count, as
// TensorFlow does: any size would then fit.
static leat_status_t find_missing(const leat_kernel_context_t* c, const leat_shape_t* shape,
                                  requested_t* r) {
  int64_t count = 1;
  bool is_loose = false;
  for (int d = 0; d < shape->rank; ++d) {
    int64_t size = leat_shape_dim(shape, d);
    if (size == 0 && r->has_zero) {
      is_loose = true;
    } else if (!leat_checked_multiply(count, size, &count)) {
      return leat_kernel_invalid(c, "input has shape %s, whose sizes other than 0 must multiply to "
                                    "a number of 64 bits", LEAT_SHAPE_TEXT(shape));
    }
  }
  int64_t missing = count / r->product;
  if (!is_loose && missing * r->product != count) {
    return leat_kernel_invalid(c,
                               "Input to reshape is a tensor with %lld values, but the requested "
                               "shape requires a multiple of %lld",
                               (long long)count, (long long)r->product);
  }
  r->dims[r->missing] = missing;
  return leat_ok_status();
}

static leat_status_t reshape__cpu(leat_kernel_context_t* c) {
  const leat_tensor_t* input = leat_kernel_input(c, 0);
  requested_t r;
  LEAT_RETURN_IF_ERROR(read_requested(c, leat_kernel_input(c, 1), &r));
  if (r.missing >= 0) LEAT_RETURN_IF_ERROR(find_missing(c, &input->shape, &r));
  leat_shape_t shape;
  LEAT_RETURN_IF_ERROR(leat_shape_create(r.rank, r.dims, &shape));
  leat_status_t status = leat_ok_status();
  if (shape.element_count != input->shape.element_count) {
    status = leat_kernel_invalid(
        c,
        "Input to reshape is a tensor with %lld values, but the requested shape has %lld, being %s",
        (long long)input->shape.element_count, (long long)shape.element_count,
        LEAT_SHAPE_TEXT(&shape));
  } else {
    status = leat_kernel_pass_input_reshaped(c, 0, 0, &shape);
  }
  leat_shape_release(&shape);
  return status;
}

// The range of the quantised elements, inputs 2 and 3, stays as it is.
static leat_status_t quantized_reshape__cpu(leat_kernel_context_t* c) {
  leat_kernel_pass_input(c, 2, 1);
  leat_kernel_pass_input(c, 3, 2);
  return reshape__cpu(c);
}

// Makes the output input 0 under another shape of as many elements.
static leat_status_t pass_as(leat_kernel_context_t* c, int rank, const int64_t* dims) {
  leat_shape_t shape;
  LEAT_RETURN_IF_ERROR(leat_shape_create(rank, dims, &shape));
  leat_status_t status = leat_kernel_pass_input_reshaped(c, 0, 0, &shape);
  leat_shape_release(&shape);
  return status;
}

static leat_status_t expand_dims__cpu(leat_kernel_context_t* c) {
  const leat_shape_t* shape = &leat_kernel_input(c, 0)->shape;
  int axis;
  LEAT_RETURN_IF_ERROR(leat_axis_read(c, 1, shape->rank + 1, &axis));
  int64_t dims[LEAT_SHAPE_MAX_RANK + 1];
  const int64_t* from = leat_shape_dims(shape);
  for (int d = 0; d <= shape->rank; ++d) dims[d] = d == axis ? 1 : from[d < axis ? d : d - 1];
  return pass_as(c, shape->rank + 1, dims);
}

// ---- Squeeze ------------------------------------------------------------------------------------

typedef struct squeeze_state_s {
  int count;
  int32_t axes[LEAT_SHAPE_MAX_RANK];
} squeeze_state_t;

static leat_status_t create_squeeze(leat_kernel_creation_t* creation, void* memory) {
  squeeze_state_t* state = memory;
  const int64_t* axes;
  int count;
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_ints(creation, "squeeze_dims", &axes, &count));
  if (count > LEAT_SHAPE_MAX_RANK) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "Kernel creation failed for node '%.*s' (Squeeze): squeeze_dims has %d "
                            "items, must have at most %d",
                            LEAT_SV_ARG(creation->kernel->node_name), count, LEAT_SHAPE_MAX_RANK);
  }
  state->count = count;
  for (int i = 0; i < count; ++i) {
    // An axis that is no int32 is out of range for every shape, and so is INT32_MAX.
    state->axes[i] = axes[i] > INT32_MAX || axes[i] < INT32_MIN ? INT32_MAX : (int32_t)axes[i];
  }
  return leat_ok_status();
}

// Without axes, every dimension of size 1 goes.
static leat_status_t squeeze__cpu(leat_kernel_context_t* c) {
  const squeeze_state_t* state = leat_kernel_state(c);
  const leat_shape_t* shape = &leat_kernel_input(c, 0)->shape;
  const int64_t* from = leat_shape_dims(shape);
  bool marks[LEAT_SHAPE_MAX_RANK] = {0};
  int64_t dims[LEAT_SHAPE_MAX_RANK];
  for (int i = 0; i < state->count; ++i) {
    int64_t axis = state->axes[i];
    if (!leat_axis_resolve(&axis, shape->rank)) {
      return leat_kernel_invalid(c, "squeeze_dims[%d] is %d, must be in [%d, %d)", i,
                                 state->axes[i], -shape->rank, shape->rank);
    }
    if (from[axis] != 1) {
      return leat_kernel_invalid(c, "dimension %lld is %lld, must be 1 to be squeezed",
                                 (long long)axis, (long long)from[axis]);
    }
    marks[axis] = true;
  }
  int rank = 0;
  for (int d = 0; d < shape->rank; ++d) {
    bool goes = state->count == 0 ? from[d] == 1 : marks[d];
    if (!goes) dims[rank++] = from[d];
  }
  return pass_as(c, rank, dims);
}

// ---- EnsureShape --------------------------------------------------------------------------------

typedef struct ensure_state_s {
  int rank;
  int64_t dims[LEAT_SHAPE_MAX_RANK];
} ensure_state_t;

static leat_status_t create_ensure(leat_kernel_creation_t* creation, void* memory) {
  ensure_state_t* state = memory;
  leat_partial_shape_t shape;
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_shape(creation, "shape", &shape));
  state->rank = shape.rank;
  for (int d = 0; d < shape.rank; ++d) state->dims[d] = shape.dims[d];
  return leat_ok_status();
}

static leat_status_t ensure_shape__cpu(leat_kernel_context_t* c) {
  const ensure_state_t* state = leat_kernel_state(c);
  const leat_shape_t* shape = &leat_kernel_input(c, 0)->shape;
  leat_partial_shape_t wanted = {state->rank, state->dims};
  if (!leat_partial_shape_admits(wanted, shape)) {
    return leat_kernel_invalid(c, "shape of the input is %s, must be compatible with %s",
                               LEAT_SHAPE_TEXT(shape), LEAT_PARTIAL_SHAPE_TEXT(wanted));
  }
  leat_kernel_pass_input(c, 0, 0);
  return leat_ok_status();
}

const leat_kernel_row_t leat_reshape_kernels_cpu[] = {
    {.op = "Reshape", .device_type = "CPU", .compute = reshape__cpu},
    {.op = "QuantizedReshape",
     .device_type = "CPU",
     .constraints = "T: quint8, qint32",
     .compute = quantized_reshape__cpu},
    {.op = "ExpandDims", .device_type = "CPU", .compute = expand_dims__cpu},
    {.op = "Squeeze",
     .device_type = "CPU",
     .create = create_squeeze,
     .state_bytes = sizeof(squeeze_state_t),
     .compute = squeeze__cpu},
    {.op = "EnsureShape",
     .device_type = "CPU",
     .create = create_ensure,
     .state_bytes = sizeof(ensure_state_t),
     .compute = ensure_shape__cpu},
    LEAT_KERNEL_ROWS_END,
};
