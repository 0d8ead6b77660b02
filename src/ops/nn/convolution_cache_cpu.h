// The convolution plans of one kernel, by shape. Making a plan takes up to a millisecond, so a
// kernel keeps those that it made. Shapes that change every step (a last, smaller batch) push out
// the plan that was unused longest. Steps that run at once share the cache: its lock is held for
// some nanoseconds, never while a plan is made or runs.
#ifndef LEAT_OPS_NN_CONVOLUTION_CACHE_CPU_H_
#define LEAT_OPS_NN_CONVOLUTION_CACHE_CPU_H_

#include "base/sync.h"
#include "device/cpu/convolution_plan.h"
#include "kernel/kernel.h"

struct leat_convolution_entry_s;
// Belongs to a kernel's state; all zero is an empty cache.
typedef struct leat_convolution_cache_s {
  leat_spinlock_t lock;
  struct leat_convolution_entry_s* first;  // the one used last comes first
  int count;
} leat_convolution_cache_t;

// Frees all plans. No step may use the cache any more.
void leat_convolution_cache_clear(leat_convolution_cache_t* cache);

// Runs a convolution over float, double or int32 (|dtype|) data with the channels last. Float goes
// by a plan of the cache, the others by the portable loops. |step| follows it; NULL: nothing does.
// Blocks until |result| is filled. RESOURCE_EXHAUSTED when there is no memory for a plan or its
// workspace.
LEAT_MUST_USE leat_status_t leat_convolution_cache_run(
    leat_convolution_cache_t* cache, leat_kernel_context_t* c,
    leat_convolution_direction_t direction, const leat_convolution_shape_t* shape, int dtype,
    const void* first, const void* second, const leat_row_step_t* step, void* result);

#endif  // LEAT_OPS_NN_CONVOLUTION_CACHE_CPU_H_
