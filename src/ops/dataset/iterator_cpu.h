// Iterators as resources of a graph: what MakeIterator sets on a dataset and IteratorGetNext takes
// from, from many steps at once. They take turns: a pull that finds another at work waits in the
// iterator's wait queue, without a thread.
#ifndef LEAT_OPS_DATASET_ITERATOR_CPU_H_
#define LEAT_OPS_DATASET_ITERATOR_CPU_H_

#include "kernel/handle.h"
#include "kernel/wait_queue.h"
#include "ops/dataset/dataset_cpu.h"

typedef struct leat_iterator_resource_s {
  leat_resource_t resource;  // kind leat_iterator_kind
  leat_element_spec_t* spec;
  leat_wait_queue_t wait_queue;
  bool busy;  // under the wait queue's lock: a pull is at work, which alone touches what follows
  leat_iterator_t* iterator;  // NULL: not yet made
  leat_status_t failure;      // of making it, where it is made only once
  _Atomic(bool) settled;      // likewise: it is made, or has failed for good
} leat_iterator_resource_t;
extern const leat_resource_kind_t leat_iterator_kind;

// As a leat_resource_make_fn_t; |data| is the leat_element_spec_t, which is retained.
LEAT_MUST_USE leat_status_t leat_iterator_resource_create(void* data,
                                                          leat_resource_t** out_resource);
// With the turn: iterates over |dataset| from its start. INVALID_ARGUMENT when its elements are not
// what the resource's spec says.
LEAT_MUST_USE leat_status_t leat_iterator_resource_set(leat_iterator_resource_t* resource,
                                                       leat_dataset_t* dataset);

// Base of a pull that needs a turn at an iterator.
typedef struct leat_turn_s {
  leat_pull_t pull;
  leat_iterator_resource_t* resource;  // retained until the turn has ended
} leat_turn_t;
// Runs the pull as soon as it is its turn, or finishes it when its step is cancelled before.
// |turn->resource| is moved in.
void leat_turn_take(leat_turn_t* turn);
// For the pull's finish: the others may go on. The turn's memory stays.
void leat_turn_end(leat_turn_t* turn);

#endif  // LEAT_OPS_DATASET_ITERATOR_CPU_H_
