// What a dispatcher's workers ask: which tasks they should have (heartbeats), the datasets of
// these, and splits. A heartbeat compares the tasks that a worker has with those that it should
// have, so that neither side need know what the other has missed: a worker that was started again,
// or was not reached when an iteration began, gets its tasks, and lets go of those that have ended.
// Workers of a coordinated iteration are given theirs when the consumers agree on a round.
#include <inttypes.h>

#include "base/clock.h"
#include "data_service/dispatcher_record.h"
#include "data_service/split_providers.h"

// ---- Tasks --------------------------------------------------------------------------------------

static bool is_static(int32_t policy) {
  return policy >= LEAT_PB_PROCESSING_MODE_DEF_SHARDING_POLICY_FILE;
}

leat_status_t leat_dispatcher_name_file(const leat_dispatcher_t* dispatcher, leat_string_view_t id,
                                        leat_arena_t* arena, leat_string_view_t* out_path) {
  return leat_arena_print(arena, out_path, "%.*s/datasets/%.*s",
                          LEAT_SV_ARG(dispatcher->options.work_dir), LEAT_SV_ARG(id));
}

// Says where the dataset is.
static leat_status_t describe_dataset(const leat_dispatcher_t* dispatcher,
                                      leat_data_dataset_t* dataset, leat_arena_t* arena,
                                      leat_pb_task_def_t* def) {
  enum { DATASET_DEF = 1, PATH = 2 };
  if (!dispatcher->options.work_dir.size) {
    def->dataset_case = DATASET_DEF;
    def->dataset_def = &dataset->def;
    return leat_ok_status();
  }
  def->dataset_case = PATH;
  return leat_dispatcher_name_file(dispatcher, dataset->id, arena, &def->path);
}

leat_status_t leat_dispatcher_describe_task(const leat_dispatcher_t* dispatcher,
                                            const leat_data_task_t* task, leat_arena_t* arena,
                                            leat_pb_task_def_t* out_def) {
  enum { NUM_CONSUMERS = 7 };
  const leat_data_iteration_t* iteration = task->iteration;
  const leat_data_job_t* job = iteration->job;
  *out_def = (leat_pb_task_def_t){
      .dataset_id = job->dataset->id,
      .task_id = task->id,
      .iteration_id = iteration->id,
      .worker_address = task->worker->address,
      .num_consumers = job->num_consumers,
      .optional_num_consumers_case = job->is_coordinated ? NUM_CONSUMERS : 0,
      .num_split_providers = iteration->source_count,
      .use_cross_trainer_cache = job->uses_cross_trainer_cache,
  };
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, 1, &out_def->processing_mode_def));
  out_def->processing_mode_def->sharding_policy = job->sharding_policy;
  if (is_static(job->sharding_policy)) {
    if (task->worker->index < 0) {
      return leat_make_status(LEAT_NOT_FOUND,
                              "Sharding a dataset failed: worker %.*s is none of the %zu whose "
                              "addresses the dispatcher was given (worker_addresses)",
                              LEAT_SV_ARG(task->worker->address),
                              dispatcher->state.worker_addresses.count);
    }
    out_def->num_workers = (int64_t)dispatcher->state.worker_addresses.count;
    out_def->worker_index = task->worker->index;
  }
  return describe_dataset(dispatcher, job->dataset, arena, out_def);
}

// ---- What workers ask ---------------------------------------------------------------------------

// Adds the worker, and gives it a task of each iteration that goes on; those of coordinated ones
// follow.
static leat_status_t register_worker(leat_dispatcher_t* dispatcher,
                                     const leat_pb_worker_heartbeat_request_t* request,
                                     leat_arena_t* arena, leat_data_worker_record_t** out_worker) {
  const leat_data_table_t* iterations = &dispatcher->state.iterations;
  const leat_data_worker_record_t new_worker = {.address = request->worker_address,
                                                .tags = request->worker_tags,
                                                .uid = request->worker_uid,
                                                .transfer_servers = request->transfer_servers};
  leat_pb_register_worker_update_t worker = {.worker_address = request->worker_address,
                                             .worker_tags = request->worker_tags,
                                             .worker_uid = request->worker_uid,
                                             .transfer_servers = request->transfer_servers};
  leat_pb_dispatcher_update_t* updates;
  int64_t count = 0;
  LEAT_RETURN_IF_ERROR(leat_dispatcher_check_worker(&dispatcher->state, request->worker_address));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, iterations->count + 1, &updates));
  updates[0] = (leat_pb_dispatcher_update_t){.update_type_case = LEAT_CHANGE_REGISTER_WORKER,
                                             .register_worker = &worker};
  for (size_t i = 0; i < iterations->count; ++i) {
    const leat_data_iteration_t* iteration = iterations->items[i];
    if (iteration->is_finished || iteration->job->is_coordinated) continue;
    LEAT_RETURN_IF_ERROR(leat_dispatcher_describe_new_task(
        &dispatcher->state, iteration->id, &new_worker, count, arena, &updates[count + 1]));
    ++count;
  }
  LEAT_RETURN_IF_ERROR(leat_dispatcher_commit(dispatcher, updates, (size_t)count + 1));
  *out_worker = leat_dispatcher_find_worker(&dispatcher->state, request->worker_address);
  leat_data_tell(&dispatcher->options.teller, &(leat_data_event_t){
                                                  .name = "worker_registered",
                                                  .address = (*out_worker)->address});
  return leat_ok_status();
}

// Gives a worker the task of an iteration, from a round on to which the consumers agree.
static leat_status_t give_task(leat_dispatcher_t* dispatcher,
                               const leat_data_iteration_t* iteration,
                               const leat_data_worker_record_t* worker) {
  leat_pb_create_pending_task_update_t task = {
      .task_id = leat_data_table_next_id(&dispatcher->state.tasks),
      .iteration_id = iteration->id,
      .worker_address = worker->address,
      .worker_tags = worker->tags,
      .worker_uid = worker->uid,
      .transfer_servers = worker->transfer_servers,
      .starting_round = iteration->round + 1};
  return leat_dispatcher_commit(
      dispatcher,
      &(leat_pb_dispatcher_update_t){.update_type_case = LEAT_CHANGE_CREATE_PENDING_TASK,
                                     .create_pending_task = &task},
      1);
}

// A worker without a task of a coordinated iteration is new, or was away and its task was removed.
static leat_status_t rejoin_rounds(leat_dispatcher_t* dispatcher,
                                   leat_data_worker_record_t* worker) {
  const leat_data_table_t* iterations = &dispatcher->state.iterations;
  for (size_t i = 0; i < iterations->count; ++i) {
    leat_data_iteration_t* iteration = iterations->items[i];
    const leat_data_task_t* task = worker->tasks;
    while (task && task->iteration != iteration) task = task->next_of_worker;
    if (task || !iteration->job->is_coordinated || iteration->is_finished) continue;
    LEAT_RETURN_IF_ERROR(give_task(dispatcher, iteration, worker));
  }
  return leat_ok_status();
}

static bool lists(const leat_pb_int64_list_t* list, int64_t number) {
  for (size_t i = 0; i < list->count; ++i) {
    if (list->items[i] == number) return true;
  }
  return false;
}

// Tells the worker which of its tasks it should not have, and which it should.
static leat_status_t compare_tasks(leat_dispatcher_t* dispatcher,
                                   const leat_data_worker_record_t* worker,
                                   const leat_pb_int64_list_t* current, leat_arena_t* arena,
                                   leat_pb_worker_heartbeat_response_t* answer) {
  size_t count = 0;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, current->count, &answer->tasks_to_delete.items));
  for (size_t i = 0; i < current->count; ++i) {
    const leat_data_task_t* task = worker->tasks;
    while (task && task->id != current->items[i]) task = task->next_of_worker;
    if (!task) {
      answer->tasks_to_delete.items[answer->tasks_to_delete.count++] = current->items[i];
    }
  }
  for (const leat_data_task_t* t = worker->tasks; t; t = t->next_of_worker) ++count;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, count, &answer->new_tasks.items));
  for (const leat_data_task_t* t = worker->tasks; t; t = t->next_of_worker) {
    if (lists(current, t->id)) continue;
    LEAT_RETURN_IF_ERROR(leat_dispatcher_describe_task(
        dispatcher, t, arena, &answer->new_tasks.items[answer->new_tasks.count]));
    ++answer->new_tasks.count;
  }
  return leat_ok_status();
}

static leat_status_t take_heartbeat(leat_dispatcher_t* dispatcher, leat_arena_t* arena,
                                    const leat_pb_worker_heartbeat_request_t* request,
                                    leat_pb_worker_heartbeat_response_t* answer) {
  leat_data_worker_record_t* worker =
      leat_dispatcher_find_worker(&dispatcher->state, request->worker_address);
  if (!worker) LEAT_RETURN_IF_ERROR(register_worker(dispatcher, request, arena, &worker));
  worker->heard_of_ns = leat_clock_now_ns();
  worker->is_lost = false;
  LEAT_RETURN_IF_ERROR(rejoin_rounds(dispatcher, worker));
  LEAT_RETURN_IF_ERROR(
      compare_tasks(dispatcher, worker, &request->current_tasks, arena, answer));
  return leat_dispatcher_give_streams(dispatcher, arena, request, answer);
}

leat_status_t leat_dispatcher_serve_worker_heartbeat(void* server, leat_data_call_t* call,
                                                     const void* message, void* answer) {
  leat_dispatcher_t* dispatcher = server;
  leat_mutex_lock(&dispatcher->mutex);
  leat_status_t status = take_heartbeat(dispatcher, &call->arena, message, answer);
  leat_mutex_unlock(&dispatcher->mutex);
  return status;
}

static leat_status_t take_progress(leat_dispatcher_t* dispatcher,
                                   const leat_pb_task_progress_t* progress) {
  leat_data_task_t* task;
  LEAT_RETURN_IF_ERROR(leat_dispatcher_find_task(&dispatcher->state, progress->task_id, &task));
  if (!progress->completed || task->is_finished) return leat_ok_status();
  leat_pb_finish_task_update_t finish = {.task_id = task->id};
  return leat_dispatcher_commit(
      dispatcher,
      &(leat_pb_dispatcher_update_t){.update_type_case = LEAT_CHANGE_FINISH_TASK,
                                     .finish_task = &finish},
      1);
}

leat_status_t leat_dispatcher_serve_worker_update(void* server, leat_data_call_t* call,
                                                  const void* message, void* answer) {
  leat_dispatcher_t* dispatcher = server;
  const leat_pb_worker_update_request_t* request = message;
  leat_status_t status = leat_ok_status();
  leat_mutex_lock(&dispatcher->mutex);
  for (size_t i = 0; i < request->updates.count && !status; ++i) {
    status = take_progress(dispatcher, &request->updates.items[i]);
  }
  leat_mutex_unlock(&dispatcher->mutex);
  return status;
}

leat_status_t leat_dispatcher_serve_get_dataset_def(void* server, leat_data_call_t* call,
                                                    const void* message, void* out_answer) {
  leat_dispatcher_t* dispatcher = server;
  const leat_pb_get_dataset_def_request_t* request = message;
  leat_pb_get_dataset_def_response_t* answer = out_answer;
  leat_data_dataset_t* dataset;
  leat_mutex_lock(&dispatcher->mutex);
  leat_status_t status =
      leat_dispatcher_find_dataset(&dispatcher->state, request->dataset_id, &dataset);
  if (!status) answer->dataset_def = &dataset->def;
  leat_mutex_unlock(&dispatcher->mutex);
  return status;
}

// Takes the next split, and writes it down before anybody gets it: a dispatcher that dies in
// between loses the split, and never gives it out twice.
static leat_status_t give_split(leat_dispatcher_t* dispatcher, leat_data_iteration_t* iteration,
                                const leat_pb_get_split_request_t* request, int64_t* out_split,
                                bool* out_at_end) {
  const int64_t index = request->split_provider_index, repetition = request->repetition;
  LEAT_RETURN_IF_ERROR(leat_split_providers_next(iteration->providers, index, repetition,
                                                 out_split, out_at_end));
  leat_split_position_t* position = &iteration->positions[index];
  if (repetition < position->repetition) return leat_ok_status();  // which changes nothing
  leat_pb_produce_split_update_t split = {.iteration_id = iteration->id,
                                          .repetition = repetition,
                                          .finished = *out_at_end,
                                          .split_provider_index = index};
  leat_status_t status = leat_dispatcher_commit(
      dispatcher,
      &(leat_pb_dispatcher_update_t){.update_type_case = LEAT_CHANGE_PRODUCE_SPLIT,
                                     .produce_split = &split},
      1);
  if (!status) return status;
  // Nobody gets the split now, so that it is the next one again.
  leat_status_t back = leat_split_providers_seek(iteration->providers, (size_t)index, position);
  return leat_status_join(status, back);
}

// Takes the next split. The mutex is held.
static leat_status_t take_split(leat_dispatcher_t* dispatcher,
                                const leat_pb_get_split_request_t* request, int64_t* out_split,
                                bool* out_at_end) {
  leat_data_iteration_t* iteration;
  LEAT_RETURN_IF_ERROR(
      leat_dispatcher_find_iteration(&dispatcher->state, request->iteration_id, &iteration));
  if (!leat_data_job_is_dynamic(iteration->job)) {
    return leat_make_status(LEAT_FAILED_PRECONDITION,
                            "Getting a split of iteration %" PRId64 " failed: its job is not "
                            "sharded dynamically, must be",
                            iteration->id);
  }
  // One that has ended has no providers where the dispatcher was started again.
  *out_at_end = iteration->is_finished || !iteration->providers;
  if (*out_at_end) return leat_ok_status();
  return give_split(dispatcher, iteration, request, out_split, out_at_end);
}

leat_status_t leat_dispatcher_describe_split(int64_t split, leat_arena_t* arena,
                                             leat_pb_tensor_proto_t** out_proto) {
  int64_t* number;
  leat_pb_tensor_proto_t* proto;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, 1, &number));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, 1, &proto));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, 1, &proto->tensor_shape));
  *number = split;
  proto->dtype = LEAT_DTYPE_INT64;
  proto->tensor_content = leat_string_view_make((const char*)number, sizeof *number);
  *out_proto = proto;
  return leat_ok_status();
}

leat_status_t leat_dispatcher_serve_get_split(void* server, leat_data_call_t* call,
                                              const void* message, void* out_answer) {
  leat_dispatcher_t* dispatcher = server;
  leat_pb_get_split_response_t* answer = out_answer;
  int64_t split = 0;
  leat_mutex_lock(&dispatcher->mutex);
  leat_status_t status = take_split(dispatcher, message, &split, &answer->end_of_splits);
  leat_mutex_unlock(&dispatcher->mutex);
  if (status || answer->end_of_splits) return status;
  return leat_dispatcher_describe_split(split, &call->arena, &answer->split);
}
