// A task is a request that is being served: it keeps the bytes, the message, which borrows from
// them, and what the worker was lent, until the worker is done.
#include "cluster/worker_service.h"

#include "base/clock.h"
#include "cluster/worker_message.h"
#include "formats/decode.h"

typedef struct task_s {
  leat_worker_service_t* service;
  char* bytes;
  leat_arena_t arena;
  leat_pb_worker_request_t request;
  // What the worker gives, and was given.
  uint64_t handle;
  leat_import_results_t imported;
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

static leat_status_t write_reply(task_t* task, leat_status_t status, leat_letter_t* letter) {
  leat_worker_service_t* service = task->service;
  leat_pb_worker_status_t outcome;
  leat_pb_worker_reply_t reply = {
      .call = task->request.call, .status = &outcome, .handle = task->handle};
  leat_worker_status_to_message(status, &outcome);
  if (!status) {
    LEAT_RETURN_IF_ERROR(leat_worker_values_to_message(
        task->fetches, task->fetch_count, service->shelf, &task->arena, &reply.values));
  }
  return leat_worker_message_encode(&leat_pb_worker_reply_descriptor, &reply, service->allocator,
                                    &letter->bytes, &letter->size_bytes);
}

// A leat_worker_done_fn_t. When the reply has been posted the other end may give all this up.
static void finish(void* data, leat_status_t status) {
  task_t* task = data;
  leat_worker_service_t service = *task->service;
  uint64_t call = task->request.call;
  leat_letter_t letter = {.deliver = service.receive_reply, .receiver = service.replies};
  leat_status_t lost = write_reply(task, status, &letter);
  leat_status_free(status);
  free_task(task);
  if (!lost) {
    lost = leat_delivery_post(service.delivery, &letter);
    if (lost) leat_allocator_free(service.allocator, letter.bytes);
  }
  if (lost) service.lose_reply(service.replies, call, lost);
}

static void finish_reception(void* data, leat_status_t status) {
  task_t* task = data;
  if (task->received.alive) *task->fetches = leat_tensor_move(&task->received.tensor);
  finish(task, status);
}

// ---- Calls with a reply -------------------------------------------------------------------------

static leat_status_t make_room(task_t* task, size_t feed_count, int32_t fetch_count) {
  leat_arena_t* arena = &task->arena;
  if (fetch_count < 0) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "RunGraph failed: fetch_count is %d, must not be negative",
                            fetch_count);
  }
  LEAT_RETURN_IF_ERROR(leat_arena_allocate_array(arena, feed_count + 1, sizeof(leat_tensor_t),
                                                 (void**)&task->feeds));
  LEAT_RETURN_IF_ERROR(leat_arena_allocate_array(arena, (size_t)fetch_count + 1,
                                                 sizeof(leat_tensor_t), (void**)&task->fetches));
  task->fetch_count = fetch_count;
  return leat_ok_status();
}

static leat_status_t register_graph(task_t* task) {
  leat_worker_service_t* service = task->service;
  leat_register_request_t request;
  LEAT_RETURN_IF_ERROR(leat_worker_partition_of(task->request.register_graph, service->shelf,
                                                service->ops, service->allocator, &task->imported,
                                                &request));
  leat_worker_t* worker = service->worker;
  worker->vtable->register_graph(worker, &request, &task->handle, finish, task);
  return leat_ok_status();
}

static leat_status_t run_graph(task_t* task) {
  const leat_pb_run_partition_t* message = task->request.run_graph;
  leat_worker_service_t* service = task->service;
  void* collector = leat_shelf_take(service->shelf, message->collector_ticket);
  LEAT_RETURN_IF_ERROR(make_room(task, message->feeds.count, message->fetch_count));
  LEAT_RETURN_IF_ERROR(leat_worker_values_of(&message->feeds, service->shelf, task->feeds));
  task->feed_count = (int)message->feeds.count;
  leat_run_request_t request = {.handle = message->handle,
                                .step_id = message->step_id,
                                .container_step_id = message->container_step_id,
                                .function_depth = message->function_depth,
                                .feeds = task->feeds,
                                .fetches = task->fetches,
                                .deadline_ns = message->timeout_ns
                                                   ? leat_clock_now_ns() + message->timeout_ns
                                                   : LEAT_DEADLINE_NEVER,
                                .collector = collector};
  leat_worker_t* worker = service->worker;
  worker->vtable->run_graph(worker, &request, finish, task);
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
    LEAT_RETURN_IF_ERROR(leat_worker_value_of(message->value, task->service->shelf, &value.tensor));
  }
  value.alive = value.tensor.dtype != 0;
  worker->vtable->send_tensor(worker, message->step_id, message->key, value, finish, task);
  return leat_ok_status();
}

// ---- Calls without ------------------------------------------------------------------------------

static void tell(leat_worker_t* worker, const leat_pb_worker_request_t* request) {
  switch (request->method_case) {
    case LEAT_WORKER_DEREGISTER_GRAPH:
      worker->vtable->deregister_graph(worker, request->deregister_graph);
      break;
    case LEAT_WORKER_ABORT_STEP:
      worker->vtable->abort_step(worker, request->abort_step->step_id,
                                 leat_worker_status_of(request->abort_step->status));
      break;
    case LEAT_WORKER_ABORT_ALL:
      worker->vtable->abort_all(worker, leat_worker_status_of(request->abort_all));
      break;
    case LEAT_WORKER_CLEANUP_STEP:
      worker->vtable->cleanup_step(worker, request->cleanup_step);
      break;
    case LEAT_WORKER_CLEAR_CONTAINER:
      worker->vtable->clear_container(worker, request->clear_container);
      break;
    default:
      break;  // a method of a later version
  }
}

// The function of a method that replies; NULL: it does not.
static leat_status_t (*replying(uint32_t method))(task_t* task) {
  switch (method) {
    case LEAT_WORKER_REGISTER_GRAPH:
      return register_graph;
    case LEAT_WORKER_RUN_GRAPH:
      return run_graph;
    case LEAT_WORKER_RECEIVE_TENSOR:
      return receive_tensor;
    case LEAT_WORKER_SEND_TENSOR:
      return send_tensor;
    default:
      return NULL;
  }
}

static leat_status_t make_task(leat_worker_service_t* service, char* bytes, size_t size_bytes,
                               task_t** out_task) {
  task_t* task;
  LEAT_RETURN_IF_ERROR(leat_allocator_allocate(service->allocator, sizeof *task, (void**)&task));
  task->service = service;
  leat_arena_initialize(service->allocator, 0, &task->arena);
  leat_status_t status = leat_message_decode(&leat_pb_worker_request_descriptor,
                                             leat_string_view_make(bytes, size_bytes), &task->arena,
                                             NULL, &task->request);
  if (status) {
    free_task(task);  // the bytes stay with the delivery
    return status;
  }
  task->bytes = bytes;
  *out_task = task;
  return leat_ok_status();
}

leat_status_t leat_worker_service_receive(void* data, char* bytes, size_t size_bytes) {
  leat_worker_service_t* service = data;
  task_t* task;
  LEAT_RETURN_IF_ERROR(make_task(service, bytes, size_bytes, &task));
  leat_status_t (*call)(task_t*) = replying(task->request.method_case);
  if (call) {
    leat_status_t status = call(task);
    if (status) finish(task, status);
  } else {
    tell(service->worker, &task->request);
    free_task(task);
  }
  return leat_ok_status();
}
