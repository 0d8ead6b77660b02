// The cluster of an eager client: its life, and the devices of its tasks. The process's own server
// listens first, since it is a task that others may reach; then each other task gets a context
// (eager_change.c). A thread tells all tasks twice in the time that contexts live without a call
// that the client is there.
//
// Threads that use the cluster are counted, so that closing it, which frees the channels, waits for
// them after it has cancelled their calls. The struct itself, with the names of devices, lives as
// long as a tensor refers to it.
#include "cluster/eager_remote.h"

#include "base/clock.h"
#include "cluster/eager_change.h"
#include "cluster/eager_context.h"
#include "cluster/rpc_message.h"
#include "formats/wire/decode.h"

// How long a task has to say that it is alive.
#define ALIVE_TIMEOUT_MS 10000

// ---- Use ----------------------------------------------------------------------------------------

leat_status_t leat_eager_cluster_enter(leat_eager_cluster_t* cluster) {
  leat_mutex_lock(&cluster->mutex);
  const bool is_open = !cluster->is_closed;
  if (is_open) ++cluster->users;
  leat_mutex_unlock(&cluster->mutex);
  return is_open ? leat_ok_status()
                 : leat_make_status(LEAT_FAILED_PRECONDITION,
                                    "Calling another task failed: its context was closed");
}

void leat_eager_cluster_leave(leat_eager_cluster_t* cluster) {
  leat_mutex_lock(&cluster->mutex);
  if (--cluster->users == 0 && cluster->is_closed) leat_condition_notify_all(&cluster->unused);
  leat_mutex_unlock(&cluster->mutex);
}

void leat_eager_cluster_retain(leat_eager_cluster_t* cluster) {
  leat_reference_count_retain(&cluster->references);
}

void leat_eager_cluster_release(leat_eager_cluster_t* cluster) {
  if (!cluster || !leat_reference_count_release(&cluster->references)) return;
  LEAT_DCHECK(cluster->is_closed && cluster->users == 0);
  for (leat_eager_peer_t *peer = cluster->all, *next; peer; peer = next) {
    next = peer->next;
    leat_eager_peer_free(peer);
  }
  leat_allocator_free(cluster->allocator, cluster->peers);
  leat_arena_deinitialize(&cluster->arena);
  leat_client_calls_deinitialize(&cluster->calls);
  leat_condition_deinitialize(&cluster->changed);
  leat_condition_deinitialize(&cluster->unused);
  leat_mutex_deinitialize(&cluster->change);
  leat_mutex_deinitialize(&cluster->mutex);
  leat_allocator_free(cluster->allocator, cluster);
}

// ---- Devices ------------------------------------------------------------------------------------

leat_status_t leat_eager_cluster_list_devices(leat_eager_cluster_t* cluster, leat_arena_t* arena,
                                              leat_placement_device_t** out_devices,
                                              int* out_count) {
  leat_mutex_lock(&cluster->mutex);
  size_t room = (size_t)cluster->own_device_count;
  for (int i = 0; i < cluster->peer_count; ++i) room += (size_t)cluster->peers[i]->device_count;
  leat_status_t status = LEAT_NEW(arena, room + 1, out_devices);
  int count = 0;
  for (int i = 0; !status && i < cluster->own_device_count; ++i) {
    (*out_devices)[count++] = cluster->own_devices[i].description;
  }
  for (int i = 0; !status && i < cluster->peer_count; ++i) {
    const leat_eager_peer_t* peer = cluster->peers[i];
    for (int d = 0; d < peer->device_count; ++d) {
      (*out_devices)[count++] = peer->devices[d].description;
    }
  }
  leat_mutex_unlock(&cluster->mutex);
  *out_count = count;
  return status;
}

// The first of the devices that |wanted| means; NULL: none.
static const char* find_device(const leat_eager_device_t* devices, int count,
                               const leat_device_name_t* wanted) {
  for (int i = 0; i < count; ++i) {
    leat_device_name_t full;
    leat_status_t status = leat_device_name_parse(devices[i].description.name, &full);
    const bool matches = !status && leat_device_name_matches(wanted, &full);
    leat_status_free(status);
    if (matches) return devices[i].name;
  }
  return NULL;
}

leat_status_t leat_eager_cluster_find_device(leat_eager_cluster_t* cluster,
                                             leat_string_view_t name, const char** out_name,
                                             bool* out_is_local) {
  leat_device_name_t wanted;
  LEAT_RETURN_IF_ERROR(leat_device_name_parse(name, &wanted));
  *out_name = find_device(cluster->own_devices, cluster->own_device_count, &wanted);
  *out_is_local = *out_name != NULL;
  leat_mutex_lock(&cluster->mutex);
  for (int i = 0; i < cluster->peer_count && !*out_name; ++i) {
    *out_name = find_device(cluster->peers[i]->devices, cluster->peers[i]->device_count, &wanted);
  }
  leat_mutex_unlock(&cluster->mutex);
  if (*out_name) return leat_ok_status();
  return leat_make_status(LEAT_INVALID_ARGUMENT,
                          "%.*s unknown device: it must be one of the cluster's",
                          LEAT_SV_ARG(name));
}

const char* leat_eager_cluster_local_device(const leat_eager_cluster_t* cluster) {
  return cluster->own_devices[0].name;
}

// ---- That the client is there -------------------------------------------------------------------

// A leat_rpc_done_fn_t: what the tasks answer does not count, since the next op finds out itself.
static void ignore(void* data, leat_status_t status, leat_string_view_t details,
                   leat_rpc_bytes_t answer) {
  leat_status_free(status);
}

// Tells all tasks. The cluster's mutex is held; calls do not block.
static void tell_peers(leat_eager_cluster_t* cluster, int64_t deadline_ns) {
  const leat_rpc_call_options_t options = {.method = "/tensorflow.eager.EagerService/KeepAlive",
                                           .deadline_ns = deadline_ns,
                                           .is_patient = true};
  const leat_pb_keep_alive_request_t request = {.context_id = cluster->context_id};
  for (int i = 0; i < cluster->peer_count; ++i) {
    leat_rpc_call_message(cluster->peers[i]->channel, &options,
                          &leat_pb_keep_alive_request_descriptor, &request, ignore, NULL, NULL);
  }
}

static void keep_alive(void* data) {
  leat_eager_cluster_t* cluster = data;
  leat_mutex_lock(&cluster->mutex);
  while (!cluster->is_closed) {
    const int64_t pause_ms = (int64_t)cluster->keep_alive_secs * 500;
    const int64_t deadline_ns =
        pause_ms > 0 ? leat_clock_deadline_after_ms(pause_ms) : LEAT_DEADLINE_NEVER;
    if (leat_condition_wait_until(&cluster->changed, &cluster->mutex, deadline_ns)) continue;
    tell_peers(cluster, leat_clock_deadline_after_ms(pause_ms));
  }
  leat_mutex_unlock(&cluster->mutex);
}

// ---- Life ---------------------------------------------------------------------------------------

static leat_status_t open_server(leat_eager_change_t* change) {
  leat_eager_cluster_t* cluster = change->cluster;
  const leat_eager_cluster_options_t* options = change->options;
  leat_pb_device_attributes_list_t own;
  LEAT_RETURN_IF_ERROR(
      leat_server_create(options->runtime, options->server_def, &cluster->server));
  LEAT_RETURN_IF_ERROR(leat_server_start(cluster->server));
  leat_task_t* root = cluster->root = change->task = leat_server_task(cluster->server);
  LEAT_RETURN_IF_ERROR(leat_task_describe_devices(root, &change->arena, &own));
  LEAT_RETURN_IF_ERROR(leat_eager_devices_copy(&own, root->spec.tasks[root->number].name,
                                               &cluster->arena, &cluster->own_devices));
  cluster->own_device_count = (int)own.count;
  return leat_ok_status();
}

static leat_status_t read_server_def(leat_eager_change_t* change) {
  const int64_t timeout_ms = change->options->timeout_ms;
  change->deadline_ns =
      timeout_ms > 0 ? leat_clock_deadline_after_ms(timeout_ms) : LEAT_DEADLINE_NEVER;
  return leat_message_decode(&leat_pb_server_def_descriptor, change->options->server_def,
                             &change->arena, NULL, &change->server_def);
}

static leat_status_t open_cluster(leat_eager_change_t* change) {
  leat_eager_cluster_t* cluster = change->cluster;
  LEAT_RETURN_IF_ERROR(read_server_def(change));
  LEAT_RETURN_IF_ERROR(open_server(change));
  LEAT_RETURN_IF_ERROR(leat_eager_change_run(change));
  LEAT_RETURN_IF_ERROR(
      leat_thread_start("leat-eager", keep_alive, cluster, &cluster->thread));
  cluster->has_thread = true;
  return leat_ok_status();
}

leat_status_t leat_eager_cluster_create(const leat_eager_cluster_options_t* options,
                                        leat_eager_cluster_t** out_cluster) {
  leat_eager_cluster_t* cluster;
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(options->runtime->allocator, 1, &cluster));
  cluster->references = 1;
  cluster->allocator = options->runtime->allocator;
  cluster->home = options->home;
  cluster->is_async = options->is_async;
  cluster->context_id = (uint64_t)leat_task_draw(63);
  leat_arena_initialize(cluster->allocator, 0, &cluster->arena);
  leat_client_calls_initialize(&cluster->calls);
  leat_condition_initialize(&cluster->changed);
  leat_condition_initialize(&cluster->unused);
  leat_mutex_initialize(&cluster->change);
  leat_mutex_initialize(&cluster->mutex);
  leat_eager_change_t change = {.cluster = cluster, .options = options};
  leat_arena_initialize(cluster->allocator, 0, &change.arena);
  leat_status_t status = open_cluster(&change);
  leat_arena_deinitialize(&change.arena);
  if (status) {
    leat_eager_cluster_close(cluster);
    leat_eager_cluster_release(cluster);
    return status;
  }
  *out_cluster = cluster;
  return leat_ok_status();
}

// The own task must stay what it is: its server listens under that name.
static leat_status_t name_own_task(leat_eager_change_t* change) {
  leat_task_t* root = change->cluster->root;
  const leat_cluster_task_t* own = &root->spec.tasks[root->number];
  const leat_pb_server_def_t* def = &change->server_def;
  if (!def->cluster || def->task_index != own->index ||
      !leat_string_view_equal(def->job_name, own->job)) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "Updating the cluster failed: this process is task %d of job '%.*s', "
                            "must stay %.*s",
                            def->task_index, LEAT_SV_ARG(def->job_name), LEAT_SV_ARG(own->name));
  }
  return leat_task_rename(root, def->cluster, def->job_name, def->task_index, &change->task);
}

leat_status_t leat_eager_cluster_update(leat_eager_cluster_t* cluster,
                                        const leat_eager_cluster_options_t* options) {
  leat_eager_change_t change = {.cluster = cluster, .options = options};
  LEAT_RETURN_IF_ERROR(leat_eager_cluster_enter(cluster));
  leat_mutex_lock(&cluster->change);
  change.view_id = cluster->view_id + 1;
  leat_arena_initialize(cluster->allocator, 0, &change.arena);
  leat_status_t status = read_server_def(&change);
  if (!status) status = name_own_task(&change);
  if (!status) status = leat_eager_change_run(&change);
  leat_arena_deinitialize(&change.arena);
  leat_mutex_unlock(&cluster->change);
  leat_eager_cluster_leave(cluster);
  return status;
}

void leat_eager_cluster_close(leat_eager_cluster_t* cluster) {
  leat_mutex_lock(&cluster->mutex);
  cluster->is_closed = true;
  leat_condition_notify_all(&cluster->changed);
  leat_mutex_unlock(&cluster->mutex);
  leat_client_calls_close(&cluster->calls);
  leat_client_calls_cancel(&cluster->calls);
  if (cluster->has_thread) leat_thread_join(cluster->thread);
  leat_mutex_lock(&cluster->mutex);
  while (cluster->users > 0) leat_condition_wait(&cluster->unused, &cluster->mutex);
  leat_mutex_unlock(&cluster->mutex);
  leat_eager_spans_release(cluster->spans);  // whose sessions need the server's channels
  cluster->spans = NULL;
  leat_eager_contexts_close_all(cluster, cluster->peers, cluster->peer_count, cluster->view_id);
  leat_server_free(cluster->server);  // and the channels of its task
  cluster->server = NULL;
}

// A leat_rpc_done_fn_t of a question whether a task is alive.
typedef struct look_s {
  leat_notification_t ended;
  bool is_alive;
} look_t;

static void end_look(void* data, leat_status_t status, leat_string_view_t details,
                     leat_rpc_bytes_t answer) {
  look_t* look = data;
  look->is_alive = !status;
  leat_status_free(status);
  leat_notification_open(&look->ended);
}

static leat_eager_peer_t* find_peer(leat_eager_cluster_t* cluster, leat_string_view_t name) {
  leat_eager_peer_t* found = NULL;
  leat_mutex_lock(&cluster->mutex);
  for (int i = 0; i < cluster->peer_count && !found; ++i) {
    if (leat_string_view_equal(cluster->peers[i]->task.name, name)) found = cluster->peers[i];
  }
  leat_mutex_unlock(&cluster->mutex);
  return found;
}

leat_status_t leat_eager_cluster_check_alive(leat_eager_cluster_t* cluster,
                                             leat_string_view_t name, bool* out_is_alive) {
  const leat_rpc_call_options_t options = {
      .method = "/tensorflow.WorkerService/GetStatus",
      .deadline_ns = leat_clock_deadline_after_ms(ALIVE_TIMEOUT_MS)};
  look_t look = {0};
  const leat_eager_peer_t* peer = find_peer(cluster, name);
  if (!peer) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "Unable to find worker interface corresponding to task %.*s",
                            LEAT_SV_ARG(name));
  }
  LEAT_RETURN_IF_ERROR(leat_eager_cluster_enter(cluster));
  leat_notification_initialize(&look.ended);
  leat_rpc_call(peer->channel, &options, end_look, &look, NULL);
  leat_notification_wait(&look.ended, LEAT_DEADLINE_NEVER);
  leat_notification_deinitialize(&look.ended);
  leat_eager_cluster_leave(cluster);
  *out_is_alive = look.is_alive;
  return leat_ok_status();
}

// ---- Functions ----------------------------------------------------------------------------------

// The sessions over the present cluster, retained.
static leat_eager_spans_t* retain_spans(leat_eager_cluster_t* cluster) {
  leat_mutex_lock(&cluster->mutex);
  leat_eager_spans_t* spans = cluster->spans;
  leat_eager_spans_retain(spans);
  leat_mutex_unlock(&cluster->mutex);
  return spans;
}

leat_status_t leat_eager_cluster_call(leat_eager_cluster_t* cluster,
                                      const leat_eager_call_t* call, bool* out_is_done,
                                      leat_tensor_t** out_outputs, int* out_count) {
  const uint8_t* tasks;
  *out_is_done = false;
  LEAT_RETURN_IF_ERROR(leat_eager_cluster_enter(cluster));
  leat_eager_spans_t* spans = retain_spans(cluster);
  leat_status_t status = leat_eager_call_find_tasks(spans, call, &tasks);
  if (!status && tasks) {
    status = leat_eager_call_over(spans, call, tasks, out_outputs, out_count);
    *out_is_done = !status;
  }
  leat_eager_spans_release(spans);
  leat_eager_cluster_leave(cluster);
  return status;
}

// |removed| is the name of a function that the client has no more; "": it has more.
static leat_status_t tell_all(leat_eager_cluster_t* cluster, leat_pb_queue_item_t* item,
                              leat_string_view_t removed) {
  LEAT_RETURN_IF_ERROR(leat_eager_cluster_enter(cluster));
  leat_eager_spans_t* spans = retain_spans(cluster);
  leat_eager_spans_forget(spans, removed);
  leat_eager_spans_release(spans);
  leat_mutex_lock(&cluster->change);
  leat_status_t status =
      leat_eager_enqueue_all(cluster, cluster->peers, cluster->peer_count,
                             (leat_pb_queue_item_list_t){item, 1}, LEAT_DEADLINE_NEVER);
  leat_mutex_unlock(&cluster->change);
  leat_eager_cluster_leave(cluster);
  return status;
}

leat_status_t leat_eager_cluster_add_function(leat_eager_cluster_t* cluster,
                                              const leat_pb_function_def_t* function) {
  leat_pb_register_function_op_t message = {
      .function_def = (leat_pb_function_def_t*)(uintptr_t)function};
  leat_pb_queue_item_t item = {.item_case = LEAT_EAGER_REGISTER_FUNCTION,
                               .register_function = &message};
  return tell_all(cluster, &item, LEAT_SV(""));
}

leat_status_t leat_eager_cluster_remove_function(leat_eager_cluster_t* cluster,
                                                 leat_string_view_t name) {
  leat_pb_remove_function_op_t message = {.function_name = name};
  leat_pb_queue_item_t item = {.item_case = LEAT_EAGER_REMOVE_FUNCTION,
                               .remove_function = &message};
  return tell_all(cluster, &item, name);
}
