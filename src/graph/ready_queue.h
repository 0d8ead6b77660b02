// Takes numbers 0 .. count-1 in an order of dependence, the lowest that is ready first. A cursor
// passes over all numbers once; those that were not ready then wait, and go through a heap once
// they are. A list that is in order already never touches the heap.
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

LEAT_MUST_USE leat_status_t leat_ready_queue_initialize(leat_allocator_t* allocator, int32_t count,
                                                        leat_ready_queue_t* out_queue);
void leat_ready_queue_deinitialize(leat_ready_queue_t* queue);
// -1 when nothing is ready.
int32_t leat_ready_queue_take(leat_ready_queue_t* queue);
// One dependence of |index| is done.
void leat_ready_queue_settle(leat_ready_queue_t* queue, int32_t index);

#endif  // LEAT_GRAPH_READY_QUEUE_H_
