// The CPU kernels of Concat, ConcatV2 and ConcatOffset. The first two check that the values agree
// in all dimensions but the axis, allocate the output, and leave the copying to leat_pieces_join
// (pieces_cpu.h).
//
//   values [..., a, ...], [..., b, ...] -> [..., a + b, ...]
//
// ConcatOffset writes, for the shapes of such values, where each begins in the output: vectors that
// are 0 but for the axis. The checks are made here although the shape functions make them too,
// because shapes and axis may be known only when the step runs.
#include <stdio.h>

#include "base/checked.h"
#include "ops/array/concat_cpu.h"
#include "ops/array/index_cpu.h"
#include "ops/array/pieces_cpu.h"
#include "ops/array/types.h"
#include "ops/kernel_rows.h"

// Checks that |shape| differs from the first value's along |axis| only, and adds its size there to
// |inout_size|.
static leat_status_t add_value(const leat_kernel_context_t* c, const leat_shape_t* first, int index,
                               const leat_shape_t* shape, int axis, int64_t* inout_size) {
  if (shape->rank != first->rank) {
    return leat_kernel_invalid(c, "rank of value %d of shape %s is %d, must be that of shape %s",
                               index, LEAT_SHAPE_TEXT(shape), shape->rank, LEAT_SHAPE_TEXT(first));
  }
  const int64_t* dims = leat_shape_dims(shape);
  const int64_t* first_dims = leat_shape_dims(first);
  for (int d = 0; d < shape->rank; ++d) {
    if (d != axis && dims[d] != first_dims[d]) {
      return leat_kernel_invalid(c, "dimension %d of value %d of shape %s must be that of shape %s",
                                 d, index, LEAT_SHAPE_TEXT(shape), LEAT_SHAPE_TEXT(first));
    }
  }
  if (!leat_checked_add(*inout_size, dims[axis], inout_size)) {
    return leat_kernel_invalid(c, "size along the axis is too large, must be below 2^63");
  }
  return leat_ok_status();
}

leat_status_t leat_concat_shape(const leat_kernel_context_t* c, int first_input, int count,
                                int axis_input, int* out_axis, leat_shape_t* out_shape) {
  const leat_shape_t* first = &leat_kernel_input(c, first_input)->shape;
  int64_t dims[LEAT_SHAPE_MAX_RANK], size = 0;
  if (first->rank == 0) {
    return leat_kernel_invalid(c, "rank of the values is 0, must be at least 1");
  }
  LEAT_RETURN_IF_ERROR(leat_axis_read(c, axis_input, first->rank, out_axis));
  for (int i = 0; i < count; ++i) {
    LEAT_RETURN_IF_ERROR(
        add_value(c, first, i, &leat_kernel_input(c, first_input + i)->shape, *out_axis, &size));
  }
  memcpy(dims, leat_shape_dims(first), (size_t)first->rank * sizeof(int64_t));
  dims[*out_axis] = size;
  return leat_shape_create(first->rank, dims, out_shape);
}

// Joins |count| inputs from |first_input| on; the axis is input |axis_input|.
static leat_status_t join(leat_kernel_context_t* c, int first_input, int count, int axis_input) {
  int axis;
  leat_shape_t shape;
  leat_tensor_t* output;
  LEAT_RETURN_IF_ERROR(leat_concat_shape(c, first_input, count, axis_input, &axis, &shape));
  leat_status_t status = leat_kernel_allocate_output(c, 0, &shape, &output);
  if (!status && shape.element_count > 0) {
    status = leat_pieces_join(c, first_input, count, leat_shape_product(&shape, 0, axis));
  }
  leat_shape_release(&shape);
  return status;
}

static leat_status_t concat__cpu(leat_kernel_context_t* c) {
  return join(c, 1, leat_kernel_input_count(c) - 1, 0);
}

static leat_status_t concat_v2__cpu(leat_kernel_context_t* c) {
  int count = leat_kernel_input_count(c) - 1;
  return join(c, 0, count, count);
}

// ---- ConcatOffset -------------------------------------------------------------------------------

// Writes the sizes that a vector holds, like "[2 3 5]"; returns |buffer|.
static const char* sizes_text(const leat_tensor_t* sizes, char* buffer, size_t size) {
  size_t used = (size_t)snprintf(buffer, size, "[");
  for (int64_t d = 0; d < sizes->shape.element_count && used + 26 < size; ++d) {
    used += (size_t)snprintf(buffer + used, size - used, d ? " %lld" : "%lld",
                             (long long)leat_tensor_index_at(sizes, d));
  }
  snprintf(buffer + used, size - used, "]");
  return buffer;
}

// Checks that shape |index| differs from the first one at |axis| only.
static leat_status_t check_offset_input(const leat_kernel_context_t* c, int index, int axis) {
  const leat_tensor_t* first = leat_kernel_input(c, 1);
  const leat_tensor_t* shape = leat_kernel_input(c, index);
  if (shape->shape.rank != 1) {
    return leat_kernel_invalid(c, "input %d should be a vector, but got shape %s", index - 1,
                               LEAT_SHAPE_TEXT(&shape->shape));
  }
  if (shape->shape.element_count != first->shape.element_count) {
    return leat_kernel_invalid(c, "input %d has shape %s, should contain %lld elements, as input 0",
                               index - 1, LEAT_SHAPE_TEXT(&shape->shape),
                               (long long)first->shape.element_count);
  }
  for (int64_t d = 0; d < shape->shape.element_count; ++d) {
    if (d != axis && leat_tensor_index_at(shape, d) != leat_tensor_index_at(first, d)) {
      return leat_kernel_invalid(c, "All dimensions except %d must match. Input %d has shape %s "
                                 "and doesn't match input 0 with shape %s.",
                                 axis, index - 1, sizes_text(shape, (char[160]){0}, 160),
                                 sizes_text(first, (char[160]){0}, 160));
    }
  }
  return leat_ok_status();
}

static leat_status_t concat_offset__cpu(leat_kernel_context_t* c) {
  const leat_tensor_t* first = leat_kernel_input(c, 1);
  const int64_t rank = first->shape.element_count;
  const leat_tensor_t* given = leat_kernel_input(c, 0);
  if (given->shape.rank != 0) {
    return leat_kernel_invalid(c, "Concat dim tensor should be a scalar integer, but got shape %s",
                               LEAT_SHAPE_TEXT(&given->shape));
  }
  int64_t dim = leat_tensor_index_at(given, 0);
  if (!leat_axis_resolve(&dim, rank)) {
    return leat_kernel_invalid(c, "Concat dim is out of range: %lld vs. %lld", (long long)dim,
                               (long long)rank);
  }
  const int axis = (int)dim;
  int64_t offset = 0;
  for (int i = 1; i < leat_kernel_input_count(c); ++i) {
    LEAT_RETURN_IF_ERROR(check_offset_input(c, i, axis));
    leat_tensor_t* output;
    LEAT_RETURN_IF_ERROR(leat_kernel_allocate_output(c, i - 1, &first->shape, &output));
    for (int64_t d = 0; d < first->shape.element_count; ++d) {
      leat_index_write(output, d, d == axis ? offset : 0);
    }
    if (!leat_checked_add(offset, leat_tensor_index_at(leat_kernel_input(c, i), axis), &offset)) {
      return leat_kernel_invalid(c, "offset is too large, must be below 2^63");
    }
  }
  return leat_ok_status();
}

#define CONCAT_TYPES \
  "T: " LEAT_TYPES_STRINGS ", " LEAT_TYPES_FLOAT8 ", qint8, qint16, qint32, quint8, quint16"

const leat_kernel_row_t leat_concat_kernels_cpu[] = {
    {.op = "Concat", .device_type = "CPU", .constraints = CONCAT_TYPES, .compute = concat__cpu},
    {.op = "ConcatV2",
     .device_type = "CPU",
     .constraints = CONCAT_TYPES,
     .access = LEAT_ACCESS_CONCAT,
     .compute = concat_v2__cpu},
    {.op = "ConcatOffset",
     .device_type = "CPU",
     .constraints = "shape_type: " LEAT_TYPES_INDEX,
     .compute = concat_offset__cpu},
    LEAT_KERNEL_ROWS_END,
};
