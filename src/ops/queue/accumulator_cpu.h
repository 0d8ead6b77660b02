// The base of dense and sparse gradient accumulators: the count of gradients, the global step, and
// the wait queue of those that take when enough gradients have come. Synchronous data-parallel
// training uses one for each variable: the workers apply their gradients, and the chief takes the
// mean of n of them and updates the variable. A gradient of an earlier step, which a slow worker
// brings late, is dropped.
//
//   apply(local step, gradient) ─▶ sum, count ─▶ take(n) waits until count >= n ─▶ sum or mean
//
// A subclass adds the sum itself and the functions of the vtable. An accumulator is a
// reference-counted resource; every function may be called from any thread, and none blocks.
#ifndef LEAT_OPS_QUEUE_ACCUMULATOR_CPU_H_
#define LEAT_OPS_QUEUE_ACCUMULATOR_CPU_H_

#include "kernel/handle.h"
#include "kernel/kernel.h"
#include "kernel/wait_queue.h"

typedef struct leat_accumulator_s leat_accumulator_t;

// The functions of a subclass. |add| and |take| run with the wait queue's lock held, for the kernel
// whose context is |c|.
typedef struct leat_accumulator_vtable_s {
  const char* name;  // of the op that makes such accumulators, for messages
  // Checks the gradient in the kernel's inputs and adds it to the sum. When |count| is 0 the
  // gradient begins a new sum.
  leat_status_t (*add)(leat_accumulator_t* self, leat_kernel_context_t* c);
  // Sets the kernel's outputs to the sum; where |mean|, each value is divided by the number of
  // gradients that it got. |count| is at least 1.
  leat_status_t (*take)(leat_accumulator_t* self, leat_kernel_context_t* c);
  void (*destroy)(leat_accumulator_t* self);  // releases what the subclass holds
} leat_accumulator_vtable_t;

// The base with which the struct of a subclass begins. |dtype|, |shape| and |mean| say what
// gradients it takes and do not change.
struct leat_accumulator_s {
  leat_resource_t resource;
  const leat_accumulator_vtable_t* vtable;
  leat_wait_queue_t wait_queue;
  leat_arena_t arena;
  int dtype;
  leat_partial_shape_t shape;
  bool mean;
  // Under the wait queue's lock.
  int64_t count;        // gradients since the last take
  int64_t global_step;  // a gradient of an earlier step is dropped
};

// The state of a kernel that makes accumulators: the attributes of its node. The two functions
// after it are the create and destroy functions of such a kernel's row.
typedef struct leat_accumulator_handle_s {
  leat_handle_t handle;
  leat_arena_t arena;
  int dtype;
  leat_partial_shape_t shape;
  bool mean;
} leat_accumulator_handle_t;

LEAT_MUST_USE leat_status_t leat_accumulator_handle_create(leat_kernel_creation_t* c, void* state);
void leat_accumulator_handle_destroy(void* state);
// Allocates |size_bytes| of zeros, which the subclass's struct fills, and initializes the base in
// it. RESOURCE_EXHAUSTED without memory.
LEAT_MUST_USE leat_status_t leat_accumulator_create(const leat_accumulator_handle_t* handle,
                                                    const leat_accumulator_vtable_t* vtable,
                                                    size_t size_bytes,
                                                    leat_accumulator_t** out_accumulator);
// The body of a kernel that makes accumulators: finds the node's accumulator or has |make| make it,
// and outputs its handle.
LEAT_MUST_USE leat_status_t leat_accumulator_output_handle(leat_kernel_context_t* c,
                                                           leat_resource_make_fn_t make);
// The bodies of the kernels that apply and take gradients. Input 0 is the handle; input 1 is the
// local step of a gradient, or the number of gradients that a take requires, which must be
// positive. INVALID_ARGUMENT when the handle names an accumulator with other functions than
// |vtable|. A stale gradient is dropped without an error. A take advances the global step, and
// calls |done| once, perhaps much later and on another thread.
LEAT_MUST_USE leat_status_t leat_accumulator_apply(leat_kernel_context_t* c,
                                                   const leat_accumulator_vtable_t* vtable);
void leat_accumulator_take(leat_kernel_context_t* c, leat_kernel_done_fn_t done,
                           const leat_accumulator_vtable_t* vtable);

// target[i] /= divisor for |count| values of type half, float or double.
void leat_accumulator_divide(int dtype, void* target, int64_t count, int64_t divisor);

#endif  // LEAT_OPS_QUEUE_ACCUMULATOR_CPU_H_
