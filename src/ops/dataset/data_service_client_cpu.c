// The work of a client (ops/dataset/data_service_client_cpu.h) is a chain of events: the end of a
// call, the alarm, a step that asks. Each takes the lock, which is that of the wait queue, changes
// what it has to, and then lets |collect| find everything that can begin now: a heartbeat that is
// due, calls for elements for which there is room. What was found, |work|, begins when the lock is
// free, because a call may end within the function that makes it.
//
// A fetch is an element that is to come: it stands for TensorFlow's thread that reads from a
// worker. Its result lies in the line of results in the end; where reads are coordinated it stands
// there from the beginning, since elements are then given in the order of rounds.
//
// Each call under way holds a reference to the client, and so does the alarm's thread. Whoever
// stops a client cancels its calls, whose ends then find it stopped and do nothing.
#include "ops/dataset/data_service_client_cpu.h"

#include "base/checked.h"
#include "base/log.h"
#include "kernel/wait_queue.h"
#include "ops/dataset/data_service_asking_cpu.h"
#include "ops/dataset/data_service_element_cpu.h"
#include "ops/dataset/data_service_task_cpu.h"
#include "ops/queue/alarm_cpu.h"

// What TensorFlow takes where the number of elements is left to it, unless there are more tasks.
enum { AUTOMATIC_OUTSTANDING = 16 };
// How soon to ask whether the iteration is over when all tasks have ended.
#define SOON_NS INT64_C(50000000)
// How long to try to tell the dispatcher that a client is gone. It finds out by itself later.
#define RELEASE_NS INT64_C(10000000000)

#define DISPATCHER(name) "/tensorflow.data.DispatcherService/" name
static const leat_service_method_t kGetOrCreateJob = {
    DISPATCHER("GetOrCreateJob"), "Failed to get or create job",
    &leat_pb_get_or_create_job_request_descriptor};
static const leat_service_method_t kGetOrCreateIteration = {
    DISPATCHER("GetOrCreateIteration"), "Failed to get or create iteration",
    &leat_pb_get_or_create_iteration_request_descriptor};
static const leat_service_method_t kHeartbeat = {DISPATCHER("ClientHeartbeat"),
                                                 "Failed to get tasks",
                                                 &leat_pb_client_heartbeat_request_descriptor};
static const leat_service_method_t kMaybeRemoveTask = {
    DISPATCHER("MaybeRemoveTask"), "Failed to call MaybeRemoveTask",
    &leat_pb_maybe_remove_task_request_descriptor};
static const leat_service_method_t kRelease = {
    DISPATCHER("ReleaseIterationClient"), "Failed to release iteration client",
    &leat_pb_release_iteration_client_request_descriptor};
static const leat_service_method_t kGetElement = {"/tensorflow.data.WorkerService/GetElement",
                                                  "Failed to get element",
                                                  &leat_pb_get_element_request_descriptor};

// What a worker has answered.
typedef struct result_s {
  struct result_s* next;  // in the line
  bool is_ready;
  bool is_skipped;  // there is no element in this round
  bool is_end;
  bool has_element;
  leat_tensor_t element[];
} result_t;

typedef struct fetch_s {
  struct fetch_s* next;  // of those that begin, or that pause
  leat_service_client_t* client;
  leat_service_task_t* task;
  result_t* result;
  int64_t round;
  int failures;
  bool asks_removal;  // of the task, before the next try
  int64_t wakes_ns;   // the end of a pause
} fetch_t;

// What begins when the lock is free.
typedef struct work_s {
  fetch_t* fetches;
  bool begins;
  bool beats;
  bool stops;
  bool releases;
} work_t;

struct leat_service_client_s {
  leat_resource_t resource;
  leat_wait_queue_t wait_queue;  // the pull that waits; its lock guards what follows |repetition|
  leat_alarm_t alarm;
  leat_dataset_t* dataset;
  const leat_service_job_t* job;
  leat_service_peer_t* dispatcher;
  leat_cancellation_t* cancellation;  // of the calls
  int64_t repetition;
  leat_status_t failure;       // what every take answers
  leat_status_t wait_failure;  // why the last pull could not wait
  bool has_begun;
  bool has_client;  // |client_id| is the dispatcher's
  bool is_stopped;
  bool is_finished;  // the dispatcher says that the iteration is
  int64_t client_id;
  int64_t beats_ns;  // the next heartbeat; LEAT_DEADLINE_NEVER: it is under way, or there is none
  leat_service_tasks_t tasks;
  fetch_t* paused;
  result_t *first, *last;
  int64_t result_count;
  int64_t fetch_count;
  int64_t max_outstanding;
};

// ---- Results ------------------------------------------------------------------------------------

static void free_result(const leat_service_client_t* client, result_t* result) {
  if (!result) return;
  if (result->has_element) leat_element_release(result->element, client->dataset->spec->count);
  leat_allocator_free(leat_allocator_system(), result);
}

static void append_result(leat_service_client_t* client, result_t* result) {
  if (client->last) {
    client->last->next = result;
  } else {
    client->first = result;
  }
  client->last = result;
  ++client->result_count;
}

static result_t* take_first(leat_service_client_t* client) {
  result_t* result = client->first;
  client->first = result->next;
  if (!client->first) client->last = NULL;
  --client->result_count;
  return result;
}

// The first result that is an element or the end and may be taken; NULL: none. Those before it that
// were skipped go.
static result_t* take_ready(leat_service_client_t* client) {
  while (client->first && client->first->is_ready) {
    result_t* result = take_first(client);
    if (!result->is_skipped) return result;
    free_result(client, result);
  }
  return NULL;
}

// ---- The client ---------------------------------------------------------------------------------

static bool is_coordinated(const leat_service_client_t* client) {
  return client->job->consumer_count >= 0;
}

// Whether there may be elements that were not asked for yet.
static bool goes_on(const leat_service_client_t* client) {
  const leat_service_tasks_t* tasks = &client->tasks;
  if (!tasks->leaves_some_out) return !client->is_finished;
  return !tasks->count || tasks->ended_count < (int64_t)tasks->count;
}

static bool has_ended(const leat_service_client_t* client) {
  return client->has_client && !client->fetch_count && !client->first && !goes_on(client);
}

static void fail(leat_service_client_t* client, leat_status_t status) {
  client->failure = leat_status_join(client->failure, status);
}

static void free_fetch(leat_service_client_t* client, fetch_t* fetch) {
  fetch->task->in_use = false;
  leat_service_task_release(fetch->task);
  if (!is_coordinated(client)) free_result(client, fetch->result);
  --client->fetch_count;
  leat_allocator_free(leat_allocator_system(), fetch);
}

static void client_destroy(leat_resource_t* resource) {
  leat_service_client_t* client = (leat_service_client_t*)resource;
  while (client->paused) {
    fetch_t* fetch = client->paused;
    client->paused = fetch->next;
    free_fetch(client, fetch);
  }
  while (client->first) free_result(client, take_first(client));
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

static bool has_room(const leat_service_client_t* client) {
  const int64_t pending = is_coordinated(client) ? 0 : client->fetch_count;
  return goes_on(client) && client->result_count + pending < client->max_outstanding;
}

static leat_status_t create_fetch(leat_service_client_t* client, leat_service_task_t* task,
                                  int64_t round, fetch_t** out_fetch) {
  fetch_t* fetch;
  result_t* result;
  const size_t components = (size_t)client->dataset->spec->count;
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(leat_allocator_system(), 1, &fetch));
  leat_status_t status =
      leat_allocator_allocate(leat_allocator_system(),
                              sizeof *result + components * sizeof(leat_tensor_t),
                              (void**)&result);
  if (status) {
    leat_allocator_free(leat_allocator_system(), fetch);
    return status;
  }
  *fetch = (fetch_t){.client = client, .task = task, .result = result, .round = round};
  ++task->references;
  task->in_use = true;
  ++client->fetch_count;
  if (is_coordinated(client)) append_result(client, result);
  *out_fetch = fetch;
  return leat_ok_status();
}

static void collect_fetches(leat_service_client_t* client, int64_t now_ns, work_t* work) {
  while (has_room(client)) {
    int64_t round;
    fetch_t* fetch;
    leat_service_task_t* task = leat_service_tasks_choose(&client->tasks, now_ns, &round);
    if (!task) return;
    leat_status_t status = create_fetch(client, task, round, &fetch);
    if (status) {
      fail(client, status);
      return;
    }
    fetch->next = work->fetches;
    work->fetches = fetch;
  }
}

static void collect_paused(leat_service_client_t* client, int64_t now_ns, work_t* work) {
  for (fetch_t** link = &client->paused; *link;) {
    fetch_t* fetch = *link;
    if (fetch->wakes_ns > now_ns) {
      link = &fetch->next;
      continue;
    }
    *link = fetch->next;
    fetch->next = work->fetches;
    work->fetches = fetch;
  }
}

// When the alarm is to ring next. What has begun when |collect| returned needs no alarm.
static int64_t next_ring_ns(const leat_service_client_t* client) {
  if (client->is_stopped || client->failure) return LEAT_DEADLINE_NEVER;
  int64_t rings_ns = client->beats_ns;
  for (const fetch_t* fetch = client->paused; fetch; fetch = fetch->next) {
    rings_ns = LEAT_MIN(rings_ns, fetch->wakes_ns);
  }
  if (!has_room(client)) return rings_ns;
  return LEAT_MIN(rings_ns, leat_service_tasks_resume_ns(&client->tasks));
}

// Ends the client's own work; to be called again where an iteration came late. The lock is held.
static void collect_stop(leat_service_client_t* client, work_t* work) {
  work->stops = !client->is_stopped;
  work->releases = client->has_client;
  client->is_stopped = true;
  client->has_client = false;
  leat_alarm_look(&client->alarm);
}

// Finds what can begin now. The lock is held.
static void collect(leat_service_client_t* client, work_t* work) {
  const int64_t now_ns = leat_clock_now_ns();
  if (client->is_stopped) collect_stop(client, work);
  if (client->is_stopped || client->failure) return;
  work->beats = client->beats_ns <= now_ns;
  if (work->beats) client->beats_ns = LEAT_DEADLINE_NEVER;
  collect_paused(client, now_ns, work);
  collect_fetches(client, now_ns, work);
  const int64_t rings_ns = next_ring_ns(client);
  if (rings_ns != LEAT_DEADLINE_NEVER) fail(client, leat_alarm_set(&client->alarm, rings_ns));
}

// Makes a call, which is tried again until |gives_up_ns|. |done| gives up the reference.
static void call_dispatcher(leat_service_client_t* client, const leat_service_method_t* method,
                            const void* request, int64_t gives_up_ns, leat_remote_done_fn_t done,
                            void* data) {
  leat_resource_retain(&client->resource);
  leat_service_call(&(leat_service_call_t){.peer = client->dispatcher,
                                           .method = method,
                                           .request = request,
                                           .gives_up_ns = gives_up_ns,
                                           .cancellation = client->cancellation,
                                           .done = done,
                                           .data = data});
}

static void begin(leat_service_client_t* client);
static void beat(leat_service_client_t* client);
static void start_fetch(fetch_t* fetch);

static void released(void* data, leat_status_t status, leat_string_view_t answer) {
  (void)data, (void)answer;
  if (status) leat_log(LEAT_LOG_INFO, "%s", leat_status_message(status));
  leat_status_free(status);
}

static void release_iteration(leat_service_client_t* client) {
  const leat_pb_release_iteration_client_request_t request = {.iteration_client_id =
                                                                  client->client_id};
  leat_service_call(&(leat_service_call_t){.peer = client->dispatcher,
                                           .method = &kRelease,
                                           .request = &request,
                                           .deadline_ns = leat_clock_now_ns() + RELEASE_NS,
                                           .done = released});
}

// Begins |work| and lets a pull go on that can. The lock is free, and the caller holds a reference.
static void do_work(leat_service_client_t* client, const work_t* work) {
  if (work->stops) leat_cancellation_cancel(client->cancellation);
  if (work->releases) release_iteration(client);
  if (work->begins) begin(client);
  if (work->beats) beat(client);
  for (fetch_t *fetch = work->fetches, *next; fetch; fetch = next) {
    next = fetch->next;
    start_fetch(fetch);
  }
  leat_wait_queue_change(&client->wait_queue, NULL, NULL, 0);
}

// The end of an event that belongs to a call: the lock is held, and the call's reference is given
// up.
static void end_event(leat_service_client_t* client) {
  work_t work = {0};
  collect(client, &work);
  leat_mutex_unlock(&client->wait_queue.mutex);
  do_work(client, &work);
  leat_resource_release(&client->resource);
}

static int64_t ring(leat_resource_t* owner) {
  leat_service_client_t* client = (leat_service_client_t*)owner;
  work_t work = {0};
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
  status = leat_service_decode(&leat_pb_get_or_create_iteration_response_descriptor, status, answer, &arena, &response);
  leat_mutex_lock(&client->wait_queue.mutex);
  if (status) {
    fail(client, status);
  } else {
    client->has_client = true;
    client->client_id = response.iteration_client_id;
    client->beats_ns = leat_clock_now_ns();
  }
  leat_arena_deinitialize(&arena);
  end_event(client);
}

static void on_job(void* data, leat_status_t status, leat_string_view_t answer) {
  leat_service_client_t* client = data;
  leat_pb_get_or_create_job_response_t response;
  leat_arena_t arena;
  status = leat_service_decode(&leat_pb_get_or_create_job_response_descriptor, status, answer, &arena, &response);
  leat_arena_deinitialize(&arena);
  if (!status) {
    const leat_pb_get_or_create_iteration_request_t request = {.job_id = response.job_id,
                                                               .repetition = client->repetition};
    call_dispatcher(client, &kGetOrCreateIteration, &request, INT64_MAX, on_iteration, client);
  }
  leat_mutex_lock(&client->wait_queue.mutex);
  fail(client, status);
  end_event(client);
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
  if (is_coordinated(client)) {
    request.num_consumers = job->consumer_count;
    request.optional_num_consumers_case = 4;
  }
  call_dispatcher(client, &kGetOrCreateJob, &request, INT64_MAX, on_job, client);
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
      !is_coordinated(client) && client->job->target_workers == LEAT_PB_TARGET_WORKERS_TARGET_WORKERS_AUTO));
  if (client->job->max_outstanding == LEAT_DATASET_AUTOTUNE) {
    client->max_outstanding = LEAT_MAX((int64_t)client->tasks.count, AUTOMATIC_OUTSTANDING);
  }
  return leat_ok_status();
}

static int64_t next_beat_ns(const leat_service_client_t* client) {
  const leat_service_tasks_t* tasks = &client->tasks;
  const bool is_soon = tasks->count && tasks->ended_count == (int64_t)tasks->count;
  const int64_t pause_ns = is_soon ? LEAT_MIN(client->job->refresh_ns, SOON_NS)
                                   : client->job->refresh_ns;
  return leat_clock_now_ns() + pause_ns;
}

// A dispatcher that is away may come back; meanwhile the tasks that are known are read.
static void on_heartbeat(void* data, leat_status_t status, leat_string_view_t answer) {
  leat_service_client_t* client = data;
  leat_pb_client_heartbeat_response_t response;
  leat_arena_t arena;
  const bool may_pass = leat_service_failure_may_pass(status);
  status = leat_service_decode(&leat_pb_client_heartbeat_response_descriptor, status, answer, &arena, &response);
  leat_mutex_lock(&client->wait_queue.mutex);
  if (may_pass) {
    if (!client->is_stopped) leat_log(LEAT_LOG_WARNING, "%s", leat_status_message(status));
    leat_status_free(status);
  } else {
    if (!status) status = take_heartbeat(client, &response);
    fail(client, status);
  }
  client->beats_ns = next_beat_ns(client);
  leat_arena_deinitialize(&arena);
  end_event(client);
}

static void beat(leat_service_client_t* client) {
  leat_mutex_lock(&client->wait_queue.mutex);
  leat_pb_client_heartbeat_request_t request = {.iteration_client_id = client->client_id};
  if (is_coordinated(client)) {
    request.current_round = client->tasks.round;
    request.optional_current_round_case = 2;
    if (client->tasks.blocked_round >= 0) {
      request.blocked_round = client->tasks.blocked_round;
      request.optional_blocked_round_case = 4;
    }
  }
  leat_mutex_unlock(&client->wait_queue.mutex);
  call_dispatcher(client, &kHeartbeat, &request, 0, on_heartbeat, client);
}

// ---- Elements -----------------------------------------------------------------------------------

static void pause(leat_service_client_t* client, fetch_t* fetch) {
  fetch->wakes_ns = leat_clock_now_ns() + leat_service_pause_ns(++fetch->failures);
  fetch->asks_removal = fetch->failures > 1;
  fetch->next = client->paused;
  client->paused = fetch;
}

// The worker cannot be reached now, or gives up what it does. Another task is read meanwhile; the
// element of a round comes from this one alone.
static void put_off(leat_service_client_t* client, fetch_t* fetch) {
  leat_service_task_t* task = fetch->task;
  if (is_coordinated(client) && !client->is_stopped) {
    pause(client, fetch);
    return;
  }
  task->resumes_ns = leat_clock_now_ns() + leat_service_pause_ns(++task->failures);
  free_fetch(client, fetch);
}

// The result of |fetch| is known.
static void settle(leat_service_client_t* client, fetch_t* fetch) {
  result_t* result = fetch->result;
  fetch->task->failures = 0;
  result->is_ready = true;
  if (result->has_element) fetch->task->skipped_last = false;
  if (result->is_skipped) fetch->task->skipped_last = true;
  if (result->is_end) leat_service_tasks_end(&client->tasks, fetch->task);
  if (result->is_end && client->beats_ns != LEAT_DEADLINE_NEVER) {
    client->beats_ns = LEAT_MIN(client->beats_ns, next_beat_ns(client));
  }
  if (!is_coordinated(client) && result->has_element) {
    append_result(client, result);
    fetch->result = NULL;
  }
  free_fetch(client, fetch);
}

static leat_status_t read_element(const leat_service_client_t* client, leat_string_view_t answer,
                                  result_t* result) {
  leat_service_answer_t kind;
  LEAT_RETURN_IF_ERROR(
      leat_service_element_read(answer, client->dataset->spec, result->element, &kind));
  result->has_element = kind == LEAT_SERVICE_ELEMENT;
  result->is_skipped = kind == LEAT_SERVICE_SKIPPED;
  result->is_end = kind == LEAT_SERVICE_END;
  return leat_ok_status();
}

static void on_element(void* data, leat_status_t status, leat_string_view_t answer) {
  fetch_t* fetch = data;
  leat_service_client_t* client = fetch->client;
  const bool may_pass = leat_service_failure_may_pass(status);
  if (!status) status = read_element(client, answer, fetch->result);
  leat_mutex_lock(&client->wait_queue.mutex);
  if (may_pass) {
    leat_status_free(status);
    put_off(client, fetch);
  } else if (status) {
    fail(client, leat_status_annotate(status, "Failed to get element from worker %s",
                                      fetch->task->address));
    free_fetch(client, fetch);
  } else {
    settle(client, fetch);
  }
  end_event(client);
}

static void ask_element(fetch_t* fetch) {
  leat_service_client_t* client = fetch->client;
  leat_pb_get_element_request_t request = {.task_id = fetch->task->id,
                                           .skipped_previous_round = fetch->task->skipped_last,
                                           .trainer_id = client->job->trainer_id};
  if (is_coordinated(client)) {
    request.consumer_index = client->job->consumer_index;
    request.optional_consumer_index_case = 2;
    request.round_index = fetch->round;
    request.optional_round_index_case = 3;
    request.allow_skip = true;
  }
  leat_service_call(&(leat_service_call_t){.peer = fetch->task->worker,
                                           .method = &kGetElement,
                                           .request = &request,
                                           .cancellation = client->cancellation,
                                           .done = on_element,
                                           .data = fetch});
}

// A task that all consumers want removed is skipped from this round on.
static void on_removal(void* data, leat_status_t status, leat_string_view_t answer) {
  fetch_t* fetch = data;
  leat_service_client_t* client = fetch->client;
  leat_pb_maybe_remove_task_response_t response;
  leat_arena_t arena;
  status = leat_service_decode(&leat_pb_maybe_remove_task_response_descriptor, status, answer, &arena, &response);
  leat_arena_deinitialize(&arena);
  if (!status && !response.removed) {
    ask_element(fetch);
    return;
  }
  leat_mutex_lock(&client->wait_queue.mutex);
  if (!status) {
    fetch->task->is_removed = true;
    fetch->result->is_skipped = true;
    settle(client, fetch);
  } else {
    fail(client, status);
    free_fetch(client, fetch);
  }
  end_event(client);
}

static void start_fetch(fetch_t* fetch) {
  leat_service_client_t* client = fetch->client;
  const leat_pb_maybe_remove_task_request_t request = {
      .task_id = fetch->task->id,
      .consumer_index = client->job->consumer_index,
      .round = fetch->round};
  if (fetch->asks_removal) {
    call_dispatcher(client, &kMaybeRemoveTask, &request, INT64_MAX, on_removal, fetch);
  } else {
    leat_resource_retain(&client->resource);
    ask_element(fetch);
  }
}

// ---- Waiting ------------------------------------------------------------------------------------

typedef struct waiting_s {
  leat_attempt_t base;
  leat_service_client_t* client;
  leat_pull_t* pull;
} waiting_t;

static leat_passage_t attempt_wait(leat_attempt_t* self) {
  const leat_service_client_t* client = ((const waiting_t*)self)->client;
  const bool is_ready = client->failure || has_ended(client) ||
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
                                         int64_t repetition,
                                         leat_service_client_t** out_client) {
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
  leat_status_t status =
      leat_cancellation_create(leat_allocator_system(), &client->cancellation);
  if (!status) status = leat_service_peer_create(job->address, true, &client->dispatcher);
  if (status) {
    leat_resource_release(&client->resource);
    return status;
  }
  *out_client = client;
  return leat_ok_status();
}

void leat_service_client_stop(leat_service_client_t* client) {
  work_t work = {0};
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
                          work_t* work) {
  LEAT_RETURN_IF_ERROR(leat_status_clone(client->failure));
  work->begins = !client->has_begun;
  client->has_begun = true;
  result_t* result = take_ready(client);
  *out_poll = LEAT_POLL_PENDING;
  if (result && result->has_element) {
    leat_element_move(result->element, out, client->dataset->spec->count);
    result->has_element = false;
    *out_poll = LEAT_POLL_ELEMENT;
  } else if (result || has_ended(client)) {
    *out_poll = LEAT_POLL_END;
    collect_stop(client, work);
  }
  free_result(client, result);
  collect(client, work);
  return leat_ok_status();
}

leat_status_t leat_service_client_take(leat_service_client_t* client, leat_pull_t* pull,
                                       leat_tensor_t* out, leat_poll_t* out_poll) {
  work_t work = {0};
  leat_mutex_lock(&client->wait_queue.mutex);
  leat_status_t status = client->wait_failure;
  client->wait_failure = leat_ok_status();
  if (!status) status = take(client, out, out_poll, &work);
  leat_mutex_unlock(&client->wait_queue.mutex);
  do_work(client, &work);
  if (!status && *out_poll == LEAT_POLL_PENDING) wait(client, pull);
  return status;
}
