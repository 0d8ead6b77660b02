// Tools of shape functions for inputs that say where: axes, sizes, positions. Their values are
// known when they are constants or follow from shapes (graph/inference/inference_value.c). An input
// that is not known is never an error: the result is then unknown, and the kernel checks when it
// runs. An input that is known and cannot be right is INVALID_ARGUMENT while the graph is built,
// with TensorFlow's message.
#include "graph/inference/inference_index.h"

#include "base/checked.h"

leat_status_t leat_inference_index(leat_inference_t* c, int input, bool* out_is_known,
                                   int64_t* out_value) {
  leat_partial_value_t value;
  *out_is_known = false;
  LEAT_RETURN_IF_ERROR(leat_inference_input_value(c, input, &value));
  if (value.rank < 0 || value.count != 1 || value.items[0] == LEAT_VALUE_UNKNOWN) {
    return leat_ok_status();
  }
  *out_is_known = true;
  *out_value = value.items[0];
  return leat_ok_status();
}

leat_status_t leat_inference_indices(leat_inference_t* c, int input, bool* out_is_known,
                                     leat_partial_value_t* out_value) {
  LEAT_RETURN_IF_ERROR(leat_inference_input_value(c, input, out_value));
  *out_is_known = out_value->rank >= 0;
  for (int i = 0; *out_is_known && i < out_value->count; ++i) {
    *out_is_known = out_value->items[i] != LEAT_VALUE_UNKNOWN;
  }
  return leat_ok_status();
}

// A negative axis counts from the end, so its place is not known while the rank is not. An axis
// that no shape can have is an error even then.
leat_status_t leat_inference_axis(leat_inference_t* c, int input, int rank, bool* out_is_known,
                                  int* out_axis) {
  leat_partial_shape_t scalar;
  int64_t axis = 0;
  *out_is_known = false;
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank(c, leat_inference_input(c, input), 0, &scalar));
  LEAT_RETURN_IF_ERROR(leat_inference_index(c, input, out_is_known, &axis));
  if (!*out_is_known) return leat_ok_status();
  if (rank < 0 && axis < 0) {
    *out_is_known = false;
    return leat_ok_status();
  }
  if (rank >= 0 && !leat_axis_resolve(&axis, rank)) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "Dimension given by scalar input %d is %lld, must be in range [%d, %d)",
                            input, (long long)axis, -rank, rank);
  }
  if (axis >= LEAT_SHAPE_MAX_RANK) {
    return leat_make_status(LEAT_INVALID_ARGUMENT, "Dimension %lld must be below %d",
                            (long long)axis, LEAT_SHAPE_MAX_RANK);
  }
  *out_axis = (int)axis;
  return leat_ok_status();
}

leat_status_t leat_inference_replace_dim(leat_inference_t* c, leat_partial_shape_t shape, int axis,
                                         int64_t size, leat_partial_shape_t* out_shape) {
  *out_shape = shape;
  if (shape.rank < 0 || shape.dims[axis] == size) return leat_ok_status();
  int64_t dims[LEAT_SHAPE_MAX_RANK];
  for (int d = 0; d < shape.rank; ++d) dims[d] = d == axis ? size : shape.dims[d];
  return leat_inference_make(c, shape.rank, dims, out_shape);
}

leat_status_t leat_inference_divide(int64_t size, int64_t divisor, int64_t* out_size) {
  *out_size = LEAT_DIM_UNKNOWN;
  if (divisor == 1) *out_size = size;
  if (size == LEAT_DIM_UNKNOWN || divisor == 1) return leat_ok_status();
  if (divisor <= 0) {
    return leat_make_status(LEAT_INVALID_ARGUMENT, "Divisor must be positive but is %lld",
                            (long long)divisor);
  }
  if (size % divisor != 0) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "Dimension size must be evenly divisible by %lld but is %lld",
                            (long long)divisor, (long long)size);
  }
  *out_size = size / divisor;
  return leat_ok_status();
}

leat_status_t leat_inference_add(int64_t size, int64_t addend, int64_t* out_size) {
  *out_size = LEAT_DIM_UNKNOWN;
  if (size == LEAT_DIM_UNKNOWN) return leat_ok_status();
  if (leat_checked_add(size, addend, out_size) && *out_size >= 0) return leat_ok_status();
  if (addend > 0) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "Dimension size overflow from adding %lld and %lld", (long long)size,
                            (long long)addend);
  }
  return leat_make_status(LEAT_INVALID_ARGUMENT,
                          "Negative dimension size caused by subtracting %llu from %lld",
                          0ULL - (unsigned long long)addend, (long long)size);
}

// One unknown dimension can still be computed by the caller, from a number of elements that is
// known otherwise; hence the answer says which one it is.
leat_status_t leat_inference_count(leat_partial_shape_t shape, int64_t* out_count,
                                   int* out_unknown_count, int* out_unknown_axis) {
  *out_count = 1;
  *out_unknown_count = 0;
  *out_unknown_axis = -1;
  for (int d = 0; d < shape.rank; ++d) {
    if (shape.dims[d] == LEAT_DIM_UNKNOWN) {
      ++*out_unknown_count;
      *out_unknown_axis = d;
    } else {
      LEAT_RETURN_IF_ERROR(leat_inference_multiply(*out_count, shape.dims[d], out_count));
    }
  }
  return leat_ok_status();
}

leat_status_t leat_value_rearranged(leat_inference_t* c) {
  leat_partial_value_t value;
  LEAT_RETURN_IF_ERROR(leat_inference_input_value(c, 0, &value));
  int rank = c->outputs[0].rank;
  if (value.rank < 0 || rank < 0 || rank > 1 || (rank == 0 && value.count != 1)) {
    return leat_ok_status();
  }
  return leat_inference_set_output_value(c, 0, rank, value.count, value.items);
}
