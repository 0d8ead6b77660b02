// What dense and sparse accumulators share: counting, steps, and the line of those who wait for
// enough gradients.
#ifndef LEAT_OPS_QUEUE_ACCUMULATOR_CPU_H_
#define LEAT_OPS_QUEUE_ACCUMULATOR_CPU_H_

#include "kernel/handle.h"
#include "kernel/kernel.h"
#include "kernel/wait_queue.h"

typedef struct leat_accumulator_s leat_accumulator_t;

// All with the lock held, in the name of the kernel that runs.
typedef struct leat_accumulator_vtable_s {
  const char* name;  // of the op that makes such accumulators, for messages
  // Checks the kernel's gradient and adds it; the first since one was taken replaces what is there.
  leat_status_t (*add)(leat_accumulator_t* self, leat_kernel_context_t* c);
  // Sets the outputs to the sum, divided by how often there was something to add where |mean|.
  leat_status_t (*take)(leat_accumulator_t* self, leat_kernel_context_t* c);
  void (*destroy)(leat_accumulator_t* self);  // what the subclass holds
} leat_accumulator_vtable_t;

struct leat_accumulator_s {
  leat_resource_t resource;
  const leat_accumulator_vtable_t* vtable;
  leat_wait_queue_t wait_queue;
  leat_arena_t arena;
  int dtype;
  leat_partial_shape_t shape;
  bool mean;
  // Under the wait queue's lock.
  int64_t count;
  int64_t global_step;
};

typedef struct leat_accumulator_handle_s {
  leat_handle_t handle;
  leat_arena_t arena;
  int dtype;
  leat_partial_shape_t shape;
  bool mean;
} leat_accumulator_handle_t;

LEAT_MUST_USE leat_status_t leat_accumulator_handle_create(leat_kernel_creation_t* c, void* state);
void leat_accumulator_handle_destroy(void* state);
// Makes the base over |size_bytes|, zeroed.
LEAT_MUST_USE leat_status_t leat_accumulator_create(const leat_accumulator_handle_t* handle,
                                                    const leat_accumulator_vtable_t* vtable,
                                                    size_t size_bytes,
                                                    leat_accumulator_t** out_accumulator);
LEAT_MUST_USE leat_status_t leat_accumulator_output_handle(leat_kernel_context_t* c,
                                                           leat_resource_make_fn_t make);
// The bodies of the kernels that apply and take gradients: inputs are 0 handle, 1 step or number.
// INVALID_ARGUMENT when the handle names an accumulator with other functions than |vtable|.
LEAT_MUST_USE leat_status_t leat_accumulator_apply(leat_kernel_context_t* c,
                                                   const leat_accumulator_vtable_t* vtable);
void leat_accumulator_take(leat_kernel_context_t* c, leat_kernel_done_fn_t done,
                           const leat_accumulator_vtable_t* vtable);

// target[i] /= divisor: half, float, double.
void leat_accumulator_divide(int dtype, void* target, int64_t count, int64_t divisor);

#endif  // LEAT_OPS_QUEUE_ACCUMULATOR_CPU_H_
