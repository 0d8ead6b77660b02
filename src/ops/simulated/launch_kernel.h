// How the simulated device runs a kernel: its CPU twin, on a stream's thread, over the addresses
// that the stream can touch. As kernels of an accelerator do, most only enqueue that:
//
//   host      shapes of the outputs ─▶ their memory ─▶ enqueue ─▶ return: readers may be enqueued
//   stream                                                └─▶ inputs' events ─▶ compute ─▶ event
//
// Where the twin decides itself what memory it writes (a variable's) it runs to the end first.
#ifndef LEAT_OPS_SIMULATED_LAUNCH_KERNEL_H_
#define LEAT_OPS_SIMULATED_LAUNCH_KERNEL_H_

#include "kernel/kernel.h"
#include "ops/simulated/output_shapes.h"

// The state of such a kernel.
typedef struct leat_twin_s {
  leat_kernel_t* kernel;         // the CPU's
  leat_output_shapes_t* shapes;  // NULL: it runs to the end
} leat_twin_t;

// A row's |compute| that |enqueues|. A failure of the twin is that of every reader too, none of
// which runs.
LEAT_MUST_USE leat_status_t leat_launch_enqueue(leat_kernel_context_t* context);
// A row's |compute_async|: done when the twin has run, behind all kernels enqueued so far.
void leat_launch_to_the_end(leat_kernel_context_t* context, leat_kernel_done_fn_t done);

#endif  // LEAT_OPS_SIMULATED_LAUNCH_KERNEL_H_
