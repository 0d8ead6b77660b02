// A step in parts: feeds come when the client has them, fetches are taken when they are wanted. The
// step runs from the beginning; its feeds are Recvs and its fetches Sends of its own rendezvous, so
// that it waits where a feed is missing.
#ifndef LEAT_MASTER_PARTIAL_RUN_H_
#define LEAT_MASTER_PARTIAL_RUN_H_

#include "master/master.h"

typedef struct leat_partial_run_s leat_partial_run_t;

// |rewrite| is a signature's, pruned; taken over, even on failure.
LEAT_MUST_USE leat_status_t leat_partial_run_begin(const leat_master_options_t* options,
                                                   leat_rewrite_t* rewrite, int feed_count,
                                                   leat_partial_run_t** out_run);
// Does fetch |fetch| need feed |feed|?
bool leat_partial_run_needs(const leat_partial_run_t* run, int fetch, int feed);
// Shares |value|. Each feed once. Fails with the step's status when that has failed.
LEAT_MUST_USE leat_status_t leat_partial_run_feed(leat_partial_run_t* run, int feed,
                                                  const leat_tensor_t* value);
// Waits for the value, which the caller owns. Each fetch once.
LEAT_MUST_USE leat_status_t leat_partial_run_fetch(leat_partial_run_t* run, int fetch,
                                                   leat_tensor_t* out_value);
// Ends the step, with CANCELLED where it still waits; NULL is allowed.
void leat_partial_run_end(leat_partial_run_t* run);

#endif  // LEAT_MASTER_PARTIAL_RUN_H_
