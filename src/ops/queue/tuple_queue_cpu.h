// The queues of the queue family: one machine over tuples with a wait queue before it; what differs
// is the order in which tuples come out.
#ifndef LEAT_OPS_QUEUE_TUPLE_QUEUE_CPU_H_
#define LEAT_OPS_QUEUE_TUPLE_QUEUE_CPU_H_

#include "base/random.h"
#include "kernel/queue.h"

typedef enum leat_queue_order_e {
  LEAT_QUEUE_FIFO,
  LEAT_QUEUE_PADDING_FIFO,  // batches are padded where |shapes| leave sizes open
  LEAT_QUEUE_SHUFFLE,
  LEAT_QUEUE_PRIORITY,      // component 0 is the priority; the smallest comes first
} leat_queue_order_t;

// What a queue is made by; borrowed.
typedef struct leat_queue_options_s {
  leat_queue_order_t order;
  leat_string_view_t name;
  const int32_t* types;
  int count;                           // of components
  const leat_partial_shape_t* shapes;  // [count]; NULL: not stated
  int64_t capacity;                    // INT64_MAX: unbounded
  int64_t min_after_dequeue;           // SHUFFLE
  uint64_t seed, seed2;                // SHUFFLE; both 0: from the system
} leat_queue_options_t;

LEAT_MUST_USE leat_status_t leat_tuple_queue_create(const leat_queue_options_t* options,
                                                    leat_queue_t** out_queue);
// INVALID_ARGUMENT unless a queue made earlier is what |options| ask for. |queue| may be any.
LEAT_MUST_USE leat_status_t leat_tuple_queue_check(leat_queue_t* queue,
                                                   const leat_queue_options_t* options);
// A call whose end is the kernel's, and whose components are the node's outputs.
leat_queue_call_t leat_queue_call_of_kernel(leat_kernel_context_t* c, leat_kernel_done_fn_t done);
const char* leat_queue_order_name(leat_queue_order_t order);  // "FIFOQueue"

#endif  // LEAT_OPS_QUEUE_TUPLE_QUEUE_CPU_H_
