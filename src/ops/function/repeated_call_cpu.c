// The loop of calls (repeated_call_cpu.h). A call may be done before it returns or later, on
// another thread. The atomic |state| decides who goes on: the loop that made the call and the
// callback both exchange it, and the second of them continues. A call that is done early thus
// continues in the loop's own frame, and one that is done late begins the loop anew on a fresh
// stack, so that the stack never holds more than one call.
#include "ops/function/repeated_call_cpu.h"

#include "kernel/step_check.h"

enum { CALLING, RETURNED_LATER, DONE };

leat_status_t leat_repeated_call_create(leat_kernel_context_t* context, leat_kernel_done_fn_t done,
                                        size_t loop_bytes, int first_input, void** out_loop) {
  size_t count = (size_t)(context->kernel->input_count - first_input);
  leat_repeated_call_t* self;
  LEAT_RETURN_IF_ERROR(leat_allocator_allocate(
      leat_allocator_system(), loop_bytes + (1 + 2 * count) * sizeof(leat_tensor_t),
      (void**)&self));
  self->context = context;
  self->done = done;
  self->variable_count = (int)count;
  self->own = (leat_tensor_t*)((char*)self + loop_bytes);
  self->variables = self->own + 1;
  self->returns = self->variables + count;
  for (int i = 0; i < self->variable_count; ++i) {
    self->variables[i] = leat_tensor_share(leat_kernel_input(context, first_input + i));
  }
  *out_loop = self;
  return leat_ok_status();
}

static void end(leat_repeated_call_t* self, leat_status_t status) {
  leat_kernel_context_t* c = self->context;
  leat_kernel_done_fn_t done = self->done;
  leat_tensor_release(self->own);
  for (int i = 0; i < self->variable_count; ++i) {
    if (status) {
      leat_tensor_release(&self->variables[i]);
    } else {
      leat_kernel_set_output(c, i, self->variables[i]);
    }
  }
  leat_allocator_free(leat_allocator_system(), self);
  done(c, status);
}

static void returned(void* data, leat_status_t status) {
  leat_repeated_call_t* self = data;
  self->status = status;
  if (atomic_exchange_explicit(&self->state, DONE, memory_order_acq_rel) != CALLING) {
    leat_repeated_call_run(self);
  }
}

void leat_repeated_call_run(leat_repeated_call_t* self) {
  do {
    leat_callee_t* callee = NULL;
    leat_status_t status = self->status;
    if (!status) status = self->next(self, &callee);
    if (status || !callee) {
      end(self, status);
      return;
    }
    atomic_store_explicit(&self->state, CALLING, memory_order_relaxed);
    atomic_store_explicit(&self->calls, 0, memory_order_relaxed);
    self->call.calls = &self->calls;
    leat_callee_run(self->context, callee, &self->call, returned, self);
  } while (atomic_exchange_explicit(&self->state, RETURNED_LATER, memory_order_acq_rel) == DONE);
}

leat_status_t leat_repeated_call_turn(leat_repeated_call_t* self) {
  for (int i = 0; i < self->variable_count; ++i) {
    leat_tensor_release(&self->variables[i]);
    self->variables[i] = leat_tensor_move(&self->returns[i]);
  }
  return leat_step_check(self->context->services, true);
}
