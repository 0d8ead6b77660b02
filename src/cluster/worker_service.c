// The worker's end of a transport. A request that wants a reply becomes a task, which owns
// everything that the worker is lent during the call: the bytes of the request, the decoded message
// that borrows from them, the feeds and the room for the fetches. The worker may finish on another
// thread after this file's functions have returned; `finish` then encodes the reply, frees the
// task, and sends the reply:
//
//   receive ─▶ task ─▶ register_graph / run_graph / receive_tensor / send_tensor ─▶ finish ─▶ reply
//
// The task is freed before the reply is sent, because the master may free the whole transport as
// soon as it has the reply. Requests without a reply are served at once and need no task. A failure
// of the decoding or of memory ends the call with its status; no call is left without an end.
#include "cluster/transport.h"

#include "base/clock.h"
#include "cluster/worker_message.h"
#include "formats/wire/decode.h"

typedef struct task_s {
  leat_worker_service_t* service;
  uint64_t call;
  char* bytes;
  leat_arena_t arena;
  leat_pb_worker_request_t request;
  // What the worker is lent for the call, and what it returns.
  leat_register_request_t registration;
  leat_import_results_t imported;
  leat_run_request_t run;
  uint64_t handle;
  leat_tensor_t* feeds;
  int feed_count;
  leat_tensor_t* fetches;
  int fetch_count;
  leat_slot_t received;
} task_t;

static void free_task(task_t* task) {
  leat_allocator_t* allocator = task->service->allocator;
  for (int i = 0; i < task->feed_count; ++i) leat_tensor_release(&task->feeds[i]);
  for (int i = 0; i < task->fetch_count; ++i) leat_tensor_release(&task->fetches[i]);
  leat_slot_release(&task->received);
  leat_import_results_deinitialize(&task->imported);
  leat_arena_deinitialize(&task->arena);
  leat_allocator_free(allocator, task->bytes);
  leat_allocator_free(allocator, task);
}

// ---- Replies ------------------------------------------------------------------------------------

// Encodes the reply into |message|; |status| stays the caller's.
static leat_status_t write_reply(task_t* task, leat_status_t status,
                                 leat_network_message_t* message) {
  leat_worker_service_t* service = task->service;
  leat_pb_worker_reply_t reply = {.code = leat_status_code(status),
                                  .message = leat_string_view_from(leat_status_message(status)),
                                  .handle = task->handle};
  if (!status) {
    LEAT_RETURN_IF_ERROR(leat_worker_values_to_message(
        task->fetches, task->fetch_count, service->objects, &task->arena, &reply.values));
  }
  return leat_worker_message_encode(&leat_pb_worker_reply_descriptor, &reply, service->allocator,
                                    &message->bytes, &message->size_bytes);
}

// A leat_worker_done_fn_t: ends the task. The service is copied, since it may be gone once the
// reply has been sent.
static void finish(void* data, leat_status_t status) {
  task_t* task = data;
  leat_worker_service_t service = *task->service;
  leat_network_message_t message = {
      .receive = service.receive_reply, .receiver = service.replies, .call = task->call};
  leat_status_t failure = write_reply(task, status, &message);
  leat_status_free(status);
  free_task(task);
  if (!failure) {
    failure = leat_network_send(service.network, &message);
    if (failure) leat_allocator_free(service.allocator, message.bytes);
  }
  if (failure) service.fail_call(service.replies, message.call, failure);
}

// A leat_worker_done_fn_t for ReceiveTensor: the value is sent as a fetch; a dead one has no dtype.
static void finish_reception(void* data, leat_status_t status) {
  task_t* task = data;
  if (task->received.alive) *task->fetches = leat_tensor_move(&task->received.tensor);
  finish(task, status);
}

// ---- Calls with a reply -------------------------------------------------------------------------

// Allocates the feeds, which are counted only once they are set, and the fetches.
static leat_status_t make_room(task_t* task, size_t feed_count, int32_t fetch_count) {
  leat_arena_t* arena = &task->arena;
  if (fetch_count < 0) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "RunGraph failed: fetch_count is %d, must not be negative",
                            fetch_count);
  }
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, feed_count + 1, &task->feeds));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, (size_t)fetch_count + 1, &task->fetches));
  task->fetch_count = fetch_count;
  return leat_ok_status();
}

static leat_status_t register_graph(task_t* task) {
  leat_worker_service_t* service = task->service;
  LEAT_RETURN_IF_ERROR(leat_worker_partition_of(task->request.register_graph, service->objects,
                                                service->ops, service->allocator, &task->imported,
                                                &task->registration));
  leat_worker_t* worker = service->worker;
  worker->vtable->register_graph(worker, &task->registration, &task->handle, finish, task);
  return leat_ok_status();
}

// The deadline that is |timeout_ns| from now; 0, and what overflows, is no deadline.
static int64_t deadline_after(int64_t timeout_ns) {
  int64_t deadline_ns;
  bool is_far =
      !timeout_ns || __builtin_add_overflow(leat_clock_now_ns(), timeout_ns, &deadline_ns);
  return is_far ? LEAT_DEADLINE_NEVER : deadline_ns;
}

// Starts a step's part on the worker. The time that is left comes as a duration, because the clocks
// of two machines do not agree.
static leat_status_t run_graph(task_t* task) {
  const leat_pb_run_partition_t* message = task->request.run_graph;
  leat_worker_service_t* service = task->service;
  void* collector = leat_object_table_take(service->objects, message->collector_ticket);
  void* calls = leat_object_table_take(service->objects, message->calls_ticket);
  LEAT_RETURN_IF_ERROR(make_room(task, message->feeds.count, message->fetch_count));
  LEAT_RETURN_IF_ERROR(leat_worker_values_of(&message->feeds, service->objects, task->feeds));
  task->feed_count = (int)message->feeds.count;
  task->run = (leat_run_request_t){.handle = message->handle,
                                   .step_id = message->step_id,
                                   .container_step_id = message->container_step_id,
                                   .function_depth = message->function_depth,
                                   .inter_op_threads = message->inter_op_threads,
                                   .calls = calls,
                                   .feeds = task->feeds,
                                   .fetches = task->fetches,
                                   .deadline_ns = deadline_after(message->timeout_ns),
                                   .collector = collector};
  leat_worker_t* worker = service->worker;
  worker->vtable->run_graph(worker, &task->run, finish, task);
  return leat_ok_status();
}

static leat_status_t receive_tensor(task_t* task) {
  const leat_pb_transfer_tensor_t* message = task->request.receive_tensor;
  leat_worker_t* worker = task->service->worker;
  LEAT_RETURN_IF_ERROR(make_room(task, 0, 1));
  worker->vtable->receive_tensor(worker, message->step_id, message->key, &task->received,
                                 finish_reception, task);
  return leat_ok_status();
}

static leat_status_t send_tensor(task_t* task) {
  const leat_pb_transfer_tensor_t* message = task->request.send_tensor;
  leat_worker_t* worker = task->service->worker;
  leat_slot_t value = {0};
  if (message->value) {
    LEAT_RETURN_IF_ERROR(leat_worker_value_of(message->value, task->service->objects,
                                              &value.tensor));
  }
  value.alive = value.tensor.dtype != 0;
  worker->vtable->send_tensor(worker, message->step_id, message->key, value, finish, task);
  return leat_ok_status();
}

// ---- Requests -----------------------------------------------------------------------------------

// Serves a request that wants no reply.
static void heed(leat_worker_t* worker, const leat_pb_worker_request_t* request) {
  switch (request->method_case) {
    case LEAT_WORKER_DEREGISTER_GRAPH:
      worker->vtable->deregister_graph(worker, request->deregister_graph);
      break;
    case LEAT_WORKER_ABORT_STEP:
      worker->vtable->abort_step(worker, request->abort_step,
                                 leat_worker_status_of(request->code, request->message));
      break;
    case LEAT_WORKER_ABORT_ALL:
      worker->vtable->abort_all(worker, leat_worker_status_of(request->code, request->message));
      break;
    case LEAT_WORKER_CLEANUP_STEP:
      worker->vtable->cleanup_step(worker, request->cleanup_step);
      break;
    case LEAT_WORKER_CLEAR_CONTAINER:
      worker->vtable->clear_container(worker, request->clear_container);
      break;
    default:
      break;
  }
}

// Starts the call of a request that wants a reply. On success the worker calls `finish`; on failure
// the caller must.
static leat_status_t serve(task_t* task) {
  switch (task->request.method_case) {
    case LEAT_WORKER_REGISTER_GRAPH:
      return register_graph(task);
    case LEAT_WORKER_RUN_GRAPH:
      return run_graph(task);
    case LEAT_WORKER_RECEIVE_TENSOR:
      return receive_tensor(task);
    case LEAT_WORKER_SEND_TENSOR:
      return send_tensor(task);
    default:
      return leat_make_status(LEAT_UNIMPLEMENTED,
                              "Request failed: its method is %u, must be one that replies",
                              task->request.method_case);
  }
}

void leat_worker_service_receive(void* data, uint64_t call, char* bytes, size_t size_bytes) {
  leat_worker_service_t* service = data;
  leat_allocator_t* allocator = service->allocator;
  leat_pb_worker_request_t request;
  leat_arena_t arena;
  task_t* task = NULL;
  leat_arena_initialize(allocator, 0, &arena);
  leat_status_t status =
      leat_message_decode(&leat_pb_worker_request_descriptor,
                          leat_string_view_make(bytes, size_bytes), &arena, NULL, &request);
  if (!status && call) status = LEAT_ALLOCATE(allocator, 1, &task);
  if (task) {
    *task = (task_t){
        .service = service, .call = call, .bytes = bytes, .arena = arena, .request = request};
    status = serve(task);
    if (status) finish(task, status);
    return;
  }
  if (status && call) {
    service->fail_call(service->replies, call, status);
  } else if (status) {
    leat_status_free(status);  // there is no call that could get the status
  } else {
    heed(service->worker, &request);
  }
  leat_arena_deinitialize(&arena);
  leat_allocator_free(allocator, bytes);
}
