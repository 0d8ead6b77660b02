// CPU kernels of While where it was not lowered: calls of the condition and of the body in turn,
// until the condition is false.
#include "ops/function/function_call_cpu.h"
#include "ops/function/repeated_call_cpu.h"
#include "ops/kernel_rows.h"

typedef struct functions_s {
  leat_callee_t cond, body;
} functions_t;

// The tensor |base.own| holds what the condition returned.
typedef struct while_s {
  leat_repeated_call_t base;
  enum { IN_NEITHER, IN_CONDITION, IN_BODY } place;
} while_t;

static leat_status_t while_create(leat_kernel_creation_t* c, void* data) {
  functions_t* state = data;
  LEAT_RETURN_IF_ERROR(leat_callee_initialize(c, "cond", 0, &state->cond));
  return leat_callee_initialize(c, "body", 0, &state->body);
}

static leat_status_t while_next(leat_repeated_call_t* base, leat_callee_t** out_callee) {
  while_t* loop = (while_t*)base;
  functions_t* functions = leat_kernel_state(base->context);
  bool goes_on = true;
  if (loop->place == IN_CONDITION) {
    leat_status_t status = leat_condition_value(base->context, base->own, &goes_on);
    leat_tensor_release(base->own);
    if (status || !goes_on) return status;
    loop->place = IN_BODY;
  } else {
    if (loop->place == IN_BODY) LEAT_RETURN_IF_ERROR(leat_repeated_call_turn(base));
    loop->place = IN_CONDITION;
  }
  const bool in_body = loop->place == IN_BODY;
  base->call = (leat_function_call_t){.arguments = base->variables,
                                      .argument_count = base->variable_count,
                                      .returns = in_body ? base->returns : base->own,
                                      .return_count = in_body ? base->variable_count : 1};
  *out_callee = in_body ? &functions->body : &functions->cond;
  return leat_ok_status();
}

static void while__cpu(leat_kernel_context_t* c, leat_kernel_done_fn_t done) {
  while_t* loop;
  leat_status_t status = leat_repeated_call_create(c, done, sizeof *loop, 0, (void**)&loop);
  if (status) {
    done(c, status);
    return;
  }
  loop->base.next = while_next;
  leat_repeated_call_run(&loop->base);
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
