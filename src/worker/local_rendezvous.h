// The rendezvous of one process: values and waiters under their keys, in memory (section 3.2.2).
// Values sent twice under a key are received in the order of sending. Thread-safe; a callback runs
// on the thread that completed the pair, with no lock held.
#ifndef LEAT_WORKER_LOCAL_RENDEZVOUS_H_
#define LEAT_WORKER_LOCAL_RENDEZVOUS_H_

#include "kernel/rendezvous.h"

// Values nobody received are released with the last reference; whoever still waits then gets
// CANCELLED.
LEAT_MUST_USE leat_status_t leat_local_rendezvous_create(leat_allocator_t* allocator,
                                                         leat_rendezvous_t** out_rendezvous);
// Whether no value under a text waits for its receiver, and no receiver for such a value.
bool leat_local_rendezvous_is_empty(leat_rendezvous_t* rendezvous);

#endif  // LEAT_WORKER_LOCAL_RENDEZVOUS_H_
