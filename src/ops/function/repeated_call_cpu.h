// Variables that functions turn, one call after the other, into a node's outputs. Between calls a
// loop looks at the step's cancellation and deadline; no number of calls fills the stack.
#ifndef LEAT_OPS_FUNCTION_REPEATED_CALL_CPU_H_
#define LEAT_OPS_FUNCTION_REPEATED_CALL_CPU_H_

#include "kernel/function_runtime.h"

typedef struct leat_repeated_call_s leat_repeated_call_t;
struct leat_repeated_call_s {
  leat_kernel_context_t* context;
  leat_kernel_done_fn_t done;
  // Before the first call and after each that went well: fills |call| for the next, whose callee is
  // |*out_callee|, or leaves that NULL when there is none.
  leat_status_t (*next)(leat_repeated_call_t* self, leat_callee_t** out_callee);
  leat_function_call_t call;
  _Atomic(int64_t) calls;  // of one iteration
  _Atomic(int) state;
  leat_status_t status;  // of the call that is done
  int variable_count;
  // [1 + 2 * variable_count]: a tensor of the loop's own, the variables, what a call makes of them.
  leat_tensor_t *own, *variables, *returns;
};

// Allocates a loop of |loop_bytes|, of which leat_repeated_call_t is the first member: zeroed, its
// variables the inputs from |first_input| on.
LEAT_MUST_USE leat_status_t leat_repeated_call_create(leat_kernel_context_t* context,
                                                      leat_kernel_done_fn_t done,
                                                      size_t loop_bytes, int first_input,
                                                      void** out_loop);
// Calls until there is no next; then sets the outputs, frees |self| and calls |done|.
void leat_repeated_call_run(leat_repeated_call_t* self);
// The variables become what the call returned. CANCELLED or DEADLINE_EXCEEDED when the step is to
// end.
LEAT_MUST_USE leat_status_t leat_repeated_call_turn(leat_repeated_call_t* self);

#endif  // LEAT_OPS_FUNCTION_REPEATED_CALL_CPU_H_
