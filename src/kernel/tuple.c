// Tuples, and copies between rows and batches. A batch of |count| elements of |shape| is one tensor
// [count, shape...] in row-major order, so row i begins at element i * elements(shape). Padding
// copies each element into the corner of a zeroed one, run by run along the last dimension:
//
//   row [2, 3] in an element of [3, 4]:   x x x 0
//                                         x x x 0
//                                         0 0 0 0
//
// Strings and variants are copied as objects (leat_tensor_copy_elements). Callers have checked that
// rows have the batch's type and rank and fit the known dimensions.
#include "kernel/tuple.h"

#include <string.h>

#include "base/checked.h"

leat_status_t leat_tuple_initialize(int count, leat_tuple_t* out_tuple) {
  *out_tuple = (leat_tuple_t){0};
  if (count <= LEAT_TUPLE_FEW) return leat_ok_status();
  return LEAT_ALLOCATE(leat_allocator_system(), (size_t)count, &out_tuple->many);
}

void leat_tuple_deinitialize(leat_tuple_t* tuple, int count) {
  if (count > LEAT_TUPLE_FEW && !tuple->many) return;
  leat_tensors_release(leat_tuple_items(tuple), count);
  leat_allocator_free(leat_allocator_system(), tuple->many);
  tuple->many = NULL;
}

leat_status_t leat_tuple_keep_inputs(leat_kernel_context_t* c, int first, int count,
                                     leat_tuple_t* out_tuple) {
  LEAT_RETURN_IF_ERROR(leat_tuple_initialize(count, out_tuple));
  leat_tensor_t* items = leat_tuple_items(out_tuple);
  for (int i = 0; i < count; ++i) {
    leat_status_t status = leat_kernel_keep_input(c, first + i, &items[i]);
    if (status) {
      leat_tuple_deinitialize(out_tuple, count);
      return status;
    }
  }
  return leat_ok_status();
}

// ---- Rows and batches ---------------------------------------------------------------------------

leat_status_t leat_batch_shape(int64_t count, const leat_shape_t* shape, leat_shape_t* out_shape) {
  int64_t dims[LEAT_SHAPE_MAX_RANK + 1];
  dims[0] = count;
  memcpy(dims + 1, leat_shape_dims(shape), (size_t)shape->rank * sizeof(int64_t));
  return leat_shape_create(shape->rank + 1, dims, out_shape);
}

leat_status_t leat_row_shape(const leat_shape_t* batch, leat_shape_t* out_shape) {
  return leat_shape_create(batch->rank - 1, leat_shape_dims(batch) + 1, out_shape);
}

static void* element(const leat_tensor_t* tensor, int64_t index) {
  return (char*)tensor->data + (size_t)index * leat_dtype_size(tensor->dtype);
}

leat_status_t leat_tuple_row(leat_buffer_source_t* memory, const leat_tensor_t* batch,
                             int64_t index, leat_tensor_t* out_row) {
  leat_shape_t shape;
  *out_row = (leat_tensor_t){0};
  LEAT_RETURN_IF_ERROR(leat_row_shape(&batch->shape, &shape));
  leat_status_t status = leat_tensor_allocate(memory, batch->dtype, &shape, out_row);
  if (!status) {
    status = leat_tensor_copy_elements(batch->dtype, element(batch, index * shape.element_count),
                                       out_row->data, shape.element_count);
  }
  if (status) leat_tensor_release(out_row);
  leat_shape_release(&shape);
  return status;
}

leat_status_t leat_tuple_batch(leat_buffer_source_t* memory, int dtype, const leat_shape_t* shape,
                               const leat_tensor_t* rows, int64_t count, int stride,
                               leat_tensor_t* out_batch) {
  leat_shape_t whole;
  *out_batch = (leat_tensor_t){0};
  LEAT_RETURN_IF_ERROR(leat_batch_shape(count, shape, &whole));
  leat_status_t status = leat_tensor_allocate(memory, dtype, &whole, out_batch);
  leat_shape_release(&whole);
  for (int64_t i = 0; i < count && !status; ++i) {
    const leat_tensor_t* row = &rows[i * stride];
    status = leat_tensor_copy_elements(dtype, row->data,
                                       element(out_batch, i * shape->element_count),
                                       row->shape.element_count);
  }
  if (status) leat_tensor_release(out_batch);
  return status;
}

// ---- Padding ------------------------------------------------------------------------------------

// |shape| with the largest size of any row in the place of each unknown dimension.
static leat_status_t padded_shape(leat_partial_shape_t shape, const leat_tensor_t* rows,
                                  int64_t count, int stride, leat_shape_t* out_shape) {
  int64_t dims[LEAT_SHAPE_MAX_RANK];
  for (int d = 0; d < shape.rank; ++d) {
    dims[d] = LEAT_MAX(shape.dims[d], 0);
    for (int64_t i = 0; i < count && shape.dims[d] < 0; ++i) {
      dims[d] = LEAT_MAX(dims[d], leat_shape_dim(&rows[i * stride].shape, d));
    }
  }
  return leat_shape_create(shape.rank, dims, out_shape);
}

// Copies |row| into the corner of an element of |shape| that begins at |target|.
static leat_status_t copy_corner(const leat_tensor_t* row, const leat_shape_t* shape,
                                 char* target) {
  int rank = shape->rank;
  size_t item = leat_dtype_size(row->dtype);
  if (row->shape.element_count == 0) return leat_ok_status();
  const int64_t* from = leat_shape_dims(&row->shape);
  const int64_t* to = leat_shape_dims(shape);
  int64_t run = rank ? from[rank - 1] : 1;
  int64_t runs = row->shape.element_count / run;
  int64_t index[LEAT_SHAPE_MAX_RANK] = {0};
  for (int64_t r = 0; r < runs; ++r) {
    int64_t offset = 0;
    for (int d = 0; d < rank; ++d) offset = offset * to[d] + index[d];
    LEAT_RETURN_IF_ERROR(leat_tensor_copy_elements(row->dtype, element(row, r * run),
                                                   target + (size_t)offset * item, run));
    for (int d = rank - 2; d >= 0 && ++index[d] == from[d]; --d) index[d] = 0;
  }
  return leat_ok_status();
}

leat_status_t leat_tuple_padded_batch(leat_buffer_source_t* memory, int dtype,
                                      leat_partial_shape_t shape, const leat_tensor_t* rows,
                                      int64_t count, int stride, leat_tensor_t* out_batch) {
  leat_shape_t largest, whole;
  *out_batch = (leat_tensor_t){0};
  LEAT_RETURN_IF_ERROR(padded_shape(shape, rows, count, stride, &largest));
  leat_status_t status = leat_batch_shape(count, &largest, &whole);
  if (!status) {
    status = leat_tensor_allocate(memory, dtype, &whole, out_batch);
    leat_shape_release(&whole);
    if (!status) leat_tensor_fill_zero(out_batch);
  }
  for (int64_t i = 0; i < count && !status; ++i) {
    status = copy_corner(&rows[i * stride], &largest,
                         element(out_batch, i * largest.element_count));
  }
  leat_shape_release(&largest);
  if (status) leat_tensor_release(out_batch);
  return status;
}
