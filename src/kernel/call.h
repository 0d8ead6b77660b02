// The one way in which a kernel is run, whoever runs it: the executors of a step, constant folding,
// eager execution, tests. A call is always the same sequence:
//
//   read references -> check the contract -> compute -> name the node in an error -> tell the step
//
// The caller makes the context (kernel/kernel.h); the call needs nothing else, neither a plan nor a
// session. It is inline because a step may make a hundred million of them a second: a call of a
// kernel without references and contract, in a step that nobody observes, is one indirect call.
#ifndef LEAT_KERNEL_CALL_H_
#define LEAT_KERNEL_CALL_H_

#include "kernel/kernel.h"

// Reads the references of |c->reads| into their slots, checks that the references which the op
// takes as such have a value (unless the op allows otherwise), and checks the contract.
// FAILED_PRECONDITION for a variable without a value, INVALID_ARGUMENT for a broken contract.
LEAT_MUST_USE leat_status_t leat_kernel_prepare(const leat_kernel_context_t* c);
// true when leat_kernel_prepare has anything to do; it follows from the node alone.
static inline bool leat_kernel_needs_preparing(const leat_kernel_t* kernel,
                                               uint32_t reference_read_count) {
  return kernel->contract || kernel->shapes || kernel->has_ref_inputs || reference_read_count > 0;
}
// Runs |compute|, records the span (base/span.h), and tells the step's listener how it ended.
LEAT_MUST_USE leat_status_t leat_kernel_compute_observed(leat_kernel_context_t* c,
                                                         leat_kernel_compute_fn_t compute);
// INTERNAL when an output is missing or of another type than the node declares, or is dead, unless
// |takes_dead|. Stateful kernels give what somebody else put there (a queue's element, a value of
// another device).
LEAT_MUST_USE leat_status_t leat_kernel_verify_outputs(const leat_kernel_context_t* c,
                                                       bool takes_dead);

// Runs a synchronous kernel. |compute| is c->kernel->compute, which executors keep at hand;
// |prepares| is leat_kernel_needs_preparing; |observed| is the services'.
LEAT_MUST_USE static inline leat_status_t leat_kernel_call(leat_kernel_context_t* c,
                                                           leat_kernel_compute_fn_t compute,
                                                           bool prepares, bool observed) {
  if (LEAT_UNLIKELY(prepares)) LEAT_RETURN_IF_ERROR(leat_kernel_prepare(c));
  leat_status_t status = LEAT_LIKELY(!observed) ? compute(c)
                                                : leat_kernel_compute_observed(c, compute);
  return LEAT_LIKELY(!status) ? status : leat_kernel_annotate(c->kernel, status);
}

// An asynchronous kernel under way. The caller fills |context| (but for |owner|), |prepares|,
// |takes_dead|, |observed| and |resume|, and keeps the call where it is until the kernel has ended.
typedef struct leat_async_call_s {
  leat_kernel_context_t context;
  bool prepares;
  bool takes_dead;  // what a Recv brings may be dead
  bool observed;
  // Called once, on whatever thread the kernel ends on, if it had not ended when it was started.
  void (*resume)(struct leat_async_call_s* self);
  // How the kernel ended, with the node named; to be taken by whoever goes on.
  leat_status_t status;
  int64_t start_ns;
  int64_t span, input_bytes;
  _Atomic(int) state;  // which of start and end comes second, and so has to go on
} leat_async_call_t;
// true: the kernel has ended already, the caller goes on and |resume| will not be called.
// false: |resume| goes on; it may be running now, so the call is no longer the caller's.
LEAT_MUST_USE bool leat_async_call_start(leat_async_call_t* call);

#endif  // LEAT_KERNEL_CALL_H_
