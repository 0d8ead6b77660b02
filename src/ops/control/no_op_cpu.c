// CPU kernels of the ops that do nothing.
#include "ops/kernel_rows.h"

static leat_status_t no_op__cpu(leat_kernel_context_t* c) {
  (void)c;
  return leat_ok_status();
}

const leat_kernel_row_t leat_no_op_kernels_cpu[] = {
    {.op = "NoOp", .device_type = "CPU", .compute = no_op__cpu},
    {.op = "ControlTrigger", .device_type = "CPU", .compute = no_op__cpu},
    LEAT_KERNEL_ROWS_END,
};
