// Finds inputs by the numbers that clients give to ops, which are the same on all tasks. The client
// says on which task an output was made; it may have sent this task a copy under the same number,
// so this task's outputs are looked through first. The handles of resources are kept once they were
// fetched, since a function that trains gets those of all variables in each call. A handle is
// immutable, and its number never comes to mean another output, so one that is kept for too long
// does no harm. At most MOST_HANDLES are kept.
#include "cluster/eager_input.h"

#include "formats/wire/decode.h"
#include "formats/wire/tensor_content.h"
#include "graph/op/attr_proto.h"

#define MOST_HANDLES 65536
#define MOST_OUTPUTS 256  // of an op whose outputs' handles are kept

// ---- Queues of one item -------------------------------------------------------------------------

typedef struct exchange_s {
  leat_arena_t* arena;
  leat_eager_read_fn_t read;
  void* data;
} exchange_t;

// A leat_client_read_fn_t.
static leat_status_t read_answer(void* data, leat_string_view_t answer) {
  const exchange_t* exchange = data;
  leat_pb_enqueue_response_t response;
  LEAT_RETURN_IF_ERROR(leat_message_decode(&leat_pb_enqueue_response_descriptor, answer,
                                           exchange->arena, NULL, &response));
  if (response.queue_response.count != 1) {
    return leat_make_status(LEAT_INTERNAL,
                            "Reading the answer of Enqueue failed: it has %zu items, must have one",
                            response.queue_response.count);
  }
  return exchange->read(exchange->data, response.queue_response.items);
}

leat_status_t leat_eager_exchange(const leat_eager_way_t* way, leat_pb_queue_item_t* item,
                                  leat_arena_t* arena, leat_eager_read_fn_t read, void* data) {
  const leat_pb_enqueue_request_t request = {.context_id = way->context_id, .queue = {item, 1}};
  exchange_t exchange = {arena, read, data};
  const leat_client_call_t enqueue = {.channel = way->channel,
                                      .method = LEAT_EAGER_ENQUEUE,
                                      .descriptor = &leat_pb_enqueue_request_descriptor,
                                      .message = &request,
                                      .deadline_ns = LEAT_DEADLINE_NEVER,
                                      .kind = LEAT_CLIENT_CALL_STEP,
                                      .cancellation = way->cancellation,
                                      .read = read_answer,
                                      .data = &exchange};
  return leat_task_told_by(way->task, leat_client_call(way->calls, &enqueue));
}

// ---- Fetching -----------------------------------------------------------------------------------

typedef struct reading_s {
  leat_arena_t arena;
  int32_t dtype;
  leat_tensor_t* value;
} reading_t;

// A leat_eager_read_fn_t.
static leat_status_t read_value(void* data, const leat_pb_queue_response_t* response) {
  reading_t* reading = data;
  if (response->tensor.count != 1) {
    return leat_make_status(LEAT_INTERNAL,
                            "Reading the answer of Enqueue failed: it has %zu tensors, must have "
                            "one",
                            response->tensor.count);
  }
  LEAT_RETURN_IF_ERROR(leat_tensor_from_content(response->tensor.items, &reading->arena,
                                                leat_buffer_source_host(), reading->value));
  if (reading->value->dtype == reading->dtype) return leat_ok_status();
  leat_status_t status = leat_make_status(
      LEAT_INTERNAL, "Reading the answer of Enqueue failed: a tensor is of type %s, must be %s",
      leat_dtype_name(reading->value->dtype), leat_dtype_name(reading->dtype));
  leat_tensor_release(reading->value);
  return status;
}

leat_status_t leat_eager_fetch(const leat_eager_way_t* way,
                               const leat_pb_remote_tensor_handle_t* handle,
                               leat_tensor_t* out_tensor) {
  leat_pb_operation_input_t input = {
      .item_case = LEAT_EAGER_INPUT_HANDLE,
      .remote_handle = (leat_pb_remote_tensor_handle_t*)(uintptr_t)handle};
  const leat_attr_t type = LEAT_TYPE("T", handle->dtype);
  leat_pb_attr_value_t value;
  leat_pb_operation_attrs_entry_t attr = {.key = type.name, .value = &value};
  leat_pb_operation_t identity = {.id = LEAT_EAGER_NO_OP,
                                  .name = LEAT_SV("Identity"),
                                  .device = handle->device,
                                  .op_inputs = {&input, 1},
                                  .attrs = {&attr, 1}};
  leat_pb_queue_item_t item = {.item_case = LEAT_EAGER_OPERATION, .operation = &identity};
  reading_t reading = {.dtype = handle->dtype, .value = out_tensor};
  leat_arena_initialize(leat_allocator_system(), 0, &reading.arena);
  leat_status_t status = leat_attr_value_to_proto(&type.value, &reading.arena, &value);
  if (!status) status = leat_eager_exchange(way, &item, &reading.arena, read_value, &reading);
  leat_arena_deinitialize(&reading.arena);
  return status;
}

// ---- Handles of resources -----------------------------------------------------------------------

static void forget_all(leat_eager_inputs_t* inputs) {
  const leat_word_map_t* handles = &inputs->handles;
  for (size_t i = 0; i < handles->capacity; ++i) {
    if (!handles->used[i]) continue;
    leat_tensor_t* handle = (leat_tensor_t*)(uintptr_t)handles->values[i];
    leat_tensor_release(handle);
    leat_allocator_free(leat_allocator_system(), handle);
  }
  leat_word_map_clear(&inputs->handles);
}

void leat_eager_inputs_initialize(leat_eager_inputs_t* out_inputs) {
  leat_client_calls_initialize(&out_inputs->calls);
  leat_mutex_initialize(&out_inputs->mutex);
  leat_word_map_initialize(leat_allocator_system(), &out_inputs->handles);
}

void leat_eager_inputs_deinitialize(leat_eager_inputs_t* inputs) {
  forget_all(inputs);
  leat_word_map_deinitialize(&inputs->handles);
  leat_mutex_deinitialize(&inputs->mutex);
  leat_client_calls_deinitialize(&inputs->calls);
}

// Whether the tensor is to be kept, and under which key.
static bool is_kept(const leat_pb_remote_tensor_handle_t* handle, uint64_t* out_key) {
  *out_key = (uint64_t)handle->op_id * MOST_OUTPUTS + (uint64_t)handle->output_num;
  return handle->dtype == LEAT_DTYPE_RESOURCE && handle->op_id >= 0 &&
         handle->op_id < INT64_MAX / MOST_OUTPUTS && handle->output_num >= 0 &&
         handle->output_num < MOST_OUTPUTS;
}

static bool find_kept(leat_eager_inputs_t* inputs, uint64_t key, leat_tensor_t* out_tensor) {
  uint64_t found;
  leat_mutex_lock(&inputs->mutex);
  const bool is_there = leat_word_map_get(&inputs->handles, key, &found);
  if (is_there) *out_tensor = leat_tensor_share((const leat_tensor_t*)(uintptr_t)found);
  leat_mutex_unlock(&inputs->mutex);
  return is_there;
}

// Without memory it is fetched again.
static void keep(leat_eager_inputs_t* inputs, uint64_t key, const leat_tensor_t* tensor) {
  leat_tensor_t* kept;
  uint64_t found;
  leat_status_t status = LEAT_ALLOCATE(leat_allocator_system(), 1, &kept);
  if (status) {
    leat_status_free(status);
    return;
  }
  *kept = leat_tensor_share(tensor);
  leat_mutex_lock(&inputs->mutex);
  if (inputs->handles.count >= MOST_HANDLES) forget_all(inputs);
  bool is_new = !leat_word_map_get(&inputs->handles, key, &found);
  if (is_new) {
    status = leat_word_map_set(&inputs->handles, key, (uint64_t)(uintptr_t)kept);
    is_new = !status;
    leat_status_free(status);
  }
  leat_mutex_unlock(&inputs->mutex);
  if (is_new) return;
  leat_tensor_release(kept);
  leat_allocator_free(leat_allocator_system(), kept);
}

// ---- Inputs -------------------------------------------------------------------------------------

// The number of the task that made the tensor; -1 where the cluster has none of its name. A client
// may leave out where an output of this task is.
static int find_task(const leat_task_t* task, const leat_pb_remote_tensor_handle_t* handle) {
  const leat_string_view_t device = handle->op_device.size ? handle->op_device : handle->device;
  return device.size ? leat_cluster_spec_find_device(&task->spec, device) : task->number;
}

leat_status_t leat_eager_input_find(leat_eager_context_t* context,
                                    const leat_pb_remote_tensor_handle_t* handle,
                                    leat_cancellation_t* cancellation,
                                    leat_tensor_t* out_tensor) {
  leat_status_t status =
      leat_eager_context_share(context, handle->op_id, handle->output_num, out_tensor);
  if (!status) return status;
  leat_task_t* task = leat_eager_context_task(context);
  const int number = find_task(task, handle);
  if (number < 0 || number == task->number) return status;
  leat_status_free(status);
  uint64_t key;
  const bool keeps = is_kept(handle, &key);
  if (keeps && find_kept(&context->inputs, key, out_tensor)) return leat_ok_status();
  leat_eager_way_t way = {.calls = &context->inputs.calls,
                          .task = task->spec.tasks[number].name,
                          .context_id = context->id,
                          .cancellation = cancellation};
  LEAT_RETURN_IF_ERROR(leat_task_channel(task, number, &way.channel));
  LEAT_RETURN_IF_ERROR(leat_eager_fetch(&way, handle, out_tensor));
  if (keeps) keep(&context->inputs, key, out_tensor);
  return leat_ok_status();
}
