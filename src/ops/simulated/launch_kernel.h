// How the simulated device runs a kernel. The work is done by the kernel's twin, the CPU's kernel
// of the same node, on the thread of a stream and at addresses that only the stream can touch. As
// kernels of a real accelerator do, most of them only enqueue their work and return:
//
//   host      shapes of the outputs ─▶ their memory ─▶ enqueue ─▶ return: readers may be enqueued
//   stream                                                └─▶ wait for inputs ─▶ compute ─▶ event
//
// Where the twin itself decides which memory it writes to (that of a variable), or where the shapes
// of the outputs cannot be told beforehand, the kernel ends only when the twin has run.
#ifndef LEAT_OPS_SIMULATED_LAUNCH_KERNEL_H_
#define LEAT_OPS_SIMULATED_LAUNCH_KERNEL_H_

#include "kernel/kernel.h"
#include "ops/simulated/output_shapes.h"

// The state of the simulated device's kernels.
typedef struct leat_twin_s {
  leat_kernel_t* kernel;         // the twin; owned
  leat_output_shapes_t* shapes;  // of the outputs before the run; NULL: the row does not enqueue
} leat_twin_t;

// The |compute| function of a row that |enqueues|. When the twin fails later, so does every reader
// of its outputs, none of which then runs.
LEAT_MUST_USE leat_status_t leat_launch_enqueue(leat_kernel_context_t* context);
// A row's |compute_async| function: calls |done| when the twin has run, which it does after all
// kernels that have been enqueued so far.
void leat_launch_to_the_end(leat_kernel_context_t* context, leat_kernel_done_fn_t done);

#endif  // LEAT_OPS_SIMULATED_LAUNCH_KERNEL_H_
