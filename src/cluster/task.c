// Makes and ends a task. The devices, the pool of threads and
// the containers belong to the task; each session of it, be it a master's or a client's, has a
// local worker of its own over them (leat_task_open_target), so that the end of one session ends
// its steps alone. The workers share the containers, unless a session is isolated, and always the
// table of rendezvous, in which steps of all tasks meet. Requests of peers carry numbers, of which
// the task remembers the last 65,536, because a transport may send a request again that was already
// carried out.
#include "cluster/task.h"

#include <stdio.h>

#include "base/clock.h"
#include "base/cpu.h"
#include "base/random.h"
#include "cluster/eager_context.h"
#include "cluster/fetch.h"
#include "cluster/master_session.h"
#include "cluster/worker_run.h"
#include "cluster/worker_session.h"
#include "formats/wire/encode.h"
#include "kernel/resource.h"
#include "worker/local_worker.h"

// What TensorFlow states as the memory of a CPU device.
#define CPU_MEMORY_BYTES (INT64_C(256) << 20)
#define RECENT_REQUESTS 65536
#define REFUSALS_PAUSE_NS INT64_C(1000000000)

int64_t leat_task_draw(int bits) {
  const uint64_t mask = (UINT64_C(1) << bits) - 1;
  for (;;) {
    const int64_t drawn = (int64_t)(leat_random_seed() & mask);
    if (drawn) return drawn;
  }
}

// ---- Requests -----------------------------------------------------------------------------------

static leat_status_t open_requests(leat_allocator_t* allocator, leat_recent_requests_t* requests) {
  leat_mutex_initialize(&requests->mutex);
  leat_word_map_initialize(allocator, &requests->ids);
  return LEAT_ALLOCATE(allocator, RECENT_REQUESTS, &requests->ring);
}

leat_status_t leat_task_note_request(leat_task_t* task, int64_t request_id, const char* what) {
  leat_recent_requests_t* requests = &task->requests;
  if (request_id == 0) return leat_ok_status();
  leat_mutex_lock(&requests->mutex);
  leat_status_t status = leat_ok_status();
  if (leat_word_map_get(&requests->ids, (uint64_t)request_id, NULL)) {
    status = leat_make_status(LEAT_ABORTED,
                              "The same %s request was received twice: request_id is %lld, must "
                              "be new",
                              what, (long long)request_id);
  } else {
    status = leat_word_map_set(&requests->ids, (uint64_t)request_id, 1);
  }
  if (!status) {
    uint64_t* place = &requests->ring[requests->next];
    if (*place) leat_word_map_erase(&requests->ids, *place);
    *place = (uint64_t)request_id;
    requests->next = (requests->next + 1) % RECENT_REQUESTS;
  }
  leat_mutex_unlock(&requests->mutex);
  return status;
}

// ---- Other tasks --------------------------------------------------------------------------------

leat_status_t leat_task_told_by(leat_string_view_t name, leat_status_t status) {
  if (!status) return status;
  leat_status_t told = leat_make_status(leat_status_code(status), "From %.*s:\n%s",
                                        LEAT_SV_ARG(name), leat_status_message(status));
  leat_status_free(status);
  return told;
}

leat_status_t leat_task_channel(leat_task_t* task, int number, leat_rpc_channel_t** out_channel) {
  LEAT_DCHECK(number >= 0 && number < task->spec.task_count);
  leat_status_t status = leat_ok_status();
  leat_mutex_lock(&task->mutex);
  if (!task->channels[number]) {
    status = leat_rpc_channel_create(task->spec.tasks[number].address, &task->security,
                                     &task->channels[number]);
    if (!status) leat_heartbeat_watch(task->heartbeat, number, task->channels[number]);
  }
  *out_channel = task->channels[number];
  leat_mutex_unlock(&task->mutex);
  return status;
}

// ---- The own worker -----------------------------------------------------------------------------

static leat_status_t share_devices(const leat_task_t* task, leat_target_t* target) {
  LEAT_RETURN_IF_ERROR(
      LEAT_ALLOCATE(task->allocator, (size_t)task->device_count, &target->devices));
  for (int i = 0; i < task->device_count; ++i) {
    target->devices[i] = task->devices[i];
    leat_device_retain(task->devices[i]);
  }
  target->device_count = task->device_count;
  return LEAT_ALLOCATE(task->allocator, (size_t)task->spec.task_count, &target->workers);
}

leat_status_t leat_task_open_target(leat_task_t* task, const leat_session_options_t* session,
                                    leat_target_t* out_target) {
  leat_resource_manager_t* const* shared = session->isolate_state ? NULL : task->root->resources;
  *out_target = (leat_target_t){0};
  leat_status_t status = share_devices(task, out_target);
  if (!status) {
    const leat_local_worker_options_t options = {
        .devices = task->devices,
        .device_count = task->device_count,
        .resources = session->resources ? session->resources : shared,
        .default_container = task->spec.tasks[task->number].job,
        .rendezvous_source = task == task->root ? leat_rendezvous_table_source(task->rendezvous)
                                                : &task->view.source,
        .kernels = task->runtime->kernels,
        .pool = task->pool,
        .allocator = task->allocator,
    };
    status = leat_local_worker_create(&options, &out_target->workers[0]);
    out_target->worker_count = !status;
  }
  if (status) leat_target_deinitialize(out_target, task->allocator);
  return status;
}

void leat_task_clear_container(leat_task_t* task, leat_string_view_t container) {
  for (int i = 0; i < task->device_count; ++i) {
    leat_resource_manager_clear(task->resources[i], container);
  }
}

leat_status_t leat_task_describe_devices(const leat_task_t* task, leat_arena_t* arena,
                                         leat_pb_device_attributes_list_t* out_list) {
  leat_pb_device_locality_t* locality;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, 1, &locality));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, (size_t)task->device_count, &out_list->items));
  out_list->count = (size_t)task->device_count;
  for (int i = 0; i < task->device_count; ++i) {
    const leat_device_t* device = task->devices[i];
    out_list->items[i] = (leat_pb_device_attributes_t){
        .name = device->name,
        .device_type = device->type,
        .memory_limit = device->memory_limit_bytes ? device->memory_limit_bytes : CPU_MEMORY_BYTES,
        .locality = locality,
        .incarnation = device->incarnation,
        .physical_device_desc = LEAT_SV(LEAT_TASK_DESCRIPTION),
        .xla_global_id = -1,
    };
  }
  return leat_ok_status();
}

// ---- Watching -----------------------------------------------------------------------------------

void leat_task_tell(const leat_task_t* task, const leat_task_event_t* event) {
  task = task->root;
  if (task->observer) task->observer(task->observer_data, event);
}

void leat_task_note_refusal(leat_task_t* task, leat_string_view_t peer, leat_status_t status) {
  const int64_t now_ns = leat_clock_now_ns();
  int64_t told_ns = atomic_load(&task->refusals_told_ns);
  leat_metrics_add(&task->metrics.calls_refused, 1);
  if ((told_ns && now_ns - told_ns < REFUSALS_PAUSE_NS) ||
      !atomic_compare_exchange_strong(&task->refusals_told_ns, &told_ns, now_ns)) {
    atomic_fetch_add(&task->refusals_untold, 1);
    return;
  }
  const leat_task_event_t event = {
      .name = "call_refused",
      .address = peer,
      .message = leat_string_view_from(leat_status_message(status)),
      .count = atomic_exchange(&task->refusals_untold, 0)};
  leat_task_tell(task, &event);
}

static void tell_of_task(void* data, int number, bool is_lost) {
  leat_task_t* task = data;
  const leat_cluster_task_t* other = &task->spec.tasks[number];
  const leat_task_event_t event = {.name = is_lost ? "worker_lost" : "worker_regained",
                                   .task = other->name,
                                   .address = other->address};
  atomic_fetch_add(&task->root->metrics.lost_tasks, is_lost ? 1 : -1);
  leat_task_tell(task, &event);
}

static void miss_task(void* data, int number, leat_status_t status) {
  leat_task_t* task = data;
  if (task == task->root) leat_task_collectives_lose(task->collectives, number);
  leat_mutex_lock(&task->mutex);
  const leat_rpc_channel_t* channel = task->channels[number];
  leat_mutex_unlock(&task->mutex);
  leat_plane_fail(task->root->plane, channel, status);
}

// Ends what its owner has abandoned: a client or a master that died says nothing. At each beat.
static void collect(void* data, int64_t now_ns) {
  leat_task_t* task = data;
  if (task != task->root) return;
  leat_master_sessions_collect(task, now_ns);
  leat_worker_runs_collect(task, now_ns);
  leat_worker_sessions_collect(task, now_ns);
  leat_eager_contexts_collect(task, now_ns);
  leat_task_collect_recording(task, now_ns);
  if (task->patience.partial_run_ms > 0) {
    leat_rendezvous_table_collect(task->rendezvous,
                                  now_ns - task->patience.partial_run_ms * 1000000);
  }
}

leat_status_t leat_task_start(leat_task_t* task) { return leat_heartbeat_start(task->heartbeat); }

// ---- Life ---------------------------------------------------------------------------------------

static leat_status_t open_devices(leat_task_t* task) {
  const int count = task->options.cpu_device_count > 0 ? task->options.cpu_device_count : 1;
  const int threads =
      task->options.intra_op_threads > 0 ? task->options.intra_op_threads : leat_cpu_count();
  if (task == task->root) {
    LEAT_RETURN_IF_ERROR(leat_thread_pool_create(threads, task->allocator, &task->pool));
  } else {
    task->pool = task->root->pool;
    leat_thread_pool_retain(task->pool);
  }
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(task->allocator, (size_t)count, &task->devices));
  for (int i = 0; i < count; ++i) {
    leat_string_view_t name;
    LEAT_RETURN_IF_ERROR(leat_arena_print(&task->spec.arena, &name, "%.*s/device:CPU:%d",
                                          LEAT_SV_ARG(task->spec.tasks[task->number].name), i));
    LEAT_RETURN_IF_ERROR(
        leat_cpu_device_create(name, task->pool, task->allocator, &task->devices[i]));
    ++task->device_count;
    // TensorFlow's masters know the devices of a renamed task by what its root answers.
    task->devices[i]->incarnation = task->root->devices[i]->incarnation;
  }
  if (task != task->root) return leat_ok_status();
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(task->allocator, (size_t)count, &task->resources));
  for (int i = 0; i < count; ++i) {
    LEAT_RETURN_IF_ERROR(leat_resource_manager_create(task->allocator, &task->resources[i]));
    leat_resource_manager_name_default(task->resources[i], task->spec.tasks[task->number].job);
    leat_resource_manager_set_collectives(task->resources[i],
                                          leat_task_collectives_rounds(task->collectives));
  }
  return leat_ok_status();
}

static leat_status_t open_task(leat_task_t* task, const leat_task_options_t* options) {
  task->fetcher = leat_task_fetcher();
  leat_master_scatter_steps();
  leat_mutex_initialize(&task->mutex);
  leat_condition_initialize(&task->changed);
  LEAT_RETURN_IF_ERROR(open_requests(task->allocator, &task->requests));
  LEAT_RETURN_IF_ERROR(leat_cluster_spec_of(options->cluster, task->allocator, &task->spec));
  task->number = leat_cluster_spec_find(&task->spec, options->job, options->index);
  if (task->number < 0) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "Making a server failed: it is task %d of job '%.*s', must be a task "
                            "of the cluster",
                            options->index, LEAT_SV_ARG(options->job));
  }
  LEAT_RETURN_IF_ERROR(
      LEAT_ALLOCATE(task->allocator, (size_t)task->spec.task_count, &task->channels));
  if (task == task->root) {
    LEAT_RETURN_IF_ERROR(
        leat_rendezvous_table_create(&task->fetcher, task->allocator, &task->rendezvous));
    LEAT_RETURN_IF_ERROR(
        leat_task_collectives_create(task, options->collective_leader, &task->collectives));
  } else {
    task->rendezvous = task->root->rendezvous;
    task->collectives = task->root->collectives;
    leat_rendezvous_view_initialize(task->rendezvous, &task->fetcher, &task->view);
  }
  const bool asks = options->patience.heartbeat_ms > 0;
  const leat_heartbeat_options_t heartbeat = {
      .spec = &task->spec,
      .interval_ms = asks ? options->patience.heartbeat_ms : LEAT_HEARTBEAT_DEFAULT_MS,
      .asks = asks,
      .allocator = task->allocator,
      .tell = tell_of_task,
      .miss = miss_task,
      .each_beat = collect,
      .data = task};
  LEAT_RETURN_IF_ERROR(leat_heartbeat_create(&heartbeat, &task->heartbeat));
  return open_devices(task);
}

leat_status_t leat_task_create(const leat_task_options_t* options, leat_task_t** out_task) {
  leat_task_t* task;
  leat_allocator_t* allocator = options->runtime->allocator;
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(allocator, 1, &task));
  task->allocator = allocator;
  task->root = options->root ? options->root : task;
  task->runtime = options->runtime;
  task->options = options->session;
  task->security = options->security;
  task->patience = options->patience;
  task->metrics.start_wall_ns = leat_clock_wall_ns();
  leat_mutex_initialize(&task->recording.mutex);
  leat_status_t status = open_task(task, options);
  if (status) {
    leat_task_free(task);
    return status;
  }
  *out_task = task;
  return leat_ok_status();
}

// ---- Other names --------------------------------------------------------------------------------

static bool is_named(const leat_task_t* task, leat_string_view_t cluster, leat_string_view_t job,
                     int index) {
  const leat_cluster_task_t* own = &task->spec.tasks[task->number];
  return own->index == index && leat_string_view_equal(own->job, job) &&
         leat_string_view_equal(task->cluster, cluster);
}

// Enters |task|, unless there is one of the same name and cluster, which is returned. |task| may be
// NULL: then it is only looked for.
static leat_task_t* enter_renamed(leat_task_t* root, leat_string_view_t cluster,
                                  leat_string_view_t job, int index, leat_task_t* task) {
  leat_mutex_lock(&root->mutex);
  leat_task_t* found = root->renamed;
  while (found && !is_named(found, cluster, job, index)) found = found->next_renamed;
  if (!found && task) {
    task->next_renamed = root->renamed;
    root->renamed = task;
    found = task;
  }
  leat_mutex_unlock(&root->mutex);
  return found;
}

static leat_status_t make_renamed(leat_task_t* root, const leat_pb_cluster_def_t* cluster,
                                  leat_string_view_t bytes, leat_string_view_t job, int index,
                                  leat_task_t** out_task) {
  leat_task_t* task;
  const leat_task_options_t options = {.runtime = root->runtime,
                                       .cluster = cluster,
                                       .job = job,
                                       .index = index,
                                       .session = root->options,
                                       .security = root->security,
                                       .patience = root->patience,
                                       .root = root};
  LEAT_RETURN_IF_ERROR(leat_task_create(&options, &task));
  leat_status_t status = leat_arena_copy_string(&task->spec.arena, bytes, &task->cluster);
  if (!status) status = leat_task_start(task);
  *out_task = status ? NULL : enter_renamed(root, bytes, job, index, task);
  if (*out_task != task) leat_task_free(task);
  return status;
}

leat_status_t leat_task_rename(leat_task_t* root, const leat_pb_cluster_def_t* cluster,
                               leat_string_view_t job, int index, leat_task_t** out_task) {
  leat_string_builder_t text;
  leat_string_builder_initialize(root->allocator, &text);
  leat_status_t status = leat_message_encode(&leat_pb_cluster_def_descriptor, cluster, &text);
  if (!status) {
    const leat_string_view_t bytes = leat_string_builder_view(&text);
    *out_task = enter_renamed(root, bytes, job, index, NULL);
    if (!*out_task) status = make_renamed(root, cluster, bytes, job, index, out_task);
  }
  leat_string_builder_deinitialize(&text);
  return status;
}

static bool has_device(const leat_task_t* task, leat_string_view_t name, uint64_t incarnation,
                       bool* out_is_named) {
  for (int i = 0; i < task->device_count; ++i) {
    if (!leat_string_view_equal(task->devices[i]->name, name)) continue;
    *out_is_named = true;
    if (task->devices[i]->incarnation == incarnation) return true;
  }
  return false;
}

bool leat_task_has_device(leat_task_t* task, leat_string_view_t name, uint64_t incarnation,
                          bool* out_is_named) {
  *out_is_named = false;
  bool is_found = has_device(task, name, incarnation, out_is_named);
  leat_mutex_lock(&task->mutex);
  for (const leat_task_t* r = task->renamed; r && !is_found; r = r->next_renamed) {
    is_found = has_device(r, name, incarnation, out_is_named);
  }
  leat_mutex_unlock(&task->mutex);
  return is_found;
}

// ---- The end ------------------------------------------------------------------------------------

void leat_task_abort(leat_task_t* task) {
  leat_master_sessions_close(task, "the server stops");
  leat_worker_sessions_abort(task);
  leat_eager_contexts_close(task);
  if (task->rendezvous) {
    leat_rendezvous_table_abort_all(
        task->rendezvous, leat_make_status(LEAT_CANCELLED, "Run failed: the server was stopped"));
  }
  if (task == task->root) leat_task_collectives_abort(task->collectives);
}

// Channels end with all calls under way, and calls are what sessions and fetches wait for; so
// sessions end first, then channels, and then the table in which fetches are entered. The plane
// serves no more before the steps are ended, and is freed when nobody can answer it any more. The
// thread of the heartbeats looks at the sessions and the channels, so it ends before all of them,
// but what it asked ends with the channels.
void leat_task_free(leat_task_t* task) {
  if (!task) return;
  leat_heartbeat_stop(task->heartbeat);
  leat_plane_stop(task->plane);
  leat_task_abort(task);
  leat_worker_runs_end(task);
  leat_master_sessions_free(task);
  leat_worker_sessions_free(task);
  for (leat_task_t *renamed = task->renamed, *next; renamed; renamed = next) {
    next = renamed->next_renamed;
    leat_task_free(renamed);
  }
  for (int i = 0; task->channels && i < task->spec.task_count; ++i) {
    leat_rpc_channel_free(task->channels[i]);
  }
  leat_heartbeat_free(task->heartbeat);
  if (task == task->root) leat_rendezvous_table_free(task->rendezvous);
  leat_plane_free(task->plane);
  for (int i = 0; i < task->device_count; ++i) {
    if (task->resources) leat_resource_manager_free(task->resources[i]);
    leat_device_release(task->devices[i]);
  }
  if (task == task->root) leat_task_collectives_free(task->collectives);
  leat_allocator_free(task->allocator, task->resources);
  leat_allocator_free(task->allocator, task->devices);
  leat_allocator_free(task->allocator, task->channels);
  if (task->pool) leat_thread_pool_release(task->pool);
  leat_task_drop_recording(task);
  leat_mutex_deinitialize(&task->recording.mutex);
  leat_allocator_free(task->allocator, task->requests.ring);
  leat_word_map_deinitialize(&task->requests.ids);
  leat_mutex_deinitialize(&task->requests.mutex);
  leat_condition_deinitialize(&task->changed);
  leat_mutex_deinitialize(&task->mutex);
  leat_cluster_spec_deinitialize(&task->spec);
  leat_allocator_free(task->allocator, task);
}
