// A kernel's call of a function whose returns are the node's outputs.
#ifndef LEAT_OPS_FUNCTION_FUNCTION_CALL_CPU_H_
#define LEAT_OPS_FUNCTION_FUNCTION_CALL_CPU_H_

#include "kernel/function_runtime.h"

// Calls |callee| with the inputs from |first_input| on.
void leat_call_with_inputs(leat_kernel_context_t* context, leat_callee_t* callee, int first_input,
                           leat_kernel_done_fn_t done);
// What a condition says: a number not zero, a string or a tensor not empty.
LEAT_MUST_USE leat_status_t leat_condition_value(const leat_kernel_context_t* context,
                                                 const leat_tensor_t* condition, bool* out_value);

#endif  // LEAT_OPS_FUNCTION_FUNCTION_CALL_CPU_H_
