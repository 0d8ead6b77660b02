// Updates of the cells of variables (update_cpu.h). A cell whose value somebody else holds is
// copied first (leat_cell_make_exclusive), so that readers keep what they read. Cells are locked in
// the order of their addresses, so that kernels with the same variables in any order cannot
// deadlock. An assignment writes into the memory of the old value where that fits and nobody holds
// it; otherwise it takes the bytes of the input, or a copy of them if somebody else may read those.
#include <string.h>

#include "device/cpu/combine.h"
#include "ops/state/update_cpu.h"

leat_status_t leat_update_find_cell(leat_kernel_context_t* c, int index, leat_cell_t** out_cell) {
  if (leat_dtype_is_ref(c->kernel->input_types[index])) {
    *out_cell = leat_kernel_input_ref(c, index);
    leat_cell_retain(*out_cell);
    return leat_ok_status();
  }
  return leat_cell_of_handle(c->services->resources, leat_kernel_input(c, index), out_cell);
}

// Inserts |cell| into the list to be locked, which is in the order of addresses. A cell that is
// there already is not inserted again, for its mutex cannot be locked twice.
static void insert_ordered(leat_update_cells_t* cells, leat_cell_t* cell) {
  int at = 0;
  while (at < cells->locked_count && cells->locked[at] < cell) ++at;
  if (at < cells->locked_count && cells->locked[at] == cell) {
    cells->has_duplicates = true;
    return;
  }
  for (int i = cells->locked_count; i > at; --i) cells->locked[i] = cells->locked[i - 1];
  cells->locked[at] = cell;
  ++cells->locked_count;
}

leat_status_t leat_update_lock(leat_kernel_context_t* c, int count,
                               leat_update_cells_t* out_cells) {
  *out_cells = (leat_update_cells_t){0};
  leat_status_t status = leat_ok_status();
  for (int i = 0; !status && i < count; ++i) {
    status = leat_update_find_cell(c, i, &out_cells->cells[i]);
    if (!status) ++out_cells->count;
  }
  if (status) {
    leat_update_unlock(out_cells);
    return status;
  }
  for (int i = 0; i < count; ++i) insert_ordered(out_cells, out_cells->cells[i]);
  for (int i = 0; i < out_cells->locked_count; ++i) leat_mutex_lock(&out_cells->locked[i]->mutex);
  return status;
}

void leat_update_unlock(leat_update_cells_t* cells) {
  for (int i = cells->locked_count; i-- > 0;) leat_mutex_unlock(&cells->locked[i]->mutex);
  for (int i = 0; i < cells->count; ++i) leat_cell_release(cells->cells[i]);
  cells->locked_count = cells->count = 0;
}

leat_status_t leat_update_assign(leat_kernel_context_t* c, leat_cell_t* cell, int index) {
  const leat_tensor_t* value = leat_kernel_input(c, index);
  if (cell->dtype && cell->dtype != value->dtype) {
    return leat_kernel_invalid(c, "value has type %s, must be the variable's, %s",
                               leat_dtype_name(value->dtype), leat_dtype_name(cell->dtype));
  }
  leat_buffer_t* own = cell->tensor.buffer;
  bool plain = !leat_dtype_in(value->dtype, LEAT_DTYPES_OBJECT);
  bool reuse = plain && own && leat_buffer_is_exclusive(own) &&
               cell->tensor.dtype == value->dtype &&
               leat_shape_equal(&cell->tensor.shape, &value->shape);
  if (reuse && !leat_kernel_owns_input(c, index)) {
    memcpy(cell->tensor.data, value->data, leat_tensor_size_bytes(value));
    return leat_ok_status();
  }
  leat_tensor_t taken;
  LEAT_RETURN_IF_ERROR(leat_kernel_take_input(c, index, &taken));
  leat_cell_set(cell, taken);
  return leat_ok_status();
}

leat_status_t leat_update_add(leat_kernel_context_t* c, leat_cell_t* cell, int index, int sign) {
  const leat_tensor_t* value = leat_kernel_input(c, index);
  if (!leat_shape_equal(&cell->tensor.shape, &value->shape)) {
    return leat_kernel_invalid(c, "value has shape %s, must be the variable's, %s",
                               LEAT_SHAPE_TEXT(&value->shape),
                               LEAT_SHAPE_TEXT(&cell->tensor.shape));
  }
  leat_combine_fn_t add =
      leat_combine_find(sign > 0 ? LEAT_COMBINE_ADD : LEAT_COMBINE_SUB, value->dtype);
  if (!add || cell->tensor.dtype != value->dtype) {
    return leat_kernel_invalid(c, "value has type %s, must be the variable's, %s",
                               leat_dtype_name(value->dtype),
                               leat_dtype_name(cell->tensor.dtype));
  }
  LEAT_RETURN_IF_ERROR(leat_cell_make_exclusive(cell, c->services->memory));
  add(cell->tensor.data, value->data, value->shape.element_count);
  return leat_ok_status();
}
