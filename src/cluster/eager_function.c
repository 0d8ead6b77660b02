// Runs the functions of eager clients. A part of a function, which its client has cut for this
// task, is called in the context's own session. A whole function that needs other tasks is called
// in a session over these. There an argument that is the handle of a resource lies on the
// resource's device (LEAT_ARGUMENT_DEVICES_ATTR), so that the placer puts the nodes that use it
// there too.
//
//   span: session over this task, ps 0 and ps 1 ─▶ functions, compiled by device of each handle
//   span: session over this task and worker 3
//
// Which tasks the nodes of a function ask for is found once and kept by its name. A span serves all
// calls that need no more tasks than it has, so that a client with its variables on all parameter
// servers has one. A call retains its span, and a context its spans, so that what is replaced
// meanwhile, by the client's new view of the cluster or after a failure, ends with the last call.
#include "cluster/eager_function.h"

#include <inttypes.h>
#include <string.h>

#include "base/clock.h"
#include "cluster/cluster_target.h"
#include "device/device_name.h"
#include "formats/generated/config.h"
#include "formats/wire/encode.h"
#include "function/body_graph.h"
#include "kernel/function_runtime.h"
#include "kernel/tuple.h"
#include "master/function_runtime.h"

// How long the tasks of a span have to answer when it is made.
#define OPEN_TIMEOUT_MS 10000
// A client may call functions over any set of tasks; each span is a session on all of its tasks.
#define MAX_SPANS 16

typedef struct span_s {
  leat_reference_count_t references;
  struct span_s* next;
  leat_session_t* session;
  uint8_t tasks[];  // by number: whether the session has the task
} span_t;

struct leat_eager_spans_s {
  leat_reference_count_t references;
  leat_eager_home_t home;
  leat_task_t* task;
  leat_mutex_t opening;     // held while a session is made; taken before |mutex|
  leat_mutex_t mutex;       // guards what follows
  leat_arena_t arena;       // of |functions|
  // Name -> uint8_t[task_count + 1], which tasks it asks for, and at the end whether that is known.
  leat_string_map_t functions;
  span_t* first;            // a list, the newest first; at most MAX_SPANS
};

// ---- Calls --------------------------------------------------------------------------------------

typedef struct ending_s {
  leat_notification_t ended;
  leat_status_t status;
} ending_t;

// A leat_function_done_fn_t.
static void end_call(void* data, leat_status_t status) {
  ending_t* ending = data;
  ending->status = status;
  leat_notification_open(&ending->ended);
}

// Runs a function of |functions| and waits for its end.
static leat_status_t run(const leat_eager_call_t* call, leat_function_runtime_t* functions,
                         uint64_t handle, int64_t step_id, leat_tensor_t* outputs, int count) {
  const leat_eager_kernels_t* kernels = call->kernels;
  const leat_step_services_t caller = {.step_id = step_id,
                                       .memory = kernels->device->memory,
                                       .pool = kernels->device->pool,
                                       .resources = kernels->resources,
                                       .step_resources = kernels->step_resources,
                                       .functions = functions,
                                       .cancellation = call->cancellation};
  const leat_function_call_t made = {.caller = &caller,
                                     .arguments = call->arguments,
                                     .argument_count = call->argument_count,
                                     .returns = outputs,
                                     .return_count = count,
                                     .step_id = step_id};
  ending_t ending = {.status = NULL};
  leat_notification_initialize(&ending.ended);
  functions->vtable->run(functions, handle, &made, end_call, &ending);
  leat_notification_wait(&ending.ended, LEAT_DEADLINE_NEVER);
  leat_notification_deinitialize(&ending.ended);
  return ending.status;
}

// Makes |function| ready to run, and the array of its outputs.
static leat_status_t prepare(const leat_eager_call_t* call, const leat_function_name_t* function,
                             leat_function_runtime_t* functions, uint64_t* out_handle,
                             leat_tensor_t** out_outputs, int* out_count) {
  int argument_count;
  LEAT_RETURN_IF_ERROR(
      functions->vtable->instantiate(functions, function, call->device, out_handle));
  LEAT_RETURN_IF_ERROR(
      functions->vtable->signature(functions, *out_handle, &argument_count, out_count));
  return LEAT_NEW(call->arena, (size_t)*out_count + 1, out_outputs);
}

leat_status_t leat_eager_call_part(leat_eager_context_t* context, const leat_eager_call_t* call,
                                   int64_t step_id, int output_count, leat_tensor_t** out_outputs,
                                   int* out_count) {
  leat_function_runtime_t* functions = call->kernels->functions;
  uint64_t handle;
  if (step_id == LEAT_EVERY_STEP) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "Executing '%.*s' failed: func_step_id is 0, must be that of a step",
                            LEAT_SV_ARG(call->function.name));
  }
  LEAT_RETURN_IF_ERROR(
      prepare(call, &call->function, functions, &handle, out_outputs, out_count));
  if (output_count >= 0 && output_count != *out_count) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "Executing '%.*s' failed: there are %d values of output_num, must be "
                            "%d, one for each output",
                            LEAT_SV_ARG(call->function.name), output_count, *out_count);
  }
  leat_status_t status = run(call, functions, handle, step_id, *out_outputs, *out_count);
  if (status) {
    leat_rendezvous_table_abort(context->root->rendezvous, step_id, leat_status_clone(status));
  }
  return status;
}

// ---- Life ---------------------------------------------------------------------------------------

static void release_span(span_t* span) {
  if (!leat_reference_count_release(&span->references)) return;
  leat_session_free(span->session);
  leat_allocator_free(leat_allocator_system(), span);
}

leat_status_t leat_eager_spans_create(const leat_eager_home_t* home, leat_task_t* task,
                                      leat_eager_spans_t** out_spans) {
  leat_eager_spans_t* spans;
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(leat_allocator_system(), 1, &spans));
  spans->references = 1;
  spans->home = *home;
  spans->task = task;
  leat_mutex_initialize(&spans->opening);
  leat_mutex_initialize(&spans->mutex);
  leat_arena_initialize(leat_allocator_system(), 0, &spans->arena);
  leat_string_map_initialize(leat_allocator_system(), &spans->functions);
  *out_spans = spans;
  return leat_ok_status();
}

void leat_eager_spans_retain(leat_eager_spans_t* spans) {
  leat_reference_count_retain(&spans->references);
}

void leat_eager_spans_release(leat_eager_spans_t* spans) {
  if (!spans || !leat_reference_count_release(&spans->references)) return;
  for (span_t *span = spans->first, *next; span; span = next) {
    next = span->next;
    release_span(span);
  }
  leat_string_map_deinitialize(&spans->functions);
  leat_arena_deinitialize(&spans->arena);
  leat_mutex_deinitialize(&spans->mutex);
  leat_mutex_deinitialize(&spans->opening);
  leat_allocator_free(leat_allocator_system(), spans);
}

// All functions are looked at, since any may call one that is new.
void leat_eager_spans_look_anew(leat_eager_spans_t* spans) {
  leat_mutex_lock(&spans->mutex);
  for (size_t i = 0; i < spans->functions.count; ++i) {
    uint8_t* tasks = (uint8_t*)(uintptr_t)spans->functions.entries[i].value;
    tasks[spans->task->spec.task_count] = 0;
  }
  leat_mutex_unlock(&spans->mutex);
}

void leat_eager_spans_forget(leat_eager_spans_t* spans, leat_string_view_t name) {
  leat_eager_spans_look_anew(spans);
  leat_mutex_lock(&spans->mutex);
  for (span_t* span = spans->first; span; span = span->next) {
    leat_master_functions_forget(leat_session_master_options(span->session)->functions, name);
  }
  leat_mutex_unlock(&spans->mutex);
}

// ---- Which tasks --------------------------------------------------------------------------------

// A walk over a function and those that it calls.
typedef struct walk_s {
  const leat_cluster_spec_t* spec;
  const leat_function_library_t* functions;
  leat_string_map_t seen;  // the walk's queue, in which each function comes once
  uint8_t* tasks;
} walk_t;

static leat_status_t meet(walk_t* walk, leat_string_view_t function) {
  if (!leat_function_library_find(walk->functions, function)) return leat_ok_status();
  return leat_string_map_insert(&walk->seen, function, 0, NULL, NULL);
}

// Adds the tasks that |device|, a constraint, names. One that is no name is left to the placer, who
// says so with the node's name.
static void add_tasks(const leat_cluster_spec_t* spec, leat_string_view_t device,
                      uint8_t* tasks) {
  leat_device_name_t wanted;
  leat_status_t status = leat_device_name_parse(device, &wanted);
  const bool names_task = !status && (wanted.job.size || wanted.task != LEAT_DEVICE_ANY);
  leat_status_free(status);
  for (int i = 0; names_task && i < spec->task_count; ++i) {
    const leat_cluster_task_t* task = &spec->tasks[i];
    const bool has_job = !wanted.job.size || leat_string_view_equal(wanted.job, task->job);
    if (has_job && (wanted.task == LEAT_DEVICE_ANY || wanted.task == task->index)) tasks[i] = 1;
  }
}

static leat_status_t meet_value(walk_t* walk, const leat_pb_attr_value_t* value) {
  if (!value) return leat_ok_status();
  if (value->func) LEAT_RETURN_IF_ERROR(meet(walk, value->func->name));
  for (size_t i = 0; value->list && i < value->list->func.count; ++i) {
    LEAT_RETURN_IF_ERROR(meet(walk, value->list->func.items[i].name));
  }
  return leat_ok_status();
}

static leat_status_t look_at(walk_t* walk, leat_string_view_t name) {
  const leat_pb_function_def_t* function = leat_function_library_find(walk->functions, name);
  for (size_t i = 0; function && i < function->node_def.count; ++i) {
    const leat_pb_node_def_t* node = &function->node_def.items[i];
    add_tasks(walk->spec, node->device, walk->tasks);
    LEAT_RETURN_IF_ERROR(meet(walk, node->op));
    for (size_t k = 0; k < node->attr.count; ++k) {
      LEAT_RETURN_IF_ERROR(meet_value(walk, node->attr.items[k].value));
    }
  }
  return leat_ok_status();
}

// Finds which tasks the nodes of |name|, and of what it calls, ask for. The mutex is held.
static leat_status_t look_through(leat_eager_spans_t* spans, leat_string_view_t name,
                                  uint8_t* tasks) {
  walk_t walk = {.spec = &spans->task->spec,
                 .functions = spans->home.functions,
                 .tasks = tasks};
  leat_string_map_initialize(leat_allocator_system(), &walk.seen);
  leat_status_t status = meet(&walk, name);
  for (size_t i = 0; !status && i < walk.seen.count; ++i) {
    status = look_at(&walk, walk.seen.entries[i].key);
  }
  leat_string_map_deinitialize(&walk.seen);
  return status;
}

// The entry of a function in the map, made where there is none yet.
static leat_status_t find_entry(leat_eager_spans_t* spans, leat_string_view_t name,
                                uint8_t** out_tasks) {
  uint64_t found;
  leat_string_view_t key;
  if (leat_string_map_get(&spans->functions, name, &found)) {
    *out_tasks = (uint8_t*)(uintptr_t)found;
    return leat_ok_status();
  }
  LEAT_RETURN_IF_ERROR(leat_arena_copy_string(&spans->arena, name, &key));
  LEAT_RETURN_IF_ERROR(
      LEAT_NEW(&spans->arena, (size_t)spans->task->spec.task_count + 1, out_tasks));
  return leat_string_map_set(&spans->functions, key, (uint64_t)(uintptr_t)*out_tasks);
}

// Adds the tasks that the function asks for to |tasks|. The mutex is held.
static leat_status_t add_asked(leat_eager_spans_t* spans, leat_string_view_t name,
                               uint8_t* tasks) {
  const int count = spans->task->spec.task_count;
  uint8_t* asked;
  LEAT_RETURN_IF_ERROR(find_entry(spans, name, &asked));
  if (!asked[count]) {
    memset(asked, 0, (size_t)count);
    LEAT_RETURN_IF_ERROR(look_through(spans, name, asked));
    asked[count] = 1;
  }
  for (int i = 0; i < count; ++i) tasks[i] |= asked[i];
  return leat_ok_status();
}

// The other task, and the device, on which the resource is that |argument| is the handle of; -1 and
// "" for any other tensor.
static int find_resource(const leat_eager_spans_t* spans, const leat_tensor_t* argument,
                         leat_string_view_t* out_device) {
  *out_device = LEAT_SV("");
  if (argument->dtype != LEAT_DTYPE_RESOURCE || argument->shape.element_count != 1) return -1;
  const leat_resource_handle_t* handle =
      leat_tensor_data(argument, leat_resource_handle_t* const)[0];
  const int task = handle ? leat_cluster_spec_find_device(&spans->task->spec, handle->device) : -1;
  if (task < 0 || task == spans->task->number) return -1;
  *out_device = handle->device;
  return task;
}

leat_status_t leat_eager_call_find_tasks(leat_eager_spans_t* spans, const leat_eager_call_t* call,
                                         const uint8_t** out_tasks) {
  const size_t count = (size_t)spans->task->spec.task_count;
  uint8_t* tasks;
  *out_tasks = NULL;
  if (count == 1) return leat_ok_status();
  LEAT_RETURN_IF_ERROR(LEAT_NEW(call->arena, count, &tasks));
  leat_mutex_lock(&spans->mutex);
  leat_status_t status = add_asked(spans, call->function.name, tasks);
  leat_mutex_unlock(&spans->mutex);
  for (int i = 0; i < call->argument_count; ++i) {
    leat_string_view_t device;
    const int task = find_resource(spans, &call->arguments[i], &device);
    if (task >= 0) tasks[task] = 1;
  }
  tasks[spans->task->number] = 0;
  if (memchr(tasks, 1, count)) *out_tasks = tasks;
  return status;
}

// ---- Sessions over tasks ------------------------------------------------------------------------

// Writes a ConfigProto whose device filters leave this task and |tasks|.
static leat_status_t write_config(const leat_eager_spans_t* spans, const uint8_t* tasks,
                                  leat_arena_t* arena, leat_string_view_t* out_config) {
  const leat_cluster_spec_t* spec = &spans->task->spec;
  leat_pb_config_proto_t config = {0};
  leat_string_builder_t text;
  LEAT_RETURN_IF_ERROR(
      LEAT_NEW(arena, (size_t)spec->task_count + 1, &config.device_filters.items));
  for (int i = 0; i < spec->task_count; ++i) {
    if (!tasks[i] && i != spans->task->number) continue;
    config.device_filters.items[config.device_filters.count++] = spec->tasks[i].name;
  }
  leat_string_builder_initialize(leat_allocator_system(), &text);
  leat_status_t status = leat_message_encode(&leat_pb_config_proto_descriptor, &config, &text);
  if (!status) {
    status = leat_arena_copy_string(arena, leat_string_builder_view(&text), out_config);
  }
  leat_string_builder_deinitialize(&text);
  return status;
}

// A task that does not answer in time is lost to the client, whose own deadline has not passed.
static leat_status_t as_loss(leat_status_t status) {
  if (leat_status_code(status) != LEAT_DEADLINE_EXCEEDED) return status;
  leat_status_t lost = leat_make_status(LEAT_UNAVAILABLE, "%s", leat_status_message(status));
  leat_status_free(status);
  return lost;
}

static leat_status_t open_session(leat_eager_spans_t* spans, const uint8_t* tasks,
                                  leat_arena_t* arena, leat_session_t** out_session) {
  const leat_eager_home_t* home = &spans->home;
  leat_session_options_t options = spans->task->options;
  leat_cluster_target_t target = {.task = spans->task,
                                  .deadline_ns = leat_clock_deadline_after_ms(OPEN_TIMEOUT_MS)};
  LEAT_RETURN_IF_ERROR(write_config(spans, tasks, arena, &target.config));
  LEAT_RETURN_IF_ERROR(
      leat_arena_print(arena, &target.handle, "eager_%016" PRIx64, (uint64_t)leat_task_draw(63)));
  if (home->resource_count == spans->task->device_count) options.resources = home->resources;
  leat_status_t status =
      leat_cluster_target_open_session(&target, home->graph, &options, out_session);
  if (status) return as_loss(status);
  leat_function_runtime_t* functions = leat_session_master_options(*out_session)->functions;
  leat_master_functions_set_library(functions, home->functions,
                                    home->graph->graph->producer_version);
  leat_master_functions_know(functions, leat_session_master_options(home->session)->functions);
  return leat_ok_status();
}

static bool has_all(const leat_eager_spans_t* spans, const span_t* span, const uint8_t* tasks) {
  for (int i = 0; i < spans->task->spec.task_count; ++i) {
    if (tasks[i] && !span->tasks[i]) return false;
  }
  return true;
}

// The span whose session has all |tasks|, retained; NULL: there is none.
static span_t* find_span(leat_eager_spans_t* spans, const uint8_t* tasks) {
  leat_mutex_lock(&spans->mutex);
  span_t* span = spans->first;
  while (span && !has_all(spans, span, tasks)) span = span->next;
  if (span) leat_reference_count_retain(&span->references);
  leat_mutex_unlock(&spans->mutex);
  return span;
}

// Lists |span|, and lets go of those in whose place it serves from now on, since it has their tasks
// and more. Beyond MAX_SPANS the oldest go.
static void list_span(leat_eager_spans_t* spans, span_t* span) {
  span_t *dropped = NULL, *next;
  int count = 1;
  leat_mutex_lock(&spans->mutex);
  span->next = spans->first;
  spans->first = span;
  for (span_t** place = &span->next; *place;) {
    span_t* other = *place;
    if (count < MAX_SPANS && !has_all(spans, span, other->tasks)) {
      place = &other->next;
      ++count;
    } else {
      *place = other->next;
      other->next = dropped;
      dropped = other;
    }
  }
  leat_mutex_unlock(&spans->mutex);
  for (; dropped; dropped = next) {
    next = dropped->next;
    release_span(dropped);
  }
}

static leat_status_t make_span(leat_eager_spans_t* spans, const uint8_t* tasks,
                               leat_arena_t* arena, span_t** out_span) {
  const size_t count = (size_t)spans->task->spec.task_count;
  void* memory;
  LEAT_RETURN_IF_ERROR(
      leat_allocator_allocate(leat_allocator_system(), sizeof(span_t) + count, &memory));
  span_t* span = memory;
  memcpy(span->tasks, tasks, count);
  leat_status_t status = open_session(spans, tasks, arena, &span->session);
  if (status) {
    leat_allocator_free(leat_allocator_system(), span);
    return status;
  }
  span->references = 2;  // the list's and the caller's
  list_span(spans, span);
  *out_span = span;
  return leat_ok_status();
}

static leat_status_t open_span(leat_eager_spans_t* spans, const uint8_t* tasks,
                               leat_arena_t* arena, span_t** out_span) {
  leat_status_t status = leat_ok_status();
  *out_span = find_span(spans, tasks);
  if (*out_span) return status;
  leat_mutex_lock(&spans->opening);
  *out_span = find_span(spans, tasks);  // another call may have made it meanwhile
  if (!*out_span) status = make_span(spans, tasks, arena, out_span);
  leat_mutex_unlock(&spans->opening);
  return status;
}

// Lets go of a span after a call that ended with |status|, which is borrowed.
static void close_span(leat_eager_spans_t* spans, span_t* span, leat_status_t status) {
  const leat_status_code_t code = leat_status_code(status);
  bool is_listed = false;
  leat_mutex_lock(&spans->mutex);
  span_t** place = &spans->first;
  if (code == LEAT_UNAVAILABLE || code == LEAT_ABORTED) {
    while (*place && *place != span) place = &(*place)->next;
    is_listed = *place != NULL;
    if (is_listed) *place = span->next;
  }
  leat_mutex_unlock(&spans->mutex);
  if (is_listed) release_span(span);
  release_span(span);
}

// The function by its name, its attributes and the devices of its arguments.
static leat_status_t name_function(const leat_eager_spans_t* spans, const leat_eager_call_t* call,
                                   leat_function_name_t* out_function) {
  const int count = call->function.attr_count;
  leat_attr_t* attrs;
  leat_string_view_t* devices;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(call->arena, (size_t)count + 1, &attrs));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(call->arena, (size_t)call->argument_count + 1, &devices));
  for (int i = 0; i < count; ++i) attrs[i] = call->function.attrs[i];
  for (int i = 0; i < call->argument_count; ++i) {
    find_resource(spans, &call->arguments[i], &devices[i]);
  }
  attrs[count] = (leat_attr_t){LEAT_ARGUMENT_DEVICES_ATTR,
                               {.kind = LEAT_ATTR_STRING,
                                .is_list = true,
                                .count = (uint32_t)call->argument_count,
                                .strings = devices}};
  *out_function = (leat_function_name_t){call->function.name, attrs, count + 1};
  return leat_ok_status();
}

static leat_status_t run_on(const leat_eager_spans_t* spans, const leat_eager_call_t* call,
                            const span_t* span, leat_tensor_t** out_outputs, int* out_count) {
  leat_function_runtime_t* functions = leat_session_master_options(span->session)->functions;
  leat_function_name_t function;
  uint64_t handle;
  LEAT_RETURN_IF_ERROR(name_function(spans, call, &function));
  LEAT_RETURN_IF_ERROR(prepare(call, &function, functions, &handle, out_outputs, out_count));
  return run(call, functions, handle, 0, *out_outputs, *out_count);
}

leat_status_t leat_eager_call_over(leat_eager_spans_t* spans, const leat_eager_call_t* call,
                                   const uint8_t* tasks, leat_tensor_t** out_outputs,
                                   int* out_count) {
  span_t* span;
  LEAT_RETURN_IF_ERROR(open_span(spans, tasks, call->arena, &span));
  leat_status_t status = run_on(spans, call, span, out_outputs, out_count);
  close_span(spans, span, status);
  return status;
}
