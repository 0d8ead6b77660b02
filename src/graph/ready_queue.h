// A queue for topological sorts: gives the numbers 0 .. count-1 such that each comes after all that
// it depends on, and of those that are ready the lowest first. The caller fills |pending| and
// reports each dependence that is done. A cursor passes over all numbers once and gives those that
// are ready when it comes; a number that was not ready then goes through a heap when it becomes so.
// Hence a list that is in order already never touches the heap and takes linear time. Not
// thread-safe.
#ifndef LEAT_GRAPH_READY_QUEUE_H_
#define LEAT_GRAPH_READY_QUEUE_H_

#include "base/allocator.h"
#include "base/heap.h"

typedef struct leat_ready_queue_s {
  leat_allocator_t* allocator;
  int32_t* pending;  // how many dependences of each are not done; the caller sets them first
  leat_heap_t ready;  // numbers behind the cursor
  int32_t count, cursor;
} leat_ready_queue_t;

// A queue of |count| numbers. |pending| is all zeros, and the caller adds to it before the first
// take. RESOURCE_EXHAUSTED without memory.
LEAT_MUST_USE leat_status_t leat_ready_queue_initialize(leat_allocator_t* allocator, int32_t count,
                                                        leat_ready_queue_t* out_queue);
void leat_ready_queue_deinitialize(leat_ready_queue_t* queue);
// The lowest ready number, which is not given again; -1 when nothing is ready: all are given, or
// the rest is on cycles. The caller settles what depends on a number when it has taken it.
int32_t leat_ready_queue_take(leat_ready_queue_t* queue);
// One dependence of |index|, which must have one left, is done.
void leat_ready_queue_settle(leat_ready_queue_t* queue, int32_t index);

#endif  // LEAT_GRAPH_READY_QUEUE_H_
