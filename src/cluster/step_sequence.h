// The numbers of steps in which several masters take part. Between-graph replication has a master
// for each worker, and the collectives of their steps must meet; so the steps of one graph key have
// the same numbers at all masters. They run in sequence from a start that the leader of groups
// draws at random, and that the other tasks ask for once, by GetStepSequence, as TensorFlow's do:
//
//   leader    s, s + 1, s + 2, ...
//   worker 1  GetStepSequence ─▶ s, then s, s + 1, s + 2, ...
//
// A number is used up by its step however that ends, so that the masters stay together when a step
// fails. A step that fails here may have members elsewhere who wait for it in vain; therefore all
// tasks of the cluster are told (leat.Collective), and fail its rounds.
#ifndef LEAT_CLUSTER_STEP_SEQUENCE_H_
#define LEAT_CLUSTER_STEP_SEQUENCE_H_

#include "base/arena.h"
#include "formats/generated/worker_service.h"
#include "master/master.h"

struct leat_task_s;
typedef struct leat_step_sequences_s leat_step_sequences_t;

// |leader| is the number of the leading task, which may be |task| itself. Borrows |task|.
LEAT_MUST_USE leat_status_t leat_step_sequences_create(struct leat_task_s* task, int leader,
                                                       leat_step_sequences_t** out_sequences);
// After the channels to other tasks. NULL is allowed.
void leat_step_sequences_free(leat_step_sequences_t* sequences);
// For the sessions of this task's master; lives as long as the sequences.
leat_step_numbers_t* leat_step_sequences_numbers(leat_step_sequences_t* sequences);
// Answers GetStepSequence: tells the number that a master which comes new is to use, for each key.
// The lists lie in |arena|. INTERNAL where this task does not lead.
LEAT_MUST_USE leat_status_t leat_step_sequences_tell(
    leat_step_sequences_t* sequences, const leat_pb_get_step_sequence_request_t* request,
    leat_arena_t* arena, leat_pb_get_step_sequence_response_t* out_response);

#endif  // LEAT_CLUSTER_STEP_SEQUENCE_H_
