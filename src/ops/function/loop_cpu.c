// While as calls, one after the other: the condition, then the body, until the condition says no. A
// call that is done before it returns goes on in the loop that made it, so that no number of
// iterations fills the stack.
#include "base/clock.h"
#include "kernel/cancellation.h"
#include "ops/family.h"
#include "ops/function/function_call_cpu.h"

typedef struct functions_s {
  leat_callee_t cond, body;
} functions_t;

enum { CALLING, RETURNED_LATER, DONE };

typedef struct while_s {
  leat_kernel_context_t* context;
  leat_kernel_done_fn_t done;
  leat_function_call_t call;
  leat_tensor_t condition;
  bool in_body;
  _Atomic(int) state;
  leat_status_t status;
  int count;
  leat_tensor_t* variables;
  leat_tensor_t* next;
  leat_tensor_t tensors[];
} while_t;

static leat_status_t while_create(leat_kernel_creation_t* c, void* data) {
  functions_t* state = data;
  LEAT_RETURN_IF_ERROR(leat_callee_initialize(c, "cond", 0, &state->cond));
  return leat_callee_initialize(c, "body", 0, &state->body);
}

static void end(while_t* loop, leat_status_t status) {
  leat_kernel_context_t* c = loop->context;
  leat_kernel_done_fn_t done = loop->done;
  for (int i = 0; i < loop->count; ++i) {
    if (status) {
      leat_tensor_release(&loop->variables[i]);
    } else {
      leat_kernel_set_output(c, i, loop->variables[i]);
    }
  }
  leat_allocator_free(leat_allocator_system(), loop);
  done(c, status);
}

// The variables take the values that the body gave.
static leat_status_t step_on(while_t* loop) {
  for (int i = 0; i < loop->count; ++i) {
    leat_tensor_release(&loop->variables[i]);
    loop->variables[i] = leat_tensor_move(&loop->next[i]);
  }
  const leat_step_services_t* services = loop->context->services;
  if (services->cancellation && leat_cancellation_is_cancelled(services->cancellation)) {
    return leat_make_status(LEAT_CANCELLED, "Run failed: the step was cancelled");
  }
  if (services->deadline_ns && services->deadline_ns != LEAT_DEADLINE_NEVER &&
      leat_clock_now_ns() > services->deadline_ns) {
    return leat_make_status(LEAT_DEADLINE_EXCEEDED, "Run failed: the step's timeout has passed");
  }
  return leat_ok_status();
}

static void returned(void* data, leat_status_t status);

// What a call gave is taken; false when the loop has ended.
static bool take(while_t* loop) {
  leat_status_t status = loop->status;
  bool goes_on = true;
  if (!status && loop->in_body) {
    status = step_on(loop);
  } else if (!status) {
    status = leat_condition_value(loop->context, &loop->condition, &goes_on);
    leat_tensor_release(&loop->condition);
  }
  if (status || !goes_on) {
    end(loop, status);
    return false;
  }
  loop->in_body = !loop->in_body;
  return true;
}

static void go_on(while_t* loop) {
  functions_t* functions = leat_kernel_state(loop->context);
  do {
    loop->call = (leat_function_call_t){.arguments = loop->variables,
                                        .argument_count = loop->count,
                                        .returns = loop->in_body ? loop->next : &loop->condition,
                                        .return_count = loop->in_body ? loop->count : 1};
    atomic_store_explicit(&loop->state, CALLING, memory_order_relaxed);
    leat_callee_run(loop->context, loop->in_body ? &functions->body : &functions->cond,
                    &loop->call, returned, loop);
    if (atomic_exchange_explicit(&loop->state, RETURNED_LATER, memory_order_acq_rel) != DONE) {
      return;
    }
  } while (take(loop));
}

static void returned(void* data, leat_status_t status) {
  while_t* loop = data;
  loop->status = status;
  if (atomic_exchange_explicit(&loop->state, DONE, memory_order_acq_rel) == CALLING) return;
  if (take(loop)) go_on(loop);
}

static void while__cpu(leat_kernel_context_t* c, leat_kernel_done_fn_t done) {
  size_t count = (size_t)c->kernel->input_count;
  while_t* loop;
  leat_status_t status = leat_allocator_allocate(
      leat_allocator_system(), sizeof *loop + 2 * count * sizeof(leat_tensor_t), (void**)&loop);
  if (status) {
    done(c, status);
    return;
  }
  loop->context = c;
  loop->done = done;
  loop->count = (int)count;
  loop->variables = loop->tensors;
  loop->next = loop->tensors + count;
  for (int i = 0; i < loop->count; ++i) {
    loop->variables[i] = leat_tensor_share(leat_kernel_input(c, i));
  }
  go_on(loop);
}

#define WHILE(name)                    \
  {.op = name,                         \
   .device_type = "CPU",               \
   .create = while_create,             \
   .state_bytes = sizeof(functions_t), \
   .compute_async = while__cpu}

const leat_kernel_row_t leat_loop_kernels_cpu[] = {
    WHILE("While"),
    WHILE("StatelessWhile"),
    LEAT_KERNEL_ROWS_END,
};
