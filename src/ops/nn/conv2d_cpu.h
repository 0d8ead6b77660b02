// Two-dimensional convolution and its gradients over whole tensors, for the kernels of every op
// that is one. A kernel creates the state from its node's attributes, measures in each step (sizes
// may change from step to step), allocates its output and runs. Float convolutions go by plans,
// which are chosen once for a shape and kept, and all other types by the portable loops of
// device/cpu/convolution.h. Steps may run at once: what they share is the cache of plans, which has
// a lock.
#ifndef LEAT_OPS_NN_CONV2D_CPU_H_
#define LEAT_OPS_NN_CONV2D_CPU_H_

#include "base/sync.h"
#include "device/cpu/convolution_plan.h"
#include "kernel/kernel.h"
#include "ops/nn/window.h"

// ---- Plans (convolution_cache_cpu.c) ------------------------------------------------------------
// The convolution plans of one kernel, by shape. Making a plan takes up to a millisecond, so a
// kernel keeps those that it made. Shapes that change every step (a last, smaller batch) push out
// the plan that was unused longest. Steps that run at once share the cache: its lock is held for
// some nanoseconds, never while a plan is made or runs.
//
// A filter that comes unchanged in several runs, such as the variable or constant of a trained
// network, is held: packed for the plan once and then used by later runs. The cache keeps a
// reference to the filter's buffer for that time, and a packed copy as large as the filter for each
// of up to four shapes. They are released when a run brings another filter and when the cache is
// cleared. Results do not depend on whether the filter is held.

struct leat_convolution_entry_s;
// Belongs to a kernel's state; all zero is an empty cache.
typedef struct leat_convolution_cache_s {
  leat_spinlock_t lock;
  struct leat_convolution_entry_s* first;  // the one used last comes first
  int count;
} leat_convolution_cache_t;

// Frees all plans and releases all filters. No step may use the cache any more.
void leat_convolution_cache_clear(leat_convolution_cache_t* cache);

// The number of plans whose filter is held, for tests.
int leat_convolution_cache_held(leat_convolution_cache_t* cache);

// One run of a convolution over data with the channels last. Everything is borrowed.
typedef struct leat_convolution_run_s {
  leat_convolution_direction_t direction;
  const leat_convolution_shape_t* shape;
  int dtype;  // float, double or int32
  const void *first, *second;
  // The kernel's input that the filter among |first| and |second| is or was computed from, by which
  // the cache knows it again; NULL: it is not to be held.
  const leat_tensor_t* filter;
  const leat_row_step_t* step;  // follows the convolution; NULL: nothing does
  void* result;
} leat_convolution_run_t;

// Runs the convolution. Float goes by a plan of the cache, the others by the portable loops. Blocks
// until the result is filled. RESOURCE_EXHAUSTED when there is no memory for a plan or its
// workspace.
LEAT_MUST_USE leat_status_t leat_convolution_cache_run(leat_convolution_cache_t* cache,
                                                       leat_kernel_context_t* c,
                                                       const leat_convolution_run_t* run);

// ---- Convolutions -------------------------------------------------------------------------------

// A kernel's state, zeroed before leat_conv2d_create. The owner sets |direction| and
// |is_depthwise|, and ends it by leat_convolution_cache_clear(&cache).
typedef struct leat_conv2d_s {
  leat_window_t window;
  leat_convolution_direction_t direction;
  int dtype;
  bool is_depthwise;
  leat_convolution_cache_t cache;
} leat_conv2d_t;

// Reads the type and the window from the node's attributes. UNIMPLEMENTED for strides or dilations
// over batch or channels, INVALID_ARGUMENT for others that are not positive.
LEAT_MUST_USE leat_status_t leat_conv2d_create(leat_kernel_creation_t* c, leat_conv2d_t* conv);

// Fills |out_shape| with the convolution of an input and a filter of these sizes, and |out_output|
// with the four sizes of the forward output. |input| and |out_output| are in the order of the
// node's data format. INVALID_ARGUMENT when the sizes do not fit or are too large.
LEAT_MUST_USE leat_status_t leat_conv2d_measure(const leat_kernel_context_t* c,
                                                const leat_conv2d_t* conv, const int64_t* input,
                                                const int64_t* filter,
                                                leat_convolution_shape_t* out_shape,
                                                int64_t* out_output);

// Runs the convolution |shape|. |first|, |second| and |result| are what
// leat_convolution_direction_t says for the state's direction, in the node's data format. |step|
// follows a forward convolution, and sees float where the node's type is half or bfloat16, with the
// channels last; NULL: nothing follows. Blocks until the result is there.
LEAT_MUST_USE leat_status_t leat_conv2d_run(leat_conv2d_t* conv, leat_kernel_context_t* c,
                                            const leat_convolution_shape_t* shape,
                                            const leat_tensor_t* first,
                                            const leat_tensor_t* second,
                                            const leat_row_step_t* step, leat_tensor_t* result);

#endif  // LEAT_OPS_NN_CONV2D_CPU_H_
