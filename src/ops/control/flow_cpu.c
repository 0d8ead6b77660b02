// Kernel rows that let control flow nodes be placed on the CPU. The executor moves the values of
// Switch, Merge and the ops of loops itself, so their kernels run only when somebody invokes one
// outside a graph, which is an error. NoOp and ControlTrigger do nothing, and RefSelect passes one
// of its references on.
#include "ops/kernel_rows.h"

static leat_status_t alone__cpu(leat_kernel_context_t* c) {
  return leat_kernel_error(c, LEAT_INTERNAL, "control flow is run alone, must be run in a graph");
}

static leat_status_t loop_cond__cpu(leat_kernel_context_t* c) {
  leat_kernel_pass_input(c, 0, 0);
  return leat_ok_status();
}

static leat_status_t no_op__cpu(leat_kernel_context_t* c) {
  (void)c;
  return leat_ok_status();
}

static leat_status_t ref_select__cpu(leat_kernel_context_t* c) {
  const int32_t index = *leat_tensor_data(leat_kernel_input(c, 0), const int32_t);
  if (index < 0 || index >= leat_kernel_input_count(c) - 1) {
    return leat_kernel_invalid(c, "Index must be in the range [0, %d) but got %d",
                               leat_kernel_input_count(c) - 1, index);
  }
  leat_kernel_pass_ref(c, 1 + index, 0);
  return leat_ok_status();
}

#define FLOW(name) {.op = name, .device_type = "CPU", .compute = alone__cpu}

const leat_kernel_row_t leat_flow_kernels_cpu[] = {
    FLOW("Switch"),
    FLOW("RefSwitch"),
    FLOW("Merge"),
    FLOW("RefMerge"),
    FLOW("Enter"),
    FLOW("RefEnter"),
    FLOW("Exit"),
    FLOW("RefExit"),
    FLOW("NextIteration"),
    FLOW("RefNextIteration"),
    {.op = "RefSelect", .device_type = "CPU", .compute = ref_select__cpu},
    {.op = "LoopCond", .device_type = "CPU", .compute = loop_cond__cpu},
    {.op = "NoOp", .device_type = "CPU", .compute = no_op__cpu},
    {.op = "ControlTrigger", .device_type = "CPU", .compute = no_op__cpu},
    LEAT_KERNEL_ROWS_END,
};
