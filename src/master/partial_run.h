// A partial run: a step whose feeds come when the client has them, and whose fetches are taken when
// they are wanted. The step runs from the beginning. Its feeds are Recvs and its fetches Sends of
// the step's rendezvous, so that it waits where a feed is missing.
#ifndef LEAT_MASTER_PARTIAL_RUN_H_
#define LEAT_MASTER_PARTIAL_RUN_H_

#include "master/master.h"

typedef struct leat_partial_run_s leat_partial_run_t;

// A partial run of a master in another process. The functions below pass on to it.
typedef struct leat_remote_partial_run_s {
  const struct leat_remote_partial_run_vtable_s* vtable;
} leat_remote_partial_run_t;
typedef struct leat_remote_partial_run_vtable_s {
  // As leat_partial_run_feed, leat_partial_run_fetch and leat_partial_run_end.
  leat_status_t (*feed)(leat_remote_partial_run_t* run, int feed, const leat_tensor_t* value);
  leat_status_t (*fetch)(leat_remote_partial_run_t* run, int fetch, int64_t deadline_ns,
                         struct leat_cancellation_s* cancellation, leat_tensor_t* out_value);
  void (*end)(leat_remote_partial_run_t* run);
} leat_remote_partial_run_vtable_t;
// Makes a run of |remote|, which is taken over on success. |rewrite| is the signature's pruned
// graph, borrowed, which tells what each fetch needs.
LEAT_MUST_USE leat_status_t leat_partial_run_of_remote(leat_remote_partial_run_t* remote,
                                                       const leat_rewrite_t* rewrite,
                                                       int feed_count, leat_allocator_t* allocator,
                                                       leat_partial_run_t** out_run);

// Compiles the signature's pruned graph |rewrite|, which is taken over, also on failure, and starts
// the step. Blocks until it has been compiled.
LEAT_MUST_USE leat_status_t leat_partial_run_begin(const leat_master_options_t* options,
                                                   leat_rewrite_t* rewrite, int feed_count,
                                                   leat_partial_run_t** out_run);
// Whether fetch |fetch| depends on feed |feed|.
bool leat_partial_run_needs(const leat_partial_run_t* run, int fetch, int feed);
// Gives the step the value of a feed, which is shared. Each feed may be given once. Fails with the
// step's status when the step has failed.
LEAT_MUST_USE leat_status_t leat_partial_run_feed(leat_partial_run_t* run, int feed,
                                                  const leat_tensor_t* value);
// Blocks until the value is there; the caller owns it. Each fetch may be taken once. The whole run
// is aborted when the value is not there at |deadline_ns|, with DEADLINE_EXCEEDED, or before
// |cancellation| (NULL: nobody cancels) is cancelled, with CANCELLED. INVALID_ARGUMENT when the
// value is dead.
LEAT_MUST_USE leat_status_t leat_partial_run_fetch(leat_partial_run_t* run, int fetch,
                                                   int64_t deadline_ns,
                                                   struct leat_cancellation_s* cancellation,
                                                   leat_tensor_t* out_value);
// Ends the step, with CANCELLED where it still waits, blocks until it has ended, and frees |run|;
// NULL is allowed.
void leat_partial_run_end(leat_partial_run_t* run);

#endif  // LEAT_MASTER_PARTIAL_RUN_H_
