// Iterators as resources of a graph: MakeIterator sets one to a dataset, and IteratorGetNext takes
// its elements, from any number of steps at once. One pull at a time may use an iterator. A pull
// that finds it busy waits in the iterator's wait queue (kernel/wait_queue.h), which holds no
// thread. To have the turn means to be the pull for which |busy| was set.
#ifndef LEAT_OPS_DATASET_ITERATOR_CPU_H_
#define LEAT_OPS_DATASET_ITERATOR_CPU_H_

#include "kernel/handle.h"
#include "kernel/wait_queue.h"
#include "ops/dataset/dataset_cpu.h"

typedef struct leat_iterator_resource_s {
  leat_resource_t resource;  // kind leat_iterator_kind
  leat_element_spec_t* spec;
  leat_wait_queue_t wait_queue;
  // guarded by the wait queue's lock; the pull for which it was set alone uses the fields below
  bool busy;
  leat_iterator_t* iterator;  // NULL until a dataset was set
  int64_t position;  // elements of the dataset that were given, or failed, since it was set
  leat_status_t failure;      // of a one-shot iterator: why its dataset could not be made
  _Atomic(bool) settled;      // of a one-shot iterator: it has its dataset, or failed for good
  int64_t number;             // leat_iterator_resource_number; 0: none yet
  struct leat_iterator_resource_s* next_numbered;
} leat_iterator_resource_t;
extern const leat_resource_kind_t leat_iterator_kind;

// Makes the resource, as a leat_resource_make_fn_t. |data| is the leat_element_spec_t of its
// elements, which is retained.
LEAT_MUST_USE leat_status_t leat_iterator_resource_create(void* data,
                                                          leat_resource_t** out_resource);
// The parts of the resource of another kind that begins with a leat_iterator_resource_t, whose
// memory is zeroed. |spec| is retained.
void leat_iterator_resource_initialize(const leat_resource_kind_t* kind, leat_element_spec_t* spec,
                                       leat_iterator_resource_t* resource);
void leat_iterator_resource_deinitialize(leat_iterator_resource_t* resource);
// The number of an iterator that no container has, since its handles own it. By the number it is
// found for as long as it lives, from any session of this process. Any thread.
int64_t leat_iterator_resource_number(leat_iterator_resource_t* resource);
// The iterator of |kind| with that number, retained; NULL: there is none.
leat_resource_t* leat_iterator_resource_by_number(const leat_resource_kind_t* kind,
                                                  int64_t number);
// Sets the iterator to the start of |dataset|; the caller has the turn. INVALID_ARGUMENT when the
// elements of |dataset| are not as the resource's spec says.
LEAT_MUST_USE leat_status_t leat_iterator_resource_set(leat_iterator_resource_t* resource,
                                                       leat_dataset_t* dataset);

// The first member of what a kernel keeps while it waits for and has a turn.
typedef struct leat_turn_s {
  leat_pull_t pull;
  leat_iterator_resource_t* resource;  // retained until the turn has ended
} leat_turn_t;
// Allocates a turn of |bytes| bytes, whose struct begins with leat_turn_t, for the iterator at
// input |input| of the kernel, a resource of |kind|, and waits with it. |step| and |finish| are
// those of its pull.
void leat_turn_begin(leat_kernel_context_t* c, leat_kernel_done_fn_t done,
                     const leat_resource_kind_t* kind, int input, size_t bytes,
                     leat_status_t (*step)(leat_pull_t*, leat_poll_t*),
                     void (*finish)(leat_pull_t*, leat_status_t));
// Ends a turn that leat_turn_begin allocated, frees it and reports that the kernel is done; |turn|
// must not be used afterwards.
void leat_turn_finish(leat_turn_t* turn, leat_status_t status);
// Waits for the turn and then runs the pull. If the step is cancelled first, the pull is finished
// with that status. |turn->resource| is moved in. Never blocks.
void leat_turn_take(leat_turn_t* turn);
// Gives the turn to the next pull that waits, and releases |turn->resource|. The pull's |finish|
// calls it, and frees the turn's memory itself.
void leat_turn_end(leat_turn_t* turn);

// What kernels of both kinds of iterators do with handles. Sets output 0 to the string that names
// the iterator at input 0.
LEAT_MUST_USE leat_status_t leat_iterator_write_string(leat_kernel_context_t* c,
                                                       const leat_resource_kind_t* kind);
// Sets output 0 to the handle that the string at input 0 names; the kernel's state is a
// leat_element_spec_state_t, which the elements must fit.
LEAT_MUST_USE leat_status_t leat_iterator_read_string(leat_kernel_context_t* c,
                                                      const leat_resource_kind_t* kind);
// Removes the iterator at input 0 from its container.
LEAT_MUST_USE leat_status_t leat_iterator_delete(leat_kernel_context_t* c,
                                                 const leat_resource_kind_t* kind);

#endif  // LEAT_OPS_DATASET_ITERATOR_CPU_H_
