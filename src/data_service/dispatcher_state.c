// The tables of a dispatcher and their rules. What a rule refuses has TensorFlow's code, since its
// clients and workers tell by the code whether to try again. Texts of requests are copied to the
// state's arena. Ids begin at TensorFlow's numbers, a thousand for each kind, so that whoever mixes
// up two kinds is told.
//
// Tasks are in two lists: that of their iteration, which clients are told of, and that of their
// worker, which heartbeats compare with what the worker has. A task leaves its worker's list when
// it is finished or removed. A pending task is in its worker's list alone, since the worker may get
// ready while the consumers agree on a round.
//
// A coordinated read has rounds: in each, every task gives one element to each consumer. All
// consumers must therefore begin to read a new task in the same round:
//
//   dispatcher ── block_round r ─▶ consumers        stop before r, unless they are behind it
//   consumers  ── blocked_round r ─▶ dispatcher     once all have: the task starts in round r
//              ── current_round ≥ r ─▶              too late: r moves on, twice as far each time
#include "data_service/dispatcher_state.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/random.h"
#include "formats/wire/decode.h"
#include "formats/wire/encode.h"

#define MAX_CONSUMERS (1 << 20)  // a worker keeps an element for each
// The last round that a consumer may tell: a pending task moves somewhat beyond it.
#define MOST_TOLD_ROUNDS (LEAT_DATA_MOST_ROUNDS / 2)

enum {
  FIRST_DATASET_ID = 1000,
  FIRST_ITERATION_ID = 2000,
  FIRST_CLIENT_ID = 3000,
  FIRST_TASK_ID = 4000,
  FIRST_JOB_ID = 5000,
};

// ---- Tables -------------------------------------------------------------------------------------

// Adds an item; its id is |*out_id|.
static leat_status_t table_add(leat_dispatcher_state_t* state, leat_data_table_t* table,
                               void* item, int64_t* out_id) {
  LEAT_RETURN_IF_ERROR(
      LEAT_GROW(state->allocator, table->count + 1, &table->items, &table->capacity));
  *out_id = table->first_id + (int64_t)table->count;
  table->items[table->count++] = item;
  return leat_ok_status();
}

// NULL where there is none.
static void* table_find(const leat_data_table_t* table, int64_t id) {
  const uint64_t index = (uint64_t)id - (uint64_t)table->first_id;
  return index < table->count ? table->items[index] : NULL;
}

static leat_status_t not_found(const char* noun, int64_t id) {
  return leat_make_status(LEAT_NOT_FOUND, "%s %" PRId64 " not found", noun, id);
}

// Copies |from|, a struct of |descriptor|, with all that it points to.
static leat_status_t copy_message(leat_dispatcher_state_t* state,
                                  const leat_message_descriptor_t* descriptor, const void* from,
                                  void* out_to) {
  leat_string_builder_t bytes;
  leat_string_view_t kept = {0};
  leat_string_builder_initialize(state->allocator, &bytes);
  leat_status_t status = leat_message_encode(descriptor, from, &bytes);
  if (!status) status = leat_status_clone(bytes.status);
  if (!status) {
    status = leat_arena_copy_string(&state->arena, leat_string_builder_view(&bytes), &kept);
  }
  leat_string_builder_deinitialize(&bytes);
  LEAT_RETURN_IF_ERROR(status);
  return leat_message_decode(descriptor, kept, &state->arena, NULL, out_to);
}

leat_status_t leat_dispatcher_state_initialize(leat_allocator_t* allocator,
                                               const leat_pb_string_list_t* worker_addresses,
                                               leat_dispatcher_state_t* out_state) {
  *out_state = (leat_dispatcher_state_t){.allocator = allocator,
                                         .jobs.first_id = FIRST_JOB_ID,
                                         .iterations.first_id = FIRST_ITERATION_ID,
                                         .clients.first_id = FIRST_CLIENT_ID,
                                         .tasks.first_id = FIRST_TASK_ID,
                                         .next_dataset_id = FIRST_DATASET_ID};
  out_state->last_worker = &out_state->workers;
  leat_arena_initialize(allocator, 0, &out_state->arena);
  leat_string_map_initialize(allocator, &out_state->datasets);
  leat_string_map_initialize(allocator, &out_state->jobs_by_name);
  leat_string_map_initialize(allocator, &out_state->workers_by_address);
  leat_string_map_initialize(allocator, &out_state->snapshots);
  leat_pb_string_list_t* addresses = &out_state->worker_addresses;
  leat_status_t status = LEAT_NEW(&out_state->arena, worker_addresses->count, &addresses->items);
  for (size_t i = 0; i < worker_addresses->count && !status; ++i) {
    status = leat_arena_copy_string(&out_state->arena, worker_addresses->items[i],
                                    &addresses->items[i]);
    addresses->count = i + 1;
  }
  if (status) leat_dispatcher_state_deinitialize(out_state);
  return status;
}

void leat_dispatcher_state_deinitialize(leat_dispatcher_state_t* state) {
  leat_data_table_t* const tables[] = {&state->jobs, &state->iterations, &state->clients,
                                       &state->tasks};
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(tables); ++i) {
    leat_allocator_free(state->allocator, tables[i]->items);
    *tables[i] = (leat_data_table_t){0};
  }
  leat_string_map_deinitialize(&state->datasets);
  leat_string_map_deinitialize(&state->jobs_by_name);
  leat_string_map_deinitialize(&state->workers_by_address);
  leat_string_map_deinitialize(&state->snapshots);
  leat_arena_deinitialize(&state->arena);
}

// ---- Datasets -----------------------------------------------------------------------------------

static leat_data_dataset_t* get_dataset(const leat_dispatcher_state_t* state,
                                        leat_string_view_t id) {
  uint64_t word = 0;
  leat_string_map_get(&state->datasets, id, &word);
  return (leat_data_dataset_t*)(uintptr_t)word;
}

leat_status_t leat_dispatcher_find_dataset(const leat_dispatcher_state_t* state,
                                           leat_string_view_t id,
                                           leat_data_dataset_t** out_dataset) {
  *out_dataset = get_dataset(state, id);
  if (*out_dataset) return leat_ok_status();
  return leat_make_status(LEAT_NOT_FOUND, "Dataset id %.*s not found", LEAT_SV_ARG(id));
}

leat_status_t leat_dispatcher_make_dataset_id(const leat_dispatcher_state_t* state,
                                              leat_arena_t* arena, leat_string_view_t* out_id) {
  int64_t id = state->next_dataset_id;
  do {
    LEAT_RETURN_IF_ERROR(leat_arena_print(arena, out_id, "%" PRId64, id++));
  } while (get_dataset(state, *out_id));
  return leat_ok_status();
}

// An id stands for one kind of elements. How many there are does not count.
static leat_status_t check_same_dataset(const leat_data_dataset_t* dataset,
                                        const leat_pb_data_service_metadata_t* metadata) {
  const leat_pb_data_service_metadata_t* known = &dataset->metadata;
  const bool same_spec =
      known->optional_element_spec_case == metadata->optional_element_spec_case &&
      leat_string_view_equal(known->element_spec, metadata->element_spec);
  if (same_spec && known->compression == metadata->compression) return leat_ok_status();
  return leat_make_status(LEAT_INVALID_ARGUMENT,
                          "Registering a dataset failed: %s differs from that of the dataset with "
                          "the same id %.*s, must be equal",
                          same_spec ? "compression" : "element_spec", LEAT_SV_ARG(dataset->id));
}

static const leat_pb_data_service_metadata_t kNoMetadata;

leat_status_t leat_dispatcher_match_dataset(const leat_dispatcher_state_t* state,
                                            leat_string_view_t id,
                                            const leat_pb_data_service_metadata_t* metadata,
                                            leat_data_dataset_t** out_dataset) {
  *out_dataset = get_dataset(state, id);
  return *out_dataset ? check_same_dataset(*out_dataset, metadata ? metadata : &kNoMetadata)
                      : leat_ok_status();
}

// Moves the next number on where it is |id|, so that no search begins before it again.
static void pass_id(leat_dispatcher_state_t* state, leat_string_view_t id) {
  char next[32];
  snprintf(next, sizeof next, "%" PRId64, state->next_dataset_id);
  if (leat_string_view_equals(id, next)) ++state->next_dataset_id;
}

leat_status_t leat_dispatcher_add_dataset(leat_dispatcher_state_t* state, leat_string_view_t id,
                                          leat_string_view_t graph,
                                          const leat_pb_data_service_metadata_t* metadata,
                                          leat_data_dataset_t** out_dataset) {
  leat_data_dataset_t* dataset;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(&state->arena, 1, &dataset));
  LEAT_RETURN_IF_ERROR(leat_arena_copy_string(&state->arena, id, &dataset->id));
  LEAT_RETURN_IF_ERROR(leat_arena_copy_string(&state->arena, graph, &dataset->def.graph));
  LEAT_RETURN_IF_ERROR(copy_message(state, &leat_pb_data_service_metadata_descriptor,
                                    metadata ? metadata : &kNoMetadata, &dataset->metadata));
  LEAT_RETURN_IF_ERROR(
      leat_string_map_set(&state->datasets, dataset->id, (uintptr_t)dataset));
  pass_id(state, dataset->id);
  *out_dataset = dataset;
  return leat_ok_status();
}

// ---- Workers ------------------------------------------------------------------------------------

leat_data_worker_record_t* leat_dispatcher_find_worker(const leat_dispatcher_state_t* state,
                                                       leat_string_view_t address) {
  uint64_t word = 0;
  leat_string_map_get(&state->workers_by_address, address, &word);
  return (leat_data_worker_record_t*)(uintptr_t)word;
}

// Whether the worker at |address| is the one that was announced as |expected|: the same address, or
// the same host where the port was left to the worker ("host", "host:%port%").
static bool is_announced_as(leat_string_view_t address, leat_string_view_t expected) {
  if (leat_string_view_equal(address, expected)) return true;
  const size_t colon = leat_string_view_find_last(expected, ':');
  const bool has_port = colon < expected.size && expected.data[expected.size - 1] != ']';
  const leat_string_view_t port = leat_string_view_from_index(expected, colon + 1);
  if (has_port && !(leat_string_view_starts_with(port, LEAT_SV("%port")) &&
                    leat_string_view_ends_with(port, LEAT_SV("%")))) {
    return false;
  }
  const size_t host_size = has_port ? colon : expected.size;
  return leat_string_view_find_last(address, ':') == host_size &&
         leat_string_view_starts_with(address, leat_string_view_make(expected.data, host_size));
}

// Finds the place of a worker among the addresses that were given.
static leat_status_t find_index(const leat_dispatcher_state_t* state, leat_string_view_t address,
                                int64_t* out_index) {
  const leat_pb_string_list_t* list = &state->worker_addresses;
  *out_index = -1;
  if (!list->count) return leat_ok_status();
  for (size_t i = 0; i < list->count; ++i) {
    if (!is_announced_as(address, list->items[i])) continue;
    *out_index = (int64_t)i;
    return leat_ok_status();
  }
  return leat_make_status(LEAT_FAILED_PRECONDITION,
                          "Registering a worker failed: its address is %.*s, must be one of the "
                          "%zu that the dispatcher was given, and no other worker's",
                          LEAT_SV_ARG(address), list->count);
}

leat_status_t leat_dispatcher_check_worker(const leat_dispatcher_state_t* state,
                                           leat_string_view_t address) {
  int64_t index;
  return find_index(state, address, &index);
}

leat_status_t leat_dispatcher_add_worker(leat_dispatcher_state_t* state,
                                         const leat_pb_worker_heartbeat_request_t* request,
                                         leat_data_worker_record_t** out_worker) {
  leat_pb_worker_heartbeat_request_t kept;
  leat_data_worker_record_t* worker;
  LEAT_RETURN_IF_ERROR(copy_message(state, &leat_pb_worker_heartbeat_request_descriptor, request,
                                    &kept));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(&state->arena, 1, &worker));
  LEAT_RETURN_IF_ERROR(find_index(state, kept.worker_address, &worker->index));
  worker->address = kept.worker_address;
  worker->tags = kept.worker_tags;
  worker->transfer_servers = kept.transfer_servers;
  worker->uid = kept.worker_uid;
  LEAT_RETURN_IF_ERROR(
      leat_string_map_set(&state->workers_by_address, worker->address, (uintptr_t)worker));
  // Its whole address takes the place of the one that was given, so that no other worker does.
  if (worker->index >= 0) state->worker_addresses.items[worker->index] = worker->address;
  *state->last_worker = worker;
  state->last_worker = &worker->next;
  ++state->worker_count;
  *out_worker = worker;
  return leat_ok_status();
}

// ---- Jobs ---------------------------------------------------------------------------------------

leat_status_t leat_dispatcher_find_job(const leat_dispatcher_state_t* state, int64_t id,
                                       leat_data_job_t** out_job) {
  *out_job = table_find(&state->jobs, id);
  return *out_job ? leat_ok_status() : not_found("Job with id", id);
}

static int32_t policy_of(const leat_pb_get_or_create_job_request_t* request) {
  return request->processing_mode_def ? request->processing_mode_def->sharding_policy : 0;
}

static leat_status_t check_same_job(const leat_data_job_t* job,
                                    const leat_pb_get_or_create_job_request_t* request) {
  const struct {
    const char* name;
    int64_t known, asked;
  } kFields[] = {
      {"sharding policy", job->sharding_policy, policy_of(request)},
      {"cross-trainer cache", job->uses_cross_trainer_cache, request->use_cross_trainer_cache},
      {"target workers", job->target_workers, request->target_workers},
  };
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(kFields); ++i) {
    if (kFields[i].known == kFields[i].asked) continue;
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "Tried to create job with name %.*s, but found an existing job with "
                            "different parameters: %s is %" PRId64 ", must be %" PRId64,
                            LEAT_SV_ARG(job->name), kFields[i].name, kFields[i].asked,
                            kFields[i].known);
  }
  return leat_ok_status();
}

static leat_status_t check_request(const leat_pb_get_or_create_job_request_t* request) {
  const int32_t policy = policy_of(request);
  if (policy < LEAT_PB_PROCESSING_MODE_DEF_SHARDING_POLICY_OFF ||
      policy > LEAT_PB_PROCESSING_MODE_DEF_SHARDING_POLICY_HINT) {
    return leat_make_status(LEAT_INTERNAL,
                            "Making a job failed: the sharding policy is %d, must be from 0 to 5",
                            policy);
  }
  if (!request->optional_num_consumers_case ||
      (request->num_consumers > 0 && request->num_consumers <= MAX_CONSUMERS)) {
    return leat_ok_status();
  }
  return leat_make_status(LEAT_INVALID_ARGUMENT,
                          "Making a job failed: num_consumers is %" PRId64 ", must be from 1 to %d",
                          request->num_consumers, MAX_CONSUMERS);
}

leat_status_t leat_dispatcher_match_job(const leat_dispatcher_state_t* state,
                                        const leat_pb_get_or_create_job_request_t* request,
                                        leat_data_job_t** out_job) {
  leat_data_dataset_t* dataset;
  uint64_t word = 0;
  if (request->optional_job_name_case) {
    leat_string_map_get(&state->jobs_by_name, request->job_name, &word);
  }
  *out_job = (leat_data_job_t*)(uintptr_t)word;
  if (*out_job) return check_same_job(*out_job, request);
  LEAT_RETURN_IF_ERROR(check_request(request));
  return leat_dispatcher_find_dataset(state, request->dataset_id, &dataset);
}

leat_status_t leat_dispatcher_make_job_name(const leat_dispatcher_state_t* state,
                                            leat_arena_t* arena, leat_string_view_t* out_name) {
  return leat_arena_print(arena, out_name, "anonymous_job_%zu_%" PRIu64,
                          (size_t)FIRST_JOB_ID + state->jobs.count, leat_random_seed());
}

leat_status_t leat_dispatcher_add_job(leat_dispatcher_state_t* state,
                                      const leat_pb_get_or_create_job_request_t* request,
                                      leat_data_job_t** out_job) {
  leat_data_job_t* job;
  leat_data_dataset_t* dataset;
  LEAT_RETURN_IF_ERROR(leat_dispatcher_find_dataset(state, request->dataset_id, &dataset));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(&state->arena, 1, &job));
  *job = (leat_data_job_t){
      .dataset = dataset,
      .sharding_policy = policy_of(request),
      .target_workers = request->target_workers,
      .is_coordinated = request->optional_num_consumers_case != 0,
      .num_consumers = request->num_consumers,
      .uses_cross_trainer_cache = request->use_cross_trainer_cache,
  };
  LEAT_RETURN_IF_ERROR(leat_arena_copy_string(&state->arena, request->job_name, &job->name));
  LEAT_RETURN_IF_ERROR(
      leat_string_map_set(&state->jobs_by_name, job->name, (uintptr_t)job));
  *out_job = job;
  return table_add(state, &state->jobs, job, &job->id);
}

// ---- Iterations ---------------------------------------------------------------------------------

leat_status_t leat_dispatcher_find_iteration(const leat_dispatcher_state_t* state, int64_t id,
                                             leat_data_iteration_t** out_iteration) {
  *out_iteration = table_find(&state->iterations, id);
  return *out_iteration ? leat_ok_status() : not_found("Iteration id", id);
}

leat_data_iteration_t* leat_data_job_find_iteration(const leat_data_job_t* job,
                                                    int64_t repetition) {
  leat_data_iteration_t* iteration = job->iterations;
  while (iteration && (iteration->repetition != repetition || iteration->is_collected)) {
    iteration = iteration->next;
  }
  return iteration;
}

leat_status_t leat_dispatcher_add_iteration(leat_dispatcher_state_t* state, leat_data_job_t* job,
                                            int64_t repetition, int64_t source_count,
                                            leat_data_iteration_t** out_iteration) {
  leat_data_iteration_t* iteration;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(&state->arena, 1, &iteration));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(&state->arena, (size_t)source_count, &iteration->positions));
  iteration->source_count = source_count;
  iteration->job = job;
  iteration->repetition = repetition;
  iteration->released_ns = -1;
  iteration->last_task = &iteration->tasks;
  LEAT_RETURN_IF_ERROR(table_add(state, &state->iterations, iteration, &iteration->id));
  iteration->next = job->iterations;
  job->iterations = iteration;
  *out_iteration = iteration;
  return leat_ok_status();
}

bool leat_data_job_is_dynamic(const leat_data_job_t* job) {
  return job->sharding_policy == LEAT_PB_PROCESSING_MODE_DEF_SHARDING_POLICY_DYNAMIC;
}

static void leave_worker(leat_data_task_t* task) {
  leat_data_task_t** place = &task->worker->tasks;
  while (*place && *place != task) place = &(*place)->next_of_worker;
  if (*place) *place = task->next_of_worker;
}

void leat_data_iteration_collect(leat_data_iteration_t* iteration) {
  for (leat_data_task_t* task = iteration->tasks; task; task = task->next) {
    task->is_finished = true;
    leave_worker(task);
  }
  for (leat_data_pending_task_t* p = iteration->pending; p; p = p->next) leave_worker(p->task);
  iteration->pending = NULL;
  iteration->is_finished = iteration->is_collected = true;
}

// ---- Tasks --------------------------------------------------------------------------------------

leat_status_t leat_dispatcher_find_task(const leat_dispatcher_state_t* state, int64_t id,
                                        leat_data_task_t** out_task) {
  *out_task = table_find(&state->tasks, id);
  if (*out_task && !(*out_task)->is_removed) return leat_ok_status();
  return not_found("Task", id);
}

static leat_status_t make_task(leat_dispatcher_state_t* state, leat_data_iteration_t* iteration,
                               leat_data_worker_record_t* worker, leat_data_task_t** out_task) {
  leat_data_task_t* task;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(&state->arena, 1, &task));
  task->iteration = iteration;
  task->worker = worker;
  LEAT_RETURN_IF_ERROR(table_add(state, &state->tasks, task, &task->id));
  task->next_of_worker = worker->tasks;
  worker->tasks = task;
  *out_task = task;
  return leat_ok_status();
}

static void enter_iteration(leat_data_task_t* task) {
  *task->iteration->last_task = task;
  task->iteration->last_task = &task->next;
}

leat_status_t leat_dispatcher_add_task(leat_dispatcher_state_t* state,
                                       leat_data_iteration_t* iteration,
                                       leat_data_worker_record_t* worker,
                                       leat_data_task_t** out_task) {
  LEAT_RETURN_IF_ERROR(make_task(state, iteration, worker, out_task));
  enter_iteration(*out_task);
  return leat_ok_status();
}

leat_status_t leat_dispatcher_add_pending_task(leat_dispatcher_state_t* state,
                                               leat_data_iteration_t* iteration,
                                               leat_data_worker_record_t* worker, int64_t round) {
  leat_data_pending_task_t *pending, **place = &iteration->pending;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(&state->arena, 1, &pending));
  LEAT_RETURN_IF_ERROR(make_task(state, iteration, worker, &pending->task));
  pending->target_round = round;
  while (*place) place = &(*place)->next;
  *place = pending;
  return leat_ok_status();
}

void leat_data_task_finish(leat_data_task_t* task) {
  bool all_finished = true;
  task->is_finished = true;
  leave_worker(task);
  for (const leat_data_task_t* t = task->iteration->tasks; t && all_finished; t = t->next) {
    all_finished = t->is_finished;
  }
  task->iteration->is_finished = all_finished;
}

void leat_data_task_remove(leat_data_task_t* task) {
  leat_data_iteration_t* iteration = task->iteration;
  leat_data_task_t** place = &iteration->tasks;
  while (*place && *place != task) place = &(*place)->next;
  if (*place) {
    *place = task->next;
    if (!task->next) iteration->last_task = place;
    task->next = NULL;
  }
  task->is_removed = true;
  leave_worker(task);
}

// ---- Clients ------------------------------------------------------------------------------------

leat_status_t leat_dispatcher_add_client(leat_dispatcher_state_t* state,
                                         leat_data_iteration_t* iteration,
                                         leat_data_client_t** out_client) {
  leat_data_client_t* client;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(&state->arena, 1, &client));
  client->iteration = iteration;
  client->heard_of_ns = LEAT_DEADLINE_NEVER;
  LEAT_RETURN_IF_ERROR(table_add(state, &state->clients, client, &client->id));
  ++iteration->client_count;
  *out_client = client;
  return leat_ok_status();
}

leat_status_t leat_dispatcher_find_client(const leat_dispatcher_state_t* state, int64_t id,
                                          leat_data_client_t** out_client) {
  *out_client = table_find(&state->clients, id);
  if (*out_client && (*out_client)->iteration) return leat_ok_status();
  return not_found("Iteration client id", id);
}

void leat_data_client_release(leat_data_client_t* client, int64_t now_ns) {
  --client->iteration->client_count;
  client->iteration->released_ns = now_ns;
  client->iteration = NULL;
}

void leat_data_client_judge_rounds(leat_data_client_t* client,
                                   const leat_pb_client_heartbeat_request_t* request,
                                   int64_t* out_round, bool* out_stops) {
  leat_data_iteration_t* iteration = client->iteration;
  const leat_data_pending_task_t* pending = iteration->pending;
  // Nobody reads so many elements; what is beyond would overflow.
  const int64_t round = request->current_round < MOST_TOLD_ROUNDS ? request->current_round : 0;
  *out_round = -1;
  *out_stops = false;
  if (request->optional_current_round_case && round > iteration->round) iteration->round = round;
  if (!pending) return;
  if (round >= pending->target_round) {
    // Further with each failure, so that all consumers agree in the end.
    const int64_t failures = pending->failures < 40 ? pending->failures : 40;
    *out_round = iteration->round + (INT64_C(2) << failures);
  }
  const bool was_ready = *out_round < 0 && client->ready_for == pending &&
                         client->ready_attempt == pending->failures;
  *out_stops = request->optional_blocked_round_case && !was_ready &&
               request->blocked_round <= (*out_round < 0 ? pending->target_round : *out_round);
}

void leat_data_client_apply_rounds(leat_data_client_t* client, int64_t round, bool stops) {
  leat_data_iteration_t* iteration = client->iteration;
  leat_data_pending_task_t* pending = iteration->pending;
  if (round >= 0) {
    pending->target_round = round;
    pending->ready_count = 0;
    ++pending->failures;
  }
  if (!stops || (client->ready_for == pending && client->ready_attempt == pending->failures)) {
    return;
  }
  client->ready_for = pending;
  client->ready_attempt = pending->failures;
  if (++pending->ready_count < iteration->job->num_consumers) return;
  pending->task->starting_round = pending->target_round;
  enter_iteration(pending->task);
  iteration->pending = pending->next;
}
