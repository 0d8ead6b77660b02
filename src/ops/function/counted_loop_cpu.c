// The CPU kernel of For: calls the function "body" once for each number from start to limit in
// steps of delta, with the number as the first argument and the loop variables behind it. The
// results of a call are the variables of the next one.
//
//   number, variables ─▶ body ─▶ variables ─▶ (number + delta, variables) ─▶ body ─▶ ...
//
// The calls run one after the other, but no thread waits for them: for_next() is called when a call
// has finished, and starts the next (repeated_call_cpu.h). The number is a new tensor for each
// call, because the function may have kept the last one. The range is checked before the first
// call, as TensorFlow does; it is computed in 64 bits, so that the number cannot overflow on its
// last step.
#include "ops/function/repeated_call_cpu.h"
#include "ops/kernel_rows.h"

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

const leat_kernel_row_t leat_counted_loop_kernels_cpu[] = {
    {.op = "For",
     .device_type = "CPU",
     .create = for_create,
     .state_bytes = sizeof(leat_callee_t),
     .compute_async = for__cpu},
    LEAT_KERNEL_ROWS_END,
};
