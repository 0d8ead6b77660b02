// For as calls, one after the other. A call that is done before it returns goes on in the loop that
// made it, so that no number of iterations fills the stack.
#include "base/clock.h"
#include "kernel/cancellation.h"
#include "ops/family.h"
#include "ops/function/function_call_cpu.h"

enum { CALLING, RETURNED_LATER, DONE };
enum { START, LIMIT, DELTA, FIRST };  // inputs

typedef struct for_s {
  leat_kernel_context_t* context;
  leat_kernel_done_fn_t done;
  leat_function_call_t call;
  int64_t next, limit, delta;
  _Atomic(int) state;
  leat_status_t status;
  int count;
  leat_tensor_t* returns;
  leat_tensor_t tensors[];  // the number, then the variables; then what the body returns
} for_t;

static leat_status_t for_create(leat_kernel_creation_t* c, void* state) {
  return leat_callee_initialize(c, "body", 0, state);
}

static void end(for_t* loop, leat_status_t status) {
  leat_kernel_context_t* c = loop->context;
  leat_kernel_done_fn_t done = loop->done;
  leat_tensor_release(&loop->tensors[0]);
  for (int i = 0; i < loop->count; ++i) {
    if (status) {
      leat_tensor_release(&loop->tensors[1 + i]);
    } else {
      leat_kernel_set_output(c, i, loop->tensors[1 + i]);
    }
  }
  leat_allocator_free(leat_allocator_system(), loop);
  done(c, status);
}

static leat_status_t check_step(const leat_step_services_t* services) {
  if (services->cancellation && leat_cancellation_is_cancelled(services->cancellation)) {
    return leat_make_status(LEAT_CANCELLED, "Run failed: the step was cancelled");
  }
  if (services->deadline_ns && services->deadline_ns != LEAT_DEADLINE_NEVER &&
      leat_clock_now_ns() > services->deadline_ns) {
    return leat_make_status(LEAT_DEADLINE_EXCEEDED, "Run failed: the step's timeout has passed");
  }
  return leat_ok_status();
}

// What a call gave is taken; false when that ended the loop.
static bool take(for_t* loop) {
  leat_status_t status = loop->status;
  if (!status) {
    for (int i = 0; i < loop->count; ++i) {
      leat_tensor_release(&loop->tensors[1 + i]);
      loop->tensors[1 + i] = leat_tensor_move(&loop->returns[i]);
    }
    loop->next += loop->delta;
    status = check_step(loop->context->services);
  }
  if (status) end(loop, status);
  return !status;
}

static void returned(void* data, leat_status_t status);

static void go_on(for_t* loop) {
  do {
    if (loop->delta > 0 ? loop->next >= loop->limit : loop->next <= loop->limit) {
      end(loop, leat_ok_status());
      return;
    }
    int32_t number = (int32_t)loop->next;
    leat_tensor_release(&loop->tensors[0]);  // the call before may have kept it
    leat_status_t status = leat_tensor_scalar(LEAT_DTYPE_INT32, &number, &loop->tensors[0]);
    if (status) {
      end(loop, status);
      return;
    }
    loop->call = (leat_function_call_t){.arguments = loop->tensors,
                                        .argument_count = loop->count + 1,
                                        .returns = loop->returns,
                                        .return_count = loop->count};
    atomic_store_explicit(&loop->state, CALLING, memory_order_relaxed);
    leat_callee_run(loop->context, leat_kernel_state(loop->context), &loop->call, returned, loop);
    if (atomic_exchange_explicit(&loop->state, RETURNED_LATER, memory_order_acq_rel) != DONE) {
      return;
    }
  } while (take(loop));
}

static void returned(void* data, leat_status_t status) {
  for_t* loop = data;
  loop->status = status;
  if (atomic_exchange_explicit(&loop->state, DONE, memory_order_acq_rel) == CALLING) return;
  if (take(loop)) go_on(loop);
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
  size_t count = (size_t)(c->kernel->input_count - FIRST);
  int64_t range[FIRST];
  for_t* loop;
  leat_status_t status = read_range(c, range);
  if (!status) {
    status = leat_allocator_allocate(leat_allocator_system(),
                                     sizeof *loop + (2 * count + 1) * sizeof(leat_tensor_t),
                                     (void**)&loop);
  }
  if (status) {
    done(c, status);
    return;
  }
  loop->context = c;
  loop->done = done;
  loop->count = (int)count;
  loop->returns = loop->tensors + 1 + count;
  loop->next = range[START];
  loop->limit = range[LIMIT];
  loop->delta = range[DELTA];
  for (int i = 0; i < loop->count; ++i) {
    loop->tensors[1 + i] = leat_tensor_share(leat_kernel_input(c, FIRST + i));
  }
  go_on(loop);
}

const leat_kernel_row_t leat_counted_loop_kernels_cpu[] = {
    {.op = "For",
     .device_type = "CPU",
     .create = for_create,
     .state_bytes = sizeof(leat_callee_t),
     .compute_async = for__cpu},
    LEAT_KERNEL_ROWS_END,
};
