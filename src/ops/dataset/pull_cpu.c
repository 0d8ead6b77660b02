// Running pulls, and the calls of functions that they wait for.
#include "ops/dataset/pull_cpu.h"

#include "kernel/step_check.h"

// ---- Pulls --------------------------------------------------------------------------------------

// Whoever comes second, the step that says PENDING or the call that is done, runs the pull on.
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

static void wake(leat_pull_t* pull) {
  if (atomic_exchange_explicit(&pull->state, WOKEN, memory_order_acq_rel) == PARKED) {
    leat_pull_run(pull);
  }
}

leat_status_t leat_pull_check(leat_pull_t* pull) {
  if (pull->awaits) return leat_ok_status();
  return leat_step_check(pull->context->services, ++pull->elements % 64 == 0);
}

bool leat_pull_was_stopped(leat_status_t status) {
  leat_status_code_t code = leat_status_code(status);
  return code == LEAT_CANCELLED || code == LEAT_DEADLINE_EXCEEDED;
}

// ---- Applications -------------------------------------------------------------------------------

leat_status_t leat_application_initialize(int element_count, int captured_count, int return_count,
                                          leat_application_t* out_application) {
  *out_application = (leat_application_t){.element_count = element_count};
  int arguments = element_count + captured_count;
  LEAT_RETURN_IF_ERROR(leat_allocator_allocate_array(
      leat_allocator_system(), (size_t)arguments + (size_t)return_count + 1, sizeof(leat_tensor_t),
      (void**)&out_application->arguments));
  out_application->returns = out_application->arguments + arguments;
  out_application->call = (leat_function_call_t){.arguments = out_application->arguments,
                                                 .argument_count = arguments,
                                                 .returns = out_application->returns,
                                                 .return_count = return_count};
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

void leat_application_deinitialize(leat_application_t* application) {
  if (!application->arguments) return;
  leat_application_release_element(application);
  release_returns(application);
  leat_status_free(application->status);
  leat_allocator_free(leat_allocator_system(), application->arguments);
}

static void returned(void* data, leat_status_t status) {
  leat_application_t* application = data;
  application->status = status;
  wake(application->pull);
}

void leat_application_start(leat_application_t* application, leat_pull_t* pull, uint64_t function) {
  leat_function_runtime_t* functions = pull->context->services->functions;
  application->pull = pull;
  application->pending = pull->awaits = true;
  application->call.caller = pull->context->services;
  if (functions) {
    functions->vtable->run(functions, function, &application->call, returned, application);
    return;
  }
  returned(application, leat_kernel_error(pull->context, LEAT_FAILED_PRECONDITION,
                                          "a dataset's function is called outside a session, "
                                          "must be inside one"));
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
