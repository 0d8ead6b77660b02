// Whether the step that a kernel works for is to end: for kernels that work for long.
#ifndef LEAT_KERNEL_STEP_CHECK_H_
#define LEAT_KERNEL_STEP_CHECK_H_

#include "kernel/kernel.h"

// CANCELLED, or DEADLINE_EXCEEDED where |reads_clock|: the clock costs more than a look at a flag.
LEAT_MUST_USE leat_status_t leat_step_check(const leat_step_services_t* services,
                                            bool reads_clock);

#endif  // LEAT_KERNEL_STEP_CHECK_H_
