// The CPU kernels of assignment to a strided slice: StridedSliceAssign of a reference,
// ResourceStridedSliceAssign of a resource variable, and TensorStridedSliceUpdate of a copy. The
// value is broadcast to the slice by a strided copy (strided_cpu.h) with source strides of 0.
//
// A variable is changed under its cell's mutex, in place when nobody else holds its value and in a
// copy otherwise, so that a step which has read the variable keeps what it read. The copy is not
// broken off when the step is told to end: the variable must not be left half assigned.
#include "base/checked.h"
#include "kernel/resource.h"
#include "ops/array/index_cpu.h"
#include "ops/array/types.h"
#include "ops/index/selection_cpu.h"
#include "ops/kernel_rows.h"

#define VALUE_INPUT 4

static leat_status_t create(leat_kernel_creation_t* creation, void* memory) {
  return leat_selection_masks_read(creation, memory);
}

// Computes the steps in the value for each dimension of the slice, 0 where it is broadcast. The
// value may have more dimensions than the slice if the leading ones have size 1.
static leat_status_t value_steps(const leat_kernel_context_t* c, const leat_selection_t* s,
                                 int64_t* out_steps) {
  const leat_shape_t* value = &leat_kernel_input(c, VALUE_INPUT)->shape;
  const int64_t* dims = leat_shape_dims(value);
  int64_t stride = 1;
  bool fits = true;
  for (int d = 0; d < s->result_rank; ++d) out_steps[d] = 0;
  for (int d = value->rank - 1; fits && d >= 0; --d) {
    int at = d + s->result_rank - value->rank;
    if (at < 0) {
      fits = dims[d] == 1;
    } else if (dims[d] != 1) {
      fits = dims[d] == s->result[at];
      out_steps[at] = stride;
    }
    stride *= dims[d];
  }
  if (fits) return leat_ok_status();
  leat_partial_shape_t wanted = {s->result_rank, s->result};
  return leat_kernel_invalid(c, "Cannot broadcast input shape %s into final shape %s",
                             LEAT_SHAPE_TEXT(value), LEAT_PARTIAL_SHAPE_TEXT(wanted));
}

// Writes the value into the slice of |target|, whose bytes nobody else reads.
static leat_status_t assign(const leat_kernel_context_t* c, leat_tensor_t* target) {
  const leat_selection_masks_t* masks = leat_kernel_state(c);
  leat_selection_t s;
  LEAT_RETURN_IF_ERROR(leat_selection_read(c, 1, *masks, &target->shape, &s));
  for (int d = 0; d < s.rank; ++d) {
    if (s.sizes[d] == 0) return leat_ok_status();
  }
  int64_t from[LEAT_SHAPE_MAX_RANK + LEAT_SELECTION_MAX_ITEMS], to[LEAT_SHAPE_MAX_RANK];
  LEAT_RETURN_IF_ERROR(value_steps(c, &s, from));
  int64_t first = leat_selection_steps(&s, &target->shape, to);
  leat_strided_t block;
  leat_strided_begin(&block, target->dtype);
  block.is_unbroken = true;
  for (int d = 0; d < s.result_rank; ++d) {
    if (s.source[d] != LEAT_SELECTION_NEW_AXIS) {
      leat_strided_add(&block, s.result[d], to[s.source[d]], from[d]);
    }
  }
  return leat_strided_copy(c, &block, leat_kernel_input(c, VALUE_INPUT)->data,
                           leat_element_at(target->data, target->dtype, first));
}

// Assigns to |cell|, whose mutex the caller holds.
static leat_status_t assign_locked(leat_kernel_context_t* c, leat_cell_t* cell) {
  if (cell->tensor.dtype == 0) {
    return leat_kernel_error(c, LEAT_FAILED_PRECONDITION,
                             "Attempting to use uninitialized value");
  }
  int dtype = leat_kernel_input(c, VALUE_INPUT)->dtype;
  if (cell->tensor.dtype != dtype) {
    return leat_kernel_invalid(c, "type of the variable is %s, must be that of the value, %s",
                               leat_dtype_name(cell->tensor.dtype), leat_dtype_name(dtype));
  }
  LEAT_RETURN_IF_ERROR(leat_cell_make_exclusive(cell, c->services->memory));
  return assign(c, &cell->tensor);
}

static leat_status_t assign_to_cell(leat_kernel_context_t* c, leat_cell_t* cell) {
  leat_mutex_lock(&cell->mutex);
  leat_status_t status = assign_locked(c, cell);
  leat_mutex_unlock(&cell->mutex);
  return status;
}

static leat_status_t ref_assign__cpu(leat_kernel_context_t* c) {
  LEAT_RETURN_IF_ERROR(assign_to_cell(c, leat_kernel_input_ref(c, 0)));
  leat_kernel_pass_ref(c, 0, 0);
  return leat_ok_status();
}

static leat_status_t resource_assign__cpu(leat_kernel_context_t* c) {
  leat_cell_t* cell;
  LEAT_RETURN_IF_ERROR(
      leat_cell_of_handle(c->services->resources, leat_kernel_input(c, 0), &cell));
  leat_status_t status = assign_to_cell(c, cell);
  leat_cell_release(cell);
  return status;
}

static leat_status_t update__cpu(leat_kernel_context_t* c) {
  const leat_tensor_t* input = leat_kernel_input(c, 0);
  leat_tensor_t* output;
  LEAT_RETURN_IF_ERROR(leat_kernel_forward_or_allocate(c, 0, 0, &input->shape, &output));
  if (output->data != input->data) {
    LEAT_RETURN_IF_ERROR(leat_strided_copy_runs(c, input->dtype, 1, input->shape.element_count,
                                                input->data, 0, output->data, 0));
  }
  return assign(c, output);
}

#define ASSIGN_ROW(name, function)                                                             \
  LEAT_CPU_KERNEL(name, "T: " LEAT_TYPES_ALL ", " LEAT_TYPES_FLOAT8 ", qint8, qint32, quint8", \
                  leat_selection_masks_t, create, function)

const leat_kernel_row_t leat_strided_assign_kernels_cpu[] = {
    ASSIGN_ROW("StridedSliceAssign", ref_assign__cpu),
    ASSIGN_ROW("ResourceStridedSliceAssign", resource_assign__cpu),
    ASSIGN_ROW("TensorStridedSliceUpdate", update__cpu),
    LEAT_KERNEL_ROWS_END,
};
