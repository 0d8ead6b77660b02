// A client's session. Making one has two rounds of calls to the other tasks: all are asked for
// their devices at once, and then each gets a session under the client's handle. The devices become
// descriptions in the target of a session of this process, whose first worker is the task's own.
//
//   CreateSession ─▶ GetStatus to all ─▶ CreateWorkerSession to each ─▶ leat_session_create
//
// Sessions are kept in a list of the task, and live as long as a call uses them. Callables and
// partial runs are in kept_steps.c.
#include "cluster/master_session.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/clock.h"
#include "cluster/client_session.h"
#include "cluster/cluster_target.h"
#include "cluster/kept_steps.h"
#include "formats/generated/config.h"
#include "formats/generated/step_stats.h"
#include "formats/wire/decode.h"
#include "formats/wire/encode.h"
#include "formats/wire/tensor_content.h"
#include "function/function.h"
#include "graph/function/graph_functions.h"
#include "graph/import/import.h"
#include "session/graph_stages.h"
#include "trace/collector.h"

// ---- Life ---------------------------------------------------------------------------------------

static void free_session(leat_master_session_t* session) {
  leat_kept_steps_free(session);
  leat_session_free(session->session);
  leat_shared_graph_release(session->graph);
  leat_mutex_deinitialize(&session->mutex);
  leat_allocator_free(session->task->allocator, session);
}

// Who releases a session has used it until now.
void leat_master_session_release(leat_master_session_t* session) {
  if (!session) return;
  atomic_store(&session->last_use_ns, leat_clock_now_ns());
  if (leat_reference_count_release(&session->references)) free_session(session);
}

// The place of the session in the task's list; it holds NULL where there is none. The task's mutex
// is held.
static leat_master_session_t** find_place(leat_task_t* task, leat_string_view_t handle) {
  leat_master_session_t** place = &task->master_sessions;
  while (*place && !leat_string_view_equals(handle, (*place)->handle)) place = &(*place)->next;
  return place;
}

leat_status_t leat_master_session_find(leat_task_t* task, leat_string_view_t handle,
                                       leat_master_session_t** out_session) {
  leat_mutex_lock(&task->mutex);
  *out_session = *find_place(task, handle);
  if (*out_session) leat_reference_count_retain(&(*out_session)->references);
  leat_mutex_unlock(&task->mutex);
  if (*out_session) return leat_ok_status();
  return leat_make_status(LEAT_ABORTED, "Session %.*s is not found.", LEAT_SV_ARG(handle));
}

// Closes a session that was taken out of the list, and lets go of it.
static leat_status_t end_session(leat_master_session_t* session, const char* reason) {
  const leat_task_event_t event = {.name = "session_closed",
                                   .session = leat_string_view_from(session->handle),
                                   .message = leat_string_view_from(reason)};
  leat_task_tell(session->task, &event);
  leat_status_t status = leat_session_close(session->session);
  leat_master_session_release(session);
  return status;
}

leat_status_t leat_master_session_close(leat_task_t* task, leat_string_view_t handle) {
  leat_mutex_lock(&task->mutex);
  leat_master_session_t** place = find_place(task, handle);
  leat_master_session_t* session = *place;
  if (session) *place = session->next;
  leat_mutex_unlock(&task->mutex);
  if (!session) {
    return leat_make_status(LEAT_ABORTED,
                            "Session %.*s is not found. Possibly, this master has restarted.",
                            LEAT_SV_ARG(handle));
  }
  return end_session(session, "the client closed it");
}

static leat_master_session_t* take_first(leat_task_t* task) {
  leat_mutex_lock(&task->mutex);
  leat_master_session_t* session = task->master_sessions;
  if (session) task->master_sessions = session->next;
  leat_mutex_unlock(&task->mutex);
  return session;
}

void leat_master_sessions_close(leat_task_t* task, const char* reason) {
  for (leat_master_session_t* session; (session = take_first(task));) {
    leat_status_free(end_session(session, reason));
  }
}

void leat_master_sessions_free(leat_task_t* task) {
  leat_master_sessions_close(task, "the server stops");
}

size_t leat_master_sessions_count(leat_task_t* task) {
  size_t count = 0;
  leat_mutex_lock(&task->mutex);
  for (const leat_master_session_t* s = task->master_sessions; s; s = s->next) ++count;
  leat_mutex_unlock(&task->mutex);
  return count;
}

// ---- What clients abandon -----------------------------------------------------------------------

// Takes a session out of the list that has no call under way, and has had none since |before_ns|;
// NULL where there is none.
static leat_master_session_t* take_abandoned(leat_task_t* task, int64_t before_ns) {
  leat_mutex_lock(&task->mutex);
  leat_master_session_t** place = &task->master_sessions;
  while (*place && (atomic_load(&(*place)->references) > 1 ||
                    atomic_load(&(*place)->last_use_ns) >= before_ns)) {
    place = &(*place)->next;
  }
  leat_master_session_t* session = *place;
  if (session) *place = session->next;
  leat_mutex_unlock(&task->mutex);
  return session;
}

// Takes a partial run out of its session, which is retained. The task's mutex is taken before the
// session's.
static struct partial_s* take_abandoned_partial(leat_task_t* task, int64_t before_ns,
                                                leat_master_session_t** out_session) {
  struct partial_s* partial = NULL;
  leat_mutex_lock(&task->mutex);
  for (leat_master_session_t* s = task->master_sessions; s && !partial; s = s->next) {
    partial = leat_kept_steps_take_abandoned(s, before_ns);
    if (partial) {
      leat_reference_count_retain(&s->references);
      *out_session = s;
    }
  }
  leat_mutex_unlock(&task->mutex);
  return partial;
}

void leat_master_sessions_collect(leat_task_t* task, int64_t now_ns) {
  leat_master_session_t* session;
  struct partial_s* partial;
  const int64_t partial_ns = task->patience.partial_run_ms * 1000000;
  const int64_t session_ns = task->patience.session_ms * 1000000;
  while (partial_ns > 0 &&
         (partial = take_abandoned_partial(task, now_ns - partial_ns, &session))) {
    leat_kept_steps_end(session, partial);
    leat_metrics_add(&task->metrics.partial_runs_abandoned, 1);
    if (leat_reference_count_release(&session->references)) free_session(session);
  }
  while (session_ns > 0 && (session = take_abandoned(task, now_ns - session_ns))) {
    leat_metrics_add(&task->metrics.sessions_abandoned, 1);
    leat_status_free(end_session(session, "no client used it for the time of --session-timeout"));
  }
}

const leat_session_t* leat_master_session_session(const leat_master_session_t* session) {
  return session->session;
}

bool leat_master_session_is_renamed(const leat_master_session_t* session, int* out_own_devices) {
  *out_own_devices = session->task->device_count;
  return session->task != session->task->root;
}

// ---- Graph --------------------------------------------------------------------------------------

// Adds nodes to the graph. As in TensorFlow, all nodes must have a device then, whether a step
// needs them or not; where one has none, the graph stays as it was.
static leat_status_t add_nodes(leat_master_session_t* session, leat_string_view_t graph_def) {
  const leat_import_options_t options = {.extends_graph = true};
  if (graph_def.size == 0) return leat_ok_status();
  leat_mutex_lock(&session->graph->mutex);
  leat_graph_t* graph = session->graph->graph;
  const leat_graph_mark_t before = leat_graph_mark(graph);
  size_t checked = graph->node_count;
  leat_status_t status = leat_graph_import(graph, graph_def, &options, NULL);
  if (!status && !leat_session_options(session->session)->place_pruned_graph) {
    status = leat_check_placement(
        graph, &leat_session_master_options(session->session)->placement, &checked);
    if (status) leat_graph_return_to(graph, &before);
  }
  leat_mutex_unlock(&session->graph->mutex);
  return status;
}

leat_status_t leat_master_session_extend(leat_master_session_t* session,
                                         leat_string_view_t graph_def, int64_t version,
                                         int64_t* out_version) {
  leat_mutex_lock(&session->mutex);
  leat_status_t status = leat_ok_status();
  if (version != session->version) {
    status = leat_make_status(LEAT_ABORTED,
                              "Current version is %" PRId64 " but caller expected %" PRId64 ".",
                              session->version, version);
  }
  if (!status) status = add_nodes(session, graph_def);
  if (!status) *out_version = ++session->version;
  leat_mutex_unlock(&session->mutex);
  return status;
}

static leat_status_t open_session(leat_master_session_t* session,
                                  const leat_pb_create_session_request_t* request,
                                  int64_t deadline_ns) {
  leat_task_t* task = session->task;
  leat_session_options_t options = task->options;
  leat_status_t executor_status = NULL;
  if (request->config.size) {
    LEAT_RETURN_IF_ERROR(
        leat_session_options_read(request->config, &options, &executor_status));
    LEAT_RETURN_IF_ERROR(executor_status);
  }
  if (session->task != session->task->root) options.isolate_state |= !session->shares_state;
  if (options.inter_op_pool_count > 0 || options.use_per_session_threads) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "Distributed session does not support session thread pool options.");
  }
  LEAT_RETURN_IF_ERROR(leat_shared_graph_create(task->runtime, &session->graph));
  const leat_cluster_target_t target = {.task = task,
                                        .handle = leat_string_view_from(session->handle),
                                        .config = request->config,
                                        .deadline_ns = deadline_ns};
  LEAT_RETURN_IF_ERROR(leat_cluster_target_open_session(&target, session->graph, &options,
                                                        &session->session));
  return add_nodes(session, request->graph_def);
}

// Finds the task whose address the client used as its target, "grpc://host:port", or else the
// address of |root|.
static int find_by_target(const leat_task_t* root, const leat_pb_cluster_def_t* cluster,
                          leat_string_view_t target, leat_string_view_t* out_job) {
  const leat_string_view_t own = root->spec.tasks[root->number].address;
  leat_client_session_is_target(target, &target);
  for (int pass = 0; pass < 2; ++pass) {
    for (size_t j = 0; j < cluster->job.count; ++j) {
      const leat_pb_job_def_t* job = &cluster->job.items[j];
      for (size_t i = 0; i < job->tasks.count; ++i) {
        if (!leat_string_view_equal(job->tasks.items[i].value, pass ? own : target)) continue;
        *out_job = job->name;
        return job->tasks.items[i].key;
      }
    }
  }
  return -1;
}

// The task that the session is of: |root|, or what it is called in the cluster that the client
// gives.
static leat_status_t choose_task(leat_task_t* root, const leat_pb_create_session_request_t* request,
                                 leat_arena_t* arena, leat_master_session_t* session) {
  leat_pb_config_proto_t config = {0};
  leat_string_view_t job;
  session->task = root;
  LEAT_RETURN_IF_ERROR(leat_message_decode(&leat_pb_config_proto_descriptor, request->config,
                                           arena, NULL, &config));
  if (!config.cluster_def || config.cluster_def->job.count == 0) return leat_ok_status();
  const int index = find_by_target(root, config.cluster_def, request->target, &job);
  if (index < 0) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "CreateSession failed: target is '%.*s', must be the address of a task "
                            "of ConfigProto.cluster_def",
                            LEAT_SV_ARG(request->target));
  }
  session->shares_state =
      config.experimental && config.experimental->share_session_state_in_clusterspec_propagation;
  return leat_task_rename(root, config.cluster_def, job, index, &session->task);
}

leat_status_t leat_master_session_create(leat_task_t* task,
                                         const leat_pb_create_session_request_t* request,
                                         leat_string_view_t peer, int64_t deadline_ns,
                                         leat_arena_t* arena, leat_string_view_t* out_handle) {
  leat_master_session_t* session;
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(task->allocator, 1, &session));
  session->task = task;
  atomic_init(&session->references, 1);
  atomic_init(&session->last_use_ns, 0);
  leat_mutex_initialize(&session->mutex);
  snprintf(session->handle, sizeof session->handle, "%016" PRIx64, (uint64_t)leat_task_draw(63));
  leat_status_t status = choose_task(task, request, arena, session);
  if (!status) status = open_session(session, request, deadline_ns);
  if (!status) {
    status = leat_arena_copy_string(arena, leat_string_view_from(session->handle), out_handle);
  }
  leat_task_event_t event = {.name = status ? "session_refused" : "session_created",
                             .address = peer};
  if (status) {
    event.message = leat_string_view_from(leat_status_message(status));
    leat_task_tell(task, &event);
    free_session(session);
    return status;
  }
  leat_metrics_add(&task->metrics.sessions_created, 1);
  event.session = *out_handle;
  leat_task_tell(task, &event);
  atomic_store(&session->last_use_ns, leat_clock_now_ns());
  leat_mutex_lock(&task->mutex);
  session->next = task->master_sessions;
  task->master_sessions = session;
  leat_mutex_unlock(&task->mutex);
  return leat_ok_status();
}

// ---- Names --------------------------------------------------------------------------------------

static leat_status_t find_output(const leat_graph_t* graph, leat_string_view_t name,
                                 const char* what, leat_output_t* out_output) {
  leat_string_view_t node_name;
  LEAT_RETURN_IF_ERROR(leat_tensor_name_parse(name, &node_name, &out_output->index));
  out_output->node = leat_graph_find_node(graph, node_name);
  if (out_output->node < 0) {
    return leat_make_status(LEAT_NOT_FOUND, "Run failed: %s '%.*s' is not in the graph", what,
                            LEAT_SV_ARG(name));
  }
  const leat_node_t* node = &graph->nodes[out_output->node];
  if (out_output->index >= 0 && out_output->index < node->output_count) return leat_ok_status();
  return leat_make_status(LEAT_INVALID_ARGUMENT,
                          "Run failed for node '%.*s' (%.*s): %s '%.*s' has output index %d, must "
                          "be in [0, %d)",
                          LEAT_SV_ARG(node->name), LEAT_SV_ARG(node->op->name), what,
                          LEAT_SV_ARG(name), out_output->index, node->output_count);
}

static leat_status_t find_outputs(const leat_graph_t* graph, const leat_pb_string_list_t* names,
                                  const char* what, leat_arena_t* arena,
                                  leat_output_t** out_outputs, int* out_count) {
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, names->count + 1, out_outputs));
  *out_count = (int)names->count;
  for (size_t i = 0; i < names->count; ++i) {
    LEAT_RETURN_IF_ERROR(find_output(graph, names->items[i], what, &(*out_outputs)[i]));
  }
  return leat_ok_status();
}

static leat_status_t find_targets(const leat_graph_t* graph, const leat_pb_string_list_t* names,
                                  leat_arena_t* arena, leat_named_step_t* step) {
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, names->count + 1, &step->targets));
  step->target_count = (int)names->count;
  for (size_t i = 0; i < names->count; ++i) {
    leat_string_view_t name;
    int index;
    LEAT_RETURN_IF_ERROR(leat_tensor_name_parse(names->items[i], &name, &index));
    step->targets[i] = leat_graph_find_node(graph, name);
    if (step->targets[i] >= 0) continue;
    return leat_make_status(LEAT_NOT_FOUND, "Run failed: target '%.*s' is not in the graph",
                            LEAT_SV_ARG(names->items[i]));
  }
  return leat_ok_status();
}

static leat_status_t resolve(const leat_graph_t* graph, const leat_pb_string_list_t* feeds,
                             const leat_pb_string_list_t* fetches,
                             const leat_pb_string_list_t* targets, leat_arena_t* arena,
                             leat_named_step_t* step) {
  LEAT_RETURN_IF_ERROR(
      find_outputs(graph, feeds, "feed", arena, &step->feeds, &step->feed_count));
  LEAT_RETURN_IF_ERROR(
      find_outputs(graph, fetches, "fetch", arena, &step->fetches, &step->fetch_count));
  LEAT_RETURN_IF_ERROR(find_targets(graph, targets, arena, step));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, feeds->count + 1, &step->feed_types));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, feeds->count + 1, &step->feed_names));
  for (int i = 0; i < step->feed_count; ++i) {
    step->feed_types[i] = leat_dtype_base(leat_graph_output_type(graph, step->feeds[i]));
    step->feed_names[i] = graph->nodes[step->feeds[i].node].name;
  }
  return leat_ok_status();
}

leat_status_t leat_master_session_resolve(leat_master_session_t* session,
                                          const leat_pb_string_list_t* feeds,
                                          const leat_pb_string_list_t* fetches,
                                          const leat_pb_string_list_t* targets,
                                          leat_arena_t* arena, leat_named_step_t* out_step) {
  *out_step = (leat_named_step_t){0};
  leat_mutex_lock(&session->graph->mutex);
  leat_status_t status =
      resolve(session->graph->graph, feeds, fetches, targets, arena, out_step);
  leat_mutex_unlock(&session->graph->mutex);
  return status;
}

// ---- Steps --------------------------------------------------------------------------------------

leat_status_t leat_named_step_read_feeds(const leat_named_step_t* step,
                                         const leat_pb_tensor_proto_t* const* protos,
                                         leat_arena_t* arena, leat_tensor_t* out_values) {
  for (int i = 0; i < step->feed_count; ++i) {
    static const leat_pb_tensor_proto_t kNone;
    leat_status_t status = leat_tensor_from_content(protos[i] ? protos[i] : &kNone, arena,
                                                    leat_buffer_source_host(), &out_values[i]);
    if (status) {
      return leat_status_annotate(status, "Invalid TensorProto for feed value %d", i);
    }
    if (out_values[i].dtype == step->feed_types[i]) continue;
    return leat_make_status(LEAT_INTERNAL,
                            "Run failed for node '_recv_%.*s_%d': the value of feed %d has type "
                            "%s, must be %s",
                            LEAT_SV_ARG(step->feed_names[i]), step->feeds[i].index, i,
                            leat_dtype_name(out_values[i].dtype),
                            leat_dtype_name(step->feed_types[i]));
  }
  return leat_ok_status();
}

// The graphs and the values of a step go to its client in one message, which gRPC and readers of
// protocol buffers limit to 2 GiB. How the graphs came about may fill at most half of that.
#define MOST_METADATA_BYTES ((size_t)1 << 30)

static leat_status_t describe(leat_master_session_t* session, const leat_run_t* run,
                              bool shows_partitions, leat_string_builder_t* out_metadata) {
  if (run->collector) {
    leat_pb_step_stats_t stats;
    LEAT_RETURN_IF_ERROR(
        leat_step_stats_describe(run->collector, leat_trace_no_inputs, NULL, &stats));
    LEAT_RETURN_IF_ERROR(leat_run_metadata_encode(&stats, NULL, out_metadata));
  }
  if (!shows_partitions) return leat_ok_status();
  return leat_session_describe_graphs(session->session, run, MOST_METADATA_BYTES, out_metadata);
}

// The milliseconds until |deadline_ns| is past, at least one; 0: there is no deadline. They are
// rounded up, so that a step that runs out of time ends after its client's call has.
static int64_t time_left_ms(int64_t deadline_ns) {
  if (deadline_ns == LEAT_DEADLINE_NEVER) return 0;
  const int64_t left = (deadline_ns - leat_clock_now_ns()) / 1000000 + 1;
  return left > 0 ? left : 1;
}

leat_status_t leat_master_session_run(leat_master_session_t* session,
                                      const leat_named_step_t* step, const leat_tensor_t* values,
                                      const leat_pb_run_options_t* options, int64_t deadline_ns,
                                      leat_cancellation_t* cancellation,
                                      leat_tensor_t* out_values,
                                      leat_string_builder_t* out_metadata) {
  leat_task_metrics_t* metrics = &session->task->root->metrics;
  const int64_t begin_ns = leat_clock_now_ns();
  leat_step_collector_t collector;
  leat_run_t run = {.feeds = step->feeds,
                    .feed_values = values,
                    .feed_count = step->feed_count,
                    .fetches = step->fetches,
                    .fetch_values = out_values,
                    .fetch_count = step->fetch_count,
                    .targets = step->targets,
                    .target_count = step->target_count,
                    .timeout_ms = time_left_ms(deadline_ns),
                    .cancellation = cancellation};
  if (options && options->experimental) {
    run.collective_graph_key = options->experimental->collective_graph_key;
  }
  if (options && options->trace_level > 0) {
    leat_step_collector_initialize(leat_allocator_system(), &collector);
    run.collector = &collector;
  }
  leat_status_t status = leat_session_run(session->session, &run);
  if (!status) {
    status = describe(session, &run, options && options->output_partition_graphs, out_metadata);
    for (int i = 0; status && i < step->fetch_count; ++i) leat_tensor_release(&out_values[i]);
  }
  if (run.collector) leat_step_collector_deinitialize(&collector);
  leat_metrics_note_end(metrics->steps, &metrics->step_times, begin_ns, status);
  return status;
}
