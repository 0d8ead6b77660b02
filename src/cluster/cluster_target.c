// Makes the target of a session over a cluster: the devices of all tasks, and a way to run work on
// each. All tasks are asked for their devices at once, so that this takes as long as the slowest
// task does and not the sum; then each gets the session. Failing is all or nothing: if one task
// refuses, the sessions that the others made are deleted with the target. Devices keep the
// incarnations that their tasks gave, by which a restarted task is told from the one that was
// asked.
#include "cluster/cluster_target.h"

#include "base/checked.h"
#include "cluster/remote_task.h"
#include "cluster/rpc_message.h"
#include "device/device_name.h"
#include "formats/generated/config.h"
#include "formats/generated/worker_service.h"
#include "formats/wire/decode.h"

typedef struct asked_s {
  struct asking_s* asking;
  int number;  // of the task in the cluster
  leat_arena_t arena;
  leat_pb_get_status_response_t answer;
  leat_status_t status;
} asked_t;

// The tasks that are asked for their devices.
typedef struct asking_s {
  asked_t* tasks;
  int count;
  _Atomic(int) pending;
  leat_notification_t ended;
} asking_t;

// Opens this target; lent to leat_session_create.
typedef struct cluster_runtime_s {
  leat_runtime_t base;
  const leat_cluster_target_t* target;
} cluster_runtime_t;

// ---- Device filters -----------------------------------------------------------------------------

// Whether some filter leaves the device or task |name|; without filters all are left.
static leat_status_t passes(const leat_pb_string_list_t* filters, leat_string_view_t name,
                            bool task_only, bool* out_passes) {
  leat_device_name_t full, filter;
  *out_passes = filters->count == 0;
  LEAT_RETURN_IF_ERROR(leat_device_name_parse(name, &full));
  for (size_t i = 0; i < filters->count && !*out_passes; ++i) {
    LEAT_RETURN_IF_ERROR(leat_device_name_parse(filters->items[i], &filter));
    if (task_only) {  // the devices of the task are not known yet
      filter.type = LEAT_SV("");
      filter.index = LEAT_DEVICE_ANY;
    }
    *out_passes = leat_device_name_matches(&filter, &full);
  }
  return leat_ok_status();
}

// ---- Asking -------------------------------------------------------------------------------------

static void answered(void* data, leat_status_t status, leat_string_view_t details,
                     leat_rpc_bytes_t answer) {
  asked_t* asked = data;
  asking_t* asking = asked->asking;
  if (!status) {
    status = leat_rpc_decode_message(answer, &asked->arena,
                                     &leat_pb_get_status_response_descriptor, &asked->answer);
  }
  asked->status = status;
  if (atomic_fetch_sub(&asking->pending, 1) == 1) leat_notification_open(&asking->ended);
}

static void free_asking(leat_allocator_t* allocator, asking_t* asking) {
  for (int i = 0; i < asking->count; ++i) {
    leat_arena_deinitialize(&asking->tasks[i].arena);
    leat_status_free(asking->tasks[i].status);
  }
  leat_allocator_free(allocator, asking->tasks);
}

// Chooses the tasks that the filters leave, besides the master's own.
static leat_status_t choose(const leat_cluster_target_t* target,
                            const leat_pb_string_list_t* filters, asking_t* asking) {
  const leat_task_t* task = target->task;
  LEAT_RETURN_IF_ERROR(
      LEAT_ALLOCATE(task->allocator, (size_t)task->spec.task_count, &asking->tasks));
  for (int i = 0; i < task->spec.task_count; ++i) {
    bool is_left;
    if (i == task->number) continue;
    LEAT_RETURN_IF_ERROR(passes(filters, task->spec.tasks[i].name, true, &is_left));
    if (!is_left) continue;
    asked_t* asked = &asking->tasks[asking->count++];
    *asked = (asked_t){.asking = asking, .number = i};
    leat_arena_initialize(task->allocator, 0, &asked->arena);
  }
  return leat_ok_status();
}

// Asks all, and waits until all have answered. The first failure counts.
static leat_status_t ask(const leat_cluster_target_t* target, asking_t* asking) {
  if (asking->count == 0) return leat_ok_status();
  asking->pending = asking->count;
  leat_notification_initialize(&asking->ended);
  for (int i = 0; i < asking->count; ++i) {
    leat_remote_task_get_status(target->task, asking->tasks[i].number, target->deadline_ns,
                                answered, &asking->tasks[i]);
  }
  leat_notification_wait(&asking->ended, LEAT_DEADLINE_NEVER);
  leat_notification_deinitialize(&asking->ended);
  for (int i = 0; i < asking->count; ++i) {
    if (!asking->tasks[i].status) continue;
    const leat_cluster_task_t* asked = &target->task->spec.tasks[asking->tasks[i].number];
    return leat_status_annotate(leat_status_clone(asking->tasks[i].status),
                                "asking %.*s at %.*s for its devices", LEAT_SV_ARG(asked->name),
                                LEAT_SV_ARG(asked->address));
  }
  return leat_ok_status();
}

// ---- Opening ------------------------------------------------------------------------------------

// Gives the devices of the tasks the names that they have in the cluster of a renamed task: each
// task knows only the names of the cluster that it was started in.
static leat_status_t rename_devices(const leat_task_t* task, asking_t* asking) {
  for (int i = 0; i < asking->count; ++i) {
    asked_t* asked = &asking->tasks[i];
    leat_pb_device_attributes_list_t* list = &asked->answer.device_attributes;
    for (size_t k = 0; k < list->count; ++k) {
      leat_string_view_t* name = &list->items[k].name;
      const size_t slash = leat_string_view_find_last(*name, '/');
      if (slash == SIZE_MAX) continue;
      LEAT_RETURN_IF_ERROR(leat_arena_print(
          &asked->arena, name, "%.*s%.*s", LEAT_SV_ARG(task->spec.tasks[asked->number].name),
          (int)(name->size - slash), name->data + slash));
    }
  }
  return leat_ok_status();
}

// All devices of the cluster, which a session with a cluster of its own tells to each task.
static leat_status_t gather_devices(const leat_task_t* task, const asking_t* asking,
                                    leat_arena_t* arena,
                                    leat_pb_device_attributes_list_t* out_list) {
  leat_pb_device_attributes_list_t own;
  LEAT_RETURN_IF_ERROR(leat_task_describe_devices(task, arena, &own));
  size_t count = own.count;
  for (int i = 0; i < asking->count; ++i) count += asking->tasks[i].answer.device_attributes.count;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, count + 1, &out_list->items));
  for (size_t k = 0; k < own.count; ++k) out_list->items[out_list->count++] = own.items[k];
  for (int i = 0; i < asking->count; ++i) {
    const leat_pb_device_attributes_list_t* list = &asking->tasks[i].answer.device_attributes;
    for (size_t k = 0; k < list->count; ++k) out_list->items[out_list->count++] = list->items[k];
  }
  return leat_ok_status();
}

// Adds the devices of a task, whose worker has just been added.
static leat_status_t add_devices(const asked_t* asked, const leat_pb_string_list_t* filters,
                                 const leat_device_t* like, leat_allocator_t* allocator,
                                 leat_target_t* target) {
  const leat_pb_device_attributes_list_t* list = &asked->answer.device_attributes;
  size_t room = (size_t)target->remote_device_count;
  LEAT_RETURN_IF_ERROR(
      LEAT_GROW(allocator, room + list->count, &target->remote_devices, &room));
  for (size_t i = 0; i < list->count; ++i) {
    bool is_left;
    leat_placement_device_t device = {.incarnation = list->items[i].incarnation,
                                      .task = target->worker_count - 1,
                                      .speed = like->speed};
    LEAT_RETURN_IF_ERROR(passes(filters, list->items[i].name, false, &is_left));
    if (!is_left) continue;
    LEAT_RETURN_IF_ERROR(leat_arena_copy_string(target->names, list->items[i].name, &device.name));
    LEAT_RETURN_IF_ERROR(
        leat_arena_copy_string(target->names, list->items[i].device_type, &device.type));
    target->remote_devices[target->remote_device_count++] = device;
  }
  return leat_ok_status();
}

// Whether the task is one of Leat's, by what it says of its devices.
static bool ends_steps(const asked_t* asked) {
  const leat_pb_device_attributes_list_t* list = &asked->answer.device_attributes;
  return list->count && leat_string_view_equals(list->items[0].physical_device_desc,
                                                LEAT_TASK_DESCRIPTION);
}

static leat_status_t add_tasks(const leat_cluster_target_t* cluster, const asking_t* asking,
                               const leat_pb_string_list_t* filters, bool isolates,
                               leat_target_t* target) {
  leat_allocator_t* allocator = cluster->task->allocator;
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(allocator, 1, &target->names));
  leat_arena_initialize(allocator, 0, target->names);
  leat_pb_device_attributes_list_t devices = {0};
  if (cluster->task != cluster->task->root) {
    LEAT_RETURN_IF_ERROR(gather_devices(cluster->task, asking, target->names, &devices));
  }
  for (int i = 0; i < asking->count; ++i) {
    const asked_t* asked = &asking->tasks[i];
    const leat_pb_device_attributes_list_t* own = &asked->answer.device_attributes;
    const leat_remote_task_options_t options = {.number = asked->number,
                                                .incarnation =
                                                    own->count ? own->items[0].incarnation : 0,
                                                .handle = cluster->handle,
                                                .config = cluster->config,
                                                .isolates = isolates,
                                                .devices = devices,
                                                .ends_steps = ends_steps(asked),
                                                .deadline_ns = cluster->deadline_ns};
    LEAT_RETURN_IF_ERROR(leat_remote_task_open(cluster->task, &options,
                                               &target->workers[target->worker_count]));
    ++target->worker_count;
    LEAT_RETURN_IF_ERROR(
        add_devices(asked, filters, target->devices[0], allocator, target));
  }
  return leat_ok_status();
}

// Of leat_runtime_t.
static leat_status_t open_target(const leat_runtime_t* runtime, leat_string_view_t name,
                                 const leat_session_options_t* options,
                                 leat_target_t* out_target) {
  const leat_cluster_target_t* cluster = ((const cluster_runtime_t*)runtime)->target;
  leat_task_t* task = cluster->task;
  leat_arena_t arena;
  leat_pb_config_proto_t config = {0};
  asking_t asking = {0};
  leat_arena_initialize(task->allocator, 0, &arena);
  leat_status_t status = leat_task_open_target(task, options, out_target);
  if (!status) {
    status = leat_message_decode(&leat_pb_config_proto_descriptor, cluster->config, &arena, NULL,
                                 &config);
    if (!status) status = choose(cluster, &config.device_filters, &asking);
    if (!status) status = ask(cluster, &asking);
    if (!status && task != task->root) status = rename_devices(task, &asking);
    if (!status) {
      status = add_tasks(cluster, &asking, &config.device_filters, options->isolate_state,
                         out_target);
    }
    if (!status) out_target->numbers = leat_task_collectives_numbers(task->collectives);
    out_target->dead_fetch_code = LEAT_INTERNAL;
    if (status) leat_target_deinitialize(out_target, task->allocator);
  }
  free_asking(task->allocator, &asking);
  leat_arena_deinitialize(&arena);
  return status;
}

leat_status_t leat_cluster_target_open_session(const leat_cluster_target_t* target,
                                               leat_shared_graph_t* graph,
                                               const leat_session_options_t* options,
                                               leat_session_t** out_session) {
  cluster_runtime_t runtime = {.base = *target->task->runtime, .target = target};
  runtime.base.open_target = open_target;
  return leat_session_create(&runtime.base, graph, options, out_session);
}

// ---- Without a session --------------------------------------------------------------------------

// How long a task has to answer a question of a client that states no deadline.
#define QUESTION_TIMEOUT_MS 10000

static leat_status_t list_devices(asking_t* asking, leat_arena_t* arena,
                                  leat_pb_device_attributes_list_t* out_list) {
  size_t count = 0;
  for (int i = 0; i < asking->count; ++i) {
    if (!asking->tasks[i].status) count += asking->tasks[i].answer.device_attributes.count;
  }
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, count + 1, &out_list->items));
  for (int i = 0; i < asking->count; ++i) {
    const leat_pb_device_attributes_list_t* list = &asking->tasks[i].answer.device_attributes;
    for (size_t k = 0; !asking->tasks[i].status && k < list->count; ++k) {
      leat_pb_device_attributes_t* item = &out_list->items[out_list->count];
      *item = (leat_pb_device_attributes_t){.memory_limit = list->items[k].memory_limit,
                                            .incarnation = list->items[k].incarnation};
      LEAT_RETURN_IF_ERROR(leat_arena_copy_string(arena, list->items[k].name, &item->name));
      LEAT_RETURN_IF_ERROR(
          leat_arena_copy_string(arena, list->items[k].device_type, &item->device_type));
      ++out_list->count;
    }
  }
  return leat_ok_status();
}

leat_status_t leat_task_describe_cluster(leat_task_t* task, int64_t deadline_ns,
                                         leat_arena_t* arena,
                                         leat_pb_device_attributes_list_t* out_local,
                                         leat_pb_device_attributes_list_t* out_remote) {
  static const leat_pb_string_list_t kAll;
  asking_t asking = {0};
  leat_cluster_target_t target = {
      .task = task,
      .deadline_ns = LEAT_MIN(deadline_ns, leat_clock_deadline_after_ms(QUESTION_TIMEOUT_MS))};
  LEAT_RETURN_IF_ERROR(leat_task_describe_devices(task, arena, out_local));
  leat_status_t status = choose(&target, &kAll, &asking);
  if (!status) leat_status_free(ask(&target, &asking));
  if (!status) status = list_devices(&asking, arena, out_remote);
  free_asking(task->allocator, &asking);
  return status;
}

leat_status_t leat_task_clear_cluster(leat_task_t* task, const leat_pb_string_list_t* containers,
                                      const leat_pb_string_list_t* filters,
                                      int64_t deadline_ns) {
  asking_t asking = {0};
  const int64_t deadline =
      LEAT_MIN(deadline_ns, leat_clock_deadline_after_ms(QUESTION_TIMEOUT_MS));
  const leat_cluster_target_t target = {.task = task, .deadline_ns = deadline};
  if (containers->count == 0) leat_task_clear_container(task, LEAT_SV(""));
  for (size_t i = 0; i < containers->count; ++i) {
    leat_task_clear_container(task, containers->items[i]);
  }
  leat_status_t status = choose(&target, filters, &asking);
  for (int i = 0; !status && i < asking.count; ++i) {
    status = leat_remote_task_clear(task, asking.tasks[i].number, containers, deadline);
  }
  free_asking(task->allocator, &asking);
  return status;
}
