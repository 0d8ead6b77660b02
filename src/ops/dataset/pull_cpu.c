// Runs pulls and the function calls that they wait for (ops/dataset/pull_cpu.h).
//
// A pull alternates between its step and, when the step says PENDING, the end of a function call,
// which may come on another thread and even before the step has returned. |state| decides who goes
// on:
//
//     step said PENDING:  exchange(PARKED)   was WOKEN:  the call has ended, step again
//     call ended:         exchange(WOKEN)    was PARKED: the step has returned, run the pull here
//
// Exactly one of the two sees the other's mark, so that a pull is never run twice at once and never
// forgotten. Because a call that ends at once is noticed in the loop, a long chain of elements does
// not nest calls on the stack.
#include "ops/dataset/pull_cpu.h"

#include "kernel/step_check.h"

// ---- Pulls --------------------------------------------------------------------------------------

// The values of |state|: the step runs, the step has returned PENDING, the awaited call has ended.
enum { STEPPING, PARKED, WOKEN };

void leat_pull_run(leat_pull_t* pull) {
  leat_status_t status;
  leat_poll_t poll;
  do {
    poll = LEAT_POLL_END;
    atomic_exchange_explicit(&pull->state, STEPPING, memory_order_acq_rel);
    status = pull->step(pull, &poll);
    if (status || poll != LEAT_POLL_PENDING) {
      pull->finish(pull, status);
      return;
    }
  } while (atomic_exchange_explicit(&pull->state, PARKED, memory_order_acq_rel) == WOKEN);
}

void leat_pull_wake(leat_pull_t* pull) {
  if (atomic_exchange_explicit(&pull->state, WOKEN, memory_order_acq_rel) == PARKED) {
    leat_pull_run(pull);
  }
}

// The clock is read for every 64th element only. While a call is awaited the answer is OK, so that
// the step takes the call's result before it ends.
leat_status_t leat_pull_check(leat_pull_t* pull) {
  if (pull->awaits) return leat_ok_status();
  return leat_step_check(pull->services, ++pull->elements % 64 == 0);
}

bool leat_pull_was_stopped(leat_status_t status) {
  leat_status_code_t code = leat_status_code(status);
  return code == LEAT_CANCELLED || code == LEAT_DEADLINE_EXCEEDED;
}

// ---- Calls of functions -------------------------------------------------------------------------

leat_status_t leat_application_initialize(leat_draw_counts_t* draw_counts, int element_count,
                                          int captured_count, int return_count,
                                          leat_application_t* out_application) {
  *out_application = (leat_application_t){.element_count = element_count};
  int arguments = element_count + captured_count;
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(leat_allocator_system(),
                                     (size_t)arguments + (size_t)return_count + 1,
                                     &out_application->arguments));
  out_application->returns = out_application->arguments + arguments;
  out_application->call = (leat_function_call_t){.arguments = out_application->arguments,
                                                 .argument_count = arguments,
                                                 .returns = out_application->returns,
                                                 .return_count = return_count,
                                                 .draw_counts = draw_counts};
  leat_draw_counts_retain(draw_counts);
  return leat_ok_status();
}

void leat_application_release_element(leat_application_t* application) {
  for (int i = 0; i < application->element_count; ++i) {
    leat_tensor_release(&application->arguments[i]);
  }
}

static void release_returns(leat_application_t* application) {
  for (int i = 0; i < application->call.return_count; ++i) {
    leat_tensor_release(&application->returns[i]);
  }
}

void leat_application_release(leat_application_t* application) {
  leat_application_release_element(application);
  release_returns(application);
}

void leat_application_deinitialize(leat_application_t* application) {
  if (!application->arguments) return;
  leat_application_release(application);
  leat_status_free(application->status);
  leat_draw_counts_release(application->call.draw_counts);
  leat_allocator_free(leat_allocator_system(), application->arguments);
}

static void returned(void* data, leat_status_t status) {
  leat_application_t* application = data;
  application->status = status;
  leat_pull_wake(application->pull);
}

void leat_application_start(leat_application_t* application, leat_pull_t* pull, uint64_t function) {
  leat_function_runtime_t* functions = pull->services->functions;
  application->pull = pull;
  application->pending = pull->awaits = true;
  application->call.caller = pull->services;
  if (functions) {
    functions->vtable->run(functions, function, &application->call, returned, application);
    return;
  }
  returned(application, leat_make_status(LEAT_FAILED_PRECONDITION,
                                         "Calling a dataset's function failed: it is called "
                                         "outside a session, must be inside one"));
}

leat_status_t leat_application_take(leat_application_t* application, leat_pull_t* pull,
                                    leat_tensor_t* out_returns) {
  leat_status_t status = application->status;
  application->status = leat_ok_status();
  application->pending = pull->awaits = false;
  if (status) return status;
  for (int i = 0; i < application->call.return_count; ++i) {
    out_returns[i] = leat_tensor_move(&application->returns[i]);
  }
  return leat_ok_status();
}
