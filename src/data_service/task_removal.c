#include <inttypes.h>

#include "base/clock.h"
#include "data_service/dispatcher_record.h"

#define PATIENCE_MS 10000

// The votes for a task, all of one round; in the state's arena, for the next votes too.
typedef struct leat_task_removal_s {
  int64_t round, count;
  bool* has_voted;  // [num_consumers]
} removal_t;

static leat_status_t find_removal(leat_dispatcher_t* dispatcher, leat_data_task_t* task,
                                  int64_t consumer, removal_t** out_removal) {
  const leat_data_job_t* job = task->iteration->job;
  if (!job->is_coordinated || consumer < 0 || consumer >= job->num_consumers) {
    return leat_make_status(LEAT_FAILED_PRECONDITION,
                            "Removing task %" PRId64 " failed: consumer_index is %" PRId64
                            ", must be that of a consumer of a coordinated read",
                            task->id, consumer);
  }
  if (!task->removal) {
    removal_t* removal;
    LEAT_RETURN_IF_ERROR(LEAT_NEW(&dispatcher->state.arena, 1, &removal));
    LEAT_RETURN_IF_ERROR(LEAT_NEW(&dispatcher->state.arena, (size_t)job->num_consumers,
                                  &removal->has_voted));
    task->removal = removal;
  }
  *out_removal = task->removal;
  return leat_ok_status();
}

static void vote(const leat_data_task_t* task, removal_t* removal, int64_t consumer,
                 int64_t round) {
  if (!removal->count || removal->round != round) {
    // Consumers that ask for another round are not in step, and their votes do not count together.
    for (int64_t i = 0; i < task->iteration->job->num_consumers; ++i) removal->has_voted[i] = false;
    removal->count = 0;
    removal->round = round;
  }
  removal->count += !removal->has_voted[consumer];
  removal->has_voted[consumer] = true;
}

leat_status_t leat_dispatcher_vote_removal(leat_dispatcher_t* dispatcher,
                                           const leat_pb_maybe_remove_task_request_t* request,
                                           bool* out_removed) {
  const int64_t deadline_ns = leat_clock_deadline_after_ms(PATIENCE_MS);
  const int64_t consumer = request->consumer_index;
  leat_data_task_t* task;
  removal_t* removal;
  bool in_time = true;
  leat_status_t status =
      leat_dispatcher_find_task(&dispatcher->state, request->task_id, &task);
  *out_removed = leat_status_code(status) == LEAT_NOT_FOUND;  // it is removed already
  if (status) {
    leat_status_free(status);
    return leat_ok_status();
  }
  LEAT_RETURN_IF_ERROR(find_removal(dispatcher, task, consumer, &removal));
  vote(task, removal, consumer, request->round);
  if (removal->count == task->iteration->job->num_consumers) {
    leat_pb_remove_task_update_t remove = {.task_id = task->id};
    leat_status_t refused = leat_dispatcher_commit(
        dispatcher,
        &(leat_pb_dispatcher_update_t){.update_type_case = LEAT_CHANGE_REMOVE_TASK,
                                       .remove_task = &remove},
        1);
    if (refused) {
      removal->has_voted[consumer] = false;  // which the consumer may do again
      --removal->count;
      return refused;
    }
    leat_condition_notify_all(&dispatcher->changed);
  }
  while (!task->is_removed && !dispatcher->is_stopped && removal->round == request->round &&
         in_time) {
    in_time = leat_condition_wait_until(&dispatcher->changed, &dispatcher->mutex, deadline_ns);
  }
  *out_removed = task->is_removed;
  if (!task->is_removed && removal->round == request->round && removal->has_voted[consumer]) {
    removal->has_voted[consumer] = false;
    --removal->count;
  }
  return leat_ok_status();
}
