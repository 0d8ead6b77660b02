// Whether the step that a kernel works for is to end: for kernels that work for long. Loops that go
// through leat_kernel_parallel_for have it looked at for them; a kernel whose time grows faster
// than its inputs, and which does not go through it, asks here about every millisecond.
#ifndef LEAT_KERNEL_STEP_CHECK_H_
#define LEAT_KERNEL_STEP_CHECK_H_

#include "kernel/kernel.h"

// The step was cancelled, its session was closed, or (where |reads_clock|) its deadline has passed.
// The clock costs some 25 ns, more than a look at a flag. Once true, it stays so.
bool leat_step_is_over(const leat_step_services_t* services, bool reads_clock);
// The same as a status: CANCELLED, or DEADLINE_EXCEEDED.
LEAT_MUST_USE leat_status_t leat_step_check(const leat_step_services_t* services,
                                            bool reads_clock);

// The same for code far below a kernel, within a range of leat_kernel_parallel_for: for algorithms
// that spend long on one item. true: it returns soon, with any result, which the kernel must not
// take for a size or an index. false on threads that run no such loop, or one expected to be short.
bool leat_step_loop_is_over(void);

#endif  // LEAT_KERNEL_STEP_CHECK_H_
