// Calls that were not expanded: recursion. The kernel waits without a thread.
#include "ops/family.h"
#include "ops/function/function_call_cpu.h"

typedef struct pending_s {
  leat_kernel_context_t* context;
  leat_kernel_done_fn_t done;
  leat_function_call_t call;
  leat_tensor_t tensors[];  // arguments (borrowed), returns
} pending_t;

static void returned(void* data, leat_status_t status) {
  pending_t* pending = data;
  leat_kernel_context_t* context = pending->context;
  leat_kernel_done_fn_t done = pending->done;
  for (int i = 0; !status && i < pending->call.return_count; ++i) {
    leat_kernel_set_output(context, i, pending->call.returns[i]);
  }
  leat_allocator_free(leat_allocator_system(), pending);
  done(context, status);
}

void leat_call_with_inputs(leat_kernel_context_t* c, leat_callee_t* callee, int first_input,
                           leat_kernel_done_fn_t done) {
  int arguments = c->kernel->input_count - first_input, returns = c->kernel->output_count;
  pending_t* pending;
  leat_status_t status = leat_allocator_allocate(
      leat_allocator_system(),
      sizeof *pending + (size_t)(arguments + returns) * sizeof(leat_tensor_t), (void**)&pending);
  if (status) {
    done(c, status);
    return;
  }
  pending->context = c;
  pending->done = done;
  for (int i = 0; i < arguments; ++i) {
    pending->tensors[i] = *leat_kernel_input(c, first_input + i);
  }
  pending->call = (leat_function_call_t){.arguments = pending->tensors,
                                         .argument_count = arguments,
                                         .returns = pending->tensors + arguments,
                                         .return_count = returns};
  leat_callee_run(c, callee, &pending->call, returned, pending);
}

static leat_status_t call_create(leat_kernel_creation_t* c, void* state) {
  return leat_callee_initialize(c, "f", 0, state);
}

static void call__cpu(leat_kernel_context_t* c, leat_kernel_done_fn_t done) {
  leat_call_with_inputs(c, leat_kernel_state(c), 0, done);
}

static void gradient__cpu(leat_kernel_context_t* c, leat_kernel_done_fn_t done) {
  done(c, leat_kernel_error(c, LEAT_UNIMPLEMENTED,
                            "the gradient of a function that calls itself is not there"));
}

#define CALL(name, how)                 \
  {.op = name,                          \
   .device_type = "CPU",                \
   .create = call_create,               \
   .state_bytes = sizeof(leat_callee_t), \
   .compute_async = how}

const leat_kernel_row_t leat_call_kernels_cpu[] = {
    CALL("PartitionedCall", call__cpu),
    CALL("StatefulPartitionedCall", call__cpu),
    CALL("SymbolicGradient", gradient__cpu),
    LEAT_KERNEL_ROWS_END,
};
