// The CPU kernels of CountUpTo and ResourceCountUpTo. The variable is locked while it is read and
// raised, so that no number is given twice.
#include "ops/kernel_rows.h"
#include "ops/state/update_cpu.h"

typedef struct counter_s {
  int64_t limit;
} counter_t;

static leat_status_t counter_create(leat_kernel_creation_t* c, void* state) {
  return leat_kernel_attr_int(c, "limit", &((counter_t*)state)->limit);
}

// Gives the value of |cell|, which is locked, and raises it. OUT_OF_RANGE at the limit.
static leat_status_t count_locked(leat_kernel_context_t* c, leat_cell_t* cell) {
  const counter_t* counter = leat_kernel_state(c);
  leat_tensor_t* value = &cell->tensor;
  leat_tensor_t* output;
  if (!value->dtype) {
    return leat_kernel_error(c, LEAT_FAILED_PRECONDITION,
                             "Attempting to use uninitialized variables");
  }
  if (value->shape.rank != 0 || value->dtype != c->kernel->output_types[0]) {
    return leat_kernel_invalid(c, "the variable is %s %s, must be a scalar %s",
                               leat_dtype_name(value->dtype), LEAT_SHAPE_TEXT(&value->shape),
                               leat_dtype_name(c->kernel->output_types[0]));
  }
  int64_t before = leat_tensor_index_at(value, 0);
  if (before >= counter->limit) {
    return leat_kernel_error(c, LEAT_OUT_OF_RANGE, "Reached limit of %lld",
                             (long long)counter->limit);
  }
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_output(c, 0, &value->shape, &output));
  LEAT_RETURN_IF_ERROR(leat_cell_make_exclusive(cell, c->services->memory));
  if (value->dtype == LEAT_DTYPE_INT32) {
    *leat_tensor_data(output, int32_t) = (int32_t)before;
    *leat_tensor_data(value, int32_t) = (int32_t)((uint32_t)before + 1);
  } else {
    *leat_tensor_data(output, int64_t) = before;
    *leat_tensor_data(value, int64_t) = before + 1;
  }
  return leat_ok_status();
}

static leat_status_t count_up_to__cpu(leat_kernel_context_t* c) {
  leat_update_cells_t cells;
  LEAT_RETURN_IF_ERROR(leat_update_lock(c, 1, &cells));
  leat_status_t status = count_locked(c, cells.cells[0]);
  leat_update_unlock(&cells);
  return status;
}

#define COUNTER(op_name)                                                                   \
  LEAT_CPU_KERNEL(op_name, "T: int32, int64", counter_t, counter_create, count_up_to__cpu)

const leat_kernel_row_t leat_counter_kernels_cpu[] = {
    COUNTER("CountUpTo"),
    COUNTER("ResourceCountUpTo"),
    LEAT_KERNEL_ROWS_END,
};
