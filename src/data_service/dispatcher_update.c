// Applies changes to a dispatcher's tables. A change comes here in one of two ways: from a method
// of the dispatcher, which has checked it and written it to the journal; or from a journal, which
// may be anybody's file. Hence everything is checked here, and a change that does not fit is
// DATA_LOSS with the field and its rule. What can fail after the checks fails for want of memory.
//
// Ids count up one by one, in TensorFlow's journals as well, so that a record with another id than
// the next one says that a record before it is missing.
//
// TensorFlow's dispatcher is more forgiving in three places, in which this one follows it: an
// iteration may begin while another one of the same repetition has not ended, since TensorFlow
// collects iterations without writing it down; a split may belong to a pass that is over, and does
// not count then; and a task may finish twice.
#include "data_service/dispatcher_update.h"

#include <inttypes.h>

#include "base/clock.h"
#include "data_service/dataset_sources.h"

enum { NUM_CONSUMERS_FIELD = 4, JOB_NAME_FIELD = 3 };  // of GetOrCreateJobRequest

static leat_status_t bad_number(const char* change, const char* field, int64_t number,
                                const char* rule) {
  return leat_make_status(LEAT_DATA_LOSS, "%s failed: %s is %" PRId64 ", must be %s", change, field,
                          number, rule);
}

// What is not found is the journal's fault here.
static leat_status_t as_loss(leat_status_t status, const char* change) {
  if (leat_status_code(status) != LEAT_NOT_FOUND) return status;
  leat_status_t loss = leat_make_status(LEAT_DATA_LOSS, "%s failed: %s", change,
                                        leat_status_message(status));
  leat_status_free(status);
  return loss;
}

int64_t leat_data_table_next_id(const leat_data_table_t* table) {
  return table->first_id + (int64_t)table->count;
}

static leat_status_t check_new_id(const leat_data_table_t* table, const char* change,
                                  const char* field, int64_t id) {
  const int64_t next = leat_data_table_next_id(table);
  if (id == next) return leat_ok_status();
  return leat_make_status(LEAT_DATA_LOSS, "%s failed: %s is %" PRId64 ", must be %" PRId64
                          ", the next one", change, field, id, next);
}

// ---- Datasets and workers -----------------------------------------------------------------------

static leat_status_t register_dataset(leat_dispatcher_state_t* state,
                                      const leat_pb_register_dataset_update_t* update) {
  leat_data_dataset_t* dataset;
  leat_status_t status = leat_dispatcher_find_dataset(state, update->dataset_id, &dataset);
  leat_status_free(status);  // it is as it must be where there is none
  if (dataset || !update->dataset_id.size) {
    return leat_make_status(LEAT_DATA_LOSS,
                            "Registering a dataset failed: dataset_id is '%.*s', must be one that "
                            "no dataset has",
                            LEAT_SV_ARG(update->dataset_id));
  }
  return leat_dispatcher_add_dataset(state, update->dataset_id, LEAT_SV(""), update->metadata,
                                     &dataset);
}

static leat_status_t disable_compression(
    leat_dispatcher_state_t* state,
    const leat_pb_compression_disabled_at_runtime_update_t* update) {
  leat_data_dataset_t* dataset;
  LEAT_RETURN_IF_ERROR(as_loss(leat_dispatcher_find_dataset(state, update->dataset_id, &dataset),
                               "Disabling compression"));
  dataset->compression = update->compression_disabled ? LEAT_DATA_COMPRESSION_DISABLED
                                                      : LEAT_DATA_COMPRESSION_KEPT;
  return leat_ok_status();
}

static leat_status_t register_worker(leat_dispatcher_state_t* state,
                                     const leat_pb_register_worker_update_t* update) {
  leat_data_worker_record_t* worker;
  const leat_pb_worker_heartbeat_request_t request = {
      .worker_address = update->worker_address,
      .worker_tags = update->worker_tags,
      .worker_uid = update->worker_uid,
      .transfer_servers = update->transfer_servers};
  if (leat_dispatcher_find_worker(state, update->worker_address)) {
    return leat_make_status(LEAT_DATA_LOSS,
                            "Registering a worker failed: its address is %.*s, must be one that no "
                            "worker has",
                            LEAT_SV_ARG(update->worker_address));
  }
  return leat_dispatcher_add_worker(state, &request, &worker);
}

// ---- Jobs and iterations ------------------------------------------------------------------------

static leat_status_t create_job(leat_dispatcher_state_t* state,
                                const leat_pb_create_job_update_t* update) {
  leat_data_job_t* job;
  const leat_pb_get_or_create_job_request_t request = {
      .dataset_id = update->dataset_id,
      .processing_mode_def = update->processing_mode_def,
      .optional_job_name_case = JOB_NAME_FIELD,
      .job_name = update->job_name,
      .optional_num_consumers_case = update->optional_num_consumers_case ? NUM_CONSUMERS_FIELD : 0,
      .num_consumers = update->num_consumers,
      .target_workers = update->target_workers,
      .use_cross_trainer_cache = update->use_cross_trainer_cache};
  LEAT_RETURN_IF_ERROR(check_new_id(&state->jobs, "Making a job", "job_id", update->job_id));
  leat_status_t status = leat_dispatcher_match_job(state, &request, &job);
  LEAT_RETURN_IF_ERROR(as_loss(status, "Making a job"));
  if (job) {
    return leat_make_status(LEAT_DATA_LOSS,
                            "Making a job failed: job_name is '%.*s', must be one that no job has",
                            LEAT_SV_ARG(update->job_name));
  }
  return leat_dispatcher_add_job(state, &request, &job);
}

static leat_status_t create_iteration(leat_dispatcher_state_t* state,
                                      const leat_pb_create_iteration_update_t* update) {
  static const char kChange[] = "Making an iteration";
  const int64_t count = update->num_split_providers;
  leat_data_job_t* job;
  leat_data_iteration_t* iteration;
  LEAT_RETURN_IF_ERROR(
      check_new_id(&state->iterations, kChange, "iteration_id", update->iteration_id));
  LEAT_RETURN_IF_ERROR(as_loss(leat_dispatcher_find_job(state, update->job_id, &job), kChange));
  if (count < 0 || count > (leat_data_job_is_dynamic(job) ? LEAT_MAX_DATASET_SOURCES : 0)) {
    return bad_number(kChange, "num_split_providers", count,
                      "from 0 to the most sources that a dataset has, and 0 where its job is not "
                      "dynamic");
  }
  leat_data_iteration_t* before = leat_data_job_find_iteration(job, update->repetition);
  LEAT_RETURN_IF_ERROR(
      leat_dispatcher_add_iteration(state, job, update->repetition, count, &iteration));
  if (before) leat_data_iteration_collect(before);
  return leat_ok_status();
}

static leat_status_t produce_split(leat_dispatcher_state_t* state,
                                   const leat_pb_produce_split_update_t* update) {
  static const char kChange[] = "Giving out a split";
  const int64_t index = update->split_provider_index, repetition = update->repetition;
  leat_data_iteration_t* iteration;
  LEAT_RETURN_IF_ERROR(as_loss(
      leat_dispatcher_find_iteration(state, update->iteration_id, &iteration), kChange));
  if (index < 0 || index >= iteration->source_count) {
    return bad_number(kChange, "split_provider_index", index, "one of the iteration's sources");
  }
  if (repetition < 0 || repetition == INT64_MAX) {
    return bad_number(kChange, "repetition", repetition, "from 0 on");
  }
  leat_split_position_t* position = &iteration->positions[index];
  if (repetition < position->repetition) return leat_ok_status();
  if (repetition > position->repetition) *position = (leat_split_position_t){repetition, 0};
  if (update->finished) {
    *position = (leat_split_position_t){repetition + 1, 0};
  } else {
    ++position->count;
  }
  return leat_ok_status();
}

static leat_status_t collect_iteration(leat_dispatcher_state_t* state,
                                       const leat_pb_garbage_collect_iteration_update_t* update) {
  leat_data_iteration_t* iteration;
  LEAT_RETURN_IF_ERROR(
      as_loss(leat_dispatcher_find_iteration(state, update->iteration_id, &iteration),
              "Collecting an iteration"));
  leat_data_iteration_collect(iteration);
  return leat_ok_status();
}

// ---- Tasks --------------------------------------------------------------------------------------

// Finds whose task a new one is.
static leat_status_t find_places(leat_dispatcher_state_t* state, const char* change, int64_t id,
                                 int64_t iteration_id, leat_string_view_t address,
                                 leat_data_iteration_t** out_iteration,
                                 leat_data_worker_record_t** out_worker) {
  LEAT_RETURN_IF_ERROR(check_new_id(&state->tasks, change, "task_id", id));
  LEAT_RETURN_IF_ERROR(
      as_loss(leat_dispatcher_find_iteration(state, iteration_id, out_iteration), change));
  *out_worker = leat_dispatcher_find_worker(state, address);
  if (*out_worker) return leat_ok_status();
  return leat_make_status(LEAT_DATA_LOSS,
                          "%s failed: worker_address is '%.*s', must be that of a worker", change,
                          LEAT_SV_ARG(address));
}

static leat_status_t create_task(leat_dispatcher_state_t* state,
                                 const leat_pb_create_task_update_t* update) {
  leat_data_iteration_t* iteration;
  leat_data_worker_record_t* worker;
  leat_data_task_t* task;
  LEAT_RETURN_IF_ERROR(find_places(state, "Making a task", update->task_id, update->iteration_id,
                                   update->worker_address, &iteration, &worker));
  return leat_dispatcher_add_task(state, iteration, worker, &task);
}

static leat_status_t create_pending_task(leat_dispatcher_state_t* state,
                                         const leat_pb_create_pending_task_update_t* update) {
  static const char kChange[] = "Making a pending task";
  leat_data_iteration_t* iteration;
  leat_data_worker_record_t* worker;
  LEAT_RETURN_IF_ERROR(find_places(state, kChange, update->task_id, update->iteration_id,
                                   update->worker_address, &iteration, &worker));
  if (!iteration->job->is_coordinated) {
    return bad_number(kChange, "iteration_id", update->iteration_id,
                      "that of a coordinated read");
  }
  if (update->starting_round < 0 || update->starting_round > LEAT_DATA_MOST_ROUNDS) {
    return bad_number(kChange, "starting_round", update->starting_round, "from 0 on");
  }
  return leat_dispatcher_add_pending_task(state, iteration, worker, update->starting_round);
}

static leat_status_t finish_task(leat_dispatcher_state_t* state,
                                 const leat_pb_finish_task_update_t* update) {
  leat_data_task_t* task;
  LEAT_RETURN_IF_ERROR(
      as_loss(leat_dispatcher_find_task(state, update->task_id, &task), "Finishing a task"));
  if (!task->is_finished) leat_data_task_finish(task);
  return leat_ok_status();
}

static leat_status_t remove_task(leat_dispatcher_state_t* state,
                                 const leat_pb_remove_task_update_t* update) {
  leat_data_task_t* task;
  LEAT_RETURN_IF_ERROR(
      as_loss(leat_dispatcher_find_task(state, update->task_id, &task), "Removing a task"));
  leat_data_task_remove(task);
  return leat_ok_status();
}

leat_status_t leat_dispatcher_describe_new_task(const leat_dispatcher_state_t* state,
                                                int64_t iteration_id,
                                                const leat_data_worker_record_t* worker,
                                                int64_t index, leat_arena_t* arena,
                                                leat_pb_dispatcher_update_t* out_update) {
  leat_pb_create_task_update_t* task;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, 1, &task));
  *task = (leat_pb_create_task_update_t){
      .task_id = leat_data_table_next_id(&state->tasks) + index,
      .iteration_id = iteration_id,
      .worker_address = worker->address,
      .worker_tags = worker->tags,
      .worker_uid = worker->uid,
      .transfer_servers = worker->transfer_servers};
  *out_update = (leat_pb_dispatcher_update_t){.update_type_case = LEAT_CHANGE_CREATE_TASK,
                                              .create_task = task};
  return leat_ok_status();
}

// ---- Clients ------------------------------------------------------------------------------------

static leat_status_t acquire_client(leat_dispatcher_state_t* state,
                                    const leat_pb_acquire_iteration_client_update_t* update) {
  static const char kChange[] = "Adding a client";
  leat_data_iteration_t* iteration;
  leat_data_client_t* client;
  LEAT_RETURN_IF_ERROR(check_new_id(&state->clients, kChange, "iteration_client_id",
                                    update->iteration_client_id));
  LEAT_RETURN_IF_ERROR(as_loss(
      leat_dispatcher_find_iteration(state, update->iteration_id, &iteration), kChange));
  return leat_dispatcher_add_client(state, iteration, &client);
}

static leat_status_t find_client(leat_dispatcher_state_t* state, int64_t id, const char* change,
                                 leat_data_client_t** out_client) {
  return as_loss(leat_dispatcher_find_client(state, id, out_client), change);
}

// When the wall clock showed |time_micros|, on the monotonic clock: not after now, and not before
// its zero, which a release before the machine was started would be.
static int64_t to_monotonic(int64_t time_micros) {
  const int64_t now_ns = leat_clock_now_ns(), now_micros = leat_clock_wall_ns() / 1000;
  int64_t age_ns;
  if (time_micros >= now_micros) return now_ns;
  if (__builtin_sub_overflow(now_micros, time_micros, &age_ns) ||
      __builtin_mul_overflow(age_ns, 1000, &age_ns) || age_ns > now_ns) {
    return 0;
  }
  return now_ns - age_ns;
}

static leat_status_t release_client(leat_dispatcher_state_t* state,
                                    const leat_pb_release_iteration_client_update_t* update) {
  leat_data_client_t* client;
  LEAT_RETURN_IF_ERROR(
      find_client(state, update->iteration_client_id, "Releasing a client", &client));
  leat_data_client_release(client, to_monotonic(update->time_micros));
  return leat_ok_status();
}

static leat_status_t tell_rounds(leat_dispatcher_state_t* state,
                                 const leat_pb_client_heartbeat_update_t* update) {
  static const char kChange[] = "Noting a consumer's round";
  leat_data_client_t* client;
  LEAT_RETURN_IF_ERROR(find_client(state, update->iteration_client_id, kChange, &client));
  if (!client->iteration->pending) {
    return bad_number(kChange, "iteration_client_id", update->iteration_client_id,
                      "that of a consumer whose iteration has a pending task");
  }
  const int64_t round = update->task_rejected ? update->task_rejected->new_target_round : -1;
  if (update->task_rejected && (round < 0 || round > LEAT_DATA_MOST_ROUNDS)) {
    return bad_number(kChange, "new_target_round", round, "from 0 on");
  }
  leat_data_client_apply_rounds(client, round, update->task_accepted);
  return leat_ok_status();
}

// ---- Snapshots ----------------------------------------------------------------------------------

static leat_status_t add_snapshot(leat_dispatcher_state_t* state,
                                  const leat_pb_snapshot_update_t* update) {
  leat_data_snapshot_t* snapshot;
  if (!update->path.size || leat_string_map_get(&state->snapshots, update->path, NULL)) {
    return leat_make_status(LEAT_DATA_LOSS,
                            "Adding a snapshot failed: path is '%.*s', must be one that no "
                            "snapshot has",
                            LEAT_SV_ARG(update->path));
  }
  LEAT_RETURN_IF_ERROR(LEAT_NEW(&state->arena, 1, &snapshot));
  LEAT_RETURN_IF_ERROR(leat_arena_copy_string(&state->arena, update->path, &snapshot->path));
  return leat_string_map_set(&state->snapshots, snapshot->path, (uintptr_t)snapshot);
}

// ---- All changes --------------------------------------------------------------------------------

leat_status_t leat_dispatcher_apply(leat_dispatcher_state_t* state,
                                    const leat_pb_dispatcher_update_t* update) {
  switch ((leat_dispatcher_change_t)update->update_type_case) {
    case LEAT_CHANGE_REGISTER_DATASET: return register_dataset(state, update->register_dataset);
    case LEAT_CHANGE_CREATE_ITERATION: return create_iteration(state, update->create_iteration);
    case LEAT_CHANGE_CREATE_TASK: return create_task(state, update->create_task);
    case LEAT_CHANGE_FINISH_TASK: return finish_task(state, update->finish_task);
    case LEAT_CHANGE_REGISTER_WORKER: return register_worker(state, update->register_worker);
    case LEAT_CHANGE_ACQUIRE_CLIENT:
      return acquire_client(state, update->acquire_iteration_client);
    case LEAT_CHANGE_RELEASE_CLIENT:
      return release_client(state, update->release_iteration_client);
    case LEAT_CHANGE_PRODUCE_SPLIT: return produce_split(state, update->produce_split);
    case LEAT_CHANGE_CREATE_PENDING_TASK:
      return create_pending_task(state, update->create_pending_task);
    case LEAT_CHANGE_CLIENT_HEARTBEAT: return tell_rounds(state, update->client_heartbeat);
    case LEAT_CHANGE_REMOVE_TASK: return remove_task(state, update->remove_task);
    case LEAT_CHANGE_COLLECT_ITERATION:
      return collect_iteration(state, update->garbage_collect_iteration);
    case LEAT_CHANGE_CREATE_JOB: return create_job(state, update->create_job);
    case LEAT_CHANGE_SNAPSHOT: return add_snapshot(state, update->snapshot);
    case LEAT_CHANGE_DISABLE_COMPRESSION:
      return disable_compression(state, update->compression_disabled_at_runtime);
  }
  return leat_make_status(LEAT_DATA_LOSS, "it is no change that there is");
}
