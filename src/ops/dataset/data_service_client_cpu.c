// The work of a client (ops/dataset/data_service_client_cpu.h) is a chain of events: the end of a
// call, the alarm, a step that asks. Each takes the lock, which is that of the wait queue, changes
// what it has to, and then lets |collect| find everything that can begin now: a heartbeat that is
// due, calls for elements for which there is room. What was found, |work|, begins when the lock is
// free, because a call may end within the function that makes it.
//
// Each call under way holds a reference to the client, and so does the alarm's thread. Whoever
// stops a client cancels its calls, whose ends then find it stopped and do nothing.
#include "ops/dataset/data_service_fetch_cpu.h"

#include "base/checked.h"
#include "base/log.h"
#include "ops/dataset/data_service_asking_cpu.h"

// What TensorFlow takes where the number of elements is left to it, unless there are more tasks.
enum { AUTOMATIC_OUTSTANDING = 16 };
// How soon to ask whether the iteration is over when all tasks have ended.
#define SOON_NS INT64_C(50000000)
// How long to try to tell the dispatcher that a client is gone. It finds out by itself later.
#define RELEASE_NS INT64_C(10000000000)

#define DISPATCHER(name) "/tensorflow.data.DispatcherService/" name
static const leat_service_question_t kGetOrCreateJob = {
    DISPATCHER("GetOrCreateJob"), "Failed to get or create job",
    &leat_pb_get_or_create_job_request_descriptor};
static const leat_service_question_t kGetOrCreateIteration = {
    DISPATCHER("GetOrCreateIteration"), "Failed to get or create iteration",
    &leat_pb_get_or_create_iteration_request_descriptor};
static const leat_service_question_t kHeartbeat = {DISPATCHER("ClientHeartbeat"),
                                                   "Failed to get tasks",
                                                   &leat_pb_client_heartbeat_request_descriptor};
static const leat_service_question_t kRelease = {
    DISPATCHER("ReleaseIterationClient"), "Failed to release iteration client",
    &leat_pb_release_iteration_client_request_descriptor};

// ---- The client ---------------------------------------------------------------------------------

bool leat_service_client_is_coordinated(const leat_service_client_t* client) {
  return client->job->consumer_count >= 0;
}

bool leat_service_client_goes_on(const leat_service_client_t* client) {
  const leat_service_tasks_t* tasks = &client->tasks;
  if (!tasks->leaves_some_out) return !client->is_finished;
  return !tasks->count || tasks->ended_count < (int64_t)tasks->count;
}

static bool has_ended(const leat_service_client_t* client) {
  return client->has_client && !client->fetch_count && !client->first &&
         !leat_service_client_goes_on(client);
}

void leat_service_client_fail(leat_service_client_t* client, leat_status_t status) {
  client->failure = leat_status_join(client->failure, status);
}

static void client_destroy(leat_resource_t* resource) {
  leat_service_client_t* client = (leat_service_client_t*)resource;
  leat_service_fetches_free(client);
  leat_service_tasks_deinitialize(&client->tasks);
  leat_status_free(client->failure);
  leat_status_free(client->wait_failure);
  leat_service_peer_release(client->dispatcher);
  leat_cancellation_release(client->cancellation);
  leat_dataset_release(client->dataset);
  leat_alarm_deinitialize(&client->alarm);
  leat_wait_queue_deinitialize(&client->wait_queue);
  leat_allocator_free(leat_allocator_system(), client);
}

static const leat_resource_kind_t kClient = {.name = "DataServiceClient",
                                             .destroy = client_destroy};

// ---- What begins --------------------------------------------------------------------------------

// When the alarm is to ring next. What has begun when |collect| returned needs no alarm.
static int64_t next_ring_ns(const leat_service_client_t* client) {
  if (client->is_stopped || client->failure) return LEAT_DEADLINE_NEVER;
  const int64_t rings_ns = LEAT_MIN(client->beats_ns, leat_service_fetches_wake_ns(client));
  if (!leat_service_client_has_room(client)) return rings_ns;
  return LEAT_MIN(rings_ns, leat_service_tasks_resume_ns(&client->tasks));
}

// Ends the client's own work; to be called again where an iteration came late. The lock is held.
static void collect_stop(leat_service_client_t* client, leat_service_work_t* work) {
  work->stops |= !client->is_stopped;
  work->releases |= client->has_client;
  client->is_stopped = true;
  client->has_client = false;
  leat_alarm_look(&client->alarm);
}

// Finds what can begin now. The lock is held.
static void collect(leat_service_client_t* client, leat_service_work_t* work) {
  const int64_t now_ns = leat_clock_now_ns();
  if (client->is_stopped) collect_stop(client, work);
  if (client->is_stopped || client->failure) return;
  work->beats = client->beats_ns <= now_ns;
  if (work->beats) client->beats_ns = LEAT_DEADLINE_NEVER;
  leat_service_fetches_collect(client, now_ns, work);
  const int64_t rings_ns = next_ring_ns(client);
  if (rings_ns == LEAT_DEADLINE_NEVER) return;
  leat_service_client_fail(client, leat_alarm_set(&client->alarm, rings_ns));
}

// Makes a call, which is tried again until |gives_up_ns|. |done| gives up the reference.
void leat_service_client_call(leat_service_client_t* client, const leat_service_question_t* method,
                              const void* request, int64_t gives_up_ns, leat_remote_done_fn_t done,
                              void* data) {
  leat_resource_retain(&client->resource);
  leat_service_call(&(leat_service_request_t){.peer = client->dispatcher,
                                              .method = method,
                                              .request = request,
                                              .gives_up_ns = gives_up_ns,
                                              .cancellation = client->cancellation,
                                              .done = done,
                                              .data = data});
}

static void begin(leat_service_client_t* client);
static void beat(leat_service_client_t* client);

static void released(void* data, leat_status_t status, leat_string_view_t answer) {
  if (status) leat_log(LEAT_LOG_INFO, "%s", leat_status_message(status));
  leat_status_free(status);
}

static void release_iteration(leat_service_client_t* client) {
  const leat_pb_release_iteration_client_request_t request = {.iteration_client_id =
                                                                  client->client_id};
  leat_service_call(&(leat_service_request_t){.peer = client->dispatcher,
                                              .method = &kRelease,
                                              .request = &request,
                                              .deadline_ns = leat_clock_now_ns() + RELEASE_NS,
                                              .done = released});
}

// Begins |work| and lets a pull go on that can. The lock is free, and the caller holds a reference.
static void do_work(leat_service_client_t* client, const leat_service_work_t* work) {
  if (work->stops) leat_cancellation_cancel(client->cancellation);
  if (work->releases) release_iteration(client);
  if (work->begins) begin(client);
  if (work->beats) beat(client);
  for (leat_service_fetch_t *fetch = work->fetches, *next; fetch; fetch = next) {
    next = fetch->next;
    leat_service_fetch_start(fetch);
  }
  leat_wait_queue_change(&client->wait_queue, NULL, NULL, 0);
}

void leat_service_client_end_event(leat_service_client_t* client) {
  leat_service_work_t work = {0};
  collect(client, &work);
  leat_mutex_unlock(&client->wait_queue.mutex);
  do_work(client, &work);
  leat_resource_release(&client->resource);
}

static int64_t ring(leat_resource_t* owner) {
  leat_service_client_t* client = (leat_service_client_t*)owner;
  leat_service_work_t work = {0};
  collect(client, &work);
  leat_mutex_unlock(&client->wait_queue.mutex);
  do_work(client, &work);
  leat_mutex_lock(&client->wait_queue.mutex);
  return next_ring_ns(client);
}

// ---- Job, iteration, heartbeat ------------------------------------------------------------------

static void on_iteration(void* data, leat_status_t status, leat_string_view_t answer) {
  leat_service_client_t* client = data;
  leat_pb_get_or_create_iteration_response_t response;
  leat_arena_t arena;
  status = leat_service_decode(&leat_pb_get_or_create_iteration_response_descriptor, status, answer,
                               &arena, &response);
  leat_mutex_lock(&client->wait_queue.mutex);
  if (status) {
    leat_service_client_fail(client, status);
  } else {
    client->has_client = true;
    client->client_id = response.iteration_client_id;
    client->beats_ns = leat_clock_now_ns();
  }
  leat_arena_deinitialize(&arena);
  leat_service_client_end_event(client);
}

static void on_job(void* data, leat_status_t status, leat_string_view_t answer) {
  leat_service_client_t* client = data;
  leat_pb_get_or_create_job_response_t response;
  leat_arena_t arena;
  status = leat_service_decode(&leat_pb_get_or_create_job_response_descriptor, status, answer,
                               &arena, &response);
  leat_arena_deinitialize(&arena);
  if (!status) {
    const leat_pb_get_or_create_iteration_request_t request = {.job_id = response.job_id,
                                                               .repetition = client->repetition};
    leat_service_client_call(client, &kGetOrCreateIteration, &request, INT64_MAX, on_iteration,
                             client);
  }
  leat_mutex_lock(&client->wait_queue.mutex);
  leat_service_client_fail(client, status);
  leat_service_client_end_event(client);
}

static void begin(leat_service_client_t* client) {
  const leat_service_job_t* job = client->job;
  leat_pb_processing_mode_def_t mode = {.sharding_policy = job->sharding_policy};
  leat_pb_get_or_create_job_request_t request = {.dataset_id = job->dataset_id,
                                                 .processing_mode_def = &mode,
                                                 .target_workers = job->target_workers,
                                                 .use_cross_trainer_cache = job->has_trainer};
  if (job->name.size) {
    request.job_name = job->name;
    request.optional_job_name_case = 3;
  }
  if (leat_service_client_is_coordinated(client)) {
    request.num_consumers = job->consumer_count;
    request.optional_num_consumers_case = 4;
  }
  leat_service_client_call(client, &kGetOrCreateJob, &request, INT64_MAX, on_job, client);
}

// A round can be blocked that this consumer has not begun; the next heartbeat tells which is.
static void block_round(leat_service_tasks_t* tasks,
                        const leat_pb_client_heartbeat_response_t* response) {
  if (!response->optional_block_round_case) {
    tasks->blocked_round = -1;
  } else if (tasks->round < response->block_round) {
    tasks->blocked_round = response->block_round;
  }
}

static leat_status_t take_heartbeat(leat_service_client_t* client,
                                    const leat_pb_client_heartbeat_response_t* response) {
  client->is_finished |= response->iteration_finished;
  block_round(&client->tasks, response);
  if (client->is_finished) return leat_ok_status();
  LEAT_RETURN_IF_ERROR(leat_service_tasks_update(
      &client->tasks, response, client->job->transfer,
      !leat_service_client_is_coordinated(client) &&
          client->job->target_workers == LEAT_PB_TARGET_WORKERS_TARGET_WORKERS_AUTO));
  if (client->job->max_outstanding == LEAT_DATASET_AUTOTUNE) {
    client->max_outstanding = LEAT_MAX((int64_t)client->tasks.count, AUTOMATIC_OUTSTANDING);
  }
  return leat_ok_status();
}

int64_t leat_service_client_next_beat_ns(const leat_service_client_t* client) {
  const leat_service_tasks_t* tasks = &client->tasks;
  const bool is_soon = tasks->count && tasks->ended_count == (int64_t)tasks->count;
  const int64_t pause_ns =
      is_soon ? LEAT_MIN(client->job->refresh_ns, SOON_NS) : client->job->refresh_ns;
  return leat_clock_now_ns() + pause_ns;
}

// A dispatcher that is away may come back; meanwhile the tasks that are known are read.
static void on_heartbeat(void* data, leat_status_t status, leat_string_view_t answer) {
  leat_service_client_t* client = data;
  leat_pb_client_heartbeat_response_t response;
  leat_arena_t arena;
  const bool may_pass = leat_service_failure_may_pass(status);
  status = leat_service_decode(&leat_pb_client_heartbeat_response_descriptor, status, answer,
                               &arena, &response);
  leat_mutex_lock(&client->wait_queue.mutex);
  if (may_pass) {
    if (!client->is_stopped) leat_log(LEAT_LOG_WARNING, "%s", leat_status_message(status));
    leat_status_free(status);
  } else {
    if (!status) status = take_heartbeat(client, &response);
    leat_service_client_fail(client, status);
  }
  client->beats_ns = leat_service_client_next_beat_ns(client);
  leat_arena_deinitialize(&arena);
  leat_service_client_end_event(client);
}

static void beat(leat_service_client_t* client) {
  leat_mutex_lock(&client->wait_queue.mutex);
  leat_pb_client_heartbeat_request_t request = {.iteration_client_id = client->client_id};
  if (leat_service_client_is_coordinated(client)) {
    request.current_round = client->tasks.round;
    request.optional_current_round_case = 2;
    if (client->tasks.blocked_round >= 0) {
      request.blocked_round = client->tasks.blocked_round;
      request.optional_blocked_round_case = 4;
    }
  }
  leat_mutex_unlock(&client->wait_queue.mutex);
  leat_service_client_call(client, &kHeartbeat, &request, 0, on_heartbeat, client);
}

// ---- Waiting ------------------------------------------------------------------------------------

typedef struct waiting_s {
  leat_attempt_t base;
  leat_service_client_t* client;
  leat_pull_t* pull;
} waiting_t;

static leat_passage_t attempt_wait(leat_attempt_t* self) {
  const leat_service_client_t* client = ((const waiting_t*)self)->client;
  const bool is_ready = client->failure || client->is_stopped || has_ended(client) ||
                        (client->first && client->first->is_ready);
  return is_ready ? LEAT_PASSAGE_DONE : LEAT_PASSAGE_WAITS;
}

// A pull whose step was cancelled notices it by itself. Any other failure is left to it, since it
// would otherwise try to wait again and again.
static void finish_waiting(leat_attempt_t* self) {
  const waiting_t* waiting = (const waiting_t*)self;
  if (leat_status_code(self->status) == LEAT_CANCELLED) {
    leat_status_free(self->status);
  } else {
    waiting->client->wait_failure = self->status;
  }
  leat_pull_wake(waiting->pull);
}

static void wait(leat_service_client_t* client, leat_pull_t* pull) {
  waiting_t waiting = {.base = {.size_bytes = sizeof waiting,
                                .attempt = attempt_wait,
                                .finish = finish_waiting,
                                .cancellation = pull->services->cancellation,
                                .pool = pull->services->pool},
                       .client = client,
                       .pull = pull};
  leat_wait_queue_enter(&client->wait_queue, LEAT_LINE_OUT, &waiting.base);
}

// ---- The face -----------------------------------------------------------------------------------

leat_status_t leat_service_client_create(leat_dataset_t* dataset, const leat_service_job_t* job,
                                         int64_t repetition, leat_service_client_t** out_client) {
  leat_service_client_t* client;
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(leat_allocator_system(), 1, &client));
  client->resource = (leat_resource_t){.kind = &kClient, .references = 1};
  leat_wait_queue_initialize(&client->resource, &client->wait_queue);
  leat_alarm_initialize(&client->resource, &client->wait_queue.mutex, ring, &client->alarm);
  leat_service_tasks_initialize(job->consumer_count >= 0, &client->tasks);
  client->dataset = dataset;
  leat_dataset_retain(dataset);
  client->job = job;
  client->repetition = repetition;
  client->beats_ns = LEAT_DEADLINE_NEVER;
  client->max_outstanding = LEAT_MAX(job->max_outstanding, 0);
  leat_status_t status = leat_cancellation_create(leat_allocator_system(), &client->cancellation);
  if (!status) status = leat_service_peer_create(job->address, true, &client->dispatcher);
  if (status) {
    leat_resource_release(&client->resource);
    return status;
  }
  *out_client = client;
  return leat_ok_status();
}

void leat_service_client_stop(leat_service_client_t* client) {
  leat_service_work_t work = {0};
  if (!client) return;
  leat_mutex_lock(&client->wait_queue.mutex);
  collect_stop(client, &work);
  leat_mutex_unlock(&client->wait_queue.mutex);
  do_work(client, &work);
  leat_resource_release(&client->resource);
}

// Takes what there is. The lock is held. Where the elements have ended nothing else is to come, and
// the client ends its own work.
static leat_status_t take(leat_service_client_t* client, leat_tensor_t* out, leat_poll_t* out_poll,
                          leat_service_work_t* work) {
  LEAT_RETURN_IF_ERROR(leat_status_clone(client->failure));
  work->begins = !client->has_begun;
  client->has_begun = true;
  leat_service_result_t* result = leat_service_results_take(client);
  *out_poll = LEAT_POLL_PENDING;
  if (result && result->has_element) {
    leat_element_move(result->element, out, client->dataset->spec->count);
    result->has_element = false;
    *out_poll = LEAT_POLL_ELEMENT;
  } else if (result || has_ended(client)) {
    *out_poll = LEAT_POLL_END;
    collect_stop(client, work);
  }
  leat_service_result_free(client, result);
  collect(client, work);
  return leat_ok_status();
}

leat_status_t leat_service_client_take(leat_service_client_t* client, leat_pull_t* pull,
                                       leat_tensor_t* out, leat_poll_t* out_poll) {
  leat_service_work_t work = {0};
  leat_mutex_lock(&client->wait_queue.mutex);
  leat_status_t status = client->wait_failure;
  client->wait_failure = leat_ok_status();
  if (!status) status = take(client, out, out_poll, &work);
  leat_mutex_unlock(&client->wait_queue.mutex);
  do_work(client, &work);
  if (!status && *out_poll == LEAT_POLL_PENDING) wait(client, pull);
  return status;
}
