// Queues (section 4.6): resources through which steps pass tuples of tensors to other steps. Every
// call is asynchronous: one that cannot go on yet waits in a line of the queue and holds no thread;
// it is completed by the call that makes this possible, or by the cancellation of its step. This is
// the interface; the ops of the queue family implement it, and readers take their work from it.
//
//   enqueue ──▶ [ element | element | element ] ──▶ dequeue
//   (waits while the queue is full)                 (waits while it has too few elements)
#ifndef LEAT_KERNEL_QUEUE_H_
#define LEAT_KERNEL_QUEUE_H_

#include "kernel/kernel.h"
#include "kernel/resource.h"

typedef struct leat_queue_s leat_queue_t;

// A call in the name of a kernel, whose context must live until |done|: its services give memory,
// pool and cancellation. |done| is called once, on any thread, with the queue's lock free.
// |components| are the dequeued tensors, which the callee moves out (what it leaves is released);
// NULL for other calls and for failures.
typedef struct leat_queue_call_s {
  leat_kernel_context_t* context;
  void (*done)(const struct leat_queue_call_s* call, leat_status_t status,
               leat_tensor_t* components);
  // For the caller's use: the queue does not look at these two.
  leat_kernel_done_fn_t kernel_done;
  void* data;
} leat_queue_call_t;

// Codes of the calls: CANCELLED for an enqueue on a closed queue and for a call whose step was
// cancelled, OUT_OF_RANGE for a dequeue when the queue is closed and has too few elements,
// INVALID_ARGUMENT for wrong types and shapes.
typedef struct leat_queue_vtable_s {
  // Takes |components|, on failure too. |many|: each is a batch of elements along dimension 0.
  void (*enqueue)(leat_queue_t* self, bool many, leat_tensor_t* components,
                  const leat_queue_call_t* call);
  // One element; |call|->done receives its components.
  void (*dequeue)(leat_queue_t* self, const leat_queue_call_t* call);
  // Dequeues |count| >= 0 elements as batches. |up_to|: fewer will do when the queue is closed, but
  // at least one.
  void (*dequeue_many)(leat_queue_t* self, int64_t count, bool up_to,
                       const leat_queue_call_t* call);
  // No enqueue that comes later is accepted. Those that wait already still get their room, and the
  // queue is closed when they are done; where |cancel_pending_enqueues|, they fail with CANCELLED
  // and it is closed at once. Dequeues go on while there are enough elements.
  void (*close)(leat_queue_t* self, bool cancel_pending_enqueues, const leat_queue_call_t* call);
  // The number of elements, which may have changed when it is returned.
  int64_t (*size)(leat_queue_t* self);
  bool (*is_closed)(leat_queue_t* self);
} leat_queue_vtable_t;

struct leat_queue_s {
  leat_resource_t resource;  // kind leat_queue_kind
  const leat_queue_vtable_t* vtable;
  // The types of an element's components, [component_count]; the queue owns the array.
  const int32_t* component_types;
  int component_count;
  // Frees the queue with its last reference; leat_queue_kind calls it.
  void (*destroy)(leat_queue_t* self);
};
extern const leat_resource_kind_t leat_queue_kind;

#endif  // LEAT_KERNEL_QUEUE_H_
