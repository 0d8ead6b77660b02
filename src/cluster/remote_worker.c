// The master's end of a transport. A call with a reply is put into the table of pending calls; its
// ticket is the number that the request and the reply carry:
//
//   ask:      call ─▶ pending calls[n],  request n ─▶ network
//   receive:  network ─▶ reply n,  pending calls[n] ─▶ its outputs are set, done(status)
//
// Calls without a reply (an abort, a clean-up) are sent and forgotten. They must not be lost, since
// nobody would notice: where memory for their message is missing, the worker is called directly.
// The orders that worker.h demands are stated with the messages: a clean-up comes after all other
// messages of its step, and the clearing of a container before all later messages.
//
// A reply's fetches and a request's feeds are arrays without a length in the worker interface, so
// the numbers of both are remembered for each registered graph.
#include "cluster/transport.h"

#include "base/clock.h"
#include "cluster/worker_message.h"
#include "formats/wire/decode.h"

// A pending call, and where the content of its reply goes; pointers that are NULL want nothing.
typedef struct call_s {
  leat_worker_done_fn_t done;
  void* data;
  uint64_t* out_handle;
  uint64_t edge_counts;  // feeds << 32 | fetches of the graph that is registered
  leat_tensor_t* fetches;
  size_t fetch_count;
  leat_slot_t* out_value;
} call_t;

// ---- Requests -----------------------------------------------------------------------------------

// Encodes and sends |request| as |message|.
static leat_status_t post(leat_remote_worker_t* worker, const leat_pb_worker_request_t* request,
                          leat_network_message_t message) {
  message.receive = worker->receive_request;
  LEAT_DCHECK(worker->receive_request && worker->requests);
  message.receiver = worker->requests;
  LEAT_RETURN_IF_ERROR(leat_worker_message_encode(&leat_pb_worker_request_descriptor, request,
                                                  worker->allocator, &message.bytes,
                                                  &message.size_bytes));
  leat_status_t status = leat_network_send(worker->network, &message);
  if (status) leat_allocator_free(worker->allocator, message.bytes);
  return status;
}

// Sends a request without a reply; false when it was not sent, for want of memory.
static bool tell(leat_remote_worker_t* worker, const leat_pb_worker_request_t* request,
                 int64_t step_id, leat_network_order_t order) {
  leat_status_t status = post(worker, request,
                              (leat_network_message_t){.step_id = step_id, .order = order});
  if (!status) return true;
  leat_status_free(status);
  return false;
}

// Sends |request| as |call|, and ends the call at once when |status| or the sending is a failure.
// |call| and |request| are copied or encoded before the function returns.
static void ask(leat_remote_worker_t* worker, const call_t* call, leat_status_t status,
                const leat_pb_worker_request_t* request, int64_t step_id) {
  call_t* kept = NULL;
  leat_network_message_t message = {.step_id = step_id};
  if (!status) status = LEAT_ALLOCATE(worker->allocator, 1, &kept);
  if (!status) {
    *kept = *call;
    status = leat_object_table_put(&worker->calls, kept, NULL, &message.call);
  }
  if (!status) {
    status = post(worker, request, message);
    if (!status) return;
    LEAT_DCHECK(message.call != 0);
    leat_object_table_take(&worker->calls, message.call);
  }
  leat_allocator_free(worker->allocator, kept);
  call->done(call->data, status);
}

// ---- Replies ------------------------------------------------------------------------------------

static leat_status_t remember_edge_counts(leat_remote_worker_t* worker, uint64_t handle,
                                          uint64_t counts) {
  leat_mutex_lock(&worker->mutex);
  leat_status_t status = leat_word_map_set(&worker->edge_counts, handle, counts);
  leat_mutex_unlock(&worker->mutex);
  return status;
}

// Sets the call's fetches, or its one received value, from the reply's values.
static leat_status_t take_values(leat_remote_worker_t* worker, const call_t* call,
                                 const leat_pb_worker_value_list_t* values) {
  // A reply has a handle or values.
  LEAT_DCHECK(!call->out_handle);
  size_t wanted = call->out_value ? 1 : call->fetch_count;
  if (values->count != wanted) {
    return leat_make_status(LEAT_INTERNAL,
                            "Receive failed: the reply has %zu values, must have %zu",
                            values->count, wanted);
  }
  if (!call->out_value) return leat_worker_values_of(values, worker->objects, call->fetches);
  leat_slot_t value = {0};
  LEAT_RETURN_IF_ERROR(leat_worker_value_of(values->items, worker->objects, &value.tensor));
  value.alive = value.tensor.dtype != 0;
  *call->out_value = value;
  return leat_ok_status();
}

// Decodes a reply and returns the status in it. A registration whose counts cannot be remembered is
// undone.
static leat_status_t take_reply(leat_remote_worker_t* worker, const call_t* call,
                                leat_string_view_t bytes, leat_arena_t* arena) {
  leat_pb_worker_reply_t reply;
  LEAT_RETURN_IF_ERROR(
      leat_message_decode(&leat_pb_worker_reply_descriptor, bytes, arena, NULL, &reply));
  LEAT_RETURN_IF_ERROR(leat_worker_status_of(reply.code, reply.message));
  if (!call->out_handle) return take_values(worker, call, &reply.values);
  *call->out_handle = reply.handle;
  leat_status_t status = remember_edge_counts(worker, reply.handle, call->edge_counts);
  if (status) worker->base.vtable->deregister_graph(&worker->base, reply.handle);
  return status;
}

static void end_call(leat_remote_worker_t* worker, call_t* kept, leat_status_t status) {
  LEAT_DCHECK(kept && kept->done);
  call_t call = *kept;
  leat_allocator_free(worker->allocator, kept);
  call.done(call.data, status);
}

void leat_remote_worker_receive(void* data, uint64_t number, char* bytes, size_t size_bytes) {
  leat_remote_worker_t* worker = data;
  call_t* call = leat_object_table_take(&worker->calls, number);
  leat_status_t status = NULL;
  leat_arena_t arena;
  leat_arena_initialize(worker->allocator, 0, &arena);
  if (call) status = take_reply(worker, call, leat_string_view_make(bytes, size_bytes), &arena);
  leat_arena_deinitialize(&arena);
  leat_allocator_free(worker->allocator, bytes);
  if (call) end_call(worker, call, status);
}

void leat_remote_worker_fail(void* data, uint64_t number, leat_status_t status) {
  leat_remote_worker_t* worker = data;
  end_call(worker, leat_object_table_take(&worker->calls, number), status);
}

// ---- The worker's methods -----------------------------------------------------------------------

// Sends a partition to the worker. The graph is the request's own and ends here, since the message
// has all of it.
static void register_graph(leat_worker_t* self, const leat_register_request_t* registration,
                           uint64_t* out_handle, leat_worker_done_fn_t done, void* data) {
  leat_remote_worker_t* worker = (leat_remote_worker_t*)self;
  leat_pb_register_partition_t message;
  LEAT_DCHECK(registration->graph && registration->feed_count >= 0 &&
              registration->fetch_count >= 0);
  leat_pb_worker_request_t request = {.method_case = LEAT_WORKER_REGISTER_GRAPH,
                                      .register_graph = &message};
  call_t call = {.done = done,
                 .data = data,
                 .out_handle = out_handle,
                 .edge_counts = (uint64_t)registration->feed_count << 32 |
                                (uint32_t)registration->fetch_count};
  leat_string_builder_t graph;
  leat_arena_t arena;
  leat_string_builder_initialize(worker->allocator, &graph);
  leat_arena_initialize(worker->allocator, 0, &arena);
  leat_status_t status =
      leat_worker_partition_to_message(registration, worker->objects, &arena, &graph, &message);
  leat_graph_free(registration->graph);
  ask(worker, &call, status, &request, 0);
  leat_arena_deinitialize(&arena);
  leat_string_builder_deinitialize(&graph);
}

static void deregister_graph(leat_worker_t* self, uint64_t handle) {
  leat_remote_worker_t* worker = (leat_remote_worker_t*)self;
  leat_pb_worker_request_t request = {.method_case = LEAT_WORKER_DEREGISTER_GRAPH,
                                      .deregister_graph = handle};
  leat_mutex_lock(&worker->mutex);
  leat_word_map_erase(&worker->edge_counts, handle);
  leat_mutex_unlock(&worker->mutex);
  if (tell(worker, &request, 0, LEAT_NETWORK_UNORDERED)) return;
  worker->direct->vtable->deregister_graph(worker->direct, handle);
}

static leat_status_t find_edge_counts(leat_remote_worker_t* worker, uint64_t handle,
                                      uint64_t* out_counts) {
  leat_mutex_lock(&worker->mutex);
  bool found = leat_word_map_get(&worker->edge_counts, handle, out_counts);
  leat_mutex_unlock(&worker->mutex);
  if (found) return leat_ok_status();
  return leat_make_status(LEAT_ABORTED,
                          "RunGraph failed: graph handle %llu is not registered (any more)",
                          (unsigned long long)handle);
}

// A deadline is sent as the time that is left, because clocks of machines differ: 0 stands for
// none, and -1 for a deadline that has passed.
static int64_t time_left(int64_t deadline_ns) {
  if (deadline_ns == LEAT_DEADLINE_NEVER) return 0;
  int64_t left = deadline_ns - leat_clock_now_ns();
  return left > 0 ? left : -1;
}

// Fills in the message of a RunGraph. The number of its fetches goes to |call|. The counter of
// function calls and the collector are pointers, which stay in the table of the process.
static leat_status_t run_to_message(leat_remote_worker_t* worker, const leat_run_request_t* run,
                                    leat_arena_t* arena, call_t* call,
                                    leat_pb_run_partition_t* out_message) {
  uint64_t counts = 0;
  LEAT_RETURN_IF_ERROR(find_edge_counts(worker, run->handle, &counts));
  call->fetch_count = (uint32_t)counts;
  *out_message = (leat_pb_run_partition_t){.handle = run->handle,
                                           .step_id = run->step_id,
                                           .container_step_id = run->container_step_id,
                                           .function_depth = run->function_depth,
                                           .inter_op_threads = run->inter_op_threads,
                                           .fetch_count = (int32_t)(uint32_t)counts,
                                           .timeout_ns = time_left(run->deadline_ns)};
  LEAT_RETURN_IF_ERROR(leat_worker_values_to_message(run->feeds, (int)(counts >> 32),
                                                     worker->objects,
                                                     arena, &out_message->feeds));
  LEAT_RETURN_IF_ERROR(
      leat_object_table_put(worker->objects, run->calls, NULL, &out_message->calls_ticket));
  return leat_object_table_put(worker->objects, run->collector, NULL,
                               &out_message->collector_ticket);
}

static void run_graph(leat_worker_t* self, const leat_run_request_t* run,
                      leat_worker_done_fn_t done, void* data) {
  leat_remote_worker_t* worker = (leat_remote_worker_t*)self;
  leat_pb_run_partition_t message;
  leat_pb_worker_request_t request = {.method_case = LEAT_WORKER_RUN_GRAPH, .run_graph = &message};
  call_t call = {.done = done, .data = data, .fetches = run->fetches};
  leat_arena_t arena;
  leat_arena_initialize(worker->allocator, 0, &arena);
  leat_status_t status = run_to_message(worker, run, &arena, &call, &message);
  ask(worker, &call, status, &request, run->step_id);
  leat_arena_deinitialize(&arena);
}

static void abort_step(leat_worker_t* self, int64_t step_id, leat_status_t status) {
  leat_remote_worker_t* worker = (leat_remote_worker_t*)self;
  leat_pb_worker_request_t request = {
      .method_case = LEAT_WORKER_ABORT_STEP,
      .abort_step = step_id,
      .code = leat_status_code(status),
      .message = leat_string_view_from(leat_status_message(status))};
  if (tell(worker, &request, step_id, LEAT_NETWORK_UNORDERED)) {
    leat_status_free(status);
  } else {
    worker->direct->vtable->abort_step(worker->direct, step_id, status);
  }
}

static void abort_all(leat_worker_t* self, leat_status_t status) {
  leat_remote_worker_t* worker = (leat_remote_worker_t*)self;
  leat_pb_worker_request_t request = {
      .method_case = LEAT_WORKER_ABORT_ALL,
      .abort_all = true,
      .code = leat_status_code(status),
      .message = leat_string_view_from(leat_status_message(status))};
  if (tell(worker, &request, 0, LEAT_NETWORK_UNORDERED)) {
    leat_status_free(status);
  } else {
    worker->direct->vtable->abort_all(worker->direct, status);
  }
}

static void cleanup_step(leat_worker_t* self, int64_t step_id) {
  leat_remote_worker_t* worker = (leat_remote_worker_t*)self;
  leat_pb_worker_request_t request = {.method_case = LEAT_WORKER_CLEANUP_STEP,
                                      .cleanup_step = step_id};
  if (tell(worker, &request, step_id, LEAT_NETWORK_LAST)) return;
  worker->direct->vtable->cleanup_step(worker->direct, step_id);
}

static void receive_tensor(leat_worker_t* self, int64_t step_id, leat_string_view_t key,
                           leat_slot_t* out_value, leat_worker_done_fn_t done, void* data) {
  leat_remote_worker_t* worker = (leat_remote_worker_t*)self;
  leat_pb_transfer_tensor_t message = {.step_id = step_id, .key = key};
  leat_pb_worker_request_t request = {.method_case = LEAT_WORKER_RECEIVE_TENSOR,
                                      .receive_tensor = &message};
  call_t call = {.done = done, .data = data, .out_value = out_value};
  ask(worker, &call, leat_ok_status(), &request, step_id);
}

static void send_tensor(leat_worker_t* self, int64_t step_id, leat_string_view_t key,
                        leat_slot_t value, leat_worker_done_fn_t done, void* data) {
  leat_remote_worker_t* worker = (leat_remote_worker_t*)self;
  leat_pb_worker_value_t content = {0};
  leat_pb_transfer_tensor_t message = {.step_id = step_id, .key = key, .value = &content};
  leat_pb_worker_request_t request = {.method_case = LEAT_WORKER_SEND_TENSOR,
                                      .send_tensor = &message};
  call_t call = {.done = done, .data = data};
  leat_arena_t arena;
  leat_arena_initialize(worker->allocator, 0, &arena);
  leat_status_t status = leat_ok_status();
  if (value.alive) {
    status = leat_worker_value_to_message(&value.tensor, worker->objects, &arena, &content);
  }
  ask(worker, &call, status, &request, step_id);
  leat_arena_deinitialize(&arena);
  leat_slot_release(&value);
}

static void clear_container(leat_worker_t* self, leat_string_view_t container) {
  leat_remote_worker_t* worker = (leat_remote_worker_t*)self;
  leat_pb_worker_request_t request = {.method_case = LEAT_WORKER_CLEAR_CONTAINER,
                                      .clear_container = container};
  if (tell(worker, &request, 0, LEAT_NETWORK_BARRIER)) return;
  worker->direct->vtable->clear_container(worker->direct, container);
}

static void destroy(leat_worker_t* self) {
  leat_remote_worker_t* worker = (leat_remote_worker_t*)self;
  worker->destroy(worker);
}

static const leat_worker_vtable_t kVtable = {
    destroy,   register_graph, deregister_graph, run_graph,   abort_step,
    abort_all, cleanup_step,   receive_tensor,   send_tensor, clear_container,
};

// ---- Life ---------------------------------------------------------------------------------------

void leat_remote_worker_initialize(leat_remote_worker_t* worker) {
  worker->base.vtable = &kVtable;
  leat_object_table_initialize(worker->allocator, &worker->calls);
  leat_mutex_initialize(&worker->mutex);
  leat_word_map_initialize(worker->allocator, &worker->edge_counts);
}

void leat_remote_worker_deinitialize(leat_remote_worker_t* worker) {
  leat_word_map_deinitialize(&worker->edge_counts);
  leat_mutex_deinitialize(&worker->mutex);
  leat_object_table_deinitialize(&worker->calls);
}
