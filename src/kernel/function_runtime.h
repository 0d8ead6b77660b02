// Functions called by kernels while a step runs (section 10): PartitionedCall, If, While, map. The
// interface; the master implements it, over all devices of a session (master/function_runtime.h).
#ifndef LEAT_KERNEL_FUNCTION_RUNTIME_H_
#define LEAT_KERNEL_FUNCTION_RUNTIME_H_

#include "kernel/kernel.h"

typedef struct leat_function_runtime_s leat_function_runtime_t;
// Called exactly once, on any thread, perhaps before the call returns.
typedef void (*leat_function_done_fn_t)(void* data, leat_status_t status);

// Lent by the caller until done.
typedef struct leat_function_call_s {
  const leat_step_services_t* caller;  // the step, its container, its cancellation
  const leat_tensor_t* arguments;      // shared
  int argument_count;
  leat_tensor_t* returns;  // filled when the status is OK; the caller owns them
  int return_count;
  _Atomic(int64_t)* calls;  // counts this call and those that it leads to; NULL: the caller's does
} leat_function_call_t;

typedef struct leat_function_runtime_vtable_s {
  // The function of that name and attributes, made ready to run for nodes of |device|. Thread-safe;
  // a second call finds what the first made. NOT_FOUND when the graph has no such function.
  leat_status_t (*instantiate)(leat_function_runtime_t* self,
                               const leat_function_name_t* function, leat_string_view_t device,
                               uint64_t* out_handle);
  // Never blocks on another call. INVALID_ARGUMENT for other numbers of arguments or returns than
  // the function has, RESOURCE_EXHAUSTED for calls nested too deeply and for too many of them,
  // FAILED_PRECONDITION for a handle of another runtime.
  void (*run)(leat_function_runtime_t* self, uint64_t handle, const leat_function_call_t* call,
              leat_function_done_fn_t done, void* data);
} leat_function_runtime_vtable_t;

struct leat_function_runtime_s {
  const leat_function_runtime_vtable_t* vtable;
};

#define LEAT_MAX_FUNCTION_DEPTH 500
// Functions that call each other twice make 2^n calls out of n functions, which no memory limit
// stops. So the calls of a step are counted, those that were expanded into a body as well. A loop
// is not such a case: as with a loop of nodes, how long it runs is between its caller and the
// deadline. Each of its iterations is therefore counted by itself.
#define LEAT_MAX_FUNCTION_CALLS 4000000

// A function that a kernel calls: found on its first call, then kept by its state.
typedef struct leat_callee_s {
  const leat_function_name_t* function;  // borrowed from the graph
  _Atomic(uint64_t) handle;              // + 1; 0 = not yet found
} leat_callee_t;
// Attribute |name| of the node (item |index| of it when it is a list).
LEAT_MUST_USE leat_status_t leat_callee_initialize(const leat_kernel_creation_t* creation,
                                                   const char* name, int index,
                                                   leat_callee_t* out_callee);
// Its handle in the runtime of |context|'s session.
LEAT_MUST_USE leat_status_t leat_callee_find(leat_kernel_context_t* context, leat_callee_t* callee,
                                             uint64_t* out_handle);
// Calls |callee|; |call->caller| is set from |context|.
void leat_callee_run(leat_kernel_context_t* context, leat_callee_t* callee,
                     leat_function_call_t* call, leat_function_done_fn_t done, void* data);

#endif  // LEAT_KERNEL_FUNCTION_RUNTIME_H_
