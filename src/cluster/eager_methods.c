// The methods of tensorflow.eager.EagerService: clients of other processes run single ops here
// (eager_context.h). Each is served on the thread that the call came on, which may block there
// until the ops of its queue have ended. Codes are TensorFlow's: ABORTED for a context that is not
// there, as after a restart of the task; INVALID_ARGUMENT for a view that does not follow the last
// one; closing a context that is not there succeeds.
//
// TensorFlow's clients send a function that they run themselves, with nodes on several tasks, in
// parts, each of which its task runs (RunComponentFunction). Other functions, and those of Leat's
// clients, go to one task as a whole, which places their nodes on its devices and on those of other
// tasks (eager_function.h).
//
// StreamingEnqueue is Enqueue as a stream (rpc.h). TensorFlow's clients use it for all ops of a
// context on a task, unless TF_ENABLE_EAGER_CLIENT_STREAMING_ENQUEUE is false, and send ops without
// waiting for the answers of earlier ones. An op that fails ends the stream with its status: the
// client gives it to all ops that it had sent behind that one, none of which runs, and opens
// another stream for the next one.
#include "cluster/eager_context.h"

static void create_context(leat_service_call_t* call, const void* message) {
  leat_pb_create_context_response_t response = {0};
  leat_status_t status = leat_eager_context_create(call->task, message);
  if (!status) {
    status = leat_task_describe_devices(call->task, &call->arena, &response.device_attributes);
  }
  leat_service_answer(call, status, &leat_pb_create_context_response_descriptor, &response);
}

static void update_context(leat_service_call_t* call, const void* message) {
  const leat_pb_update_context_request_t* request = message;
  leat_pb_update_context_response_t response = {0};
  leat_eager_context_t* context = NULL;
  leat_status_t status = leat_eager_context_find(call->task, request->context_id, &context);
  if (!status) status = leat_eager_context_update(context, request);
  if (!status) {
    status = leat_task_describe_devices(call->task, &call->arena, &response.device_attributes);
  }
  leat_eager_context_release(context);
  leat_service_answer(call, status, &leat_pb_update_context_response_descriptor, &response);
}

static void enqueue_in(leat_service_call_t* call, const void* message, bool is_stream) {
  const leat_pb_enqueue_request_t* request = message;
  leat_eager_context_t* context = NULL;
  leat_status_t status = leat_eager_context_find(call->task, request->context_id, &context);
  if (status) {
    leat_service_answer(call, status, NULL, NULL);
  } else {
    leat_eager_context_enqueue(context, call, request, is_stream);
    leat_eager_context_release(context);
  }
}

static void enqueue(leat_service_call_t* call, const void* message) {
  enqueue_in(call, message, false);
}

static void streaming_enqueue(leat_service_call_t* call, const void* message) {
  enqueue_in(call, message, true);
}

static void wait_queue_done(leat_service_call_t* call, const void* message) {
  const leat_pb_wait_queue_done_request_t* request = message;
  leat_eager_context_t* context = NULL;
  leat_status_t status = leat_eager_context_find(call->task, request->context_id, &context);
  if (!status && request->op_id.count > 0) {
    status = leat_make_status(LEAT_UNIMPLEMENTED,
                              "WaitQueueDone failed: there are %zu values of op_id, must be none: "
                              "it waits for all ops",
                              request->op_id.count);
  }
  if (!status) leat_eager_context_wait(context);
  leat_eager_context_release(context);
  leat_service_answer(call, status, NULL, NULL);
}

static void keep_alive(leat_service_call_t* call, const void* message) {
  const leat_pb_keep_alive_request_t* request = message;
  leat_pb_keep_alive_response_t response = {0};
  leat_eager_context_t* context = NULL;
  leat_status_t status = leat_eager_context_find(call->task, request->context_id, &context);
  if (!status) response.context_view_id = leat_eager_context_view(context);
  leat_eager_context_release(context);
  leat_service_answer(call, status, &leat_pb_keep_alive_response_descriptor, &response);
}

static void close_context(leat_service_call_t* call, const void* message) {
  const leat_pb_close_context_request_t* request = message;
  leat_eager_context_close(call->task, request->context_id, request->context_view_id);
  leat_service_answer(call, leat_ok_status(), NULL, NULL);
}

static void run_component_function(leat_service_call_t* call, const void* message) {
  const leat_pb_run_component_function_request_t* request = message;
  leat_eager_context_t* context = NULL;
  leat_status_t status = leat_eager_context_find(call->task, request->context_id, &context);
  if (status) {
    leat_service_answer(call, status, NULL, NULL);
  } else {
    leat_eager_context_run_component(context, call, request);
    leat_eager_context_release(context);
  }
}

const leat_service_method_t leat_eager_methods[] = {
    {"CreateContext", &leat_pb_create_context_request_descriptor, create_context},
    {"UpdateContext", &leat_pb_update_context_request_descriptor, update_context},
    {"Enqueue", &leat_pb_enqueue_request_descriptor, enqueue},
    {"WaitQueueDone", &leat_pb_wait_queue_done_request_descriptor, wait_queue_done},
    {"KeepAlive", &leat_pb_keep_alive_request_descriptor, keep_alive},
    {"CloseContext", &leat_pb_close_context_request_descriptor, close_context},
    {"RunComponentFunction", &leat_pb_run_component_function_request_descriptor,
     run_component_function},
    {0},
};

const leat_service_method_t leat_eager_streams[] = {
    {"StreamingEnqueue", &leat_pb_enqueue_request_descriptor, streaming_enqueue},
    {0},
};
