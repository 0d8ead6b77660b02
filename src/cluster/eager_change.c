// Which tasks an eager client's cluster has. Making the cluster has two rounds of calls to the
// other tasks, as making a session has (cluster_target.c): all are asked for their devices, and
// then each gets a context, which is told the devices of all. A change of the cluster does the same
// for tasks that are new:
//
//   GetStatus to all ─▶ CreateContext, RegisterFunction on the new ones ─▶ UpdateContext on those
//                       that stay ─▶ CloseContext on the former ones
//
// Contexts on all tasks have one number and one view, which counts the changes; a task refuses a
// change that is not the next one. A task whose devices have other incarnations than before was
// restarted: it counts as a former one and as a new one. New tasks come first, since they are what
// may fail; nothing has changed for the others then.
#include "cluster/eager_change.h"

#include "base/clock.h"
#include "cluster/eager_context.h"
#include "cluster/remote_task.h"
#include "cluster/rpc_message.h"
#include "formats/wire/decode.h"

// How long tasks have to close a context.
#define CLOSE_TIMEOUT_MS 10000

// ---- Devices ------------------------------------------------------------------------------------

leat_status_t leat_eager_devices_copy(const leat_pb_device_attributes_list_t* list,
                                      leat_string_view_t task_name, leat_arena_t* arena,
                                      leat_eager_device_t** out_devices) {
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, list->count + 1, out_devices));
  for (size_t i = 0; i < list->count; ++i) {
    const leat_pb_device_attributes_t* item = &list->items[i];
    leat_eager_device_t* device = &(*out_devices)[i];
    leat_placement_device_t* description = &device->description;
    const size_t slash = leat_string_view_find_last(item->name, '/');
    const leat_string_view_t last =
        leat_string_view_from_index(item->name, slash == SIZE_MAX ? item->name.size : slash);
    *description = (leat_placement_device_t){.incarnation = item->incarnation,
                                             .memory_limit_bytes = item->memory_limit};
    LEAT_RETURN_IF_ERROR(leat_arena_copy_string(arena, item->device_type, &description->type));
    LEAT_RETURN_IF_ERROR(leat_arena_print(arena, &description->name, "%.*s%.*s",
                                          LEAT_SV_ARG(task_name), LEAT_SV_ARG(last)));
    device->name = (char*)(uintptr_t)description->name.data;  // a text that was printed ends with 0
  }
  return leat_ok_status();
}

// ---- Asking for devices -------------------------------------------------------------------------

typedef struct question_s {
  struct asking_s* asking;
  int number;  // of the task
  leat_arena_t arena;
  leat_pb_get_status_response_t answer;
  leat_status_t status;
} question_t;

typedef struct asking_s {
  _Atomic(int) pending;
  leat_notification_t ended;
} asking_t;

static void answered(void* data, leat_status_t status, leat_string_view_t details,
                     leat_rpc_bytes_t answer) {
  question_t* question = data;
  asking_t* asking = question->asking;
  if (!status) {
    status = leat_rpc_decode_message(answer, &question->arena,
                                     &leat_pb_get_status_response_descriptor, &question->answer);
  }
  question->status = status;
  if (atomic_fetch_sub(&asking->pending, 1) == 1) leat_notification_open(&asking->ended);
}

static bool has_same_incarnations(const leat_eager_peer_t* peer,
                                  const leat_pb_device_attributes_list_t* list) {
  bool is_same = list->count == (size_t)peer->device_count;
  for (size_t i = 0; is_same && i < list->count; ++i) {
    is_same = list->items[i].incarnation == peer->devices[i].description.incarnation;
  }
  return is_same;
}

// The task of the present cluster with this name and address, unless it was restarted.
static leat_eager_peer_t* find_same(const leat_eager_cluster_t* cluster,
                                    const leat_cluster_task_t* task,
                                    const leat_pb_device_attributes_list_t* list) {
  for (int i = 0; i < cluster->peer_count; ++i) {
    leat_eager_peer_t* peer = cluster->peers[i];
    if (leat_string_view_equal(peer->task.name, task->name) &&
        leat_string_view_equal(peer->task.address, task->address) &&
        has_same_incarnations(peer, list)) {
      return peer;
    }
  }
  return NULL;
}

static leat_status_t make_peer(leat_eager_change_t* change, int number,
                               const leat_pb_device_attributes_list_t* list,
                               leat_eager_peer_t** out_peer) {
  leat_eager_cluster_t* cluster = change->cluster;
  const leat_cluster_task_t* task = &change->task->spec.tasks[number];
  leat_eager_peer_t* peer;
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(leat_allocator_system(), 1, &peer));
  peer->cluster = cluster;
  leat_arena_initialize(leat_allocator_system(), 0, &peer->arena);
  leat_mutex_initialize(&peer->mutex);
  peer->task.index = task->index;
  leat_status_t status = leat_arena_copy_string(&peer->arena, task->name, &peer->task.name);
  if (!status) status = leat_arena_copy_string(&peer->arena, task->job, &peer->task.job);
  if (!status) status = leat_arena_copy_string(&peer->arena, task->address, &peer->task.address);
  if (!status) status = leat_eager_devices_copy(list, task->name, &peer->arena, &peer->devices);
  if (!status) status = leat_task_channel(change->task, number, &peer->channel);
  if (status) {
    leat_eager_peer_free(peer);
    return status;
  }
  peer->device_count = (int)list->count;
  peer->next = cluster->all;
  cluster->all = peer;
  *out_peer = peer;
  return leat_ok_status();
}

// Finds or makes the peer of each question.
static leat_status_t take_answers(leat_eager_change_t* change, question_t* questions, int count) {
  LEAT_RETURN_IF_ERROR(LEAT_NEW(&change->arena, (size_t)count + 1, &change->peers));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(&change->arena, (size_t)count + 1, &change->is_new));
  for (int i = 0; i < count; ++i) {
    const leat_pb_device_attributes_list_t* list = &questions[i].answer.device_attributes;
    const leat_cluster_task_t* task = &change->task->spec.tasks[questions[i].number];
    if (questions[i].status) {
      leat_status_t status = questions[i].status;
      questions[i].status = leat_ok_status();
      return leat_status_annotate(status, "asking %.*s at %.*s for its devices",
                                  LEAT_SV_ARG(task->name), LEAT_SV_ARG(task->address));
    }
    change->peers[i] = find_same(change->cluster, task, list);
    change->is_new[i] = !change->peers[i];
    if (change->is_new[i]) {
      LEAT_RETURN_IF_ERROR(make_peer(change, questions[i].number, list, &change->peers[i]));
    }
    change->peer_count = i + 1;
  }
  return leat_ok_status();
}

// Asks all other tasks for their devices.
static leat_status_t ask_tasks(leat_eager_change_t* change) {
  const int count = change->task->spec.task_count - 1;
  question_t* questions;
  asking_t asking = {.pending = 1};
  LEAT_RETURN_IF_ERROR(LEAT_NEW(&change->arena, (size_t)count + 1, &questions));
  leat_notification_initialize(&asking.ended);
  atomic_fetch_add(&asking.pending, count);
  for (int i = 0; i < count; ++i) {
    questions[i] = (question_t){.asking = &asking,
                                .number = i < change->task->number ? i : i + 1};
    leat_arena_initialize(leat_allocator_system(), 0, &questions[i].arena);
    leat_remote_task_get_status(change->task, questions[i].number, change->deadline_ns, answered,
                                &questions[i]);
  }
  if (atomic_fetch_sub(&asking.pending, 1) > 1) {
    leat_notification_wait(&asking.ended, LEAT_DEADLINE_NEVER);
  }
  leat_notification_deinitialize(&asking.ended);
  leat_status_t status = take_answers(change, questions, count);
  for (int i = 0; i < count; ++i) {
    leat_arena_deinitialize(&questions[i].arena);
    leat_status_free(questions[i].status);
  }
  return status;
}

// Describes the devices of all tasks, for those who get a context.
static leat_status_t gather_devices(leat_eager_change_t* change) {
  leat_pb_device_attributes_list_t own, *all = &change->devices;
  LEAT_RETURN_IF_ERROR(leat_task_describe_devices(change->task, &change->arena, &own));
  size_t room = own.count;
  for (int i = 0; i < change->peer_count; ++i) room += (size_t)change->peers[i]->device_count;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(&change->arena, room + 1, &all->items));
  for (size_t i = 0; i < own.count; ++i) all->items[all->count++] = own.items[i];
  for (int i = 0; i < change->peer_count; ++i) {
    const leat_eager_peer_t* peer = change->peers[i];
    for (int d = 0; d < peer->device_count; ++d) {
      const leat_placement_device_t* device = &peer->devices[d].description;
      all->items[all->count++] =
          (leat_pb_device_attributes_t){.name = device->name,
                                        .device_type = device->type,
                                        .memory_limit = device->memory_limit_bytes,
                                        .incarnation = device->incarnation,
                                        .xla_global_id = -1};
    }
  }
  return leat_ok_status();
}

// ---- Contexts on the other tasks ----------------------------------------------------------------

// The ServerDef that tells |peer| which task it is.
static leat_status_t describe_server(const leat_eager_change_t* change,
                                     const leat_eager_peer_t* peer, leat_arena_t* arena,
                                     leat_pb_server_def_t** out_server_def) {
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, 1, out_server_def));
  **out_server_def = change->server_def;
  (*out_server_def)->job_name = peer->task.job;
  (*out_server_def)->task_index = peer->task.index;
  return leat_ok_status();
}

static leat_status_t make_creation(void* data, const leat_eager_peer_t* peer, leat_arena_t* arena,
                                   const void** out_message) {
  const leat_eager_change_t* change = data;
  leat_pb_create_context_request_t* request;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, 1, &request));
  *request = (leat_pb_create_context_request_t){
      .async = change->options->is_async,
      .keep_alive_secs = change->options->keep_alive_secs,
      .cluster_device_attributes = change->devices,
      .context_id = change->cluster->context_id,
      .context_view_id = change->view_id,
      .lazy_copy_remote_function_inputs = true,
      .clear_existing_contexts = change->options->clears_contexts};
  *out_message = request;
  return describe_server(change, peer, arena, &request->server_def);
}

static leat_status_t make_update(void* data, const leat_eager_peer_t* peer, leat_arena_t* arena,
                                 const void** out_message) {
  const leat_eager_change_t* change = data;
  leat_pb_update_context_request_t* request;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, 1, &request));
  *request =
      (leat_pb_update_context_request_t){.cluster_device_attributes = change->devices,
                                         .context_id = change->cluster->context_id,
                                         .context_view_id = change->view_id};
  *out_message = request;
  return describe_server(change, peer, arena, &request->server_def);
}

// A message that is the same for all.
static leat_status_t give(void* data, const leat_eager_peer_t* peer, leat_arena_t* arena,
                          const void** out_message) {
  *out_message = data;
  return leat_ok_status();
}

leat_status_t leat_eager_enqueue_all(leat_eager_cluster_t* cluster, leat_eager_peer_t* const* peers,
                                     int count, leat_pb_queue_item_list_t items,
                                     int64_t deadline_ns) {
  const leat_eager_round_t round = {.cluster = cluster,
                                    .method = "/tensorflow.eager.EagerService/Enqueue",
                                    .descriptor = &leat_pb_enqueue_request_descriptor,
                                    .deadline_ns = deadline_ns};
  leat_pb_enqueue_request_t request = {.context_id = cluster->context_id, .queue = items};
  return leat_eager_round_run(&round, peers, count, give, &request);
}

void leat_eager_contexts_close_all(leat_eager_cluster_t* cluster, leat_eager_peer_t* const* peers,
                                   int count, uint64_t view_id) {
  const leat_eager_round_t round = {
      .cluster = cluster,
      .method = "/tensorflow.eager.EagerService/CloseContext",
      .descriptor = &leat_pb_close_context_request_descriptor,
      .deadline_ns = leat_clock_deadline_after_ms(CLOSE_TIMEOUT_MS)};
  leat_pb_close_context_request_t request = {.context_id = cluster->context_id,
                                             .context_view_id = view_id};
  for (int i = 0; i < count; ++i) {
    leat_mutex_lock(&peers[i]->mutex);
    peers[i]->is_gone = true;
    leat_mutex_unlock(&peers[i]->mutex);
  }
  leat_status_free(leat_eager_round_run(&round, peers, count, give, &request));
}

// Tells the peers of all functions that the client has.
static leat_status_t send_functions(leat_eager_change_t* change, leat_eager_peer_t* const* peers,
                                    int count) {
  const leat_function_library_t* functions = change->cluster->home.functions;
  const int function_count = leat_function_library_count(functions);
  leat_arena_t* arena = &change->arena;
  leat_pb_queue_item_t* items;
  leat_pb_register_function_op_t* messages;
  if (function_count == 0) return leat_ok_status();
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, (size_t)function_count, &items));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, (size_t)function_count, &messages));
  for (int i = 0; i < function_count; ++i) {
    messages[i].function_def =
        (leat_pb_function_def_t*)(uintptr_t)leat_function_library_at(functions, i);
    items[i] = (leat_pb_queue_item_t){.item_case = LEAT_EAGER_REGISTER_FUNCTION,
                                      .register_function = &messages[i]};
  }
  const leat_pb_queue_item_list_t list = {items, (size_t)function_count};
  return leat_eager_enqueue_all(change->cluster, peers, count, list, change->deadline_ns);
}

// Makes contexts on the new tasks. After a failure there is none on any of them.
static leat_status_t create_contexts(leat_eager_change_t* change) {
  const leat_eager_round_t round = {.cluster = change->cluster,
                                    .method = "/tensorflow.eager.EagerService/CreateContext",
                                    .descriptor = &leat_pb_create_context_request_descriptor,
                                    .deadline_ns = change->deadline_ns,
                                    .waits = true};
  leat_eager_peer_t** fresh;
  int count = 0;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(&change->arena, (size_t)change->peer_count + 1, &fresh));
  for (int i = 0; i < change->peer_count; ++i) {
    if (change->is_new[i]) fresh[count++] = change->peers[i];
  }
  leat_status_t status = leat_eager_round_run(&round, fresh, count, make_creation, change);
  if (!status) status = send_functions(change, fresh, count);
  if (status) leat_eager_contexts_close_all(change->cluster, fresh, count, change->view_id);
  return status;
}

// Tells the tasks that stay of the others.
static leat_status_t update_contexts(leat_eager_change_t* change) {
  const leat_eager_round_t round = {.cluster = change->cluster,
                                    .method = "/tensorflow.eager.EagerService/UpdateContext",
                                    .descriptor = &leat_pb_update_context_request_descriptor,
                                    .deadline_ns = change->deadline_ns};
  leat_eager_peer_t** staying;
  int count = 0;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(&change->arena, (size_t)change->peer_count + 1, &staying));
  for (int i = 0; i < change->peer_count; ++i) {
    if (!change->is_new[i]) staying[count++] = change->peers[i];
  }
  return leat_eager_round_run(&round, staying, count, make_update, change);
}

// Makes the holder of sessions over several tasks. The other tasks may have been started without
// this one in their cluster. A renamed task tells them its cluster (leat_task_rename), so these
// sessions have one as their master, even where the names are the same.
static leat_status_t create_spans(const leat_eager_change_t* change,
                                  leat_eager_spans_t** out_spans) {
  const leat_pb_server_def_t* def = &change->server_def;
  leat_task_t* task;
  LEAT_RETURN_IF_ERROR(leat_task_rename(change->cluster->root, def->cluster, def->job_name,
                                        def->task_index, &task));
  return leat_eager_spans_create(&change->cluster->home, task, out_spans);
}

// Puts the tasks of the change in the place of the present ones, whose contexts are closed where
// they are not among the new ones.
static leat_status_t replace_peers(leat_eager_change_t* change) {
  leat_eager_cluster_t* cluster = change->cluster;
  leat_eager_peer_t **peers, **former = cluster->peers;
  leat_eager_spans_t *spans, *former_spans;
  LEAT_RETURN_IF_ERROR(create_spans(change, &spans));
  leat_status_t status = LEAT_ALLOCATE(cluster->allocator, (size_t)change->peer_count + 1, &peers);
  if (status) {
    leat_eager_spans_release(spans);
    return status;
  }
  for (int i = 0; i < change->peer_count; ++i) peers[i] = change->peers[i];
  leat_mutex_lock(&cluster->mutex);
  const int former_count = cluster->peer_count;
  const uint64_t former_view = cluster->view_id;
  cluster->peers = peers;
  cluster->peer_count = change->peer_count;
  cluster->task = change->task;
  former_spans = cluster->spans;
  cluster->spans = spans;
  cluster->view_id = change->view_id;
  cluster->keep_alive_secs = change->options->keep_alive_secs;
  leat_condition_notify_all(&cluster->changed);
  leat_mutex_unlock(&cluster->mutex);
  leat_eager_spans_release(former_spans);
  int closed = 0;
  for (int i = 0; i < former_count; ++i) {
    bool stays = false;
    for (int k = 0; k < change->peer_count; ++k) stays = stays || former[i] == change->peers[k];
    if (!stays) former[closed++] = former[i];
  }
  leat_eager_contexts_close_all(cluster, former, closed, former_view);
  leat_allocator_free(cluster->allocator, former);
  return leat_ok_status();
}

leat_status_t leat_eager_change_run(leat_eager_change_t* change) {
  LEAT_RETURN_IF_ERROR(ask_tasks(change));
  LEAT_RETURN_IF_ERROR(gather_devices(change));
  LEAT_RETURN_IF_ERROR(create_contexts(change));
  leat_status_t status = update_contexts(change);
  return leat_status_join(status, replace_peers(change));
}
