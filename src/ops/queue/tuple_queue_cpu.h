// The queues of the queue ops: tuples of tensors behind a wait queue, in one of four orders. One
// implementation serves all orders, because they differ only in which tuple comes out next. The
// kernels of queue_handle_cpu.c make queues, and barriers keep one for their complete tuples.
//
// The result of leat_tuple_queue_create is a resource with one reference, which belongs to the
// caller; calls go through its vtable (kernel/queue.h), never block a thread, and report their end
// by a callback, on whatever thread served them. Any thread may call.
#ifndef LEAT_OPS_QUEUE_TUPLE_QUEUE_CPU_H_
#define LEAT_OPS_QUEUE_TUPLE_QUEUE_CPU_H_

#include "base/random.h"
#include "kernel/queue.h"

// Which tuple comes out next: the oldest, one at random, or the one with the smallest priority.
typedef enum leat_queue_order_e {
  LEAT_QUEUE_FIFO,
  LEAT_QUEUE_PADDING_FIFO,  // batches are padded where |shapes| leave sizes open
  LEAT_QUEUE_SHUFFLE,
  LEAT_QUEUE_PRIORITY,      // component 0 is the priority; the smallest comes first
} leat_queue_order_t;

// Describes a queue to be made. The pointers are borrowed for the call alone: the queue copies all.
typedef struct leat_queue_options_s {
  leat_queue_order_t order;
  leat_string_view_t name;
  const int32_t* types;
  int count;                           // of components
  const leat_partial_shape_t* shapes;  // [count]; NULL: any shape, but no batches can be taken
  int64_t capacity;                    // INT64_MAX: unbounded
  int64_t min_after_dequeue;           // SHUFFLE: tuples that stay while the queue is open
  uint64_t seed, seed2;                // SHUFFLE; both 0: the system gives a random seed
} leat_queue_options_t;

// Makes a queue. INVALID_ARGUMENT when the options contradict each other, RESOURCE_EXHAUSTED
// without memory.
LEAT_MUST_USE leat_status_t leat_tuple_queue_create(const leat_queue_options_t* options,
                                                    leat_queue_t** out_queue);
// Checks that |queue|, which a node found under its shared name, is what its |options| describe;
// INVALID_ARGUMENT where they differ. |queue| may be any queue, also one of another implementation.
LEAT_MUST_USE leat_status_t leat_tuple_queue_check(leat_queue_t* queue,
                                                   const leat_queue_options_t* options);
// Returns a queue call that ends kernel |c|: the components become the node's outputs, and then
// |done| is called, once, with the status. |c| must live until then.
leat_queue_call_t leat_queue_call_of_kernel(leat_kernel_context_t* c, leat_kernel_done_fn_t done);
// The name of the op that makes queues of this order, such as "FIFOQueue", for messages.
const char* leat_queue_order_name(leat_queue_order_t order);

#endif  // LEAT_OPS_QUEUE_TUPLE_QUEUE_CPU_H_
