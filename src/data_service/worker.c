// A worker has one thread of its own, which talks to the dispatcher: it registers, tells every half
// minute which tasks it has and learns which ones it should have, and reports a task that has given
// its last element. A dispatcher that does not answer is asked again; a worker never gives up,
// since the dispatcher may be started later, or again. Until it is registered, requests for
// elements are refused with UNAVAILABLE, so that a client that meets a worker which was just
// restarted tries again, and does not take its task for lost.
//
// Tasks are in a list, and live as long as a request uses them. Ids of tasks that have ended stay
// in a set: a client that asks once more is told that there is no further element.
#include "data_service/worker.h"

#include <inttypes.h>
#include <string.h>

#include "base/clock.h"
#include "base/map.h"
#include "base/random.h"
#include "base/thread.h"
#include "cluster/security.h"
#include "data_service/call.h"
#include "data_service/worker_streams.h"
#include "data_service/worker_task.h"
#include "formats/wire/encode.h"

#define DEFAULT_HEARTBEAT_MS 30000
#define DEFAULT_DISPATCHER_TIMEOUT_MS (60 * 60 * 1000)
#define DEFAULT_WINDOW_BYTES (INT64_C(10) << 30)
#define CHUNK_BYTES (INT64_C(1) << 30)  // of a file of a snapshot
// To answer a call of the worker's thread; and between tries.
#define ANSWER_MS 30000
#define FIRST_RETRY_MS 100
#define LAST_RETRY_MS 5000

struct leat_data_worker_s {
  leat_data_worker_options_t options;
  leat_arena_t arena;  // of the texts of the options
  leat_string_view_t address;
  leat_rpc_channel_t* dispatcher;
  int64_t uid;
  leat_thread_t thread;
  bool has_thread;
  leat_mutex_t mutex;  // guards what follows
  leat_condition_t changed;
  bool is_stopped, is_registered;
  leat_worker_task_t* tasks;
  leat_word_map_t ended;  // ids of tasks; the value says whether the dispatcher is yet to be told
  size_t untold_count;
  leat_worker_streams_t streams;  // has a mutex of its own
};

// ---- Life ---------------------------------------------------------------------------------------

static int64_t number_or(int64_t number, int64_t otherwise) { return number ? number : otherwise; }

static leat_status_t copy_options(leat_data_worker_t* worker,
                                  const leat_data_worker_options_t* options) {
  leat_data_worker_options_t* own = &worker->options;
  *own = *options;
  own->heartbeat_ms = number_or(options->heartbeat_ms, DEFAULT_HEARTBEAT_MS);
  own->dispatcher_timeout_ms =
      number_or(options->dispatcher_timeout_ms, DEFAULT_DISPATCHER_TIMEOUT_MS);
  own->window_bytes = number_or(options->window_bytes, DEFAULT_WINDOW_BYTES);
  LEAT_RETURN_IF_ERROR(LEAT_NEW(&worker->arena, options->tags.count, &own->tags.items));
  for (size_t i = 0; i < options->tags.count; ++i) {
    if (!options->tags.items[i].size) {
      return leat_make_status(LEAT_FAILED_PRECONDITION,
                              "Starting a worker failed: tag %zu is empty, must be a text", i);
    }
    LEAT_RETURN_IF_ERROR(
        leat_arena_copy_string(&worker->arena, options->tags.items[i], &own->tags.items[i]));
  }
  return leat_arena_copy_string(&worker->arena, options->dispatcher_address,
                                &own->dispatcher_address);
}

leat_status_t leat_data_worker_create(const leat_data_worker_options_t* options,
                                      leat_data_worker_t** out_worker) {
  leat_data_worker_t* worker;
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(leat_allocator_system(), 1, &worker));
  leat_arena_initialize(leat_allocator_system(), 0, &worker->arena);
  leat_mutex_initialize(&worker->mutex);
  leat_condition_initialize(&worker->changed);
  leat_word_map_initialize(leat_allocator_system(), &worker->ended);
  leat_worker_streams_initialize(&worker->streams);
  worker->uid = (int64_t)(leat_random_seed() >> 1);
  leat_status_t status = copy_options(worker, options);
  if (!status) {
    status = leat_security_open_channel(worker->options.dispatcher_address, &worker->dispatcher);
  }
  if (status) {
    leat_data_worker_free(worker);
    return status;
  }
  *out_worker = worker;
  return leat_ok_status();
}

// Ends the calls to the dispatcher that are under way.
static void fail_calls(leat_data_worker_t* worker) {
  if (!worker->dispatcher) return;
  leat_rpc_channel_fail(worker->dispatcher,
                        leat_make_status(LEAT_CANCELLED, "the worker is shutting down"));
}

void leat_data_worker_stop(leat_data_worker_t* worker) {
  leat_mutex_lock(&worker->mutex);
  worker->is_stopped = true;
  leat_worker_task_t* tasks = worker->tasks;
  worker->tasks = NULL;
  leat_condition_notify_all(&worker->changed);
  leat_mutex_unlock(&worker->mutex);
  leat_worker_streams_cancel(&worker->streams);
  fail_calls(worker);  // which a task that is just being opened waits for, and a stream's splits
  for (leat_worker_task_t* task; (task = tasks);) {
    tasks = task->next;
    leat_worker_task_stop(task);
    fail_calls(worker);  // and those that it has made since
    leat_worker_task_release(task);
  }
  leat_worker_streams_stop(&worker->streams);
}

void leat_data_worker_free(leat_data_worker_t* worker) {
  if (!worker) return;
  leat_data_worker_stop(worker);
  if (worker->has_thread) leat_thread_join(worker->thread);
  leat_rpc_channel_free(worker->dispatcher);
  leat_worker_streams_stop(&worker->streams);  // which the thread may have begun meanwhile
  leat_worker_streams_deinitialize(&worker->streams);
  leat_word_map_deinitialize(&worker->ended);
  leat_condition_deinitialize(&worker->changed);
  leat_mutex_deinitialize(&worker->mutex);
  leat_arena_deinitialize(&worker->arena);
  leat_allocator_free(leat_allocator_system(), worker);
}

bool leat_data_worker_is_registered(leat_data_worker_t* worker) {
  leat_mutex_lock(&worker->mutex);
  const bool is_registered = worker->is_registered;
  leat_mutex_unlock(&worker->mutex);
  return is_registered;
}

size_t leat_data_worker_count_tasks(leat_data_worker_t* worker) {
  size_t count = 0;
  leat_mutex_lock(&worker->mutex);
  for (const leat_worker_task_t* t = worker->tasks; t; t = t->next) ++count;
  leat_mutex_unlock(&worker->mutex);
  return count;
}

// ---- Tasks --------------------------------------------------------------------------------------

// The place of the task in the list; it holds NULL where there is none. The mutex is held.
static leat_worker_task_t** find_place(leat_data_worker_t* worker, int64_t id) {
  leat_worker_task_t** place = &worker->tasks;
  while (*place && (*place)->def.task_id != id) place = &(*place)->next;
  return place;
}

// Adds a task, unless the worker has it or had it.
static leat_status_t add_task(leat_data_worker_t* worker, const leat_pb_task_def_t* def) {
  leat_worker_task_t* task;
  LEAT_RETURN_IF_ERROR(leat_worker_task_create(def, &task));
  leat_mutex_lock(&worker->mutex);
  leat_worker_task_t** place = find_place(worker, def->task_id);
  if (!*place && !worker->is_stopped) {
    *place = task;
    task = NULL;
  }
  leat_mutex_unlock(&worker->mutex);
  leat_worker_task_release(task);
  return leat_ok_status();
}

static void delete_task(leat_data_worker_t* worker, int64_t id) {
  leat_mutex_lock(&worker->mutex);
  leat_worker_task_t** place = find_place(worker, id);
  leat_worker_task_t* task = *place;
  if (task) *place = task->next;
  // Without memory a late client is told that the task is not found.
  if (task && !leat_word_map_get(&worker->ended, (uint64_t)id, NULL)) {
    leat_status_free(leat_word_map_set(&worker->ended, (uint64_t)id, 0));
  }
  leat_mutex_unlock(&worker->mutex);
  if (!task) return;
  leat_worker_task_stop(task);
  leat_worker_task_release(task);
}

// Notes that the dispatcher is to be told that the task has given its last element.
static leat_status_t note_end(leat_data_worker_t* worker, int64_t id) {
  leat_status_t status = leat_ok_status();
  leat_mutex_lock(&worker->mutex);
  if (!leat_word_map_get(&worker->ended, (uint64_t)id, NULL)) {
    status = leat_word_map_set(&worker->ended, (uint64_t)id, 1);
    worker->untold_count += !status;
    leat_condition_notify_all(&worker->changed);
  }
  leat_mutex_unlock(&worker->mutex);
  return status;
}

// ---- The dispatcher -----------------------------------------------------------------------------

static leat_status_t ask_dispatcher(leat_data_worker_t* worker, leat_data_request_t request,
                                    leat_arena_t* arena, void* out_answer) {
  request.deadline_ns = leat_clock_deadline_after_ms(ANSWER_MS);
  return leat_data_call(worker->dispatcher, &request, arena, out_answer);
}

// Lists the tasks that the worker has.
static leat_status_t list_tasks(leat_data_worker_t* worker, leat_arena_t* arena,
                                leat_pb_worker_heartbeat_request_t* message) {
  size_t count = 0;
  leat_mutex_lock(&worker->mutex);
  for (const leat_worker_task_t* t = worker->tasks; t; t = t->next) ++count;
  leat_status_t status = LEAT_NEW(arena, count, &message->current_tasks.items);
  for (const leat_worker_task_t* t = worker->tasks; t && !status; t = t->next) {
    message->current_tasks.items[message->current_tasks.count++] = t->def.task_id;
  }
  leat_mutex_unlock(&worker->mutex);
  return status;
}

// Lists how far the streams of snapshots are.
static leat_status_t list_streams(leat_data_worker_t* worker, leat_arena_t* arena,
                                  leat_pb_worker_heartbeat_request_t* message) {
  leat_pb_snapshot_task_progress_list_t streams;
  LEAT_RETURN_IF_ERROR(leat_worker_streams_list(&worker->streams, arena, &streams));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, streams.count, &message->snapshot_task_progress.items));
  message->snapshot_task_progress.count = streams.count;
  for (size_t i = 0; i < streams.count; ++i) {
    message->snapshot_task_progress.items[i] =
        (leat_pb_worker_heartbeat_request_snapshot_task_progress_entry_t){
            .key = streams.items[i].snapshot_task->base_path, .value = &streams.items[i]};
  }
  return leat_ok_status();
}

// Begins and ends streams as the dispatcher says.
static leat_status_t take_streams(leat_data_worker_t* worker,
                                  const leat_pb_snapshot_task_def_list_t* defs) {
  const leat_stream_writer_context_t context = {
      .runtime = worker->options.runtime,
      .address = worker->address,
      .dispatcher = worker->dispatcher,
      .dispatcher_timeout_ms = worker->options.dispatcher_timeout_ms,
      .chunk_bytes = CHUNK_BYTES};
  return leat_worker_streams_take(&worker->streams, &context, defs);
}

static leat_status_t do_heartbeat(leat_data_worker_t* worker, leat_arena_t* arena) {
  // Who reads elements by gRPC finds the worker's address here too.
  leat_pb_data_transfer_server_info_t server = {.protocol = LEAT_SV("grpc"),
                                                .address = worker->address};
  leat_pb_worker_heartbeat_request_t message = {.worker_address = worker->address,
                                                .worker_tags = worker->options.tags,
                                                .worker_uid = worker->uid,
                                                .transfer_servers = {&server, 1}};
  const leat_data_request_t request = {
      .method = "/tensorflow.data.DispatcherService/WorkerHeartbeat",
      .descriptor = &leat_pb_worker_heartbeat_request_descriptor,
      .message = &message,
      .answer = &leat_pb_worker_heartbeat_response_descriptor};
  leat_pb_worker_heartbeat_response_t answer;
  LEAT_RETURN_IF_ERROR(list_tasks(worker, arena, &message));
  LEAT_RETURN_IF_ERROR(list_streams(worker, arena, &message));
  LEAT_RETURN_IF_ERROR(ask_dispatcher(worker, request, arena, &answer));
  for (size_t i = 0; i < answer.new_tasks.count; ++i) {
    LEAT_RETURN_IF_ERROR(add_task(worker, &answer.new_tasks.items[i]));
  }
  for (size_t i = 0; i < answer.tasks_to_delete.count; ++i) {
    delete_task(worker, answer.tasks_to_delete.items[i]);
  }
  return take_streams(worker, &answer.snapshot_tasks);
}

// Lists the tasks whose end the dispatcher is to be told.
static leat_status_t list_ends(leat_data_worker_t* worker, leat_arena_t* arena,
                               leat_pb_worker_update_request_t* message) {
  const leat_word_map_t* ended = &worker->ended;
  leat_mutex_lock(&worker->mutex);
  leat_status_t status = LEAT_NEW(arena, worker->untold_count, &message->updates.items);
  for (size_t i = 0; i < ended->capacity && !status; ++i) {
    if (!ended->used[i] || !ended->values[i]) continue;
    message->updates.items[message->updates.count++] =
        (leat_pb_task_progress_t){.task_id = (int64_t)ended->keys[i], .completed = true};
  }
  leat_mutex_unlock(&worker->mutex);
  return status;
}

static void note_told(leat_data_worker_t* worker, const leat_pb_worker_update_request_t* message) {
  leat_mutex_lock(&worker->mutex);
  for (size_t i = 0; i < message->updates.count; ++i) {
    // The key is there, so that nothing is allocated.
    leat_status_free(
        leat_word_map_set(&worker->ended, (uint64_t)message->updates.items[i].task_id, 0));
    --worker->untold_count;
  }
  leat_mutex_unlock(&worker->mutex);
}

static leat_status_t tell_ends(leat_data_worker_t* worker, leat_arena_t* arena) {
  leat_pb_worker_update_request_t message = {.worker_address = worker->address};
  const leat_data_request_t request = {
      .method = "/tensorflow.data.DispatcherService/WorkerUpdate",
      .descriptor = &leat_pb_worker_update_request_descriptor,
      .message = &message};
  LEAT_RETURN_IF_ERROR(list_ends(worker, arena, &message));
  if (!message.updates.count) return leat_ok_status();
  leat_status_t status = ask_dispatcher(worker, request, arena, NULL);
  // A dispatcher that was started again without its state knows none of them.
  if (leat_status_code(status) == LEAT_NOT_FOUND) {
    leat_status_free(status);
    status = leat_ok_status();
  }
  if (!status) note_told(worker, &message);
  return status;
}

static void tell_registered(leat_data_worker_t* worker) {
  leat_mutex_lock(&worker->mutex);
  const bool is_first = !worker->is_registered;
  worker->is_registered = true;
  leat_condition_notify_all(&worker->changed);
  leat_mutex_unlock(&worker->mutex);
  if (!is_first) return;
  leat_data_tell(&worker->options.teller,
                 &(leat_data_event_t){.name = "registered",
                                      .address = worker->options.dispatcher_address});
}

// One heartbeat, and the ends that are yet to be told.
static leat_status_t talk(leat_data_worker_t* worker, bool has_heartbeat) {
  leat_arena_t arena;
  leat_arena_initialize(leat_allocator_system(), 0, &arena);
  leat_status_t status = has_heartbeat ? do_heartbeat(worker, &arena) : leat_ok_status();
  if (!status && has_heartbeat) tell_registered(worker);
  if (!status) status = tell_ends(worker, &arena);
  leat_arena_deinitialize(&arena);
  return status;
}

// Waits until |deadline_ns|, or until there are ends to be told, if |hears_of_ends|. Returns
// whether the worker goes on.
static bool wait_until(leat_data_worker_t* worker, int64_t deadline_ns, bool hears_of_ends) {
  leat_mutex_lock(&worker->mutex);
  while (!worker->is_stopped && !(hears_of_ends && worker->untold_count) &&
         leat_condition_wait_until(&worker->changed, &worker->mutex, deadline_ns)) {
  }
  const bool goes_on = !worker->is_stopped;
  leat_mutex_unlock(&worker->mutex);
  return goes_on;
}

static void tell_failure(leat_data_worker_t* worker, const leat_status_t status) {
  leat_data_tell(&worker->options.teller,
                 &(leat_data_event_t){.name = "dispatcher_lost",
                                      .address = worker->options.dispatcher_address,
                                      .message = leat_string_view_from(
                                          leat_status_message(status))});
}

static void talk_to_dispatcher(void* data) {
  leat_data_worker_t* worker = data;
  int64_t heartbeat_ns = 0, retry_ms = 0;
  do {
    const bool has_heartbeat = leat_clock_now_ns() >= heartbeat_ns;
    leat_status_t status = talk(worker, has_heartbeat);
    const int64_t now_ns = leat_clock_now_ns();
    if (!status) {
      if (has_heartbeat) heartbeat_ns = now_ns + worker->options.heartbeat_ms * 1000000;
      retry_ms = 0;
    } else {
      if (!retry_ms) tell_failure(worker, status);
      retry_ms = retry_ms ? 2 * retry_ms : FIRST_RETRY_MS;
      if (retry_ms > LAST_RETRY_MS) retry_ms = LAST_RETRY_MS;
    }
    leat_status_free(status);
    const int64_t next_ns = retry_ms ? now_ns + retry_ms * 1000000 : heartbeat_ns;
    if (!wait_until(worker, next_ns, !retry_ms)) break;
  } while (true);
}

leat_status_t leat_data_worker_start(leat_data_worker_t* worker, leat_string_view_t address) {
  LEAT_RETURN_IF_ERROR(leat_arena_copy_string(&worker->arena, address, &worker->address));
  LEAT_RETURN_IF_ERROR(
      leat_thread_start("leat-data-work", talk_to_dispatcher, worker, &worker->thread));
  worker->has_thread = true;
  return leat_ok_status();
}

// ---- Methods ------------------------------------------------------------------------------------

// Finds the task that a request is about, and retains it. |*out_at_end|: it has given all.
static leat_status_t find_task(leat_data_worker_t* worker, int64_t id,
                               leat_worker_task_t** out_task, bool* out_at_end) {
  leat_status_t status = leat_ok_status();
  leat_mutex_lock(&worker->mutex);
  leat_worker_task_t* task = *find_place(worker, id);
  *out_at_end = false;
  if (worker->is_stopped) {
    status = leat_make_status(LEAT_CANCELLED, "Worker is shutting down");
  } else if (!worker->is_registered) {
    status = leat_make_status(LEAT_UNAVAILABLE, "Worker has not yet registered with dispatcher.");
  } else if (task) {
    leat_reference_count_retain(&task->references);
  } else if (leat_word_map_get(&worker->ended, (uint64_t)id, NULL)) {
    *out_at_end = true;
  } else {
    // The dispatcher may be about to send it.
    status = leat_make_status(LEAT_UNAVAILABLE, "Task %" PRId64 " not found", id);
  }
  leat_mutex_unlock(&worker->mutex);
  *out_task = status || *out_at_end ? NULL : task;
  return status;
}

// A request that waits for an element. Its client may go away meanwhile.
typedef struct element_wait_s {
  _Atomic(bool) is_gone;
  leat_task_runner_t* runner;
} element_wait_t;

static void note_gone(void* data) {
  element_wait_t* wait = data;
  atomic_store(&wait->is_gone, true);
  leat_task_runner_wake(wait->runner);
}

static bool is_gone(void* data) { return atomic_load(&((element_wait_t*)data)->is_gone); }

static leat_status_t wait_for_element(leat_task_runner_t* runner, leat_rpc_request_t* call,
                                      const leat_pb_get_element_request_t* request,
                                      leat_data_result_t* out_result) {
  element_wait_t wait = {.runner = runner};
  leat_rpc_request_on_cancel(call, note_gone, &wait);
  leat_status_t status = leat_task_runner_next(runner, request, is_gone, &wait, out_result);
  leat_rpc_request_on_cancel(call, NULL, NULL);
  return status;
}

static leat_status_t serve_get_element(void* server, leat_data_call_t* call, const void* message,
                                       void* out_answer) {
  leat_data_worker_t* worker = server;
  const leat_pb_get_element_request_t* request = message;
  leat_pb_get_element_response_t* answer = out_answer;
  const leat_worker_task_context_t context = {
      .runtime = worker->options.runtime,
      .address = worker->address,
      .dispatcher = worker->dispatcher,
      .dispatcher_timeout_ms = worker->options.dispatcher_timeout_ms,
      .window_bytes = worker->options.window_bytes};
  leat_data_result_t result = {0};
  leat_task_runner_t* runner;
  leat_worker_task_t* task;
  LEAT_RETURN_IF_ERROR(find_task(worker, request->task_id, &task, &answer->end_of_sequence));
  if (answer->end_of_sequence) return leat_ok_status();
  leat_status_t status = leat_worker_task_open(task, &context, &runner);
  if (!status) status = wait_for_element(runner, call->request, request, &result);
  if (!status && result.at_end) status = note_end(worker, request->task_id);
  answer->end_of_sequence = result.at_end;
  answer->skip_task = result.skips;
  if (result.element) {
    leat_string_builder_append(&call->answer, leat_string_view_make(result.element->fields,
                                                                    result.element->size));
    answer->element_index = result.element->index;
  }
  leat_data_element_release(result.element);
  leat_worker_task_release(task);
  return status;
}

static leat_status_t serve_process_task(void* server, leat_data_call_t* call, const void* message,
                                        void* answer) {
  const leat_pb_process_task_request_t* request = message;
  if (request->task) return add_task(server, request->task);
  return leat_make_status(LEAT_INVALID_ARGUMENT, "Making a task failed: the request has no task");
}

static leat_status_t serve_get_worker_tasks(void* server, leat_data_call_t* call,
                                            const void* message, void* out_answer) {
  leat_data_worker_t* worker = server;
  leat_pb_get_worker_tasks_response_t* answer = out_answer;
  size_t count = 0;
  leat_mutex_lock(&worker->mutex);
  for (const leat_worker_task_t* t = worker->tasks; t; t = t->next) ++count;
  leat_status_t status = LEAT_NEW(&call->arena, count, &answer->tasks.items);
  for (const leat_worker_task_t* t = worker->tasks; t && !status; t = t->next) {
    answer->tasks.items[answer->tasks.count++] =
        (leat_pb_task_info_t){.worker_address = worker->address,
                              .task_id = t->def.task_id,
                              .iteration_id = t->def.iteration_id};
  }
  leat_mutex_unlock(&worker->mutex);
  return status;
}

static leat_status_t serve_get_snapshot_progresses(void* server, leat_data_call_t* call,
                                                   const void* message, void* out_answer) {
  leat_data_worker_t* worker = server;
  leat_pb_get_snapshot_task_progresses_response_t* answer = out_answer;
  return leat_worker_streams_list(&worker->streams, &call->arena,
                                  &answer->snapshot_task_progresses);
}

const leat_data_method_t leat_data_worker_methods[] = {
    {"GetElement", &leat_pb_get_element_request_descriptor,
     &leat_pb_get_element_response_descriptor, serve_get_element},
    {"ProcessTask", &leat_pb_process_task_request_descriptor, NULL, serve_process_task},
    {"GetWorkerTasks", NULL, &leat_pb_get_worker_tasks_response_descriptor,
     serve_get_worker_tasks},
    {"GetSnapshotTaskProgresses", NULL,
     &leat_pb_get_snapshot_task_progresses_response_descriptor, serve_get_snapshot_progresses},
    {0},
};
