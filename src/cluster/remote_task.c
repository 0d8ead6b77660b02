// Calls of a worker as calls of another task. Each RunGraph under way is in a list, by which
// abort_step finds and cancels it; its master then hears the cause of the abort, and not that a
// call was cancelled. What wants no answer (CleanupGraph, DeregisterGraph) is sent and forgotten,
// as TensorFlow's masters do: the task may be gone, and then so is what was to be cleaned up. A
// Leat task may end a step by itself when its part of it has run, and needs no CleanupGraph then.
//
// RunGraph goes on the plane where both tasks have one. The plane watches no deadline, but the
// thread that waits for a step does, and aborts it. Everything else goes by gRPC.
//
// A call's end and its cancellation race, as in rendezvous_table.c: the call's handle is stored
// under the mutex after the call was made, whoever of starter and callback comes second frees the
// entry, and whoever cancels a call takes its handle out first and holds no mutex.
#include "cluster/remote_task.h"

#include <string.h>

#include "cluster/fetch.h"
#include "cluster/recv_tensor.h"
#include "cluster/rpc_message.h"
#include "formats/generated/worker_service.h"
#include "formats/wire/decode.h"
#include "formats/wire/encode.h"
#include "graph/import/export.h"
#include "trace/collector.h"

static const char kRunGraph[] = "/tensorflow.WorkerService/RunGraph";

// How long a task has to end a session.
#define DELETE_TIMEOUT_MS 10000

typedef struct run_s run_t;

typedef struct remote_task_s {
  leat_worker_t base;
  leat_allocator_t* allocator;
  leat_task_t* master;
  int number;
  uint64_t incarnation;
  leat_rpc_channel_t* channel;  // the task's
  char* name;                   // "/job:ps/replica:0/task:0"
  char* handle;                 // of the session
  char* config;
  size_t config_bytes;
  bool ends_steps;              // it may be asked to
  leat_mutex_t mutex;           // guards what follows
  leat_status_t aborted;        // of all steps
  run_t* runs;
  leat_word_map_t ended_steps;  // that the task has ended and the master has not cleaned up yet
  char** graph_handles;         // by the handles that the master has, less 1
  size_t graph_count, graph_capacity;
} remote_task_t;

struct run_s {
  run_t* next;
  run_t* previous;
  remote_task_t* task;
  int64_t step_id;
  leat_status_t aborted;  // the cause, where the step was aborted
  leat_task_call_t call;  // none until the starter has stored it, and once it was cancelled
  bool is_started, is_ended;
  void* collector;
  leat_worker_done_fn_t done;
  void* data;
};

// ---- Calls --------------------------------------------------------------------------------------

static void call(leat_rpc_channel_t* channel, const char* method,
                 const leat_message_descriptor_t* descriptor, const void* message,
                 int64_t deadline_ns, leat_rpc_done_fn_t done, void* data,
                 leat_rpc_call_t** out_call) {
  const leat_rpc_call_options_t options = {.method = method, .deadline_ns = deadline_ns};
  leat_rpc_call_message(channel, &options, descriptor, message, done, data, out_call);
}

// The end of a call whose failure nobody can do anything about.
static void ignore(void* data, leat_status_t status, leat_string_view_t details,
                   leat_rpc_bytes_t answer) {
  leat_status_free(status);
}

// A call that somebody waits for.
typedef struct wait_s {
  leat_notification_t ended;
  leat_status_t status;
  const leat_message_descriptor_t* descriptor;  // of the answer; NULL: it does not count
  void* message;
  leat_arena_t* arena;
} wait_t;

static void end_wait(void* data, leat_status_t status, leat_string_view_t details,
                     leat_rpc_bytes_t answer) {
  wait_t* wait = data;
  if (!status && wait->descriptor) {
    status = leat_rpc_decode_message(answer, wait->arena, wait->descriptor, wait->message);
  }
  wait->status = status;
  leat_notification_open(&wait->ended);
}

static leat_status_t call_and_wait(leat_rpc_channel_t* channel, const char* method,
                                   const leat_message_descriptor_t* descriptor,
                                   const void* message, int64_t deadline_ns, wait_t* wait) {
  leat_notification_initialize(&wait->ended);
  call(channel, method, descriptor, message, deadline_ns, end_wait, wait, NULL);
  leat_notification_wait(&wait->ended, LEAT_DEADLINE_NEVER);
  leat_notification_deinitialize(&wait->ended);
  return wait->status;
}

void leat_remote_task_get_status(leat_task_t* task, int number, int64_t deadline_ns,
                                 leat_rpc_done_fn_t fn, void* data) {
  leat_rpc_channel_t* channel;
  leat_status_t status = leat_task_channel(task, number, &channel);
  if (status) {
    fn(data, status, LEAT_SV(""), (leat_rpc_bytes_t){0});
    return;
  }
  const leat_rpc_call_options_t options = {.method = "/tensorflow.WorkerService/GetStatus",
                                           .deadline_ns = deadline_ns,
                                           .waits = true};
  leat_rpc_call(channel, &options, fn, data, NULL);
}

leat_status_t leat_remote_task_clear(leat_task_t* task, int number,
                                     const leat_pb_string_list_t* containers,
                                     int64_t deadline_ns) {
  leat_rpc_channel_t* channel;
  const leat_pb_cleanup_all_request_t request = {.container = *containers};
  wait_t wait = {0};
  LEAT_RETURN_IF_ERROR(leat_task_channel(task, number, &channel));
  return call_and_wait(channel, "/tensorflow.WorkerService/CleanupAll",
                       &leat_pb_cleanup_all_request_descriptor, &request, deadline_ns, &wait);
}

// Says of which task a failure is.
static leat_status_t from_task(const remote_task_t* task, leat_status_t status) {
  return leat_task_told_by(leat_string_view_from(task->name), status);
}

// ---- Graphs -------------------------------------------------------------------------------------

// Keeps the handle that the task gave; the master's is its place.
static leat_status_t keep_handle(remote_task_t* task, leat_string_view_t handle,
                                 uint64_t* out_number) {
  char* copy;
  LEAT_RETURN_IF_ERROR(
      leat_allocator_clone_string(task->allocator, handle.data, handle.size, &copy));
  leat_mutex_lock(&task->mutex);
  leat_status_t status = LEAT_GROW(task->allocator, task->graph_count + 1, &task->graph_handles,
                                   &task->graph_capacity);
  if (!status) {
    task->graph_handles[task->graph_count++] = copy;
    *out_number = task->graph_count;
  }
  leat_mutex_unlock(&task->mutex);
  if (status) leat_allocator_free(task->allocator, copy);
  return status;
}

// The handle that the task gave; it lives as long as the worker. NULL: there is none.
static const char* find_handle(remote_task_t* task, uint64_t number) {
  leat_mutex_lock(&task->mutex);
  const char* handle =
      number > 0 && number <= task->graph_count ? task->graph_handles[number - 1] : NULL;
  leat_mutex_unlock(&task->mutex);
  return handle;
}

// Whether the graph has a collective. Of the other ops that communicate a Recv is in most graphs; a
// Batch counts as a collective, which does no harm.
static bool has_collective(const leat_graph_t* graph) {
  for (size_t i = 0; i < graph->node_count; ++i) {
    const uint32_t flags = leat_graph_node(graph, (int32_t)i)->op->flags;
    if ((flags & LEAT_OP_DISTRIBUTED_COMMUNICATION) && !(flags & LEAT_OP_RECV)) return true;
  }
  return false;
}

static leat_status_t register_with_task(remote_task_t* task, leat_graph_t* graph,
                                        uint64_t* out_number) {
  leat_string_builder_t bytes;
  leat_arena_t arena;
  leat_pb_register_graph_response_t response = {0};
  leat_string_builder_initialize(task->allocator, &bytes);
  leat_arena_initialize(task->allocator, 0, &arena);
  leat_status_t status = leat_graph_export(graph, &bytes);
  if (!status) status = leat_graph_export_lines(graph, 0, &bytes);
  if (!status) {
    const leat_pb_register_graph_request_t request = {
        .session_handle = leat_string_view_from(task->handle),
        .graph_def = leat_string_builder_view(&bytes),
        .config_proto = leat_string_view_make(task->config, task->config_bytes),
        // TensorFlow's workers refuse to run collectives of a graph without a key.
        .collective_graph_key = has_collective(graph),
        .create_worker_session_called = true};
    wait_t wait = {.descriptor = &leat_pb_register_graph_response_descriptor,
                   .message = &response,
                   .arena = &arena};
    status = call_and_wait(task->channel, "/tensorflow.WorkerService/RegisterGraph",
                           &leat_pb_register_graph_request_descriptor, &request,
                           LEAT_DEADLINE_NEVER, &wait);
  }
  if (!status) status = keep_handle(task, response.graph_handle, out_number);
  leat_arena_deinitialize(&arena);
  leat_string_builder_deinitialize(&bytes);
  return from_task(task, status);
}

static void register_graph(leat_worker_t* self, const leat_register_request_t* request,
                           uint64_t* out_handle, leat_worker_done_fn_t done, void* data) {
  LEAT_DCHECK(request->feed_count == 0 && request->fetch_count == 0);
  leat_status_t status = register_with_task((remote_task_t*)self, request->graph, out_handle);
  leat_graph_free(request->graph);
  done(data, status);
}

// A session that is being closed drops its graphs with itself.
static void deregister_graph(leat_worker_t* self, uint64_t number) {
  remote_task_t* task = (remote_task_t*)self;
  leat_mutex_lock(&task->mutex);
  const bool is_closing = task->aborted != NULL;
  leat_mutex_unlock(&task->mutex);
  if (is_closing) return;
  const leat_pb_deregister_graph_request_t request = {
      .session_handle = leat_string_view_from(task->handle),
      .graph_handle = leat_string_view_from(find_handle(task, number)),
      .create_worker_session_called = true};
  call(task->channel, "/tensorflow.WorkerService/DeregisterGraph",
       &leat_pb_deregister_graph_request_descriptor, &request,
       leat_clock_deadline_after_ms(DELETE_TIMEOUT_MS), ignore, NULL, NULL);
}

// ---- Steps --------------------------------------------------------------------------------------

static void free_run(run_t* run) {
  leat_task_call_free(run->call);
  leat_status_free(run->aborted);
  leat_allocator_free(run->task->allocator, run);
}

// Adds what the task has recorded of its part to |collector|, unless that is NULL.
static leat_status_t read_answer(leat_rpc_bytes_t answer, leat_step_collector_t* collector,
                                 bool* out_has_ended_step) {
  leat_arena_t arena;
  leat_pb_run_graph_response_t response;
  leat_arena_initialize(leat_allocator_system(), 0, &arena);
  leat_status_t status =
      leat_rpc_decode_message(answer, &arena, &leat_pb_run_graph_response_descriptor, &response);
  *out_has_ended_step = !status && response.has_ended_step;
  if (!status && collector && response.step_stats) {
    leat_step_collector_add_stats(collector, response.step_stats);
  }
  if (!status && response.status_code != LEAT_OK) {
    const bool is_known =
        response.status_code > LEAT_OK && response.status_code <= LEAT_UNAUTHENTICATED;
    status = leat_make_status(is_known ? (leat_status_code_t)response.status_code : LEAT_UNKNOWN,
                              "%.*s", LEAT_SV_ARG(response.status_error_message));
  }
  leat_arena_deinitialize(&arena);
  return status;
}

// A leat_rpc_done_fn_t.
static void end_run(void* data, leat_status_t status, leat_string_view_t details,
                    leat_rpc_bytes_t answer) {
  run_t* run = data;
  remote_task_t* task = run->task;
  leat_worker_done_fn_t done = run->done;
  void* done_data = run->data;
  bool has_ended_step = false;
  if (!status) status = read_answer(answer, run->collector, &has_ended_step);
  status = from_task(task, status);
  leat_mutex_lock(&task->mutex);
  // Without memory the task hears of the end twice.
  if (has_ended_step) {
    leat_status_free(leat_word_map_set(&task->ended_steps, (uint64_t)run->step_id, 1));
  }
  if (run->next) run->next->previous = run->previous;
  if (run->previous) {
    run->previous->next = run->next;
  } else {
    task->runs = run->next;
  }
  if (run->aborted && leat_status_code(status) == LEAT_CANCELLED) {
    leat_status_free(status);
    status = leat_status_clone(run->aborted);
  }
  run->is_ended = true;
  const bool frees = run->is_started;
  leat_mutex_unlock(&task->mutex);
  if (frees) free_run(run);
  done(done_data, status);
}

// The same on the plane.
static void end_run_on_plane(void* data, leat_status_t status, leat_string_view_t details,
                             leat_rpc_bytes_t answer) {
  const remote_task_t* task = ((run_t*)data)->task;
  leat_heartbeat_expect(task->master->heartbeat, task->number, -1);
  end_run(data, status, details, answer);
}

static leat_status_t add_run(remote_task_t* task, const leat_run_request_t* request,
                             leat_worker_done_fn_t done, void* data, run_t** out_run) {
  run_t* run;
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(task->allocator, 1, &run));
  *run = (run_t){.task = task,
                 .step_id = request->step_id,
                 .collector = request->collector,
                 .done = done,
                 .data = data};
  leat_mutex_lock(&task->mutex);
  leat_status_t status = task->aborted ? leat_status_clone(task->aborted) : leat_ok_status();
  if (!status) {
    run->next = task->runs;
    if (run->next) run->next->previous = run;
    task->runs = run;
  }
  leat_mutex_unlock(&task->mutex);
  if (status) {
    leat_allocator_free(task->allocator, run);
    return status;
  }
  *out_run = run;
  return leat_ok_status();
}

// Takes the call of a run that was aborted. false where there is none.
static bool take_aborted(remote_task_t* task, leat_task_call_t* out_call) {
  leat_mutex_lock(&task->mutex);
  run_t* run = task->runs;
  while (run && !(run->aborted && (run->call.rpc || run->call.plane))) run = run->next;
  if (run) {
    *out_call = run->call;
    run->call = (leat_task_call_t){0};
  }
  leat_mutex_unlock(&task->mutex);
  return run != NULL;
}

static void cancel_aborted(remote_task_t* task) {
  for (leat_task_call_t call; take_aborted(task, &call);) leat_task_call_drop(call);
}

static bool call_on_plane(run_t* run, leat_string_view_t bytes, leat_plane_call_t** out_call) {
  const remote_task_t* task = run->task;
  const leat_plane_call_options_t options = {.incarnation = task->incarnation,
                                             .channel = task->channel,
                                             .method = kRunGraph,
                                             .bytes = bytes};
  leat_heartbeat_expect(task->master->heartbeat, task->number, 1);
  if (leat_task_call_on_plane(task->master, &options, end_run_on_plane, run, out_call)) {
    return true;
  }
  leat_heartbeat_expect(task->master->heartbeat, task->number, -1);
  return false;
}

static void start_run(run_t* run, const leat_pb_run_graph_request_t* message,
                      int64_t deadline_ns) {
  remote_task_t* task = run->task;
  leat_task_call_t made = {0};
  leat_string_builder_t bytes;
  leat_string_builder_initialize(task->allocator, &bytes);
  leat_status_t status =
      leat_message_encode(&leat_pb_run_graph_request_descriptor, message, &bytes);
  const leat_string_view_t view = leat_string_builder_view(&bytes);
  if (status) {
    end_run(run, status, LEAT_SV(""), (leat_rpc_bytes_t){0});
  } else if (!call_on_plane(run, view, &made.plane)) {
    const leat_rpc_piece_t piece = {.data = view.data, .size = view.size};
    const leat_rpc_call_options_t options = {
        .method = kRunGraph, .bytes = {&piece, 1}, .deadline_ns = deadline_ns};
    leat_rpc_call(task->channel, &options, end_run, run, &made.rpc);
  }
  leat_string_builder_deinitialize(&bytes);
  leat_mutex_lock(&task->mutex);
  run->is_started = true;
  const bool frees = run->is_ended;
  const bool cancels = !frees && run->aborted;
  run->call = made;
  leat_mutex_unlock(&task->mutex);
  if (cancels) cancel_aborted(task);
  if (frees) free_run(run);
}

static void run_graph(leat_worker_t* self, const leat_run_request_t* request,
                      leat_worker_done_fn_t done, void* data) {
  remote_task_t* task = (remote_task_t*)self;
  const leat_pb_executor_opts_t options = {.record_timeline = request->collector != NULL};
  const leat_pb_run_graph_request_t message = {
      .session_handle = leat_string_view_from(task->handle),
      .graph_handle = leat_string_view_from(find_handle(task, request->handle)),
      .step_id = request->step_id,
      .exec_opts = (leat_pb_executor_opts_t*)(uintptr_t)&options,
      .request_id = leat_task_draw(63),
      .store_errors_in_response_body = true,
      .create_worker_session_called = true,
      .may_end_step = task->ends_steps && request->is_whole_step};
  run_t* run = NULL;
  leat_status_t status = add_run(task, request, done, data, &run);
  if (status) {
    done(data, status);
    return;
  }
  start_run(run, &message, request->deadline_ns);
}

// Notes the cause in the runs of a step, or of every step where |step_id| is LEAT_EVERY_STEP. The
// mutex is held.
static void note_abort(remote_task_t* task, int64_t step_id, leat_status_t status) {
  for (run_t* run = task->runs; run; run = run->next) {
    if ((step_id != LEAT_EVERY_STEP && run->step_id != step_id) || run->aborted) continue;
    run->aborted = leat_status_clone(status);
  }
}

static void abort_step(leat_worker_t* self, int64_t step_id, leat_status_t status) {
  remote_task_t* task = (remote_task_t*)self;
  leat_mutex_lock(&task->mutex);
  note_abort(task, step_id, status);
  leat_mutex_unlock(&task->mutex);
  leat_status_free(status);
  cancel_aborted(task);
}

static void abort_all(leat_worker_t* self, leat_status_t status) {
  remote_task_t* task = (remote_task_t*)self;
  leat_mutex_lock(&task->mutex);
  note_abort(task, LEAT_EVERY_STEP, status);
  if (!task->aborted) {
    task->aborted = status;
    status = leat_ok_status();
  }
  leat_mutex_unlock(&task->mutex);
  leat_status_free(status);
  cancel_aborted(task);
}

static void cleanup_step(leat_worker_t* self, int64_t step_id) {
  remote_task_t* task = (remote_task_t*)self;
  const leat_pb_cleanup_graph_request_t request = {.step_id = step_id};
  leat_mutex_lock(&task->mutex);
  const bool has_ended = leat_word_map_erase(&task->ended_steps, (uint64_t)step_id);
  leat_mutex_unlock(&task->mutex);
  if (has_ended) return;
  call(task->channel, "/tensorflow.WorkerService/CleanupGraph",
       &leat_pb_cleanup_graph_request_descriptor, &request,
       leat_clock_deadline_after_ms(DELETE_TIMEOUT_MS), ignore, NULL, NULL);
}

// The master's own task fetches values by its rendezvous, and sends none by itself.
static void receive_tensor(leat_worker_t* self, int64_t step_id, leat_string_view_t key,
                           leat_slot_t* out_value, leat_worker_done_fn_t done, void* data) {
  done(data, leat_make_status(LEAT_UNIMPLEMENTED,
                              "Receive failed for key '%.*s': it is asked of another task's "
                              "worker, must be asked of this task's",
                              LEAT_SV_ARG(key)));
}

static void send_tensor(leat_worker_t* self, int64_t step_id, leat_string_view_t key,
                        leat_slot_t value, leat_worker_done_fn_t done, void* data) {
  leat_slot_release(&value);
  done(data, leat_make_status(LEAT_UNIMPLEMENTED,
                              "Send failed for key '%.*s': it is left with another task's worker, "
                              "must be left with this task's",
                              LEAT_SV_ARG(key)));
}

static void clear_container(leat_worker_t* self, leat_string_view_t container) {
  remote_task_t* task = (remote_task_t*)self;
  const leat_pb_cleanup_all_request_t request = {
      .container = {&container, container.size > 0}};
  call(task->channel, "/tensorflow.WorkerService/CleanupAll",
       &leat_pb_cleanup_all_request_descriptor, &request,
       leat_clock_deadline_after_ms(DELETE_TIMEOUT_MS), ignore, NULL, NULL);
}

// ---- Life ---------------------------------------------------------------------------------------

static void free_task(remote_task_t* task) {
  for (size_t i = 0; i < task->graph_count; ++i) {
    leat_allocator_free(task->allocator, task->graph_handles[i]);
  }
  leat_allocator_free(task->allocator, task->graph_handles);
  leat_allocator_free(task->allocator, task->name);
  leat_allocator_free(task->allocator, task->handle);
  leat_allocator_free(task->allocator, task->config);
  leat_status_free(task->aborted);
  leat_word_map_deinitialize(&task->ended_steps);
  leat_mutex_deinitialize(&task->mutex);
  leat_allocator_free(task->allocator, task);
}

static void destroy(leat_worker_t* self) {
  remote_task_t* task = (remote_task_t*)self;
  const leat_pb_delete_worker_session_request_t request = {
      .session_handle = leat_string_view_from(task->handle)};
  wait_t wait = {0};
  leat_status_free(call_and_wait(task->channel, "/tensorflow.WorkerService/DeleteWorkerSession",
                                 &leat_pb_delete_worker_session_request_descriptor, &request,
                                 leat_clock_deadline_after_ms(DELETE_TIMEOUT_MS), &wait));
  free_task(task);
}

static const leat_worker_vtable_t kVtable = {
    .destroy = destroy,
    .register_graph = register_graph,
    .deregister_graph = deregister_graph,
    .run_graph = run_graph,
    .abort_step = abort_step,
    .abort_all = abort_all,
    .cleanup_step = cleanup_step,
    .receive_tensor = receive_tensor,
    .send_tensor = send_tensor,
    .clear_container = clear_container,
};

static leat_status_t copy_text(remote_task_t* task, leat_string_view_t text, char** out_copy) {
  return leat_allocator_clone_string(task->allocator, text.data, text.size, out_copy);
}

static leat_status_t create_session(leat_task_t* master, remote_task_t* task,
                                    const leat_remote_task_options_t* options) {
  leat_arena_t arena;
  leat_pb_cluster_def_t cluster;
  const leat_cluster_task_t* own = &master->spec.tasks[master->number];
  const leat_cluster_task_t* other = &master->spec.tasks[options->number];
  leat_pb_server_def_t server = {
      .job_name = other->job, .task_index = other->index, .protocol = LEAT_SV("grpc")};
  const leat_pb_create_worker_session_request_t request = {
      .session_handle = leat_string_view_from(task->handle),
      .server_def = &server,
      .isolate_session_state = options->isolates,
      .cluster_device_attributes = options->devices,
      .master_task = own->name,
      .master_incarnation = (int64_t)master->devices[0]->incarnation};
  wait_t wait = {0};
  leat_arena_initialize(master->allocator, 0, &arena);
  leat_status_t status = leat_ok_status();
  if (master != master->root) {
    status = leat_message_decode(&leat_pb_cluster_def_descriptor, master->cluster, &arena, NULL,
                                 &cluster);
    server.cluster = &cluster;
  }
  if (!status) {
    status = call_and_wait(task->channel, "/tensorflow.WorkerService/CreateWorkerSession",
                           &leat_pb_create_worker_session_request_descriptor, &request,
                           options->deadline_ns, &wait);
  }
  leat_arena_deinitialize(&arena);
  return status;
}

leat_status_t leat_remote_task_open(leat_task_t* master,
                                    const leat_remote_task_options_t* options,
                                    leat_worker_t** out_worker) {
  remote_task_t* task;
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(master->allocator, 1, &task));
  task->base.vtable = &kVtable;
  task->allocator = master->allocator;
  task->master = master;
  task->number = options->number;
  task->incarnation = options->incarnation;
  task->config_bytes = options->config.size;
  task->ends_steps = options->ends_steps;
  leat_mutex_initialize(&task->mutex);
  leat_word_map_initialize(task->allocator, &task->ended_steps);
  leat_status_t status = leat_task_channel(master, options->number, &task->channel);
  if (!status) status = copy_text(task, master->spec.tasks[options->number].name, &task->name);
  if (!status) status = copy_text(task, options->handle, &task->handle);
  if (!status) status = copy_text(task, options->config, &task->config);
  if (!status) status = create_session(master, task, options);
  if (status) {
    free_task(task);
    return status;
  }
  *out_worker = &task->base;
  return leat_ok_status();
}
