// A task costs nothing until a client asks for its first element: then its dataset is read, its
// graph changed as the sharding of its job wants it, and a runner made. The dataset comes with the
// task, or lies in a file of the dispatcher's work directory; where this machine does not see that
// directory, the dispatcher is asked for it.
#include "data_service/worker_task.h"

#include "base/clock.h"
#include "data_service/call.h"
#include "data_service/dataset_file.h"
#include "data_service/dataset_shard.h"
#include "data_service/dataset_sources.h"
#include "data_service/worker_splits.h"
#include "formats/wire/decode.h"
#include "formats/wire/encode.h"

// ---- Life ---------------------------------------------------------------------------------------

static leat_status_t copy_def(const leat_pb_task_def_t* def, leat_worker_task_t* task) {
  leat_string_builder_t bytes;
  leat_string_view_t kept = {0};
  leat_string_builder_initialize(leat_allocator_system(), &bytes);
  leat_status_t status = leat_message_encode(&leat_pb_task_def_descriptor, def, &bytes);
  if (!status) status = leat_status_clone(bytes.status);
  if (!status) {
    status = leat_arena_copy_string(&task->arena, leat_string_builder_view(&bytes), &kept);
  }
  leat_string_builder_deinitialize(&bytes);
  LEAT_RETURN_IF_ERROR(status);
  return leat_message_decode(&leat_pb_task_def_descriptor, kept, &task->arena, NULL, &task->def);
}

leat_status_t leat_worker_task_create(const leat_pb_task_def_t* def,
                                      leat_worker_task_t** out_task) {
  leat_worker_task_t* task;
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(leat_allocator_system(), 1, &task));
  task->references = 1;
  leat_arena_initialize(leat_allocator_system(), 0, &task->arena);
  leat_mutex_initialize(&task->mutex);
  leat_status_t status = copy_def(def, task);
  if (status) {
    leat_worker_task_release(task);
    return status;
  }
  *out_task = task;
  return leat_ok_status();
}

// Gives up the sources of splits; who waits for one is answered.
static void close_splits(leat_worker_task_t* task) {
  for (size_t i = 0; i < task->split_count; ++i) leat_worker_splits_close(task->splits[i]);
}

static void release_splits(leat_worker_task_t* task) {
  for (size_t i = 0; i < task->split_count; ++i) leat_worker_splits_release(task->splits[i]);
  leat_allocator_free(leat_allocator_system(), task->splits);
  task->splits = NULL;
  task->split_count = 0;
}

void leat_worker_task_release(leat_worker_task_t* task) {
  if (!task || !leat_reference_count_release(&task->references)) return;
  close_splits(task);
  leat_task_runner_free(task->runner);
  release_splits(task);
  leat_mutex_deinitialize(&task->mutex);
  leat_arena_deinitialize(&task->arena);
  leat_allocator_free(leat_allocator_system(), task);
}

void leat_worker_task_stop(leat_worker_task_t* task) {
  leat_mutex_lock(&task->mutex);
  task->is_stopped = true;
  close_splits(task);
  if (task->runner) leat_task_runner_cancel(task->runner);
  leat_mutex_unlock(&task->mutex);
}

// ---- The dataset --------------------------------------------------------------------------------

static leat_status_t ask_dispatcher(const leat_worker_task_t* task,
                                    const leat_worker_task_context_t* context, leat_arena_t* arena,
                                    leat_pb_dataset_def_t* out_def) {
  const leat_pb_get_dataset_def_request_t message = {.dataset_id = task->def.dataset_id};
  const leat_data_request_t request = {
      .method = "/tensorflow.data.DispatcherService/GetDatasetDef",
      .descriptor = &leat_pb_get_dataset_def_request_descriptor,
      .message = &message,
      .answer = &leat_pb_get_dataset_def_response_descriptor,
      .deadline_ns = leat_clock_deadline_after_ms(context->dispatcher_timeout_ms)};
  leat_pb_get_dataset_def_response_t answer;
  LEAT_RETURN_IF_ERROR(leat_data_call(context->dispatcher, &request, arena, &answer));
  if (answer.dataset_def) *out_def = *answer.dataset_def;
  return leat_ok_status();
}

static leat_status_t find_dataset(const leat_worker_task_t* task,
                                  const leat_worker_task_context_t* context, leat_arena_t* arena,
                                  leat_pb_dataset_def_t* out_def) {
  *out_def = (leat_pb_dataset_def_t){0};
  if (task->def.dataset_def) {
    *out_def = *task->def.dataset_def;
    return leat_ok_status();
  }
  if (!task->def.dataset_case) {
    return leat_make_status(LEAT_INTERNAL, "Reading task %lld failed: it states no dataset",
                            (long long)task->def.task_id);
  }
  leat_status_t status = leat_dataset_file_read(task->def.path, arena, out_def);
  if (!status) return status;
  leat_status_free(status);
  return ask_dispatcher(task, context, arena, out_def);
}

// ---- The runner ---------------------------------------------------------------------------------

static leat_status_t add_splits(leat_worker_task_t* task, const leat_worker_task_context_t* context,
                                size_t count, leat_resource_manager_t* resources) {
  char name[LEAT_SPLIT_SOURCE_NAME_BYTES];
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(leat_allocator_system(), count, &task->splits));
  for (size_t i = 0; i < count; ++i) {
    LEAT_RETURN_IF_ERROR(leat_worker_splits_create(
        context->dispatcher, task->def.iteration_id, (int64_t)i, context->dispatcher_timeout_ms,
        &task->splits[i]));
    task->split_count = i + 1;
    leat_split_source_print_name(i, name);
    LEAT_RETURN_IF_ERROR(leat_resource_manager_add(
        resources, LEAT_SV(""), leat_string_view_from(name),
        &leat_worker_splits_source(task->splits[i])->resource));
  }
  return leat_ok_status();
}

static leat_status_t check_source_count(const leat_worker_task_t* task, size_t count) {
  if ((uint64_t)task->def.num_split_providers == count) return leat_ok_status();
  return leat_make_status(LEAT_INTERNAL,
                          "Reading task %lld failed: the dispatcher finds %lld sources of splits, "
                          "must find %zu as this worker does",
                          (long long)task->def.task_id, (long long)task->def.num_split_providers,
                          count);
}

// Has the sources of the dataset ask the dispatcher for their splits. |*out_resources| are what
// the session needs for that.
static leat_status_t divide(leat_worker_task_t* task, const leat_worker_task_context_t* context,
                            leat_dataset_graph_t* graph,
                            leat_resource_manager_t** out_resources) {
  leat_dataset_sources_t* sources;
  leat_resource_manager_t* resources = NULL;
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(leat_allocator_system(), 1, &sources));
  leat_status_t status =
      leat_dataset_graph_find_sources(graph, context->runtime->ops, true, sources);
  if (!status) status = check_source_count(task, sources->count);
  if (!status) status = leat_resource_manager_create(leat_allocator_system(), &resources);
  if (!status) status = add_splits(task, context, sources->count, resources);
  leat_allocator_free(leat_allocator_system(), sources);
  if (status) {
    leat_resource_manager_free(resources);
    release_splits(task);
    return status;
  }
  *out_resources = resources;
  return leat_ok_status();
}

static leat_status_t open_source(leat_worker_task_t* task,
                                 const leat_worker_task_context_t* context,
                                 leat_string_view_t bytes, leat_element_source_t** out_source) {
  const leat_pb_processing_mode_def_t* mode = task->def.processing_mode_def;
  const bool is_dynamic =
      mode && mode->sharding_policy == LEAT_PB_PROCESSING_MODE_DEF_SHARDING_POLICY_DYNAMIC;
  leat_resource_manager_t* resources = NULL;
  leat_dataset_graph_t graph;
  LEAT_RETURN_IF_ERROR(leat_dataset_graph_initialize(bytes, &graph));
  leat_status_t status = leat_dataset_graph_localize(&graph);
  if (!status) {
    status = is_dynamic ? divide(task, context, &graph, &resources)
                        : leat_dataset_graph_shard(&graph, &task->def);
  }
  if (!status) {
    status = leat_element_source_create(context->runtime, &graph, resources, out_source);
    if (status) release_splits(task);
  }
  leat_dataset_graph_deinitialize(&graph);
  return status;
}

static leat_status_t make_runner(leat_worker_task_t* task,
                                 const leat_worker_task_context_t* context) {
  const leat_pb_task_def_t* def = &task->def;
  const leat_task_runner_options_t options = {
      .is_coordinated = def->optional_num_consumers_case != 0,
      .is_shared = def->use_cross_trainer_cache,
      .num_consumers = def->num_consumers,
      .window_bytes = context->window_bytes};
  leat_element_source_t* source;
  leat_pb_dataset_def_t dataset;
  leat_arena_t arena;
  leat_arena_initialize(leat_allocator_system(), 0, &arena);
  leat_status_t status = find_dataset(task, context, &arena, &dataset);
  if (!status) status = open_source(task, context, dataset.graph, &source);
  leat_arena_deinitialize(&arena);
  LEAT_RETURN_IF_ERROR(status);
  return leat_task_runner_create(&options, source, &task->runner);
}

static leat_status_t check_task(const leat_worker_task_t* task,
                                const leat_worker_task_context_t* context) {
  if (task->is_stopped) {
    return leat_make_status(LEAT_CANCELLED, "Reading task %lld failed: it has ended",
                            (long long)task->def.task_id);
  }
  if (leat_string_view_equal(task->def.worker_address, context->address)) return leat_ok_status();
  return leat_make_status(LEAT_INTERNAL,
                          "Reading task %lld failed: the dispatcher's worker_address is %.*s, must "
                          "be the worker's, %.*s",
                          (long long)task->def.task_id, LEAT_SV_ARG(task->def.worker_address),
                          LEAT_SV_ARG(context->address));
}

leat_status_t leat_worker_task_open(leat_worker_task_t* task,
                                    const leat_worker_task_context_t* context,
                                    leat_task_runner_t** out_runner) {
  leat_mutex_lock(&task->mutex);
  leat_status_t status = check_task(task, context);
  if (!status && !task->runner) status = make_runner(task, context);
  *out_runner = task->runner;
  leat_mutex_unlock(&task->mutex);
  return status;
}
