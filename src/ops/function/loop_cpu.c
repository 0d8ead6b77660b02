// The CPU kernels of loops that call functions, where they were not lowered. The results of a call
// are the loop variables of the next one. The calls run one after the other, but no thread waits
// for them: while_next() or for_next() is called when a call has finished, and starts the next.
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
#include "kernel/function_runtime.h"
#include "kernel/step_check.h"
#include "ops/function/function_call_cpu.h"
#include "ops/kernel_rows.h"

// ---- Calls one after the other ------------------------------------------------------------------
// Each call makes new values of the loop variables, whose last values become the node's outputs.
// Between iterations the loop looks at the step's cancellation and deadline. One thread at a time
// runs a loop; it belongs to the kernel's context, and frees itself at its end.
//
// A call may be done before it returns or later, on another thread. The atomic |state| decides who
// goes on: the loop that made the call and the callback both exchange it, and the second of them
// continues. A call that is done early thus continues in the loop's own frame, and one that is done
// late begins the loop anew on a fresh stack, so that the stack never holds more than one call.

typedef struct repeated_call_s repeated_call_t;
// A loop. The kernel sets |next| and what it keeps behind this struct, and then runs it.
struct repeated_call_s {
  leat_kernel_context_t* context;
  leat_kernel_done_fn_t done;
  // Called before the first call and after each successful one: fills in |call| and |*out_callee|
  // for the next call, or leaves |*out_callee| NULL when the loop is at its end.
  leat_status_t (*next)(repeated_call_t* self, leat_callee_t** out_callee);
  leat_function_call_t call;
  _Atomic(int64_t) calls;  // of functions, counted within one call of the loop
  _Atomic(int) state;
  leat_status_t status;  // of the last call
  int64_t iteration, span;  // the one under way: its number, and when it began, if it is recorded
  int variable_count;
  // One array [1 + 2 * variable_count]: a tensor for the loop itself, the variables, and the new
  // values that a call returns.
  leat_tensor_t *own, *variables, *returns;
};

enum { CALLING, RETURNED_LATER, DONE };

// Allocates a loop of |loop_bytes| zero bytes, whose first member is a repeated_call_t. Its
// variables are the inputs from |first_input| on.
static leat_status_t repeated_call_create(leat_kernel_context_t* context,
                                          leat_kernel_done_fn_t done, size_t loop_bytes,
                                          int first_input, void** out_loop) {
  size_t count = (size_t)(context->kernel->input_count - first_input);
  repeated_call_t* self;
  LEAT_RETURN_IF_ERROR(leat_allocator_allocate(
      leat_allocator_system(), loop_bytes + (1 + 2 * count) * sizeof(leat_tensor_t),
      (void**)&self));
  self->context = context;
  self->done = done;
  self->variable_count = (int)count;
  self->own = (leat_tensor_t*)((char*)self + loop_bytes);
  self->variables = self->own + 1;
  self->returns = self->variables + count;
  self->span = leat_span_begin();
  for (int i = 0; i < self->variable_count; ++i) {
    self->variables[i] = leat_tensor_share(leat_kernel_input(context, first_input + i));
  }
  *out_loop = self;
  return leat_ok_status();
}

static void repeated_call_run(repeated_call_t* self);

static void end(repeated_call_t* self, leat_status_t status) {
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
  repeated_call_t* self = data;
  self->status = status;
  if (atomic_exchange_explicit(&self->state, DONE, memory_order_acq_rel) != CALLING) {
    repeated_call_run(self);
  }
}

// Makes calls until there is no next one; then sets the outputs, frees |self| and calls |done|.
static void repeated_call_run(repeated_call_t* self) {
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

// Tells the recording under way, if there is one, that an iteration has ended.
static void repeated_call_tell(repeated_call_t* self) {
  const int64_t begin = self->span;
  if (LEAT_UNLIKELY(begin)) {
    leat_span_end_in_step(begin, LEAT_SPAN_ITERATION, leat_kernel_span_name(self->context->kernel),
                          self->iteration,
                          leat_span_step(self->context->services->container_step_id));
  }
  self->span = leat_span_begin();
  ++self->iteration;
}

// Makes the values that the last call returned the variables. CANCELLED or DEADLINE_EXCEEDED when
// the step is to end.
static leat_status_t repeated_call_turn(repeated_call_t* self) {
  repeated_call_tell(self);
  for (int i = 0; i < self->variable_count; ++i) {
    leat_tensor_release(&self->variables[i]);
    self->variables[i] = leat_tensor_move(&self->returns[i]);
  }
  return leat_step_check(self->context->services, true);
}

// ---- While --------------------------------------------------------------------------------------

typedef struct functions_s {
  leat_callee_t cond, body;
} functions_t;

// The tensor |base.own| holds what the condition returned.
typedef struct while_s {
  repeated_call_t base;
  enum { IN_NEITHER, IN_CONDITION, IN_BODY } place;
} while_t;

static leat_status_t while_create(leat_kernel_creation_t* c, void* data) {
  functions_t* state = data;
  LEAT_RETURN_IF_ERROR(leat_callee_initialize(c, "cond", 0, &state->cond));
  return leat_callee_initialize(c, "body", 0, &state->body);
}

// Says what a While calls next: the condition after the start and after each body, and the body
// after a condition that was true. It leaves |*out_callee| NULL when the loop ends.
static leat_status_t while_next(repeated_call_t* base, leat_callee_t** out_callee) {
  while_t* loop = (while_t*)base;
  functions_t* functions = leat_kernel_state(base->context);
  bool goes_on = true;
  if (loop->place == IN_CONDITION) {
    leat_status_t status = leat_condition_value(base->context, base->own, &goes_on);
    leat_tensor_release(base->own);
    if (!status && !goes_on) repeated_call_tell(base);
    if (status || !goes_on) return status;
    loop->place = IN_BODY;
  } else {
    if (loop->place == IN_BODY) LEAT_RETURN_IF_ERROR(repeated_call_turn(base));
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
  leat_status_t status = repeated_call_create(c, done, sizeof *loop, 0, (void**)&loop);
  if (status) {
    done(c, status);
    return;
  }
  loop->base.next = while_next;
  repeated_call_run(&loop->base);
}

// ---- For ----------------------------------------------------------------------------------------

enum { START, LIMIT, DELTA, FIRST };  // inputs; the loop variables begin at FIRST

// The tensor |base.own| holds the number of the iteration, and lies right before the variables, so
// that both together are the call's arguments.
typedef struct for_s {
  repeated_call_t base;
  int64_t next, limit, delta;
  bool has_begun;
} for_t;

static leat_status_t for_create(leat_kernel_creation_t* c, void* state) {
  return leat_callee_initialize(c, "body", 0, state);
}

// Says what a For calls next: the body, with the next number, until the number reaches the limit.
static leat_status_t for_next(repeated_call_t* base, leat_callee_t** out_callee) {
  for_t* loop = (for_t*)base;
  if (loop->has_begun) {
    loop->next += loop->delta;
    LEAT_RETURN_IF_ERROR(repeated_call_turn(base));
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
  if (!status) status = repeated_call_create(c, done, sizeof *loop, FIRST, (void**)&loop);
  if (status) {
    done(c, status);
    return;
  }
  loop->base.next = for_next;
  loop->next = range[START];
  loop->limit = range[LIMIT];
  loop->delta = range[DELTA];
  repeated_call_run(&loop->base);
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
    WHILE("_While"),
    {.op = "For",
     .device_type = "CPU",
     .create = for_create,
     .state_bytes = sizeof(leat_callee_t),
     .compute_async = for__cpu},
    LEAT_KERNEL_ROWS_END,
};
