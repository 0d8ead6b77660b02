// The methods that clients call; those of workers are in dispatcher_workers.c. An answer is made
// while the mutex is held, of texts that never change, and encoded after that. A new iteration is
// sent to the workers at once, so that its first element does not wait for a heartbeat; a worker
// that cannot be reached gets it with its next one.
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "cluster/security.h"
#include "data_service/call.h"
#include "data_service/dataset_file.h"
#include "data_service/dataset_graph.h"
#include "data_service/dispatcher_record.h"
#include "data_service/split_providers.h"

#define PROTOCOL_VERSION 9   // of TensorFlow 2.21
#define ANSWER_MS 60000      // for a worker to take a task

// ---- What clients ask ---------------------------------------------------------------------------

static leat_status_t serve_get_version(void* server, leat_data_call_t* call, const void* message,
                                       void* out_answer) {
  leat_pb_get_version_response_t* answer = out_answer;
  answer->version = PROTOCOL_VERSION;
  return leat_ok_status();
}

// Decodes a dataset's graph and prepares it.
static leat_status_t prepare_graph(leat_string_view_t bytes, leat_string_builder_t* out) {
  leat_dataset_graph_t graph;
  LEAT_RETURN_IF_ERROR(leat_dataset_graph_initialize(bytes, &graph));
  leat_status_t status = leat_dataset_graph_prepare(&graph);
  if (!status) status = leat_dataset_graph_write(&graph, true, out);
  leat_dataset_graph_deinitialize(&graph);
  return status;
}

// An id names a file, where there is a work directory.
leat_status_t leat_dispatcher_check_dataset_id(const leat_dispatcher_t* dispatcher,
                                               leat_string_view_t id) {
  const bool is_name = leat_string_view_find(id, '/') >= id.size && id.size < 200 &&
                       leat_string_view_find(id, '\0') >= id.size &&
                       !leat_string_view_equals(id, ".") && !leat_string_view_equals(id, "..");
  if (is_name || !dispatcher->options.work_dir.size) return leat_ok_status();
  return leat_make_status(LEAT_INVALID_ARGUMENT,
                          "Registering a dataset failed: dataset_id is '%.*s', must be the name of "
                          "a file, since the dispatcher has a work directory",
                          LEAT_SV_ARG(id));
}

// Adds a dataset that is not there. Its file is on the disk before the journal says that it is.
static leat_status_t add_dataset(leat_dispatcher_t* dispatcher, leat_arena_t* arena,
                                 const leat_pb_get_or_register_dataset_request_t* request,
                                 leat_string_view_t graph, leat_data_dataset_t** out_dataset) {
  leat_pb_register_dataset_update_t dataset = {.dataset_id = request->dataset_id,
                                               .metadata = request->metadata};
  leat_pb_dataset_def_t def;
  leat_string_view_t path;
  def.graph = graph;
  if (!dataset.dataset_id.size) {
    LEAT_RETURN_IF_ERROR(
        leat_dispatcher_make_dataset_id(&dispatcher->state, arena, &dataset.dataset_id));
  }
  if (dispatcher->options.work_dir.size) {
    LEAT_RETURN_IF_ERROR(leat_dispatcher_name_file(dispatcher, dataset.dataset_id, arena, &path));
    LEAT_RETURN_IF_ERROR(leat_dataset_file_write(path.data, &def));
  }
  LEAT_RETURN_IF_ERROR(leat_arena_copy_string(&dispatcher->state.arena, graph, &def.graph));
  LEAT_RETURN_IF_ERROR(leat_dispatcher_commit(
      dispatcher,
      &(leat_pb_dispatcher_update_t){.update_type_case = LEAT_CHANGE_REGISTER_DATASET,
                                     .register_dataset = &dataset},
      1));
  LEAT_RETURN_IF_ERROR(
      leat_dispatcher_find_dataset(&dispatcher->state, dataset.dataset_id, out_dataset));
  (*out_dataset)->def = def;
  return leat_ok_status();
}

static leat_status_t register_dataset(leat_dispatcher_t* dispatcher, leat_arena_t* arena,
                                      const leat_pb_get_or_register_dataset_request_t* request,
                                      leat_string_view_t graph, leat_string_view_t* out_id) {
  leat_data_dataset_t* dataset;
  LEAT_RETURN_IF_ERROR(leat_dispatcher_check_dataset_id(dispatcher, request->dataset_id));
  leat_mutex_lock(&dispatcher->mutex);
  leat_status_t status = leat_dispatcher_match_dataset(&dispatcher->state, request->dataset_id,
                                                       request->metadata, &dataset);
  if (!status && !dataset) status = add_dataset(dispatcher, arena, request, graph, &dataset);
  if (!status) *out_id = dataset->id;
  leat_mutex_unlock(&dispatcher->mutex);
  return status;
}

static leat_status_t serve_register_dataset(void* server, leat_data_call_t* call,
                                            const void* message, void* out_answer) {
  const leat_pb_get_or_register_dataset_request_t* request = message;
  leat_pb_get_or_register_dataset_response_t* answer = out_answer;
  leat_string_builder_t graph;
  leat_string_builder_initialize(leat_allocator_system(), &graph);
  leat_status_t status =
      prepare_graph(request->dataset ? request->dataset->graph : LEAT_SV(""), &graph);
  if (!status) {
    status = register_dataset(server, &call->arena, request, leat_string_builder_view(&graph),
                              &answer->dataset_id);
  }
  leat_string_builder_deinitialize(&graph);
  return status;
}

static leat_status_t serve_get_metadata(void* server, leat_data_call_t* call, const void* message,
                                        void* out_answer) {
  leat_dispatcher_t* dispatcher = server;
  const leat_pb_get_data_service_metadata_request_t* request = message;
  leat_pb_get_data_service_metadata_response_t* answer = out_answer;
  leat_data_dataset_t* dataset;
  leat_mutex_lock(&dispatcher->mutex);
  leat_status_t status =
      leat_dispatcher_find_dataset(&dispatcher->state, request->dataset_id, &dataset);
  if (!status) answer->metadata = &dataset->metadata;
  leat_mutex_unlock(&dispatcher->mutex);
  return status;
}

static leat_status_t serve_get_config(void* server, leat_data_call_t* call, const void* message,
                                      void* out_answer) {
  const leat_dispatcher_t* dispatcher = server;
  leat_pb_get_data_service_config_response_t* answer = out_answer;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(&call->arena, 1, &answer->config));
  answer->config->deployment_mode = dispatcher->options.deployment_mode;
  return leat_ok_status();
}

// Adds the job that |request| asks for.
static leat_status_t add_job(leat_dispatcher_t* dispatcher, leat_arena_t* arena,
                             const leat_pb_get_or_create_job_request_t* request,
                             int64_t* out_id) {
  enum { NUM_CONSUMERS = 6 };
  leat_pb_create_job_update_t job = {
      .job_id = leat_data_table_next_id(&dispatcher->state.jobs),
      .job_name = request->job_name,
      .dataset_id = request->dataset_id,
      .processing_mode_def = request->processing_mode_def,
      .optional_num_consumers_case = request->optional_num_consumers_case ? NUM_CONSUMERS : 0,
      .num_consumers = request->num_consumers,
      .target_workers = request->target_workers,
      .use_cross_trainer_cache = request->use_cross_trainer_cache};
  if (!request->optional_job_name_case) {
    LEAT_RETURN_IF_ERROR(
        leat_dispatcher_make_job_name(&dispatcher->state, arena, &job.job_name));
  }
  *out_id = job.job_id;
  return leat_dispatcher_commit(
      dispatcher,
      &(leat_pb_dispatcher_update_t){.update_type_case = LEAT_CHANGE_CREATE_JOB,
                                     .create_job = &job},
      1);
}

static leat_status_t serve_get_job(void* server, leat_data_call_t* call, const void* message,
                                   void* out_answer) {
  leat_dispatcher_t* dispatcher = server;
  leat_pb_get_or_create_job_response_t* answer = out_answer;
  leat_data_job_t* job = NULL;
  leat_mutex_lock(&dispatcher->mutex);
  leat_status_t status = leat_dispatcher_match_job(&dispatcher->state, message, &job);
  if (!status && job) answer->job_id = job->id;
  if (!status && !job) status = add_job(dispatcher, &call->arena, message, &answer->job_id);
  leat_mutex_unlock(&dispatcher->mutex);
  return status;
}

// ---- New iterations -----------------------------------------------------------------------------

// A task on its way to its worker.
typedef struct assignment_s {
  leat_rpc_channel_t* channel;
  leat_pb_task_def_t def;
} assignment_t;

// Describes the next client of an iteration.
static leat_status_t describe_client(leat_dispatcher_t* dispatcher, int64_t iteration_id,
                                     leat_arena_t* arena,
                                     leat_pb_dispatcher_update_t* out_update) {
  leat_pb_acquire_iteration_client_update_t* client;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, 1, &client));
  client->iteration_id = iteration_id;
  client->iteration_client_id = leat_data_table_next_id(&dispatcher->state.clients);
  *out_update = (leat_pb_dispatcher_update_t){.update_type_case = LEAT_CHANGE_ACQUIRE_CLIENT,
                                              .acquire_iteration_client = client};
  return leat_ok_status();
}

// Lists what makes a new iteration: itself, a task of it for each worker, and its first client.
static leat_status_t list_changes(leat_dispatcher_t* dispatcher,
                                  const leat_pb_get_or_create_iteration_request_t* request,
                                  size_t source_count, leat_arena_t* arena,
                                  leat_pb_dispatcher_update_t** out_updates) {
  leat_pb_create_iteration_update_t* iteration;
  leat_pb_dispatcher_update_t* updates;
  int64_t index = 0;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, dispatcher->state.worker_count + 2, &updates));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, 1, &iteration));
  *iteration = (leat_pb_create_iteration_update_t){
      .iteration_id = leat_data_table_next_id(&dispatcher->state.iterations),
      .job_id = request->job_id,
      .repetition = request->repetition,
      .num_split_providers = (int64_t)source_count};
  updates[0] = (leat_pb_dispatcher_update_t){.update_type_case = LEAT_CHANGE_CREATE_ITERATION,
                                             .create_iteration = iteration};
  for (const leat_data_worker_record_t* w = dispatcher->state.workers; w; w = w->next) {
    LEAT_RETURN_IF_ERROR(leat_dispatcher_describe_new_task(
        &dispatcher->state, iteration->iteration_id, w, index, arena, &updates[index + 1]));
    ++index;
  }
  *out_updates = updates;
  return describe_client(dispatcher, iteration->iteration_id, arena, &updates[index + 1]);
}

// Describes the tasks of an iteration to their workers.
static leat_status_t assign_tasks(leat_dispatcher_t* dispatcher,
                                  const leat_data_iteration_t* iteration, leat_arena_t* arena,
                                  assignment_t** out_assignments, size_t* out_count) {
  assignment_t* assignments;
  size_t count = 0;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, dispatcher->state.worker_count, &assignments));
  for (const leat_data_task_t* task = iteration->tasks; task; task = task->next) {
    LEAT_RETURN_IF_ERROR(
        leat_dispatcher_describe_task(dispatcher, task, arena, &assignments[count].def));
    assignments[count++].channel = task->worker->channel;
  }
  *out_assignments = assignments;
  *out_count = count;
  return leat_ok_status();
}

// Ends an iteration that does not have all that belongs to it, so that the next client gets another
// one. Where the journal cannot say so, a dispatcher that is started again gives the tasks anew.
static leat_status_t give_up(leat_dispatcher_t* dispatcher, leat_data_iteration_t* iteration,
                             leat_status_t status) {
  leat_pb_garbage_collect_iteration_update_t collect = {.iteration_id = iteration->id};
  leat_status_t refused = leat_dispatcher_commit(
      dispatcher,
      &(leat_pb_dispatcher_update_t){.update_type_case = LEAT_CHANGE_COLLECT_ITERATION,
                                     .garbage_collect_iteration = &collect},
      1);
  if (refused) leat_data_iteration_collect(iteration);
  return leat_status_join(status, refused);
}

// Makes the iteration, its tasks and its first client. |*inout_providers| are taken.
static leat_status_t make_iteration(leat_dispatcher_t* dispatcher, leat_arena_t* arena,
                                    const leat_pb_get_or_create_iteration_request_t* request,
                                    leat_split_providers_t** inout_providers,
                                    assignment_t** out_assignments, size_t* out_count,
                                    int64_t* out_client) {
  leat_pb_dispatcher_update_t* updates;
  leat_data_iteration_t* iteration;
  const size_t source_count = *inout_providers ? leat_split_providers_count(*inout_providers) : 0;
  for (leat_data_worker_record_t* w = dispatcher->state.workers; w; w = w->next) {
    if (!w->channel) LEAT_RETURN_IF_ERROR(leat_security_open_channel(w->address, &w->channel));
  }
  LEAT_RETURN_IF_ERROR(list_changes(dispatcher, request, source_count, arena, &updates));
  const int64_t id = updates[0].create_iteration->iteration_id;
  const size_t count = dispatcher->state.worker_count + 2;
  *out_client = updates[count - 1].acquire_iteration_client->iteration_client_id;
  leat_status_t status = leat_dispatcher_commit(dispatcher, updates, count);
  leat_status_t missing = leat_dispatcher_find_iteration(&dispatcher->state, id, &iteration);
  if (missing) return leat_status_join(status, missing);
  iteration->providers = *inout_providers;
  *inout_providers = NULL;
  if (!status) status = assign_tasks(dispatcher, iteration, arena, out_assignments, out_count);
  return status ? give_up(dispatcher, iteration, status) : status;
}

// Computes the splits of an iteration that is yet to be made, without the mutex, since it takes a
// session. NULL where there are none to be made.
static leat_status_t make_providers(leat_dispatcher_t* dispatcher,
                                    const leat_pb_get_or_create_iteration_request_t* request,
                                    leat_split_providers_t** out_providers) {
  leat_string_view_t graph = {0};
  leat_data_job_t* job;
  *out_providers = NULL;
  leat_mutex_lock(&dispatcher->mutex);
  leat_status_t status =
      leat_dispatcher_find_job(&dispatcher->state, request->job_id, &job);
  const bool is_made =
      !status && leat_data_job_is_dynamic(job) &&
      !leat_data_job_find_iteration(job, request->repetition);
  if (is_made) graph = job->dataset->def.graph;
  leat_mutex_unlock(&dispatcher->mutex);
  if (!is_made) return status;
  return leat_split_providers_create(dispatcher->options.runtime, graph, out_providers);
}

// Finds or makes the iteration, and a client of it. |*inout_providers| are taken where they are
// needed.
static leat_status_t enter_iteration(leat_dispatcher_t* dispatcher, leat_arena_t* arena,
                                     const leat_pb_get_or_create_iteration_request_t* request,
                                     leat_split_providers_t** inout_providers,
                                     assignment_t** out_assignments, size_t* out_count,
                                     int64_t* out_client) {
  leat_pb_dispatcher_update_t client;
  leat_data_job_t* job;
  LEAT_RETURN_IF_ERROR(leat_dispatcher_find_job(&dispatcher->state, request->job_id, &job));
  leat_data_iteration_t* iteration = leat_data_job_find_iteration(job, request->repetition);
  if (!iteration) {
    if (leat_data_job_is_dynamic(job) && !*inout_providers) {
      return leat_make_status(LEAT_UNAVAILABLE,
                              "Making an iteration failed: the one that was there was collected "
                              "meanwhile; try again");
    }
    return make_iteration(dispatcher, arena, request, inout_providers, out_assignments, out_count,
                          out_client);
  }
  LEAT_RETURN_IF_ERROR(describe_client(dispatcher, iteration->id, arena, &client));
  *out_client = client.acquire_iteration_client->iteration_client_id;
  return leat_dispatcher_commit(dispatcher, &client, 1);
}

static leat_status_t send_task(const assignment_t* assignment) {
  const leat_pb_process_task_request_t message = {
      .task = (leat_pb_task_def_t*)&assignment->def};
  const leat_data_request_t request = {
      .method = "/tensorflow.data.WorkerService/ProcessTask",
      .descriptor = &leat_pb_process_task_request_descriptor,
      .message = &message,
      .deadline_ns = leat_clock_deadline_after_ms(ANSWER_MS)};
  leat_status_t status = leat_data_call(assignment->channel, &request, NULL, NULL);
  // A worker that is away gets the task with its next heartbeat.
  if (!leat_data_is_preempted(status)) return status;
  leat_status_free(status);
  return leat_ok_status();
}

static leat_status_t serve_get_iteration(void* server, leat_data_call_t* call,
                                         const void* message, void* out_answer) {
  leat_dispatcher_t* dispatcher = server;
  leat_pb_get_or_create_iteration_response_t* answer = out_answer;
  leat_split_providers_t* providers;
  assignment_t* assignments = NULL;
  size_t count = 0;
  LEAT_RETURN_IF_ERROR(make_providers(dispatcher, message, &providers));
  leat_mutex_lock(&dispatcher->mutex);
  leat_status_t status = enter_iteration(dispatcher, &call->arena, message, &providers,
                                         &assignments, &count, &answer->iteration_client_id);
  leat_mutex_unlock(&dispatcher->mutex);
  leat_split_providers_free(providers);  // another client was faster
  for (size_t i = 0; i < count && !status; ++i) status = send_task(&assignments[i]);
  return status;
}

// ---- Clients of iterations ----------------------------------------------------------------------

static leat_status_t serve_release_client(void* server, leat_data_call_t* call,
                                          const void* message, void* answer) {
  leat_dispatcher_t* dispatcher = server;
  const leat_pb_release_iteration_client_request_t* request = message;
  leat_data_client_t* client;
  leat_mutex_lock(&dispatcher->mutex);
  leat_status_t status =
      leat_dispatcher_find_client(&dispatcher->state, request->iteration_client_id, &client);
  if (!status) {
    leat_pb_release_iteration_client_update_t release = {
        .iteration_client_id = client->id, .time_micros = leat_clock_wall_ns() / 1000};
    status = leat_dispatcher_commit(
        dispatcher,
        &(leat_pb_dispatcher_update_t){.update_type_case = LEAT_CHANGE_RELEASE_CLIENT,
                                       .release_iteration_client = &release},
        1);
  }
  leat_mutex_unlock(&dispatcher->mutex);
  return status;
}

static leat_status_t list_tasks(const leat_data_iteration_t* iteration, leat_arena_t* arena,
                                leat_pb_client_heartbeat_response_t* answer) {
  size_t count = 0;
  for (const leat_data_task_t* t = iteration->tasks; t; t = t->next) ++count;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, count, &answer->task_info.items));
  for (const leat_data_task_t* t = iteration->tasks; t; t = t->next) {
    answer->task_info.items[answer->task_info.count++] =
        (leat_pb_task_info_t){.worker_address = t->worker->address,
                              .task_id = t->id,
                              .iteration_id = iteration->id,
                              .starting_round = t->starting_round,
                              .worker_tags = t->worker->tags,
                              .worker_uid = t->worker->uid,
                              .transfer_servers = t->worker->transfer_servers};
  }
  return leat_ok_status();
}

// Notes what a consumer tells of rounds.
static leat_status_t take_rounds(leat_dispatcher_t* dispatcher, leat_data_client_t* client,
                                 const leat_pb_client_heartbeat_request_t* request) {
  leat_pb_task_rejected_t rejected;
  leat_pb_client_heartbeat_update_t heartbeat = {.iteration_client_id = client->id};
  leat_data_client_judge_rounds(client, request, &rejected.new_target_round,
                                &heartbeat.task_accepted);
  if (rejected.new_target_round >= 0) heartbeat.task_rejected = &rejected;
  if (!heartbeat.task_rejected && !heartbeat.task_accepted) return leat_ok_status();
  return leat_dispatcher_commit(
      dispatcher,
      &(leat_pb_dispatcher_update_t){.update_type_case = LEAT_CHANGE_CLIENT_HEARTBEAT,
                                     .client_heartbeat = &heartbeat},
      1);
}

static leat_status_t take_client_heartbeat(leat_dispatcher_t* dispatcher, leat_arena_t* arena,
                                           const leat_pb_client_heartbeat_request_t* request,
                                           leat_pb_client_heartbeat_response_t* answer) {
  enum { BLOCK_ROUND = 3 };
  leat_data_client_t* client;
  leat_status_t status =
      leat_dispatcher_find_client(&dispatcher->state, request->iteration_client_id, &client);
  if (status && !dispatcher->journal) {
    leat_status_free(status);
    return leat_make_status(LEAT_NOT_FOUND,
                            "Unknown iteration client id %" PRId64 ". The dispatcher keeps its "
                            "clients in memory alone, so that it may have been started again.",
                            request->iteration_client_id);
  }
  LEAT_RETURN_IF_ERROR(status);
  const leat_data_iteration_t* iteration = client->iteration;
  client->heard_of_ns = leat_clock_now_ns();
  if (iteration->is_collected) {
    return leat_make_status(LEAT_FAILED_PRECONDITION,
                            "Reading iteration %" PRId64 " failed: no client read it for too long, "
                            "and it was collected (job_gc_timeout_ms)",
                            iteration->id);
  }
  LEAT_RETURN_IF_ERROR(take_rounds(dispatcher, client, request));
  if (iteration->pending) {
    answer->optional_block_round_case = BLOCK_ROUND;
    answer->block_round = iteration->pending->target_round;
  }
  answer->iteration_finished = iteration->is_finished;
  answer->deployment_mode = dispatcher->options.deployment_mode;
  return list_tasks(iteration, arena, answer);
}

static leat_status_t serve_client_heartbeat(void* server, leat_data_call_t* call,
                                            const void* message, void* answer) {
  leat_dispatcher_t* dispatcher = server;
  leat_mutex_lock(&dispatcher->mutex);
  leat_status_t status = take_client_heartbeat(dispatcher, &call->arena, message, answer);
  leat_mutex_unlock(&dispatcher->mutex);
  return status;
}

static leat_status_t serve_get_workers(void* server, leat_data_call_t* call, const void* message,
                                       void* out_answer) {
  leat_dispatcher_t* dispatcher = server;
  leat_pb_get_workers_response_t* answer = out_answer;
  leat_mutex_lock(&dispatcher->mutex);
  leat_status_t status =
      LEAT_NEW(&call->arena, dispatcher->state.worker_count, &answer->workers.items);
  for (const leat_data_worker_record_t* w = dispatcher->state.workers; w && !status; w = w->next) {
    answer->workers.items[answer->workers.count++].address = w->address;
  }
  leat_mutex_unlock(&dispatcher->mutex);
  return status;
}

// The first client that asks decides for all of the dataset's.
static leat_status_t serve_disable_compression(void* server, leat_data_call_t* call,
                                               const void* message, void* out_answer) {
  enum { DISABLED = 1, NOTHING_TO_DISABLE = 3 };
  leat_dispatcher_t* dispatcher = server;
  const leat_pb_disable_compression_at_runtime_request_t* request = message;
  leat_pb_disable_compression_at_runtime_response_t* answer = out_answer;
  leat_data_dataset_t* dataset;
  leat_mutex_lock(&dispatcher->mutex);
  leat_status_t status =
      leat_dispatcher_find_dataset(&dispatcher->state, request->dataset_id, &dataset);
  if (!status && dataset->metadata.compression !=
                     LEAT_PB_DATA_SERVICE_METADATA_COMPRESSION_COMPRESSION_SNAPPY) {
    answer->decision_case = NOTHING_TO_DISABLE;
    answer->no_compression_to_disable = true;
  } else if (!status) {
    if (dataset->compression == LEAT_DATA_COMPRESSION_OPEN) {
      leat_pb_compression_disabled_at_runtime_update_t decision = {
          .dataset_id = dataset->id,
          .compression_disabled = request->disable_compression_at_runtime};
      status = leat_dispatcher_commit(
          dispatcher,
          &(leat_pb_dispatcher_update_t){.update_type_case = LEAT_CHANGE_DISABLE_COMPRESSION,
                                         .compression_disabled_at_runtime = &decision},
          1);
    }
    answer->decision_case = DISABLED;
    answer->compression_disabled_at_runtime =
        dataset->compression == LEAT_DATA_COMPRESSION_DISABLED;
  }
  leat_mutex_unlock(&dispatcher->mutex);
  return status;
}

// ---- Removals -----------------------------------------------------------------------------------

static leat_status_t serve_remove_task(void* server, leat_data_call_t* call, const void* message,
                                       void* out_answer) {
  leat_dispatcher_t* dispatcher = server;
  leat_pb_maybe_remove_task_response_t* answer = out_answer;
  leat_mutex_lock(&dispatcher->mutex);
  leat_status_t status = leat_dispatcher_vote_removal(dispatcher, message, &answer->removed);
  leat_mutex_unlock(&dispatcher->mutex);
  return status;
}

const leat_data_method_t leat_dispatcher_methods[] = {
    {"WorkerHeartbeat", &leat_pb_worker_heartbeat_request_descriptor,
     &leat_pb_worker_heartbeat_response_descriptor, leat_dispatcher_serve_worker_heartbeat},
    {"WorkerUpdate", &leat_pb_worker_update_request_descriptor, NULL,
     leat_dispatcher_serve_worker_update},
    {"GetDatasetDef", &leat_pb_get_dataset_def_request_descriptor,
     &leat_pb_get_dataset_def_response_descriptor, leat_dispatcher_serve_get_dataset_def},
    {"GetSplit", &leat_pb_get_split_request_descriptor, &leat_pb_get_split_response_descriptor,
     leat_dispatcher_serve_get_split},
    {"GetVersion", NULL, &leat_pb_get_version_response_descriptor, serve_get_version},
    {"GetOrRegisterDataset", &leat_pb_get_or_register_dataset_request_descriptor,
     &leat_pb_get_or_register_dataset_response_descriptor, serve_register_dataset},
    {"GetDataServiceMetadata", &leat_pb_get_data_service_metadata_request_descriptor,
     &leat_pb_get_data_service_metadata_response_descriptor, serve_get_metadata},
    {"GetDataServiceConfig", NULL, &leat_pb_get_data_service_config_response_descriptor,
     serve_get_config},
    {"GetOrCreateJob", &leat_pb_get_or_create_job_request_descriptor,
     &leat_pb_get_or_create_job_response_descriptor, serve_get_job},
    {"GetOrCreateIteration", &leat_pb_get_or_create_iteration_request_descriptor,
     &leat_pb_get_or_create_iteration_response_descriptor, serve_get_iteration},
    {"MaybeRemoveTask", &leat_pb_maybe_remove_task_request_descriptor,
     &leat_pb_maybe_remove_task_response_descriptor, serve_remove_task},
    {"ReleaseIterationClient", &leat_pb_release_iteration_client_request_descriptor, NULL,
     serve_release_client},
    {"ClientHeartbeat", &leat_pb_client_heartbeat_request_descriptor,
     &leat_pb_client_heartbeat_response_descriptor, serve_client_heartbeat},
    {"GetWorkers", NULL, &leat_pb_get_workers_response_descriptor, serve_get_workers},
    {"DisableCompressionAtRuntime", &leat_pb_disable_compression_at_runtime_request_descriptor,
     &leat_pb_disable_compression_at_runtime_response_descriptor, serve_disable_compression},
    {"Snapshot", &leat_pb_snapshot_request_descriptor, NULL, leat_dispatcher_serve_snapshot},
    {"GetSnapshotSplit", &leat_pb_get_snapshot_split_request_descriptor,
     &leat_pb_get_snapshot_split_response_descriptor, leat_dispatcher_serve_snapshot_split},
    {"GetSnapshotStreams", &leat_pb_get_snapshot_streams_request_descriptor,
     &leat_pb_get_snapshot_streams_response_descriptor, leat_dispatcher_serve_snapshot_streams},
    {0},
};
