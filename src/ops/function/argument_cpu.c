// Kernel rows that let _Arg and _Retval be placed on the CPU. The executor handles these nodes
// itself, so the kernels run only where a graph holds such a node by mistake, which is an error.
#include "ops/kernel_rows.h"

static leat_status_t outside_function__cpu(leat_kernel_context_t* c) {
  return leat_kernel_invalid(c, "the node is run outside a function, must be inside one");
}

const leat_kernel_row_t leat_argument_kernels_cpu[] = {
    {.op = "_Arg", .device_type = "CPU", .compute = outside_function__cpu},
    {.op = "_Retval", .device_type = "CPU", .compute = outside_function__cpu},
    LEAT_KERNEL_ROWS_END,
};
