// Works on the queue of a call of Enqueue: executes ops, takes tensors and functions from the
// client, and lets go of what it no longer needs. An op reads tensors that are here, that came with
// it, or that are fetched from other tasks; its outputs are kept here under its number, and the
// answer tells their shapes. An op without a number has its outputs in the answer instead.
//
//   Send and Recv, between tasks:   _Send(tensor) ─▶ rendezvous of the context ─▶ _Recv of the
//                                   client or of another task, which ask by RecvTensor
//
// These two are no kernels here, since an eager op has no step: they use the rendezvous of the step
// that has the context's number, as TensorFlow's contexts do. A Recv waits until its value comes or
// its client gives up.
#include <inttypes.h>

#include "cluster/eager_context.h"
#include "cluster/eager_function.h"
#include "cluster/eager_input.h"
#include "device/device_name.h"
#include "function/body_graph.h"
#include "formats/wire/shape_proto.h"
#include "formats/wire/tensor_content.h"
#include "graph/function/graph_functions.h"
#include "graph/op/attr_proto.h"
#include "graph/storage.h"
#include "kernel/rendezvous.h"
#include "kernel/tuple.h"

// Tensors that the answer borrows from.
typedef struct answered_s {
  struct answered_s* next;
  leat_tensor_t* tensors;
  int count;
} answered_t;

typedef struct queue_s {
  leat_eager_context_t* context;
  leat_service_call_t* call;
  leat_eager_run_t run;
  answered_t* answered;
  bool is_stream;
} queue_t;

// An op of the queue.
typedef struct operation_s {
  queue_t* queue;
  const leat_pb_operation_t* message;
  const leat_pb_int32_list_t* output_numbers;  // of a part of a function; NULL: from 0 on
  leat_eager_kernels_t* kernels;  // of the device that the client named
  leat_graph_storage_t* storage;  // of the attributes
  leat_eager_request_t request;
  leat_tensor_t* inputs;  // [request.input_count]
} operation_t;

// ---- Reading an op ------------------------------------------------------------------------------

// The kernels of the device that |name| means: one of this task, "" for its first.
static leat_status_t find_device(const leat_eager_context_t* context, leat_string_view_t name,
                                 leat_eager_kernels_t** out_kernels) {
  leat_device_name_t wanted, full;
  LEAT_RETURN_IF_ERROR(leat_device_name_parse(name, &wanted));
  for (int i = 0; i < context->device_count; ++i) {
    LEAT_RETURN_IF_ERROR(leat_device_name_parse(context->devices[i].device->name, &full));
    if (!leat_device_name_matches(&wanted, &full)) continue;
    *out_kernels = &context->devices[i];
    return leat_ok_status();
  }
  return leat_make_status(LEAT_INVALID_ARGUMENT,
                          "Enqueue failed: device is '%.*s', must be one of %d devices like %.*s",
                          LEAT_SV_ARG(name), context->device_count,
                          LEAT_SV_ARG(context->devices[0].device->name));
}

static leat_status_t find_op(const leat_eager_context_t* context,
                             const leat_pb_operation_t* message, const leat_op_t** out_op) {
  leat_status_t status = leat_graph_find_op(context->graph->graph, message->name, out_op);
  if (leat_status_code(status) != LEAT_NOT_FOUND) return status;
  leat_status_free(status);
  return leat_make_status(LEAT_NOT_FOUND,
                          "'%.*s' is neither a type of a primitive operation nor a name of a "
                          "function registered in the context on %.*s",
                          LEAT_SV_ARG(message->name),
                          LEAT_SV_ARG(context->devices[0].device->name));
}

static leat_status_t read_attrs(operation_t* operation) {
  const leat_pb_operation_attrs_entry_list_t* entries = &operation->message->attrs;
  leat_attr_t* attrs;
  LEAT_RETURN_IF_ERROR(
      leat_graph_storage_create(leat_allocator_system(), NULL, &operation->storage));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(&operation->queue->call->arena, entries->count + 1, &attrs));
  operation->request.attrs = attrs;
  for (size_t i = 0; i < entries->count; ++i) {
    static const leat_pb_attr_value_t kNone;
    const leat_pb_operation_attrs_entry_t* entry = &entries->items[i];
    attrs[i].name = entry->key;
    LEAT_RETURN_IF_ERROR(leat_attr_value_from_proto(entry->value ? entry->value : &kNone,
                                                    operation->storage, &attrs[i].value));
    operation->request.attr_count = (int)i + 1;
  }
  if (operation->message->is_component_function) {
    attrs[entries->count] =
        (leat_attr_t){LEAT_COMPONENT_ATTR, {.kind = LEAT_ATTR_BOOL, .b = true}};
    ++operation->request.attr_count;
  }
  return leat_ok_status();
}

static leat_status_t read_tensor(queue_t* queue, const leat_pb_tensor_proto_t* proto,
                                 leat_tensor_t* out_tensor) {
  return leat_tensor_from_content(proto, &queue->call->arena, leat_buffer_source_host(),
                                  out_tensor);
}

static leat_status_t read_input(queue_t* queue, const leat_pb_operation_input_t* input,
                                leat_tensor_t* out_tensor) {
  switch (input->item_case) {
    case LEAT_EAGER_INPUT_HANDLE:
      return leat_eager_input_find(queue->context, input->remote_handle, queue->run.cancellation,
                                   out_tensor);
    case LEAT_EAGER_INPUT_TENSOR:
      return read_tensor(queue, input->tensor, out_tensor);
    default:
      return leat_make_status(LEAT_INVALID_ARGUMENT,
                              "Enqueue failed: an input is neither a handle nor a tensor, must be "
                              "one of them");
  }
}

static leat_status_t read_inputs(operation_t* operation) {
  const leat_pb_operation_input_list_t* inputs = &operation->message->op_inputs;
  LEAT_RETURN_IF_ERROR(
      LEAT_NEW(&operation->queue->call->arena, inputs->count + 1, &operation->inputs));
  operation->request.inputs = operation->inputs;
  for (size_t i = 0; i < inputs->count; ++i) {
    leat_status_t status =
        read_input(operation->queue, &inputs->items[i], &operation->inputs[i]);
    if (status) {
      return leat_status_annotate(status, "for input %zu of '%.*s'", i,
                                  LEAT_SV_ARG(operation->message->name));
    }
    operation->request.input_count = (int)i + 1;
  }
  return leat_ok_status();
}

// ---- Answers ------------------------------------------------------------------------------------

// Puts the outputs themselves into the answer, which borrows from them.
static leat_status_t answer_tensors(queue_t* queue, leat_tensor_t* outputs, int count,
                                    leat_pb_queue_response_t* response) {
  leat_arena_t* arena = &queue->call->arena;
  answered_t* answered = NULL;
  leat_status_t status = LEAT_NEW(arena, 1, &answered);
  if (status) {
    leat_tensors_release(outputs, count);
    return status;
  }
  *answered = (answered_t){queue->answered, outputs, count};
  queue->answered = answered;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, (size_t)count + 1, &response->tensor.items));
  for (int i = 0; i < count; ++i) {
    LEAT_RETURN_IF_ERROR(
        leat_tensor_to_content(&outputs[i], arena, &response->tensor.items[i]));
  }
  response->tensor.count = (size_t)count;
  return leat_ok_status();
}

static leat_status_t tell_shapes(const operation_t* operation, const leat_tensor_t* outputs,
                                 int count, leat_pb_queue_response_t* response) {
  leat_arena_t* arena = &operation->queue->call->arena;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, (size_t)count + 1, &response->shape.items));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, (size_t)count + 1, &response->device.items));
  for (int i = 0; i < count; ++i) {
    leat_pb_tensor_shape_proto_t* shape;
    LEAT_RETURN_IF_ERROR(
        leat_partial_shape_to_proto(leat_partial_shape_of(&outputs[i].shape), arena, &shape));
    response->shape.items[i] = *shape;
    response->device.items[i] = operation->kernels->device->name;
  }
  response->shape.count = (size_t)count;
  if (operation->message->is_function) response->device.count = (size_t)count;
  return leat_ok_status();
}

// Keeps the outputs (taken) or puts them into the answer, as the op's number says.
static leat_status_t answer(const operation_t* operation, leat_tensor_t* outputs, int count,
                            leat_pb_queue_response_t* response) {
  queue_t* queue = operation->queue;
  for (int i = 0; i < count; ++i) {
    if (outputs[i].dtype) continue;
    leat_tensors_release(outputs, count);
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "Executing '%.*s' failed: output %d is dead, must have a value",
                            LEAT_SV_ARG(operation->message->name), i);
  }
  if (operation->message->id == LEAT_EAGER_NO_OP) {
    return answer_tensors(queue, outputs, count, response);
  }
  leat_status_t status = tell_shapes(operation, outputs, count, response);
  if (status) {
    leat_tensors_release(outputs, count);
    return status;
  }
  const leat_pb_int32_list_t* numbers = operation->output_numbers;
  if (!numbers) {
    return leat_eager_context_keep(queue->context, operation->message->id, outputs, count);
  }
  return leat_eager_context_keep_some(queue->context, operation->message->id, numbers->items,
                                      outputs, count);
}

// ---- Send and Recv ------------------------------------------------------------------------------

static leat_status_t text_attr(const operation_t* operation, const char* name,
                               leat_string_view_t* out_text) {
  const leat_attr_value_t* value = leat_attr_find(
      operation->request.attrs, operation->request.attr_count, leat_string_view_from(name));
  if (value && value->kind == LEAT_ATTR_STRING && !value->is_list) {
    *out_text = value->s;
    return leat_ok_status();
  }
  return leat_make_status(LEAT_INVALID_ARGUMENT,
                          "Executing '%.*s' failed: attribute '%s' is absent, must be a text",
                          LEAT_SV_ARG(operation->message->name), name);
}

// The key under which the value of a Send or Recv travels, outside of loops.
static leat_status_t make_key(const operation_t* operation, leat_string_view_t* out_key) {
  leat_string_view_t sender, receiver, name;
  const leat_attr_value_t* incarnation =
      leat_attr_find(operation->request.attrs, operation->request.attr_count,
                     LEAT_SV("send_device_incarnation"));
  LEAT_RETURN_IF_ERROR(text_attr(operation, "send_device", &sender));
  LEAT_RETURN_IF_ERROR(text_attr(operation, "recv_device", &receiver));
  LEAT_RETURN_IF_ERROR(text_attr(operation, "tensor_name", &name));
  const bool has_number = incarnation && incarnation->kind == LEAT_ATTR_INT;
  LEAT_RETURN_IF_ERROR(leat_arena_print(
      &operation->queue->call->arena, out_key, "%.*s;%016" PRIx64 ";%.*s;%.*s;0:0",
      LEAT_SV_ARG(sender), (uint64_t)(has_number ? incarnation->i : 0), LEAT_SV_ARG(receiver),
      LEAT_SV_ARG(name)));
  return leat_rendezvous_key_check(*out_key);
}

// The rendezvous of the step with the context's number, retained.
static leat_status_t open_rendezvous(leat_eager_context_t* context,
                                     leat_rendezvous_t** out_rendezvous) {
  leat_task_t* task = leat_eager_context_task(context);
  leat_rendezvous_source_t* source = task == task->root
                                         ? leat_rendezvous_table_source(task->rendezvous)
                                         : &task->view.source;
  return source->open(source, (int64_t)context->id, out_rendezvous);
}

static leat_status_t send_value(operation_t* operation, leat_rendezvous_t* rendezvous,
                                leat_string_view_t key) {
  if (operation->request.input_count != 1) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "Executing '%.*s' failed: it has %d inputs, must have one",
                            LEAT_SV_ARG(operation->message->name),
                            operation->request.input_count);
  }
  const leat_slot_t value = {.tensor = leat_tensor_share(&operation->inputs[0]), .alive = true};
  return rendezvous->vtable->send(rendezvous, leat_rendezvous_text(key), value);
}

// A value that is waited for. The waiter and the rendezvous hold it: one who gives up leaves it to
// the other.
typedef struct reception_s {
  leat_reference_count_t references;
  leat_notification_t ended;
  _Atomic(bool) is_over;  // the value or the waiter's end has come, whichever was first
  leat_status_t status;
  leat_slot_t value;
} reception_t;

static void release_reception(reception_t* reception) {
  if (!leat_reference_count_release(&reception->references)) return;
  leat_slot_release(&reception->value);
  leat_status_free(reception->status);
  leat_notification_deinitialize(&reception->ended);
  leat_allocator_free(leat_allocator_system(), reception);
}

// A leat_rendezvous_receive_fn_t.
static void receive_value(void* data, leat_status_t status, leat_slot_t value) {
  reception_t* reception = data;
  if (!atomic_exchange(&reception->is_over, true)) {
    reception->status = status;
    reception->value = value;
    leat_notification_open(&reception->ended);
  } else {
    leat_status_free(status);
    leat_slot_release(&value);
  }
  release_reception(reception);
}

static void give_up(void* data) {
  reception_t* reception = data;
  if (atomic_exchange(&reception->is_over, true)) return;
  reception->status = leat_make_status(LEAT_CANCELLED, "Receiving a value was cancelled");
  leat_notification_open(&reception->ended);
}

static leat_status_t receive(operation_t* operation, leat_rendezvous_t* rendezvous,
                             leat_string_view_t key, leat_tensor_t* out_tensor) {
  leat_cancellation_t* cancellation = operation->queue->run.cancellation;
  reception_t* reception;
  uint64_t token;
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(leat_allocator_system(), 1, &reception));
  reception->references = 2;
  leat_notification_initialize(&reception->ended);
  const bool is_watched = leat_cancellation_register(cancellation, give_up, reception, &token);
  if (!is_watched) give_up(reception);
  rendezvous->vtable->receive(rendezvous, leat_rendezvous_text(key), receive_value, reception);
  leat_notification_wait(&reception->ended, LEAT_DEADLINE_NEVER);
  if (is_watched) leat_cancellation_deregister(cancellation, token);
  leat_status_t status = reception->status;
  reception->status = leat_ok_status();
  if (!status) *out_tensor = leat_tensor_move(&reception->value.tensor);
  release_reception(reception);
  return status;
}

static leat_status_t transfer(operation_t* operation, leat_pb_queue_response_t* response) {
  leat_rendezvous_t* rendezvous;
  leat_string_view_t key;
  leat_tensor_t* output;
  LEAT_RETURN_IF_ERROR(make_key(operation, &key));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(&operation->queue->call->arena, 1, &output));
  LEAT_RETURN_IF_ERROR(open_rendezvous(operation->queue->context, &rendezvous));
  const bool sends = operation->request.op->flags & LEAT_OP_SEND;
  leat_status_t status = sends ? send_value(operation, rendezvous, key)
                               : receive(operation, rendezvous, key, output);
  leat_rendezvous_release(rendezvous);
  LEAT_RETURN_IF_ERROR(status);
  return answer(operation, output, sends ? 0 : 1, response);
}

// ---- Functions ----------------------------------------------------------------------------------

static leat_eager_call_t make_call(const operation_t* operation) {
  return (leat_eager_call_t){.device = operation->kernels->device->name,
                             .kernels = operation->kernels,
                             .function = {operation->message->name, operation->request.attrs,
                                          operation->request.attr_count},
                             .arguments = operation->inputs,
                             .argument_count = operation->request.input_count,
                             .cancellation = operation->queue->run.cancellation,
                             .arena = &operation->queue->call->arena};
}

static leat_status_t run_component(operation_t* operation, leat_pb_queue_response_t* response) {
  const leat_eager_call_t call = make_call(operation);
  const leat_pb_int32_list_t* numbers = operation->output_numbers;
  leat_tensor_t* outputs;
  int count;
  LEAT_RETURN_IF_ERROR(leat_eager_call_part(operation->queue->context, &call,
                                            operation->message->func_step_id,
                                            numbers ? (int)numbers->count : -1, &outputs, &count));
  return answer(operation, outputs, count, response);
}

// ---- Items --------------------------------------------------------------------------------------

static leat_status_t run_kernel(operation_t* operation, leat_pb_queue_response_t* response) {
  queue_t* queue = operation->queue;
  leat_eager_kernel_t* kernel = NULL;
  leat_tensor_t* outputs;
  LEAT_RETURN_IF_ERROR(leat_eager_kernel_find(operation->kernels, &operation->request, &kernel));
  const int count = kernel->kernel->output_count;
  leat_status_t status = LEAT_NEW(&queue->call->arena, (size_t)count + 1, &outputs);
  if (!status) {
    status = leat_eager_kernel_run(operation->kernels, kernel->kernel, operation->inputs,
                                   queue->run.cancellation, NULL, outputs);
  }
  leat_eager_kernel_release(kernel);
  return status ? status : answer(operation, outputs, count, response);
}

// Runs a function by its kernel, unless it needs other tasks.
static leat_status_t run_function(operation_t* operation, leat_pb_queue_response_t* response) {
  const leat_eager_call_t call = make_call(operation);
  leat_eager_spans_t* spans = leat_eager_context_spans(operation->queue->context);
  const uint8_t* others = NULL;
  leat_tensor_t* outputs;
  int count;
  leat_status_t status = leat_eager_call_find_tasks(spans, &call, &others);
  if (!status && others) status = leat_eager_call_over(spans, &call, others, &outputs, &count);
  leat_eager_spans_release(spans);
  LEAT_RETURN_IF_ERROR(status);
  return others ? answer(operation, outputs, count, response) : run_kernel(operation, response);
}

static leat_status_t execute(operation_t* operation, leat_pb_queue_response_t* response) {
  const leat_eager_context_t* context = operation->queue->context;
  const bool is_component = operation->message->is_component_function;
  if (!is_component) {
    LEAT_RETURN_IF_ERROR(find_op(context, operation->message, &operation->request.op));
  }
  LEAT_RETURN_IF_ERROR(find_device(context, operation->message->device, &operation->kernels));
  LEAT_RETURN_IF_ERROR(read_attrs(operation));
  LEAT_RETURN_IF_ERROR(read_inputs(operation));
  if (is_component) return run_component(operation, response);
  if (operation->message->is_function) return run_function(operation, response);
  const bool is_transfer = operation->request.op->flags & (LEAT_OP_SEND | LEAT_OP_RECV);
  return is_transfer ? transfer(operation, response) : run_kernel(operation, response);
}

// Whether |message| has the name of a task, and not one that begins with it (task 10 with task 1).
static bool has_name(leat_string_view_t message, leat_string_view_t name) {
  for (; message.size > name.size; message = leat_string_view_from_index(message, 1)) {
    const char next = message.data[name.size];
    if (leat_string_view_starts_with(message, name) && !(next >= '0' && next <= '9')) return true;
  }
  return false;
}

// Says which other task was lost, where |status| (taken) names one, in TensorFlow's words: by them
// its parameter server strategy tells the loss of a parameter server, after which it gives up, from
// that of a worker, whose calls another one gets.
static leat_status_t name_lost_task(const leat_task_t* task, leat_status_t status) {
  const leat_status_code_t code = leat_status_code(status);
  if (code != LEAT_UNAVAILABLE && code != LEAT_ABORTED) return status;
  const char* message = leat_status_message(status);
  for (int i = 0; i < task->spec.task_count; ++i) {
    const leat_string_view_t name = task->spec.tasks[i].name;
    if (i == task->number || !has_name(leat_string_view_from(message), name)) continue;
    leat_status_t named = leat_make_status(
        code, "%s\nAdditional GRPC error information from remote target %.*s: a call to it failed",
        message, LEAT_SV_ARG(name));
    leat_status_free(status);
    return named;
  }
  return status;
}

static leat_status_t run_operation(queue_t* queue, const leat_pb_operation_t* message,
                                   const leat_pb_int32_list_t* output_numbers,
                                   leat_pb_queue_response_t* response) {
  operation_t operation = {
      .queue = queue, .message = message, .output_numbers = output_numbers};
  leat_status_t status = execute(&operation, response);
  leat_tensors_release(operation.inputs, operation.request.input_count);
  leat_graph_storage_release(operation.storage);
  return status ? name_lost_task(leat_eager_context_task(queue->context), status) : status;
}

static leat_status_t keep_tensors(queue_t* queue, const leat_pb_send_tensor_op_t* message) {
  const size_t count = message->tensors.count;
  leat_eager_kernels_t* kernels;
  leat_tensor_t* tensors;
  LEAT_RETURN_IF_ERROR(find_device(queue->context, message->device_name, &kernels));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(&queue->call->arena, count + 1, &tensors));
  for (size_t i = 0; i < count; ++i) {
    leat_status_t status = read_tensor(queue, &message->tensors.items[i], &tensors[i]);
    if (!status) continue;
    leat_tensors_release(tensors, (int)i);
    return status;
  }
  return leat_eager_context_keep(queue->context, message->op_id, tensors, (int)count);
}

// A client that streams lets go of the outputs of an op before it has heard that the op failed. As
// in TensorFlow, that is not its mistake, and ends no stream.
static leat_status_t drop(queue_t* queue, const leat_pb_remote_tensor_handle_t* handle) {
  leat_status_t status =
      leat_eager_context_drop(queue->context, handle->op_id, handle->output_num);
  if (!queue->is_stream) return status;
  leat_status_free(status);
  return leat_ok_status();
}

static leat_status_t run_item(queue_t* queue, const leat_pb_queue_item_t* item,
                              leat_pb_queue_response_t* response) {
  leat_eager_context_t* context = queue->context;
  switch (item->item_case) {
    case LEAT_EAGER_DECREF:
      return drop(queue, item->handle_to_decref);
    case LEAT_EAGER_OPERATION:
      return run_operation(queue, item->operation, NULL, response);
    case LEAT_EAGER_SEND_TENSOR:
      return keep_tensors(queue, item->send_tensor);
    case LEAT_EAGER_REGISTER_FUNCTION:
      return leat_eager_context_add_functions(context, item->register_function->library,
                                              item->register_function->function_def);
    case LEAT_EAGER_REMOVE_FUNCTION:
      return leat_eager_context_remove_function(context, item->remove_function->function_name);
    case LEAT_EAGER_CLEANUP_FUNCTION:
      leat_eager_context_cleanup_step(context, item->cleanup_function->step_id);
      return leat_ok_status();
    case LEAT_EAGER_SYNC:
      return leat_ok_status();  // what came before it in the queue has ended
    default:
      return leat_make_status(LEAT_UNIMPLEMENTED,
                              "Enqueue failed: an item is of kind %u, must be an op, a tensor or a "
                              "function, or let go of one",
                              item->item_case);
  }
}

static leat_status_t run_queue(queue_t* queue, const leat_pb_enqueue_request_t* request,
                               leat_pb_enqueue_response_t* response) {
  leat_pb_queue_response_t* items;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(&queue->call->arena, request->queue.count + 1, &items));
  *response = (leat_pb_enqueue_response_t){.queue_response = {items, request->queue.count}};
  for (size_t i = 0; i < request->queue.count; ++i) {
    LEAT_RETURN_IF_ERROR(run_item(queue, &request->queue.items[i], &items[i]));
  }
  return leat_ok_status();
}

// Of leat_rpc_request_on_cancel: the client gives the call up, or is gone.
static void cancel(void* data) { leat_cancellation_cancel(data); }

// A queue, or a part of a function, is worked on between these two. The client can end it
// meanwhile.
static leat_status_t begin_queue(queue_t* queue) {
  LEAT_RETURN_IF_ERROR(leat_eager_context_begin_run(queue->context, &queue->run));
  leat_rpc_request_on_cancel(queue->call->request, cancel, queue->run.cancellation);
  return leat_ok_status();
}

static void end_queue(queue_t* queue) {
  leat_rpc_request_on_cancel(queue->call->request, NULL, NULL);
  leat_eager_context_end_run(queue->context, &queue->run);
}

// Answers with |message|, which may borrow from tensors. |status| is taken.
static void answer_queue(queue_t* queue, leat_status_t status,
                         const leat_message_descriptor_t* descriptor, const void* message) {
  leat_rpc_piece_t piece;
  leat_rpc_bytes_t bytes;
  status = leat_service_encode(status, descriptor, message, &piece, &bytes);
  for (answered_t* a = queue->answered; a; a = a->next) leat_tensors_release(a->tensors, a->count);
  leat_service_answer_bytes(queue->call, status, bytes);
}

void leat_eager_context_enqueue(leat_eager_context_t* context, leat_service_call_t* call,
                                const leat_pb_enqueue_request_t* request, bool is_stream) {
  queue_t queue = {.context = context, .call = call, .is_stream = is_stream};
  leat_pb_enqueue_response_t response = {0};
  leat_status_t status = begin_queue(&queue);
  if (!status) {
    status = run_queue(&queue, request, &response);
    end_queue(&queue);
  }
  answer_queue(&queue, status, &leat_pb_enqueue_response_descriptor, &response);
}

void leat_eager_context_run_component(leat_eager_context_t* context, leat_service_call_t* call,
                                      const leat_pb_run_component_function_request_t* request) {
  static const leat_pb_operation_t kNone;
  queue_t queue = {.context = context, .call = call};
  const leat_pb_operation_t* operation = request->operation ? request->operation : &kNone;
  leat_pb_queue_response_t item = {0};
  leat_status_t status = leat_ok_status();
  if (!operation->is_function || !operation->is_component_function) {
    status = leat_make_status(LEAT_INTERNAL,
                              "RunComponentFunction failed: '%.*s' is an op, must be a part of a "
                              "function",
                              LEAT_SV_ARG(operation->name));
  }
  if (!status) status = begin_queue(&queue);
  if (!status) {
    status = run_operation(&queue, operation, &request->output_num, &item);
    end_queue(&queue);
  }
  const leat_pb_run_component_function_response_t response = {.shape = item.shape,
                                                              .tensor = item.tensor};
  answer_queue(&queue, status, &leat_pb_run_component_function_response_descriptor, &response);
}
