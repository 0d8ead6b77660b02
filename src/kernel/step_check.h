// Whether the step for which a kernel works shall end: because it was cancelled, its session was
// closed, or its deadline has passed. Loops that go through leat_kernel_parallel_for check this by
// themselves. A kernel whose time grows faster than its inputs and which does not go through it
// asks here about every millisecond.
#ifndef LEAT_KERNEL_STEP_CHECK_H_
#define LEAT_KERNEL_STEP_CHECK_H_

#include "kernel/kernel.h"

// True when the step shall end, and then for ever. The deadline counts only where |reads_clock|,
// because the clock costs some 25 ns and a flag almost nothing.
bool leat_step_is_over(const leat_step_services_t* services, bool reads_clock);
// Checks whether the step is over, and tells it as a status: CANCELLED, or DEADLINE_EXCEEDED.
LEAT_MUST_USE leat_status_t leat_step_check(const leat_step_services_t* services,
                                            bool reads_clock);

// The checks of a loop on one thread whose turns differ in length: counts what they take, and asks
// after each LEAT_STEP_CHECK_NS of it.
typedef struct leat_step_pace_s {
  const leat_step_services_t* services;
  double left_ns;  // until the next check
} leat_step_pace_t;
static inline leat_step_pace_t leat_step_pace_of(const leat_kernel_context_t* c) {
  return (leat_step_pace_t){c->services, LEAT_STEP_CHECK_NS};
}
// Counts about |cost_ns| of work, to be called before or after it. CANCELLED or DEADLINE_EXCEEDED
// when the step shall end.
LEAT_MUST_USE static inline leat_status_t leat_step_pace_count(leat_step_pace_t* pace,
                                                               double cost_ns) {
  pace->left_ns -= cost_ns;
  if (LEAT_LIKELY(pace->left_ns > 0)) return leat_ok_status();
  pace->left_ns = LEAT_STEP_CHECK_NS;
  return leat_step_check(pace->services, true);
}

// Says whether the step is over to code far below a kernel that runs in a range of
// leat_kernel_parallel_for: algorithms that spend long on one item. When it is true they return
// soon, with any result, which the kernel must not use as a size or an index. False on threads that
// run no such loop, and in loops that were expected to be short.
bool leat_step_loop_is_over(void);

#endif  // LEAT_KERNEL_STEP_CHECK_H_
