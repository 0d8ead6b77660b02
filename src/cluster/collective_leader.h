// The tables of the task that leads the groups of collectives: who is in a group, and who is the
// source of a broadcast. Members ask it by CompleteGroup and CompleteInstance, itself by the same
// functions; an answer comes when all members, or the source, have asked. Groups stay as long as
// the leader. Every function may be called from any thread.
#ifndef LEAT_CLUSTER_COLLECTIVE_LEADER_H_
#define LEAT_CLUSTER_COLLECTIVE_LEADER_H_

#include "base/allocator.h"
#include "formats/generated/worker_service.h"

typedef struct leat_collective_leader_s leat_collective_leader_t;
LEAT_MUST_USE leat_status_t leat_collective_leader_create(leat_allocator_t* allocator,
                                                          leat_collective_leader_t** out_leader);
// Answers those who still wait with |status|, which is taken.
void leat_collective_leader_abort(leat_collective_leader_t* leader, leat_status_t status);
// Nobody may wait any more. NULL is allowed.
void leat_collective_leader_free(leat_collective_leader_t* leader);

// Called once, perhaps before the question returns. The response is valid during the call.
typedef void (*leat_group_told_fn_t)(void* data, leat_status_t status,
                                     const leat_pb_complete_group_response_t* response);
typedef void (*leat_instance_told_fn_t)(void* data, leat_status_t status,
                                        const leat_pb_complete_instance_response_t* response);
// A device joins a group, again or for the first time.
void leat_collective_leader_join(leat_collective_leader_t* leader,
                                 const leat_pb_complete_group_request_t* request,
                                 leat_group_told_fn_t fn, void* data);
// A member of a complete group takes part in a collective.
void leat_collective_leader_enter(leat_collective_leader_t* leader,
                                  const leat_pb_complete_instance_request_t* request,
                                  leat_instance_told_fn_t fn, void* data);

#endif  // LEAT_CLUSTER_COLLECTIVE_LEADER_H_
