// A session of a master is a session of this process without a graph (session/session.h), over a
// worker of its own on the task's devices. What a master registers is compiled by the functions of
// the master's own room, as a client's signature is: the part is optimized, cut by device and
// registered with the worker.
//
//   RegisterGraph ─▶ import ─▶ check devices ─▶ leat_master_compile ─▶ worker of the session
//
// The targets of such a signature are all nodes that nobody reads, Sends above all. Each graph has
// a runtime of functions of its own, because the library of functions came with the graph. A graph
// and a session live as long as somebody runs on them, though a master may have forgotten them.
#include "cluster/worker_session.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/checked.h"
#include "base/clock.h"
#include "cluster/rpc_message.h"
#include "function/function.h"
#include "graph/import/import.h"
#include "master/function_runtime.h"

// After how many heartbeats without a call the master is asked for, and how long it has to answer.
#define LOOK_BEATS 12
#define LOOK_TIMEOUT_MS 10000

struct leat_worker_graph_s {
  leat_worker_graph_t* next;
  leat_reference_count_t references;
  leat_worker_session_t* session;  // retained
  uint64_t number;
  leat_graph_t* graph;             // as it came, for its library of functions
  leat_master_options_t options;
  leat_function_runtime_t* functions;
  leat_compiled_t* compiled;
};

struct leat_worker_session_s {
  leat_worker_session_t* next;
  leat_reference_count_t references;
  leat_task_t* task;
  uint64_t serial;  // later sessions have higher ones
  char* handle;
  char* master;  // the name of its task; "" where it gave none
  uint64_t master_incarnation;
  _Atomic(int) running;          // steps
  _Atomic(int64_t) last_use_ns;  // by the master
  int64_t next_look_ns;          // when to ask for the master; guarded by the task's mutex
  leat_session_t* session;
  leat_mutex_t mutex;           // guards what follows
  leat_worker_graph_t* graphs;  // a list
  uint64_t last_number;
  bool is_ended;                // takes no further graphs, which would keep it for ever
};

// ---- Graphs -------------------------------------------------------------------------------------

static void free_graph(leat_worker_graph_t* graph) {
  leat_worker_session_t* session = graph->session;
  leat_compiled_free(graph->compiled);
  leat_master_functions_free(graph->functions);
  leat_graph_free(graph->graph);
  leat_allocator_free(session->task->allocator, graph);
  leat_worker_session_release(session);
}

void leat_worker_graph_release(leat_worker_graph_t* graph) {
  if (graph && leat_reference_count_release(&graph->references)) free_graph(graph);
}

leat_compiled_t* leat_worker_graph_compiled(const leat_worker_graph_t* graph) {
  return graph->compiled;
}

void leat_worker_graph_begin_run(leat_worker_graph_t* graph) {
  atomic_fetch_add(&graph->session->running, 1);
}

void leat_worker_graph_end_run(leat_worker_graph_t* graph, int64_t begin_ns,
                               leat_status_t status) {
  leat_task_metrics_t* metrics = &graph->session->task->root->metrics;
  leat_metrics_note_end(metrics->runs, &metrics->run_times, begin_ns, status);
  atomic_store(&graph->session->last_use_ns, leat_clock_now_ns());
  atomic_fetch_sub(&graph->session->running, 1);
}

// Checks that each node is placed on a device of this task: the master has placed it.
static leat_status_t check_devices(const leat_worker_session_t* session,
                                   const leat_graph_t* graph) {
  const leat_task_t* task = session->task;
  for (size_t i = 0; i < graph->node_count; ++i) {
    const leat_node_t* node = &graph->nodes[i];
    bool is_here = false;
    for (int d = 0; d < task->device_count && !is_here; ++d) {
      is_here = leat_string_view_equal(node->device, task->devices[d]->name);
    }
    if (is_here) continue;
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "RegisterGraph failed for node '%.*s' (%.*s): device is '%.*s', must "
                            "be one of %.*s",
                            LEAT_SV_ARG(node->name), LEAT_SV_ARG(node->op->name),
                            LEAT_SV_ARG(node->device),
                            LEAT_SV_ARG(task->spec.tasks[task->number].name));
  }
  return leat_ok_status();
}

// Takes from the client's configuration what says how to optimize.
static leat_status_t read_config(leat_string_view_t config, leat_master_options_t* options) {
  leat_session_options_t read = leat_session_options_default();
  leat_status_t executor_status = NULL;
  if (config.size == 0) return leat_ok_status();
  LEAT_RETURN_IF_ERROR(leat_session_options_read(config, &read, &executor_status));
  LEAT_RETURN_IF_ERROR(executor_status);
  const leat_pass_options_t own = options->passes;
  options->passes = read.optimizer;
  options->passes.evaluate = own.evaluate;
  options->passes.evaluate_data = own.evaluate_data;
  options->passes.swap_devices = own.swap_devices;
  options->passes.speeds = own.speeds;
  options->executor = read.executor;
  options->inter_op_threads = read.inter_op_threads;
  return leat_ok_status();
}

static leat_status_t import(leat_worker_graph_t* graph, leat_string_view_t graph_def) {
  const leat_worker_session_t* session = graph->session;
  const leat_import_options_t options = {.ignore_colocation = true, .allow_internal_names = true};
  LEAT_RETURN_IF_ERROR(leat_graph_create(session->task->runtime->ops, session->task->allocator,
                                         &graph->graph));
  graph->graph->infer_call = leat_call_infer_shapes;
  LEAT_RETURN_IF_ERROR(leat_graph_import(graph->graph, graph_def, &options, NULL));
  return check_devices(session, graph->graph);
}

static leat_status_t compile(leat_worker_graph_t* graph,
                             const leat_pb_register_graph_request_t* request) {
  const leat_worker_session_t* session = graph->session;
  LEAT_RETURN_IF_ERROR(import(graph, request->graph_def));
  graph->options = *leat_session_master_options(session->session);
  graph->options.keeps_partitions = false;  // what the master registers, it can show itself
  LEAT_RETURN_IF_ERROR(read_config(request->config_proto, &graph->options));
  LEAT_RETURN_IF_ERROR(leat_master_functions_create(
      &graph->options, session->task->runtime->ops, &graph->functions));
  graph->options.functions = graph->functions;
  leat_master_functions_set_library(graph->functions, graph->graph->functions,
                                    graph->graph->producer_version);
  int32_t* targets = NULL;
  int target_count;
  leat_rewrite_t rewrite;
  leat_status_t status = leat_graph_find_sinks(graph->graph, session->task->allocator, &targets,
                                               &target_count);
  if (!status) {
    status = leat_prune(graph->graph, NULL, 0, NULL, 0, targets, target_count, &rewrite);
  }
  leat_allocator_free(session->task->allocator, targets);
  LEAT_RETURN_IF_ERROR(status);
  return leat_master_compile(&graph->options, &rewrite, 0, NULL, &graph->compiled);
}

static leat_status_t no_session(const leat_task_t* task, leat_string_view_t handle) {
  return leat_make_status(LEAT_ABORTED,
                          "Session handle is not found: %.*s. Possibly this worker (\"%.*s\") just "
                          "restarted.",
                          LEAT_SV_ARG(handle), LEAT_SV_ARG(task->spec.tasks[task->number].name));
}

leat_status_t leat_worker_session_register(leat_worker_session_t* session,
                                           const leat_pb_register_graph_request_t* request,
                                           leat_arena_t* arena, leat_string_view_t* out_handle) {
  leat_worker_graph_t* graph;
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(session->task->allocator, 1, &graph));
  graph->session = session;
  leat_reference_count_retain(&session->references);
  atomic_init(&graph->references, 1);
  leat_status_t status = compile(graph, request);
  if (status) {
    free_graph(graph);
    return status;
  }
  const leat_string_view_t session_handle = leat_string_view_from(session->handle);
  leat_mutex_lock(&session->mutex);
  const bool is_ended = session->is_ended;  // while the graph was being compiled
  const uint64_t number = graph->number = ++session->last_number;
  if (!is_ended) {
    graph->next = session->graphs;
    session->graphs = graph;
  }
  leat_mutex_unlock(&session->mutex);
  if (is_ended) {
    status = no_session(session->task, session_handle);
    free_graph(graph);
    return status;
  }
  const leat_task_event_t event = {.name = "graph_registered",
                                   .session = session_handle,
                                   .count = (int64_t)number};
  leat_metrics_add(&session->task->root->metrics.graphs_registered, 1);
  leat_task_tell(session->task, &event);
  return leat_arena_print(arena, out_handle, "%016" PRIx64, number);
}

// The place of the graph in the session's list; it holds NULL where there is none. The mutex is
// held.
static leat_worker_graph_t** find_place(leat_worker_session_t* session, leat_string_view_t handle) {
  char text[24];
  leat_worker_graph_t** place = &session->graphs;
  for (; *place; place = &(*place)->next) {
    snprintf(text, sizeof text, "%016" PRIx64, (*place)->number);
    if (leat_string_view_equals(handle, text)) break;
  }
  return place;
}

static leat_status_t no_graph(leat_string_view_t handle) {
  return leat_make_status(LEAT_ABORTED,
                          "Graph handle is not found: %.*s. Possibly, this worker just restarted.",
                          LEAT_SV_ARG(handle));
}

leat_status_t leat_worker_session_deregister(leat_worker_session_t* session,
                                             leat_string_view_t handle) {
  leat_mutex_lock(&session->mutex);
  leat_worker_graph_t** place = find_place(session, handle);
  leat_worker_graph_t* graph = *place;
  if (graph) *place = graph->next;
  leat_mutex_unlock(&session->mutex);
  if (!graph) return no_graph(handle);
  leat_worker_graph_release(graph);
  return leat_ok_status();
}

leat_status_t leat_worker_session_find_graph(leat_worker_session_t* session,
                                             leat_string_view_t handle,
                                             leat_worker_graph_t** out_graph) {
  leat_mutex_lock(&session->mutex);
  *out_graph = *find_place(session, handle);
  if (*out_graph) leat_reference_count_retain(&(*out_graph)->references);
  leat_mutex_unlock(&session->mutex);
  return *out_graph ? leat_ok_status() : no_graph(handle);
}

// ---- Sessions -----------------------------------------------------------------------------------

// Opens the target of a session: this task alone.
typedef struct own_runtime_s {
  leat_runtime_t base;
  leat_task_t* task;
} own_runtime_t;

static leat_status_t open_own(const leat_runtime_t* runtime, leat_string_view_t target,
                              const leat_session_options_t* options, leat_target_t* out_target) {
  return leat_task_open_target(((const own_runtime_t*)runtime)->task, options, out_target);
}

leat_status_t leat_task_open_session(leat_task_t* task, const leat_session_options_t* options,
                                     leat_shared_graph_t** out_graph,
                                     leat_session_t** out_session) {
  own_runtime_t runtime = {.base = *task->runtime, .task = task};
  runtime.base.open_target = open_own;
  LEAT_RETURN_IF_ERROR(leat_shared_graph_create(&runtime.base, out_graph));
  leat_status_t status = leat_session_create(&runtime.base, *out_graph, options, out_session);
  if (!status) return status;
  leat_shared_graph_release(*out_graph);
  *out_graph = NULL;
  return status;
}

static leat_status_t open_session(leat_worker_session_t* session, bool isolates) {
  leat_session_options_t options = session->task->options;
  leat_shared_graph_t* graph;
  options.isolate_state = isolates;
  LEAT_RETURN_IF_ERROR(
      leat_task_open_session(session->task, &options, &graph, &session->session));
  leat_shared_graph_release(graph);
  return leat_ok_status();
}

static void free_session(leat_worker_session_t* session) {
  leat_allocator_t* allocator = session->task->allocator;
  LEAT_DCHECK(!session->graphs);
  leat_session_free(session->session);
  leat_mutex_deinitialize(&session->mutex);
  leat_allocator_free(allocator, session->handle);
  leat_allocator_free(allocator, session->master);
  leat_allocator_free(allocator, session);
}

void leat_worker_session_release(leat_worker_session_t* session) {
  if (session && leat_reference_count_release(&session->references)) free_session(session);
}

// The place of the session in the task's list; it holds NULL where there is none. The task's mutex
// is held.
static leat_worker_session_t** find_session(leat_task_t* task, leat_string_view_t handle) {
  leat_worker_session_t** place = &task->worker_sessions;
  while (*place && !leat_string_view_equals(handle, (*place)->handle)) place = &(*place)->next;
  return place;
}

static leat_status_t fill_session(leat_worker_session_t* session,
                                  const leat_pb_create_worker_session_request_t* request) {
  leat_allocator_t* allocator = session->task->allocator;
  const leat_string_view_t handle = request->session_handle, master = request->master_task;
  session->master_incarnation = (uint64_t)request->master_incarnation;
  LEAT_RETURN_IF_ERROR(
      leat_allocator_clone_string(allocator, handle.data, handle.size, &session->handle));
  LEAT_RETURN_IF_ERROR(
      leat_allocator_clone_string(allocator, master.data, master.size, &session->master));
  return open_session(session, request->isolate_session_state);
}

leat_status_t leat_worker_session_create(leat_task_t* task,
                                         const leat_pb_create_worker_session_request_t* request) {
  leat_worker_session_t* session;
  leat_task_t* named = task;
  const leat_pb_server_def_t* server = request->server_def;
  if (server && server->cluster && server->cluster->job.count > 0) {
    LEAT_RETURN_IF_ERROR(leat_task_rename(task, server->cluster, server->job_name,
                                          server->task_index, &named));
  }
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(task->allocator, 1, &session));
  *session = (leat_worker_session_t){.task = named};
  atomic_init(&session->references, 1);
  atomic_init(&session->running, 0);
  atomic_init(&session->last_use_ns, leat_clock_now_ns());
  leat_mutex_initialize(&session->mutex);
  leat_status_t status = fill_session(session, request);
  bool is_new = false;
  if (!status) {
    leat_mutex_lock(&task->mutex);
    leat_worker_session_t** place = find_session(task, request->session_handle);
    is_new = !*place;
    if (is_new) {
      session->serial = ++task->last_serial;
      *place = session;
    }
    leat_mutex_unlock(&task->mutex);
  }
  if (is_new) {
    const leat_task_event_t event = {.name = "worker_session_created",
                                     .session = request->session_handle,
                                     .task = request->master_task};
    leat_metrics_add(&task->metrics.worker_sessions_created, 1);
    leat_task_tell(task, &event);
  } else {
    free_session(session);
  }
  return status;
}

leat_status_t leat_worker_session_find(leat_task_t* task, leat_string_view_t handle,
                                       leat_worker_session_t** out_session) {
  leat_mutex_lock(&task->mutex);
  *out_session = *find_session(task, handle);
  if (*out_session) {
    leat_reference_count_retain(&(*out_session)->references);
    atomic_store(&(*out_session)->last_use_ns, leat_clock_now_ns());
  }
  leat_mutex_unlock(&task->mutex);
  return *out_session ? leat_ok_status() : no_session(task, handle);
}

// Ends a session that is in no list any more. Its graphs go with their last steps, and with them
// the session.
static void end_session(leat_worker_session_t* session) {
  leat_status_free(leat_session_close(session->session));
  leat_mutex_lock(&session->mutex);
  leat_worker_graph_t* graphs = session->graphs;
  session->graphs = NULL;
  session->is_ended = true;
  leat_mutex_unlock(&session->mutex);
  for (leat_worker_graph_t* next; graphs; graphs = next) {
    next = graphs->next;
    leat_worker_graph_release(graphs);
  }
  leat_worker_session_release(session);
}

void leat_worker_session_delete(leat_task_t* task, leat_string_view_t handle,
                                const char* reason) {
  leat_mutex_lock(&task->mutex);
  leat_worker_session_t** place = find_session(task, handle);
  leat_worker_session_t* session = *place;
  if (session) *place = session->next;
  leat_mutex_unlock(&task->mutex);
  if (!session) return;
  const leat_task_event_t event = {.name = "worker_session_deleted",
                                   .session = handle,
                                   .message = leat_string_view_from(reason)};
  leat_task_tell(task, &event);
  end_session(session);
}

// ---- All sessions -------------------------------------------------------------------------------

// The first session whose serial number is above |serial|, retained, or NULL. The list is in the
// order of these numbers.
static leat_worker_session_t* find_next(leat_task_t* task, uint64_t serial) {
  leat_mutex_lock(&task->mutex);
  leat_worker_session_t* session = task->worker_sessions;
  while (session && session->serial <= serial) session = session->next;
  if (session) leat_reference_count_retain(&session->references);
  leat_mutex_unlock(&task->mutex);
  return session;
}

// Calls |visit| for each session, without the task's mutex.
static void visit_sessions(leat_task_t* task, void (*visit)(leat_session_t* session, int64_t step),
                           int64_t step_id) {
  uint64_t serial = 0;
  for (leat_worker_session_t* session; (session = find_next(task, serial));) {
    serial = session->serial;
    visit(session->session, step_id);
    leat_worker_session_release(session);
  }
}

static void cleanup_step(leat_session_t* session, int64_t step_id) {
  leat_worker_t* worker = leat_session_master_options(session)->workers[0];
  worker->vtable->cleanup_step(worker, step_id);
}

void leat_worker_sessions_cleanup(leat_task_t* task, int64_t step_id) {
  visit_sessions(task, cleanup_step, step_id);
  leat_rendezvous_table_close(task->rendezvous, step_id);
}

static void close_session(leat_session_t* session, int64_t unused) {
  leat_status_free(leat_session_close(session));
}

void leat_worker_sessions_abort(leat_task_t* task) { visit_sessions(task, close_session, 0); }

size_t leat_worker_sessions_count(leat_task_t* task, size_t* out_graph_count) {
  size_t count = 0;
  uint64_t serial = 0;
  *out_graph_count = 0;
  for (leat_worker_session_t* session; (session = find_next(task, serial)); ++count) {
    serial = session->serial;
    leat_mutex_lock(&session->mutex);
    for (const leat_worker_graph_t* g = session->graphs; g; g = g->next) ++*out_graph_count;
    leat_mutex_unlock(&session->mutex);
    leat_worker_session_release(session);
  }
  return count;
}

static leat_worker_session_t* take_first(leat_task_t* task) {
  leat_mutex_lock(&task->mutex);
  leat_worker_session_t* session = task->worker_sessions;
  if (session) task->worker_sessions = session->next;
  leat_mutex_unlock(&task->mutex);
  return session;
}

void leat_worker_sessions_free(leat_task_t* task) {
  for (leat_worker_session_t* session; (session = take_first(task));) end_session(session);
}

// ---- Sessions of masters that are gone ----------------------------------------------------------

// A session whose master is asked for.
typedef struct look_s {
  leat_task_t* task;
  uint64_t incarnation;
  bool is_impatient;  // silence counts as death
  char handle[];
} look_t;

static bool has_incarnation(leat_rpc_bytes_t answer, uint64_t incarnation) {
  leat_arena_t arena;
  leat_pb_get_status_response_t response = {0};
  leat_arena_initialize(leat_allocator_system(), 0, &arena);
  leat_status_t status = leat_rpc_decode_message(
      answer, &arena, &leat_pb_get_status_response_descriptor, &response);
  bool is_found = status != NULL;  // an answer that cannot be read tells nothing
  for (size_t i = 0; !status && i < response.device_attributes.count; ++i) {
    is_found |= response.device_attributes.items[i].incarnation == incarnation;
  }
  leat_status_free(status);
  leat_arena_deinitialize(&arena);
  return is_found;
}

// A leat_rpc_done_fn_t: the master has answered, or has not.
static void looked(void* data, leat_status_t status, leat_string_view_t details,
                   leat_rpc_bytes_t answer) {
  look_t* look = data;
  const bool is_gone =
      status ? look->is_impatient : !has_incarnation(answer, look->incarnation);
  if (is_gone) {
    leat_worker_session_delete(look->task->root, leat_string_view_from(look->handle),
                               status ? "its master is silent" : "its master is gone");
  }
  leat_status_free(status);
  leat_allocator_free(leat_allocator_system(), look);
}

static leat_status_t look_for_master(const leat_worker_session_t* session, bool is_impatient) {
  leat_task_t* task = session->task;
  leat_rpc_channel_t* channel;
  look_t* look;
  const size_t size = strlen(session->handle) + 1;
  const int number =
      leat_cluster_spec_find_name(&task->spec, leat_string_view_from(session->master));
  if (number < 0 || number == task->number) {  // nobody can be asked
    if (is_impatient) {
      leat_worker_session_delete(task->root, leat_string_view_from(session->handle),
                                 "no master used it for the time of --session-timeout");
    }
    return leat_ok_status();
  }
  LEAT_RETURN_IF_ERROR(leat_task_channel(task, number, &channel));
  LEAT_RETURN_IF_ERROR(
      leat_allocator_allocate(leat_allocator_system(), sizeof *look + size, (void**)&look));
  *look = (look_t){task, session->master_incarnation, is_impatient};
  memcpy(look->handle, session->handle, size);
  const leat_rpc_call_options_t options = {
      .method = "/tensorflow.WorkerService/GetStatus",
      .deadline_ns = leat_clock_deadline_after_ms(LOOK_TIMEOUT_MS)};
  leat_rpc_call(channel, &options, looked, look, NULL);
  return leat_ok_status();
}

// Whether the session has been idle for so long that its master is to be asked for now.
static bool is_due(leat_worker_session_t* session, int64_t now_ns) {
  leat_task_t* task = session->task;
  const int64_t beat_ms =
      task->patience.heartbeat_ms > 0 ? task->patience.heartbeat_ms : LEAT_HEARTBEAT_DEFAULT_MS;
  int64_t idle_ms = LOOK_BEATS * beat_ms;
  if (task->patience.session_ms > 0) idle_ms = LEAT_MIN(idle_ms, task->patience.session_ms);
  const int64_t begin_ns = now_ns - idle_ms * 1000000;
  leat_mutex_lock(&task->root->mutex);
  const bool is_due = atomic_load(&session->running) == 0 &&
                      atomic_load(&session->last_use_ns) < begin_ns &&
                      session->next_look_ns <= now_ns;
  if (is_due) session->next_look_ns = now_ns + idle_ms * 1000000;
  leat_mutex_unlock(&task->root->mutex);
  return is_due;
}

void leat_worker_sessions_collect(leat_task_t* task, int64_t now_ns) {
  const int64_t patience_ns = task->patience.session_ms * 1000000;
  uint64_t serial = 0;
  for (leat_worker_session_t* session; (session = find_next(task, serial));) {
    serial = session->serial;
    const bool is_impatient =
        patience_ns > 0 && atomic_load(&session->last_use_ns) < now_ns - patience_ns;
    // Without memory it is tried again.
    if (is_due(session, now_ns)) leat_status_free(look_for_master(session, is_impatient));
    leat_worker_session_release(session);
  }
}
