// The convolution plans of one kernel, by shape. Making a plan takes up to a millisecond, so a
// kernel keeps those that it made; shapes that change every step (a last, smaller batch) push out
// the one unused longest. Steps that run at once share the cache under a lock held for a few
// nanoseconds.
#ifndef LEAT_OPS_NN_CONVOLUTION_CACHE_CPU_H_
#define LEAT_OPS_NN_CONVOLUTION_CACHE_CPU_H_

#include "base/sync.h"
#include "device/cpu/convolution_plan.h"
#include "kernel/kernel.h"

struct leat_convolution_entry_s;
typedef struct leat_convolution_cache_s {  // zeroed is empty
  leat_spinlock_t lock;
  struct leat_convolution_entry_s* first;  // the one used last comes first
  int count;
} leat_convolution_cache_t;

void leat_convolution_cache_clear(leat_convolution_cache_t* cache);

// Runs a convolution over float, double or int32 tensors with the channels last; float ones by a
// plan of the cache. |bias| is NULL or goes with LEAT_CONVOLUTION_BIAS in |flags|.
LEAT_MUST_USE leat_status_t leat_convolution_cache_run(
    leat_convolution_cache_t* cache, leat_kernel_context_t* c,
    leat_convolution_direction_t direction, const leat_convolution_shape_t* shape, int flags,
    int dtype, const void* first, const void* second, const void* bias, void* result);

#endif  // LEAT_OPS_NN_CONVOLUTION_CACHE_CPU_H_
