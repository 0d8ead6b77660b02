// A loop of function calls in one kernel: each call makes new values of the loop variables, whose
// last values become the node's outputs. Between iterations the loop looks at the step's
// cancellation and deadline. The calls are asynchronous, and the stack does not grow with their
// number. One thread at a time runs a loop; it belongs to the kernel's context, and frees itself at
// its end.
#ifndef LEAT_OPS_FUNCTION_REPEATED_CALL_CPU_H_
#define LEAT_OPS_FUNCTION_REPEATED_CALL_CPU_H_

#include "kernel/function_runtime.h"

typedef struct leat_repeated_call_s leat_repeated_call_t;
// A loop. The kernel sets |next| and what it keeps behind this struct, and then runs it.
struct leat_repeated_call_s {
  leat_kernel_context_t* context;
  leat_kernel_done_fn_t done;
  // Called before the first call and after each successful one: fills in |call| and |*out_callee|
  // for the next call, or leaves |*out_callee| NULL when the loop is at its end.
  leat_status_t (*next)(leat_repeated_call_t* self, leat_callee_t** out_callee);
  leat_function_call_t call;
  _Atomic(int64_t) calls;  // of functions, counted within one call of the loop
  _Atomic(int) state;
  leat_status_t status;  // of the last call
  int variable_count;
  // One array [1 + 2 * variable_count]: a tensor for the loop itself, the variables, and the new
  // values that a call returns.
  leat_tensor_t *own, *variables, *returns;
};

// Allocates a loop of |loop_bytes| zero bytes, whose first member is a leat_repeated_call_t. Its
// variables are the inputs from |first_input| on.
LEAT_MUST_USE leat_status_t leat_repeated_call_create(leat_kernel_context_t* context,
                                                      leat_kernel_done_fn_t done,
                                                      size_t loop_bytes, int first_input,
                                                      void** out_loop);
// Makes calls until there is no next one; then sets the outputs, frees |self| and calls |done|.
void leat_repeated_call_run(leat_repeated_call_t* self);
// Makes the values that the last call returned the variables. CANCELLED or DEADLINE_EXCEEDED when
// the step is to end.
LEAT_MUST_USE leat_status_t leat_repeated_call_turn(leat_repeated_call_t* self);

#endif  // LEAT_OPS_FUNCTION_REPEATED_CALL_CPU_H_
