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
// Makes room for numbered keys, whose transfers are 0, ..., |transfer_count| - 1; 0 asks for none.
// All graphs of a step call it with the same count before their first transfer, and INTERNAL tells
// that the counts differ. Does nothing after an abort, since every later transfer fails then.
LEAT_MUST_USE leat_status_t leat_local_rendezvous_reserve(leat_rendezvous_t* rendezvous,
                                                          uint32_t transfer_count);

#endif  // LEAT_WORKER_LOCAL_RENDEZVOUS_H_
