// The life of eager contexts on a task, and the tensors that they keep. A context has what one of
// this process has (capi/eager/eager_context.c): a session without nodes, whose functions kernels
// call, and for each device of the task the kernels of its ops. Its clients may call on several
// threads, so that queues are worked on side by side; a queue itself is done in order.
//
//   task ─▶ context ─▶ outputs of op 7: [ tensor, (let go of), tensor ]
//                   ─▶ outputs of op 9: [ tensor ]
//
// A context is in the list of the task that listens. Each call retains it, so that one which is
// closed meanwhile is freed by the last call. Nodes are called "_<number>_eager_<n>", after the
// number of the context's own resources, with which the names of its private resources begin too:
// by it they are found in the task's containers when the context ends.
#include "cluster/eager_context.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/clock.h"
#include "cluster/collective_wire.h"
#include "cluster/eager_function.h"
#include "cluster/eager_input.h"
#include "cluster/worker_session.h"
#include "graph/function/graph_functions.h"
#include "kernel/tuple.h"
#include "master/function_runtime.h"

typedef struct output_s {
  int32_t number;
  leat_tensor_t tensor;  // "no tensor" where the client has let go of it
} output_t;

// What an op gave. The client lets go of one output after the other.
typedef struct outputs_s {
  struct outputs_s* next;  // more of the same op, which parts of a function gave
  int count, live;
  output_t items[];
} outputs_t;

// ---- Life ---------------------------------------------------------------------------------------

static void free_outputs(outputs_t* outputs) {
  for (int i = 0; i < outputs->count; ++i) leat_tensor_release(&outputs->items[i].tensor);
  leat_allocator_free(leat_allocator_system(), outputs);
}

static void free_all_outputs(outputs_t* outputs) {
  while (outputs) {
    outputs_t* next = outputs->next;
    free_outputs(outputs);
    outputs = next;
  }
}

static void free_resources(leat_eager_context_t* context) {
  for (int i = 0; context->resources && i < context->device_count; ++i) {
    leat_resource_manager_end_session(context->resources[i], context->own);
    if (context->owns_resources) leat_resource_manager_free(context->resources[i]);
  }
  leat_resource_manager_free(context->step_resources);
  leat_resource_manager_free(context->own);
  leat_allocator_free(leat_allocator_system(), context->resources);
}

// The session goes before the resources, which its kernels use.
static void free_context(leat_eager_context_t* context) {
  LEAT_DCHECK(!context->runs);
  for (size_t i = 0; i < context->outputs.capacity; ++i) {
    if (!context->outputs.used[i]) continue;
    free_all_outputs((outputs_t*)(uintptr_t)context->outputs.values[i]);
  }
  leat_word_map_deinitialize(&context->outputs);
  for (int i = 0; context->devices && i < context->device_count; ++i) {
    leat_eager_kernels_deinitialize(&context->devices[i]);
  }
  leat_allocator_free(leat_allocator_system(), context->devices);
  leat_eager_spans_release(context->spans);
  leat_eager_inputs_deinitialize(&context->inputs);
  leat_session_free(context->session);
  leat_shared_graph_release(context->graph);
  free_resources(context);
  leat_condition_deinitialize(&context->changed);
  leat_mutex_deinitialize(&context->mutex);
  leat_allocator_free(leat_allocator_system(), context);
}

// Who releases a context has used it until now.
void leat_eager_context_release(leat_eager_context_t* context) {
  if (!context) return;
  atomic_store(&context->last_use_ns, leat_clock_now_ns());
  if (leat_reference_count_release(&context->references)) free_context(context);
}

// Makes the managers of a context whose client wants its state isolated; else they are the task's.
static leat_status_t open_resources(leat_eager_context_t* context, bool isolates) {
  const leat_task_t* task = context->task;
  leat_allocator_t* allocator = leat_allocator_system();
  LEAT_RETURN_IF_ERROR(leat_resource_manager_create(allocator, &context->own));
  LEAT_RETURN_IF_ERROR(leat_resource_manager_create(allocator, &context->step_resources));
  LEAT_RETURN_IF_ERROR(
      LEAT_ALLOCATE(allocator, (size_t)task->device_count, &context->resources));
  context->device_count = task->device_count;
  context->owns_resources = isolates;
  for (int i = 0; i < task->device_count; ++i) {
    if (!isolates) {
      context->resources[i] = task->root->resources[i];
      continue;
    }
    LEAT_RETURN_IF_ERROR(leat_resource_manager_create(allocator, &context->resources[i]));
    leat_resource_manager_name_default(context->resources[i], task->spec.tasks[task->number].job);
    leat_resource_manager_set_collectives(context->resources[i],
                                          leat_task_collectives_rounds(task->collectives));
  }
  return leat_ok_status();
}

static leat_status_t open_session(leat_eager_context_t* context) {
  leat_session_options_t options = context->task->options;
  options.resources = context->resources;
  LEAT_RETURN_IF_ERROR(leat_task_open_session(context->task, &options, &context->graph,
                                              &context->session));
  leat_graph_t* graph = context->graph->graph;
  LEAT_RETURN_IF_ERROR(leat_graph_own_functions(graph, &context->functions));
  leat_master_functions_set_library(leat_session_master_options(context->session)->functions,
                                    context->functions, graph->producer_version);
  return leat_ok_status();
}

static leat_status_t open_spans(const leat_eager_context_t* context, leat_task_t* task,
                                leat_eager_spans_t** out_spans) {
  const leat_eager_home_t home = {.graph = context->graph,
                                  .functions = context->functions,
                                  .session = context->session,
                                  .resources = context->resources,
                                  .resource_count = context->device_count};
  return leat_eager_spans_create(&home, task, out_spans);
}

static leat_status_t open_devices(leat_eager_context_t* context) {
  const leat_task_t* task = context->task;
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(leat_allocator_system(), (size_t)context->device_count,
                                     &context->devices));
  for (int i = 0; i < context->device_count; ++i) {
    leat_eager_kernels_t* kernels = &context->devices[i];
    *kernels = (leat_eager_kernels_t){
        .ops = task->runtime->ops,
        .registry = task->runtime->kernels,
        .functions = leat_session_master_options(context->session)->functions,
        .device = task->devices[i],
        .resources = context->resources[i],
        .session_resources = context->own,
        .step_resources = context->step_resources};
    char number[LEAT_PRIVATE_PREFIX_BYTES];
    leat_resource_manager_print_private(context->own, number);
    snprintf(kernels->prefix, sizeof kernels->prefix, "%s%d_", number, i);
    leat_eager_kernels_initialize(kernels);
  }
  return leat_ok_status();
}

// Whether |cluster| has the tasks and addresses of the cluster that |task| knows.
static leat_status_t is_known(const leat_task_t* task, const leat_pb_server_def_t* server,
                              bool* out_is_known) {
  leat_cluster_spec_t spec;
  const leat_cluster_task_t* own = &task->spec.tasks[task->number];
  LEAT_RETURN_IF_ERROR(leat_cluster_spec_of(server->cluster, leat_allocator_system(), &spec));
  bool is_same = spec.task_count == task->spec.task_count && own->index == server->task_index &&
                 leat_string_view_equal(own->job, server->job_name);
  for (int i = 0; i < spec.task_count && is_same; ++i) {
    is_same = leat_string_view_equal(spec.tasks[i].name, task->spec.tasks[i].name) &&
              leat_string_view_equal(spec.tasks[i].address, task->spec.tasks[i].address);
  }
  leat_cluster_spec_deinitialize(&spec);
  *out_is_known = is_same;
  return leat_ok_status();
}

// The task by the name that it has in the client's cluster.
static leat_status_t name_task(leat_task_t* root, const leat_pb_server_def_t* server,
                               leat_task_t** out_task) {
  bool is_same = true;
  *out_task = root;
  if (!server || !server->cluster || server->cluster->job.count == 0) return leat_ok_status();
  LEAT_RETURN_IF_ERROR(is_known(root, server, &is_same));
  if (is_same) return leat_ok_status();
  return leat_task_rename(root, server->cluster, server->job_name, server->task_index, out_task);
}

static leat_status_t open_context(leat_eager_context_t* context,
                                  const leat_pb_create_context_request_t* request) {
  const leat_pb_server_def_t* server = request->server_def;
  const leat_pb_config_proto_t* config = server ? server->default_session_config : NULL;
  int64_t keep_alive_ns;
  if (!__builtin_mul_overflow(request->keep_alive_secs, INT64_C(1000000000), &keep_alive_ns)) {
    context->keep_alive_ns = keep_alive_ns;
  }
  LEAT_RETURN_IF_ERROR(name_task(context->root, server, &context->task));
  LEAT_RETURN_IF_ERROR(open_resources(context, config && config->isolate_session_state));
  LEAT_RETURN_IF_ERROR(open_session(context));
  LEAT_RETURN_IF_ERROR(open_spans(context, context->task, &context->spans));
  return open_devices(context);
}

// ---- The list -----------------------------------------------------------------------------------

// The place of the context in the task's list; it holds NULL where there is none. The task's mutex
// is held.
static leat_eager_context_t** find_place(leat_task_t* root, uint64_t id) {
  leat_eager_context_t** place = &root->eager_contexts;
  while (*place && (*place)->id != id) place = &(*place)->next;
  return place;
}

leat_status_t leat_eager_context_find(leat_task_t* task, uint64_t id,
                                      leat_eager_context_t** out_context) {
  leat_mutex_lock(&task->mutex);
  *out_context = *find_place(task, id);
  if (*out_context) {
    leat_reference_count_retain(&(*out_context)->references);
    atomic_store(&(*out_context)->last_use_ns, leat_clock_now_ns());
  }
  leat_mutex_unlock(&task->mutex);
  if (*out_context) return leat_ok_status();
  return leat_make_status(LEAT_ABORTED,
                          "Unable to find a context_id matching the specified one (%" PRIu64
                          "): the task %.*s was restarted, or the context was closed",
                          id, LEAT_SV_ARG(task->spec.tasks[task->number].name));
}

// Closes a context that was taken out of the list.
static void end_context(leat_eager_context_t* context) {
  leat_mutex_lock(&context->mutex);
  context->is_closed = true;
  for (leat_eager_run_t* run = context->runs; run; run = run->next) {
    leat_cancellation_cancel(run->cancellation);
  }
  leat_mutex_unlock(&context->mutex);
  leat_rendezvous_table_close(context->root->rendezvous, (int64_t)context->id);
  leat_eager_context_release(context);
}

// Puts |context| into the list. |*out_former| is one that it takes the place of.
static leat_status_t enter(leat_eager_context_t* context, leat_eager_context_t** out_former) {
  leat_task_t* root = context->root;
  leat_status_t status = leat_ok_status();
  leat_mutex_lock(&root->mutex);
  leat_eager_context_t** place = find_place(root, context->id);
  leat_eager_context_t* former = *place;
  if (former && former->view_id >= context->view_id) {
    status = leat_make_status(LEAT_INVALID_ARGUMENT,
                              "CreateContext failed: context_id is %" PRIu64
                              ", must be new: there is one of that number",
                              context->id);
    former = NULL;
  } else {
    context->next = former ? former->next : NULL;
    *place = context;
  }
  leat_mutex_unlock(&root->mutex);
  *out_former = former;
  return status;
}

leat_status_t leat_eager_context_create(leat_task_t* task,
                                        const leat_pb_create_context_request_t* request) {
  leat_eager_context_t *context, *former = NULL;
  if (request->clear_existing_contexts) leat_eager_contexts_close(task);
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(leat_allocator_system(), 1, &context));
  context->references = 1;
  context->root = task;
  context->id = request->context_id;
  context->view_id = request->context_view_id;
  atomic_init(&context->last_use_ns, leat_clock_now_ns());
  leat_mutex_initialize(&context->mutex);
  leat_condition_initialize(&context->changed);
  leat_word_map_initialize(leat_allocator_system(), &context->outputs);
  leat_eager_inputs_initialize(&context->inputs);
  leat_status_t status = open_context(context, request);
  if (!status) status = enter(context, &former);
  if (status) free_context(context);
  if (former) end_context(former);
  return status;
}

leat_status_t leat_eager_context_update(leat_eager_context_t* context,
                                        const leat_pb_update_context_request_t* request) {
  leat_task_t* named = NULL;
  leat_eager_spans_t* spans = NULL;
  if (request->cluster_device_attributes.count > 0) {
    LEAT_RETURN_IF_ERROR(name_task(context->root, request->server_def, &named));
    LEAT_RETURN_IF_ERROR(open_spans(context, named, &spans));
  }
  leat_mutex_lock(&context->mutex);
  leat_status_t status = leat_ok_status();
  if (request->context_view_id != context->view_id + 1) {
    status = leat_make_status(LEAT_INVALID_ARGUMENT,
                              "UpdateContext failed for context %" PRIu64
                              ": context_view_id is %" PRIu64 ", must be %" PRIu64,
                              context->id, request->context_view_id, context->view_id + 1);
  } else {
    ++context->view_id;
    if (named) {
      leat_eager_spans_t* former = context->spans;
      context->task = named;
      context->spans = spans;
      spans = former;
    }
  }
  leat_mutex_unlock(&context->mutex);
  leat_eager_spans_release(spans);
  return status;
}

leat_task_t* leat_eager_context_task(leat_eager_context_t* context) {
  leat_mutex_lock(&context->mutex);
  leat_task_t* task = context->task;
  leat_mutex_unlock(&context->mutex);
  return task;
}

leat_eager_spans_t* leat_eager_context_spans(leat_eager_context_t* context) {
  leat_mutex_lock(&context->mutex);
  leat_eager_spans_t* spans = context->spans;
  leat_eager_spans_retain(spans);
  leat_mutex_unlock(&context->mutex);
  return spans;
}

uint64_t leat_eager_context_view(leat_eager_context_t* context) {
  leat_mutex_lock(&context->mutex);
  const uint64_t view_id = context->view_id;
  leat_mutex_unlock(&context->mutex);
  return view_id;
}

void leat_eager_context_close(leat_task_t* task, uint64_t id, uint64_t view_id) {
  leat_mutex_lock(&task->mutex);
  leat_eager_context_t** place = find_place(task, id);
  leat_eager_context_t* context = *place;
  if (context && view_id < leat_eager_context_view(context)) context = NULL;
  if (context) *place = context->next;
  leat_mutex_unlock(&task->mutex);
  if (context) end_context(context);
}

// Takes a context out of the list that is older than its client's time, or any one where |now_ns|
// is 0.
static leat_eager_context_t* take_one(leat_task_t* task, int64_t now_ns) {
  leat_mutex_lock(&task->mutex);
  leat_eager_context_t** place = &task->eager_contexts;
  for (; *place && now_ns; place = &(*place)->next) {
    const leat_eager_context_t* context = *place;
    const bool is_in_use = atomic_load(&context->references) > 1;
    if (!is_in_use && context->keep_alive_ns > 0 &&
        now_ns - atomic_load(&context->last_use_ns) > context->keep_alive_ns) {
      break;
    }
  }
  leat_eager_context_t* context = *place;
  if (context) *place = context->next;
  leat_mutex_unlock(&task->mutex);
  return context;
}

void leat_eager_contexts_collect(leat_task_t* task, int64_t now_ns) {
  for (leat_eager_context_t* c; (c = take_one(task, now_ns));) end_context(c);
}

void leat_eager_contexts_close(leat_task_t* task) {
  for (leat_eager_context_t* c; (c = take_one(task, 0));) end_context(c);
}

size_t leat_eager_contexts_count(leat_task_t* task) {
  size_t count = 0;
  leat_mutex_lock(&task->mutex);
  for (const leat_eager_context_t* c = task->eager_contexts; c; c = c->next) ++count;
  leat_mutex_unlock(&task->mutex);
  return count;
}

// ---- Tensors ------------------------------------------------------------------------------------

// The first outputs of an op, or NULL. The mutex is held.
static outputs_t* find_outputs(const leat_eager_context_t* context, int64_t op_id) {
  uint64_t found = 0;
  leat_word_map_get(&context->outputs, (uint64_t)op_id, &found);
  return (outputs_t*)(uintptr_t)found;
}

// The output with that number, if the client has not let go of it. |*out_outputs| has it. Those of
// an op that gave all at once lie by their numbers.
static output_t* find_output(outputs_t* outputs, int32_t number, outputs_t** out_outputs) {
  for (; outputs; outputs = outputs->next) {
    int i = number >= 0 && number < outputs->count ? number : 0;
    if (outputs->items[i].number != number) i = 0;
    while (i < outputs->count && outputs->items[i].number != number) ++i;
    if (i == outputs->count || !outputs->items[i].tensor.dtype) continue;
    *out_outputs = outputs;
    return &outputs->items[i];
  }
  return NULL;
}

// Whether a number of |outputs| is negative, comes twice, or is there before.
static bool has_bad_number(const outputs_t* outputs, outputs_t* before) {
  outputs_t* with;
  bool is_sorted = true;
  for (int i = 0; i < outputs->count; ++i) {
    const int32_t number = outputs->items[i].number;
    if (number < 0 || find_output(before, number, &with)) return true;
    const bool rises = i == 0 || outputs->items[i - 1].number < number;
    is_sorted = is_sorted && rises;
    for (int j = 0; j < i && !is_sorted; ++j) {
      if (outputs->items[j].number == number) return true;
    }
  }
  return false;
}

// Enters outputs; with |joins| they may be of an op that has others. The mutex is held.
static leat_status_t enter_outputs(leat_eager_context_t* context, int64_t op_id,
                                   outputs_t* outputs, bool joins) {
  outputs_t* before = find_outputs(context, op_id);
  if (before && !joins) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "Enqueue failed: the number of an op is %" PRId64
                            ", must be new: there are outputs under it",
                            op_id);
  }
  if (joins && has_bad_number(outputs, before)) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "RunComponentFunction failed for op %" PRId64
                            ": a value of output_num is negative or was used, must be new",
                            op_id);
  }
  outputs->next = before;
  return leat_word_map_set(&context->outputs, (uint64_t)op_id, (uint64_t)(uintptr_t)outputs);
}

static leat_status_t keep(leat_eager_context_t* context, int64_t op_id, const int32_t* numbers,
                          leat_tensor_t* tensors, int count) {
  void* memory = NULL;
  if (count == 0) return leat_ok_status();
  leat_status_t status = leat_allocator_allocate(
      leat_allocator_system(), sizeof(outputs_t) + (size_t)count * sizeof(output_t), &memory);
  if (status) {
    leat_tensors_release(tensors, count);
    return status;
  }
  outputs_t* outputs = memory;
  outputs->count = outputs->live = count;
  for (int i = 0; i < count; ++i) {
    outputs->items[i] = (output_t){numbers ? numbers[i] : i, tensors[i]};
  }
  leat_mutex_lock(&context->mutex);
  status = enter_outputs(context, op_id, outputs, numbers != NULL);
  leat_mutex_unlock(&context->mutex);
  if (status) free_outputs(outputs);
  return status;
}

leat_status_t leat_eager_context_keep(leat_eager_context_t* context, int64_t op_id,
                                      leat_tensor_t* tensors, int count) {
  return keep(context, op_id, NULL, tensors, count);
}

leat_status_t leat_eager_context_keep_some(leat_eager_context_t* context, int64_t op_id,
                                           const int32_t* numbers, leat_tensor_t* tensors,
                                           int count) {
  return keep(context, op_id, numbers, tensors, count);
}

static leat_status_t no_tensor(int64_t op_id, int32_t output) {
  return leat_make_status(LEAT_INVALID_ARGUMENT,
                          "Unable to find the relevant tensor remote_handle: Op ID: %" PRId64
                          ", Output num: %d: it was deleted, or never made here",
                          op_id, output);
}

leat_status_t leat_eager_context_share(leat_eager_context_t* context, int64_t op_id,
                                       int32_t output, leat_tensor_t* out_tensor) {
  outputs_t* outputs;
  leat_mutex_lock(&context->mutex);
  const output_t* found = find_output(find_outputs(context, op_id), output, &outputs);
  if (found) *out_tensor = leat_tensor_share(&found->tensor);
  leat_mutex_unlock(&context->mutex);
  return found ? leat_ok_status() : no_tensor(op_id, output);
}

// Takes |outputs|, of which nothing is left, from those of the op. The mutex is held.
static void remove_outputs(leat_eager_context_t* context, int64_t op_id, outputs_t* outputs) {
  outputs_t* first = find_outputs(context, op_id);
  if (first != outputs) {
    while (first->next != outputs) first = first->next;
    first->next = outputs->next;
    return;
  }
  leat_word_map_erase(&context->outputs, (uint64_t)op_id);
  if (!outputs->next) return;
  // The map has room for the number that was erased, so that this cannot fail.
  leat_status_free(leat_word_map_set(&context->outputs, (uint64_t)op_id,
                                     (uint64_t)(uintptr_t)outputs->next));
}

leat_status_t leat_eager_context_drop(leat_eager_context_t* context, int64_t op_id,
                                      int32_t output) {
  outputs_t* outputs = NULL;
  leat_tensor_t dropped = {0};
  leat_mutex_lock(&context->mutex);
  output_t* found = find_output(find_outputs(context, op_id), output, &outputs);
  if (found) dropped = leat_tensor_move(&found->tensor);
  const bool is_last = found && --outputs->live == 0;
  if (is_last) remove_outputs(context, op_id, outputs);
  leat_mutex_unlock(&context->mutex);
  leat_tensor_release(&dropped);
  if (is_last) free_outputs(outputs);
  return found ? leat_ok_status() : no_tensor(op_id, output);
}

// ---- Functions ----------------------------------------------------------------------------------

leat_status_t leat_eager_context_add_functions(leat_eager_context_t* context,
                                               const leat_pb_function_def_library_t* library,
                                               const leat_pb_function_def_t* function) {
  const leat_op_registry_t* ops = context->graph->graph->ops;
  leat_status_t status = leat_ok_status();
  if (library) status = leat_function_library_add_all(context->functions, ops, library);
  if (!status && function) status = leat_function_library_add(context->functions, ops, function);
  leat_eager_spans_t* spans = leat_eager_context_spans(context);
  leat_eager_spans_look_anew(spans);
  leat_eager_spans_release(spans);
  return status;
}

leat_status_t leat_eager_context_remove_function(leat_eager_context_t* context,
                                                 leat_string_view_t name) {
  if (!leat_function_library_find(context->functions, name)) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "Removing function '%.*s' failed: the context has none of the name",
                            LEAT_SV_ARG(name));
  }
  LEAT_RETURN_IF_ERROR(leat_function_library_remove(context->functions, name));
  leat_master_functions_forget(leat_session_master_options(context->session)->functions, name);
  leat_eager_spans_t* spans = leat_eager_context_spans(context);
  leat_eager_spans_forget(spans, name);
  leat_eager_spans_release(spans);
  for (int i = 0; i < context->device_count; ++i) {
    leat_eager_kernels_clear_shared(&context->devices[i]);
  }
  return leat_ok_status();
}

void leat_eager_context_cleanup_step(leat_eager_context_t* context, int64_t step_id) {
  leat_worker_t* worker = leat_session_master_options(context->session)->workers[0];
  if (step_id != LEAT_EVERY_STEP) worker->vtable->cleanup_step(worker, step_id);
  leat_rendezvous_table_close(context->root->rendezvous, step_id);
}

// ---- Runs ---------------------------------------------------------------------------------------

leat_status_t leat_eager_context_begin_run(leat_eager_context_t* context, leat_eager_run_t* run) {
  LEAT_RETURN_IF_ERROR(leat_cancellation_create(leat_allocator_system(), &run->cancellation));
  leat_mutex_lock(&context->mutex);
  const bool is_closed = context->is_closed;
  if (!is_closed) {
    run->number = ++context->last_number;
    run->next = context->runs;
    run->link = &context->runs;
    if (run->next) run->next->link = &run->next;
    context->runs = run;
  }
  leat_mutex_unlock(&context->mutex);
  if (!is_closed) return leat_ok_status();
  leat_cancellation_release(run->cancellation);
  return leat_make_status(LEAT_CANCELLED, "Enqueue failed: the context was closed");
}

void leat_eager_context_end_run(leat_eager_context_t* context, leat_eager_run_t* run) {
  leat_mutex_lock(&context->mutex);
  *run->link = run->next;
  if (run->next) run->next->link = run->link;
  leat_condition_notify_all(&context->changed);
  leat_mutex_unlock(&context->mutex);
  leat_cancellation_release(run->cancellation);
}

static bool has_run_up_to(const leat_eager_context_t* context, uint64_t number) {
  const leat_eager_run_t* run = context->runs;
  while (run && run->number > number) run = run->next;
  return run != NULL;
}

void leat_eager_context_wait(leat_eager_context_t* context) {
  leat_mutex_lock(&context->mutex);
  const uint64_t last = context->last_number;
  while (has_run_up_to(context, last)) leat_condition_wait(&context->changed, &context->mutex);
  leat_mutex_unlock(&context->mutex);
}
