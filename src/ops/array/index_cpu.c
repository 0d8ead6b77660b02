// Reading the axes of kernels, and the strides of dense tensors (index_cpu.h).
#include "ops/array/index_cpu.h"

#include <stdio.h>

#include "base/checked.h"

const char* leat_index_place(const leat_shape_t* shape, int rank, int64_t at, char* buffer,
                             size_t size) {
  int64_t inner = leat_shape_product(shape, 0, rank);
  size_t used = 0;
  LEAT_DCHECK(at >= 0 && at < inner);
  buffer[0] = 0;
  for (int d = 0; d < rank && used + 24 < size; ++d) {
    inner /= leat_shape_dim(shape, d);
    used += (size_t)snprintf(buffer + used, size - used, "%s%lld", d ? "," : "[",
                             (long long)(at / inner));
    at %= inner;
  }
  if (used) snprintf(buffer + used, size - used, "]");
  return buffer;
}

leat_status_t leat_axis_read(const leat_kernel_context_t* c, int input, int64_t rank,
                             int* out_axis) {
  const leat_tensor_t* tensor = leat_kernel_input(c, input);
  if (tensor->shape.element_count != 1) {
    return leat_kernel_invalid(c, "axis has shape %s, must be a scalar",
                               LEAT_SHAPE_TEXT(&tensor->shape));
  }
  int64_t given = leat_index_read(tensor, 0), axis = given;
  if (!leat_axis_resolve(&axis, rank)) {
    return leat_kernel_invalid(c, "axis %lld is out of range, must be in [%lld, %lld)",
                               (long long)given, (long long)-rank, (long long)rank);
  }
  *out_axis = (int)axis;
  return leat_ok_status();
}

void leat_shape_strides(const leat_shape_t* shape, int64_t* out_strides) {
  const int64_t* dims = leat_shape_dims(shape);
  // Beside a size of 0 the others may be so large that a product of some of them has no number.
  const bool is_empty = shape->element_count == 0;
  int64_t stride = 1;
  for (int d = shape->rank - 1; d >= 0; --d) {
    out_strides[d] = stride;
    if (!is_empty) stride *= dims[d];
  }
}
