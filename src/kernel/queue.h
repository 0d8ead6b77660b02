// Queues (section 4.6): resources that hand tuples of tensors from step to step. Every call is
// asynchronous: one that cannot go on yet waits in the queue's own lines and holds no thread; it is
// completed by whoever makes that possible, or by the cancellation of its step. The interface; the
// ops of the queue family implement it, and readers take their work from it.
#ifndef LEAT_KERNEL_QUEUE_H_
#define LEAT_KERNEL_QUEUE_H_

#include "kernel/kernel.h"
#include "kernel/resource.h"

typedef struct leat_queue_s leat_queue_t;

// A call in the name of a kernel, whose context stays until |done|: its services give memory, pool
// and cancellation. |done| is called once, on any thread, with the queue's lock free. |components|:
// what was dequeued (the callee moves them out; what it leaves is released), NULL for other calls
// and failures.
typedef struct leat_queue_call_s {
  leat_kernel_context_t* context;
  void (*done)(const struct leat_queue_call_s* call, leat_status_t status,
               leat_tensor_t* components);
  // The caller's own.
  leat_kernel_done_fn_t kernel_done;
  void* data;
} leat_queue_call_t;

// Codes: CANCELLED (enqueue on a closed queue; a call whose step was cancelled), OUT_OF_RANGE
// (closed and too few elements), INVALID_ARGUMENT (types, shapes).
typedef struct leat_queue_vtable_s {
  // |components| are moved, also on failure. |many|: each holds a batch along dimension 0.
  void (*enqueue)(leat_queue_t* self, bool many, leat_tensor_t* components,
                  const leat_queue_call_t* call);
  void (*dequeue)(leat_queue_t* self, const leat_queue_call_t* call);
  // |count| >= 0 elements as batches; |up_to|: fewer when the queue is closed, but at least one.
  void (*dequeue_many)(leat_queue_t* self, int64_t count, bool up_to,
                       const leat_queue_call_t* call);
  void (*close)(leat_queue_t* self, bool cancel_pending_enqueues, const leat_queue_call_t* call);
  int64_t (*size)(leat_queue_t* self);
  bool (*is_closed)(leat_queue_t* self);
} leat_queue_vtable_t;

struct leat_queue_s {
  leat_resource_t resource;  // kind leat_queue_kind
  const leat_queue_vtable_t* vtable;
  const int32_t* component_types;
  int component_count;
  void (*destroy)(leat_queue_t* self);
};
extern const leat_resource_kind_t leat_queue_kind;

#endif  // LEAT_KERNEL_QUEUE_H_
