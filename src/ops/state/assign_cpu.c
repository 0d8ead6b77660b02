// The CPU kernels of Assign, AssignAdd and AssignSub, which update a reference variable while the
// mutex of its cell is held, and pass the reference on as their output.
#include "ops/kernel_rows.h"
#include "ops/state/update_cpu.h"

typedef struct assign_s {
  bool validate_shape;
} assign_t;

static leat_status_t assign_create(leat_kernel_creation_t* c, void* state) {
  return leat_kernel_attr_bool(c, "validate_shape", &((assign_t*)state)->validate_shape);
}

// Checks the value's shape against that of the variable's value, or before the first value against
// the declared shape.
static leat_status_t check_shape(leat_kernel_context_t* c, const leat_cell_t* cell) {
  const leat_shape_t* value = &leat_kernel_input(c, 1)->shape;
  const leat_shape_t* wanted = cell->tensor.dtype ? &cell->tensor.shape
                               : cell->has_shape  ? &cell->shape
                                                  : value;
  if (leat_shape_equal(wanted, value)) return leat_ok_status();
  return leat_kernel_invalid(c, "Assign requires shapes of both tensors to match. The variable has "
                             "%s, the value %s",
                             LEAT_SHAPE_TEXT(wanted), LEAT_SHAPE_TEXT(value));
}

static leat_status_t assign__cpu(leat_kernel_context_t* c) {
  const assign_t* assign = leat_kernel_state(c);
  leat_cell_t* cell = leat_kernel_input_ref(c, 0);
  leat_kernel_pass_ref(c, 0, 0);
  leat_mutex_lock(&cell->mutex);
  leat_status_t status = assign->validate_shape ? check_shape(c, cell) : leat_ok_status();
  if (!status) status = leat_update_assign(c, cell, 1);
  leat_mutex_unlock(&cell->mutex);
  return status;
}

static leat_status_t add(leat_kernel_context_t* c, int sign) {
  leat_cell_t* cell = leat_kernel_input_ref(c, 0);
  leat_kernel_pass_ref(c, 0, 0);
  leat_mutex_lock(&cell->mutex);
  leat_status_t status = leat_update_add(c, cell, 1, sign);
  leat_mutex_unlock(&cell->mutex);
  return status;
}

static leat_status_t assign_add__cpu(leat_kernel_context_t* c) { return add(c, 1); }

static leat_status_t assign_sub__cpu(leat_kernel_context_t* c) { return add(c, -1); }

#define NUMBERS                                                                            \
  "T: bfloat16, complex128, complex64, double, float, half, int16, int32, int64, int8, "   \
  "uint16, uint32, uint64, uint8"

const leat_kernel_row_t leat_assign_kernels_cpu[] = {
    {.op = "Assign",
     .device_type = "CPU",
     .create = assign_create,
     .state_bytes = sizeof(assign_t),
     .compute = assign__cpu},
    {.op = "AssignAdd",
     .device_type = "CPU",
     .constraints = NUMBERS,
     .compute = assign_add__cpu},
    {.op = "AssignSub",
     .device_type = "CPU",
     .constraints = NUMBERS,
     .compute = assign_sub__cpu},
    LEAT_KERNEL_ROWS_END,
};
