// The CPU kernels of loops that call functions, where they were not lowered. The results of a call
// are the loop variables of the next one. The calls run one after the other, but no thread waits
// for them: while_next() or for_next() is called when a call has finished, and starts the next
// (repeated_call_cpu.h).
//
// While calls the condition and the body in turn, until the condition is false. For calls the body
// once for each number from start to limit in steps of delta, with the number as the first argument
// and the loop variables behind it:
//
//   number, variables ─▶ body ─▶ variables ─▶ (number + delta, variables) ─▶ body ─▶ ...
//
// The number is a new tensor for each call, because the function may have kept the last one. The
// range is checked before the first call, as TensorFlow does; it is computed in 64 bits, so that
// the number cannot overflow on its last step.
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

// ---- For ----------------------------------------------------------------------------------------

enum { START, LIMIT, DELTA, FIRST };  // inputs; the loop variables begin at FIRST

// The tensor |base.own| holds the number of the iteration, and lies right before the variables, so
// that both together are the call's arguments.
typedef struct for_s {
  leat_repeated_call_t base;
  int64_t next, limit, delta;
  bool has_begun;
} for_t;

static leat_status_t for_create(leat_kernel_creation_t* c, void* state) {
  return leat_callee_initialize(c, "body", 0, state);
}

static leat_status_t for_next(leat_repeated_call_t* base, leat_callee_t** out_callee) {
  for_t* loop = (for_t*)base;
  if (loop->has_begun) {
    loop->next += loop->delta;
    LEAT_RETURN_IF_ERROR(leat_repeated_call_turn(base));
  }
  loop->has_begun = true;
  if (loop->delta > 0 ? loop->next >= loop->limit : loop->next <= loop->limit) {
    return leat_ok_status();
  }
  int32_t number = (int32_t)loop->next;
  leat_tensor_release(base->own);  // made anew, as the last call may have kept the old tensor
  LEAT_RETURN_IF_ERROR(leat_tensor_scalar(LEAT_DTYPE_INT32, &number, base->own));
  base->call = (leat_function_call_t){.arguments = base->own,
                                      .argument_count = 1 + base->variable_count,
                                      .returns = base->returns,
                                      .return_count = base->variable_count};
  *out_callee = leat_kernel_state(base->context);
  return leat_ok_status();
}

static leat_status_t read_range(const leat_kernel_context_t* c, int64_t* out_range) {
  static const char* const kNames[] = {"start", "limit", "delta"};
  for (int i = START; i < FIRST; ++i) {
    const leat_tensor_t* input = leat_kernel_input(c, i);
    if (input->shape.rank != 0) {
      return leat_kernel_invalid(c, "%s must be a scalar, but %s", kNames[i],
                                 LEAT_SHAPE_TEXT(&input->shape));
    }
    out_range[i] = *leat_tensor_data(input, const int32_t);
  }
  int64_t way = out_range[LIMIT] - out_range[START], delta = out_range[DELTA];
  if (delta > 0 ? way >= 0 : delta < 0 ? way <= 0 : way == 0) return leat_ok_status();
  return leat_kernel_invalid(c, "Invalid start/limit/delta: %lld %lld %lld",
                             (long long)out_range[START], (long long)out_range[LIMIT],
                             (long long)delta);
}

static void for__cpu(leat_kernel_context_t* c, leat_kernel_done_fn_t done) {
  int64_t range[FIRST];
  for_t* loop;
  leat_status_t status = read_range(c, range);
  if (!status) status = leat_repeated_call_create(c, done, sizeof *loop, FIRST, (void**)&loop);
  if (status) {
    done(c, status);
    return;
  }
  loop->base.next = for_next;
  loop->next = range[START];
  loop->limit = range[LIMIT];
  loop->delta = range[DELTA];
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
    {.op = "For",
     .device_type = "CPU",
     .create = for_create,
     .state_bytes = sizeof(leat_callee_t),
     .compute_async = for__cpu},
    LEAT_KERNEL_ROWS_END,
};
