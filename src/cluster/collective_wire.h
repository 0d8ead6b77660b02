// The collectives of a task whose groups may reach over several tasks. Groups are formed by the
// leader, the task that the server's ConfigProto names in experimental.collective_group_leader;
// without one, each task forms groups of its own devices. Chunks go from task to task as
// collective_chunk.h says.
#ifndef LEAT_CLUSTER_COLLECTIVE_WIRE_H_
#define LEAT_CLUSTER_COLLECTIVE_WIRE_H_

#include "cluster/collective_leader.h"
#include "cluster/step_sequence.h"
#include "kernel/collective_wire.h"

struct leat_task_s;
typedef struct leat_task_collectives_s leat_task_collectives_t;

// |leader| is the name of the leading task, or empty. INVALID_ARGUMENT where there is no such task.
LEAT_MUST_USE leat_status_t leat_task_collectives_create(struct leat_task_s* task,
                                                         leat_string_view_t leader,
                                                         leat_task_collectives_t** out_collectives);
// Ends all rounds, and answers those who wait, with CANCELLED.
void leat_task_collectives_abort(leat_task_collectives_t* collectives);
// After the channels to other tasks. NULL is allowed.
void leat_task_collectives_free(leat_task_collectives_t* collectives);

// The numbers of steps that other masters take part in; NULL where no leader was named.
leat_step_numbers_t* leat_task_collectives_numbers(leat_task_collectives_t* collectives);
// The sequences of these numbers, of which each task has some.
leat_step_sequences_t* leat_task_collectives_sequences(leat_task_collectives_t* collectives);
// Nobody answers any more at task |number|.
void leat_task_collectives_lose(leat_task_collectives_t* collectives, int number);

// The rounds, for the containers of the task's devices.
leat_collectives_t* leat_task_collectives_rounds(leat_task_collectives_t* collectives);
// The tables, for what other tasks ask.
leat_collective_leader_t* leat_task_collectives_leader(leat_task_collectives_t* collectives);

#endif  // LEAT_CLUSTER_COLLECTIVE_WIRE_H_
