// Helpers of kernels that call functions.
#ifndef LEAT_OPS_FUNCTION_FUNCTION_CALL_CPU_H_
#define LEAT_OPS_FUNCTION_FUNCTION_CALL_CPU_H_

#include "kernel/function_runtime.h"

// Calls |callee| with the inputs from |first_input| on; its returns become the node's outputs, and
// then |done| is called. Does not block.
void leat_call_with_inputs(leat_kernel_context_t* context, leat_callee_t* callee, int first_input,
                           leat_kernel_done_fn_t done);
// Reads a condition: a scalar number is true unless it is 0, a scalar string unless it is empty,
// any other tensor unless it has no elements. INVALID_ARGUMENT for scalars of other types.
LEAT_MUST_USE leat_status_t leat_condition_value(const leat_kernel_context_t* context,
                                                 const leat_tensor_t* condition, bool* out_value);

#endif  // LEAT_OPS_FUNCTION_FUNCTION_CALL_CPU_H_
