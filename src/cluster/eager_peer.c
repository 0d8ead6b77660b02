// The calls of an eager client to another task: ops, values, and what is let go of. An op is one
// call of Enqueue with one item, which is the op with its attributes and inputs; its answer has the
// shapes of the outputs. A value is fetched by an op too (eager_input.h). So neither needs a call
// of the task back to this process.
//
// Tensors that have no reference here any more are let go of in the background: what has gathered
// while one such call is under way goes with the next one, so that a client which makes and drops
// many tensors has one call at a time for it. A release never blocks and never fails; what a lost
// call would have let go of ends with the context.
#include "cluster/eager_peer.h"

#include <inttypes.h>

#include "base/clock.h"
#include "cluster/eager_input.h"
#include "cluster/rpc_message.h"
#include "formats/wire/shape_proto.h"
#include "formats/wire/tensor_content.h"
#include "graph/import/export.h"

#define MAX_DROPS 128
// How long a task has to let go of tensors.
#define DROP_TIMEOUT_MS 60000

// ---- Rounds -------------------------------------------------------------------------------------

typedef struct round_s {
  _Atomic(int) pending;
  leat_notification_t ended;
  leat_spinlock_t lock;
  leat_status_t status;  // the first failure
} round_t;

typedef struct asked_s {
  round_t* round;
  const leat_eager_peer_t* peer;
} asked_t;

static void settle(round_t* round, leat_status_t status) {
  if (status) leat_spinlock_join_status(&round->lock, &round->status, status);
  if (atomic_fetch_sub(&round->pending, 1) == 1) leat_notification_open(&round->ended);
}

// A leat_rpc_done_fn_t.
static void answered(void* data, leat_status_t status, leat_string_view_t details,
                     leat_rpc_bytes_t answer) {
  const asked_t* asked = data;
  settle(asked->round, leat_task_told_by(asked->peer->task.name, status));
}

leat_status_t leat_eager_round_run(
    const leat_eager_round_t* asked_round, leat_eager_peer_t* const* peers, int count,
    leat_status_t (*make)(void* data, const leat_eager_peer_t* peer, leat_arena_t* arena,
                          const void** out_message),
    void* data) {
  const leat_rpc_call_options_t options = {.method = asked_round->method,
                                           .deadline_ns = asked_round->deadline_ns,
                                           .waits = asked_round->waits};
  round_t round = {.pending = 1};
  leat_arena_t arena;
  asked_t* asked;
  leat_arena_initialize(leat_allocator_system(), 0, &arena);
  leat_notification_initialize(&round.ended);
  leat_status_t status = LEAT_NEW(&arena, (size_t)count + 1, &asked);
  for (int i = 0; !status && i < count; ++i) {
    const void* message;
    status = make(data, peers[i], &arena, &message);
    if (status) break;
    asked[i] = (asked_t){&round, peers[i]};
    atomic_fetch_add(&round.pending, 1);
    leat_rpc_call_message(peers[i]->channel, &options, asked_round->descriptor, message, answered,
                          &asked[i], NULL);
  }
  settle(&round, status);
  leat_notification_wait(&round.ended, LEAT_DEADLINE_NEVER);
  leat_notification_deinitialize(&round.ended);
  leat_arena_deinitialize(&arena);
  return round.status;
}

// ---- Letting go ---------------------------------------------------------------------------------

static void send_drops(leat_eager_peer_t* peer);

// A leat_rpc_done_fn_t. What the task says does not count: it may be gone, and the tensors with it.
static void dropped(void* data, leat_status_t status, leat_string_view_t details,
                    leat_rpc_bytes_t answer) {
  leat_eager_peer_t* peer = data;
  leat_status_free(status);
  status = leat_eager_cluster_enter(peer->cluster);
  leat_mutex_lock(&peer->mutex);
  const bool goes_on = peer->is_dropping = !status && peer->drop_count > 0 && !peer->is_gone;
  leat_mutex_unlock(&peer->mutex);
  if (goes_on) send_drops(peer);
  if (!status) leat_eager_cluster_leave(peer->cluster);
  leat_status_free(status);
}

// Sends the last MAX_DROPS that have gathered. The caller has set |is_dropping|.
static void send_drops(leat_eager_peer_t* peer) {
  leat_pb_queue_item_t items[MAX_DROPS];
  leat_pb_remote_tensor_handle_t handles[MAX_DROPS];
  const leat_rpc_call_options_t options = {
      .method = LEAT_EAGER_ENQUEUE, .deadline_ns = leat_clock_deadline_after_ms(DROP_TIMEOUT_MS)};
  size_t count = 0;
  leat_mutex_lock(&peer->mutex);
  for (; count < MAX_DROPS && peer->drop_count > 0; ++count) {
    const leat_eager_drop_t drop = peer->drops[--peer->drop_count];
    handles[count] =
        (leat_pb_remote_tensor_handle_t){.op_id = drop.op_id, .output_num = drop.output};
    items[count] = (leat_pb_queue_item_t){.item_case = LEAT_EAGER_DECREF,
                                          .handle_to_decref = &handles[count]};
  }
  leat_mutex_unlock(&peer->mutex);
  const leat_pb_enqueue_request_t request = {.context_id = peer->cluster->context_id,
                                             .queue = {items, count}};
  leat_rpc_call_message(peer->channel, &options, &leat_pb_enqueue_request_descriptor, &request,
                        dropped, peer, NULL);
}

// Without memory the output stays until the context ends.
void leat_eager_peer_drop(leat_eager_peer_t* peer, int64_t op_id, int32_t output) {
  leat_status_t status = leat_eager_cluster_enter(peer->cluster);
  if (status) {
    leat_status_free(status);
    return;
  }
  leat_mutex_lock(&peer->mutex);
  bool begins = false;
  if (!peer->is_gone) {
    status = LEAT_GROW(leat_allocator_system(), peer->drop_count + 1, &peer->drops,
                       &peer->drop_capacity);
    if (!status) peer->drops[peer->drop_count++] = (leat_eager_drop_t){op_id, output};
    begins = !status && !peer->is_dropping;
    if (begins) peer->is_dropping = true;
  }
  leat_mutex_unlock(&peer->mutex);
  leat_status_free(status);
  if (begins) send_drops(peer);
  leat_eager_cluster_leave(peer->cluster);
}

void leat_eager_peer_free(leat_eager_peer_t* peer) {
  leat_allocator_free(leat_allocator_system(), peer->drops);
  leat_mutex_deinitialize(&peer->mutex);
  leat_arena_deinitialize(&peer->arena);
  leat_allocator_free(leat_allocator_system(), peer);
}

void leat_remote_tensor_release(leat_remote_tensor_t* tensor) {
  if (!tensor || !leat_reference_count_release(&tensor->references)) return;
  leat_eager_cluster_t* cluster = tensor->cluster;
  leat_eager_peer_drop(tensor->peer, tensor->op_id, tensor->output);
  leat_allocator_free(leat_allocator_system(), tensor);
  leat_eager_cluster_release(cluster);
}

// ---- Calls --------------------------------------------------------------------------------------

// An item that is sent, and what its answer fills in.
typedef struct exchange_s {
  leat_eager_peer_t* peer;
  leat_arena_t arena;
  int output_count;            // of an op
  leat_remote_tensor_t** outputs;  // [output_count]
  leat_shape_t* shapes;        // the same
} exchange_t;

static leat_eager_way_t way_to(const leat_eager_peer_t* peer, leat_cancellation_t* cancellation) {
  return (leat_eager_way_t){.calls = &peer->cluster->calls,
                            .channel = peer->channel,
                            .task = peer->task.name,
                            .context_id = peer->cluster->context_id,
                            .cancellation = cancellation};
}

static leat_status_t call(exchange_t* exchange, leat_pb_queue_item_t* item,
                          leat_eager_read_fn_t read, leat_cancellation_t* cancellation) {
  leat_eager_cluster_t* cluster = exchange->peer->cluster;
  const leat_eager_way_t way = way_to(exchange->peer, cancellation);
  LEAT_RETURN_IF_ERROR(leat_eager_cluster_enter(cluster));
  leat_status_t status = leat_eager_exchange(&way, item, &exchange->arena, read, exchange);
  leat_eager_cluster_leave(cluster);
  return status;
}

// ---- Ops ----------------------------------------------------------------------------------------

// Finds the task that has the device, and the device's name in the cluster's memory.
static leat_status_t find_peer(leat_eager_cluster_t* cluster, leat_string_view_t device,
                               leat_eager_peer_t** out_peer, const char** out_device) {
  *out_peer = NULL;
  leat_mutex_lock(&cluster->mutex);
  for (int i = 0; i < cluster->peer_count && !*out_peer; ++i) {
    leat_eager_peer_t* peer = cluster->peers[i];
    for (int d = 0; d < peer->device_count && !*out_peer; ++d) {
      if (!leat_string_view_equals(device, peer->devices[d].name)) continue;
      *out_peer = peer;
      *out_device = peer->devices[d].name;
    }
  }
  leat_mutex_unlock(&cluster->mutex);
  if (*out_peer) return leat_ok_status();
  return leat_make_status(LEAT_INVALID_ARGUMENT,
                          "Device is '%.*s', must be one of another task of the cluster",
                          LEAT_SV_ARG(device));
}

static leat_status_t make_tensor(leat_eager_peer_t* peer, const char* device, int64_t op_id,
                                 int32_t output, int32_t dtype, leat_remote_tensor_t** out_tensor) {
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(leat_allocator_system(), 1, out_tensor));
  **out_tensor = (leat_remote_tensor_t){.references = 1,
                                        .cluster = peer->cluster,
                                        .peer = peer,
                                        .op_id = op_id,
                                        .output = output,
                                        .dtype = dtype,
                                        .device = device};
  leat_eager_cluster_retain(peer->cluster);
  return leat_ok_status();
}

static leat_pb_remote_tensor_handle_t name_tensor(const leat_remote_tensor_t* tensor) {
  return (leat_pb_remote_tensor_handle_t){.op_id = tensor->op_id,
                                          .output_num = tensor->output,
                                          .device = leat_string_view_from(tensor->device),
                                          .op_device = leat_string_view_from(tensor->device),
                                          .dtype = tensor->dtype};
}

static leat_status_t write_handle(const leat_remote_tensor_t* tensor, leat_arena_t* arena,
                                  leat_pb_operation_input_t* out_input) {
  leat_pb_remote_tensor_handle_t* handle;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, 1, &handle));
  *handle = name_tensor(tensor);
  *out_input = (leat_pb_operation_input_t){.item_case = LEAT_EAGER_INPUT_HANDLE,
                                           .remote_handle = handle};
  return leat_ok_status();
}

static leat_status_t write_tensor(const leat_tensor_t* tensor, leat_arena_t* arena,
                                  leat_pb_operation_input_t* out_input) {
  leat_pb_tensor_proto_t* proto;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, 1, &proto));
  *out_input =
      (leat_pb_operation_input_t){.item_case = LEAT_EAGER_INPUT_TENSOR, .tensor = proto};
  return leat_tensor_to_content(tensor, arena, proto);
}

// Writes the inputs. Those on a third task are fetched into |fetched| [input_count].
static leat_status_t write_inputs(const leat_eager_remote_op_t* op, exchange_t* exchange,
                                  leat_tensor_t* fetched, leat_pb_operation_t* message) {
  const int count = op->node->input_count;
  leat_pb_operation_input_t* inputs;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(&exchange->arena, (size_t)count + 1, &inputs));
  message->op_inputs = (leat_pb_operation_input_list_t){inputs, (size_t)count};
  for (int i = 0; i < count; ++i) {
    leat_remote_tensor_t* remote = op->inputs[i].remote;
    const leat_tensor_t* tensor = op->inputs[i].tensor;
    if (remote && remote->peer == exchange->peer) {
      LEAT_RETURN_IF_ERROR(write_handle(remote, &exchange->arena, &inputs[i]));
      continue;
    }
    if (remote) LEAT_RETURN_IF_ERROR(leat_remote_tensor_fetch(remote, &fetched[i]));
    LEAT_RETURN_IF_ERROR(
        write_tensor(remote ? &fetched[i] : tensor, &exchange->arena, &inputs[i]));
  }
  return leat_ok_status();
}

static leat_status_t write_attrs(const leat_attr_t* attrs, int attr_count, leat_arena_t* arena,
                                 leat_pb_operation_t* message) {
  leat_pb_node_def_attr_entry_list_t written;
  LEAT_RETURN_IF_ERROR(leat_attrs_to_def(attrs, attr_count, arena, &written));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, written.count + 1, &message->attrs.items));
  message->attrs.count = written.count;
  for (size_t i = 0; i < written.count; ++i) {
    message->attrs.items[i] = (leat_pb_operation_attrs_entry_t){.key = written.items[i].key,
                                                                .value = written.items[i].value};
  }
  return leat_ok_status();
}

// The name, in the cluster's memory, of the device that a function's output is on; |device|, where
// the task does not say, or says one that the cluster does not know.
static const char* device_of(const leat_eager_peer_t* peer, leat_string_view_t told,
                             const char* device) {
  for (int i = 0; i < peer->device_count; ++i) {
    if (leat_string_view_equals(told, peer->devices[i].name)) return peer->devices[i].name;
  }
  return device;
}

// A leat_eager_read_fn_t, for an op.
static leat_status_t read_shapes(void* data, const leat_pb_queue_response_t* response) {
  exchange_t* exchange = data;
  if (response->shape.count != (size_t)exchange->output_count) {
    return leat_make_status(LEAT_INTERNAL,
                            "Reading the answer of Enqueue failed: it has %zu shapes, must have %d",
                            response->shape.count, exchange->output_count);
  }
  for (int i = 0; i < exchange->output_count; ++i) {
    LEAT_RETURN_IF_ERROR(leat_shape_from_proto(&response->shape.items[i], &exchange->shapes[i]));
    if ((size_t)i < response->device.count) {
      exchange->outputs[i]->device = device_of(exchange->peer, response->device.items[i],
                                               exchange->outputs[i]->device);
    }
  }
  return leat_ok_status();
}

static leat_status_t run_op(const leat_eager_remote_op_t* op, exchange_t* exchange,
                            leat_tensor_t* fetched, const char* device) {
  const leat_node_t* node = op->node;
  leat_pb_operation_t message = {
      .id = atomic_fetch_add(&exchange->peer->cluster->last_op_id, 1) + 1,
      .name = node->op->name,
      .device = leat_string_view_from(device),
      .is_function = op->is_function};
  leat_pb_queue_item_t item = {.item_case = LEAT_EAGER_OPERATION, .operation = &message};
  LEAT_RETURN_IF_ERROR(write_attrs(node->attrs, node->attr_count, &exchange->arena, &message));
  LEAT_RETURN_IF_ERROR(write_inputs(op, exchange, fetched, &message));
  for (int i = 0; i < node->output_count; ++i) {
    LEAT_RETURN_IF_ERROR(make_tensor(exchange->peer, device, message.id, i, node->output_types[i],
                                     &exchange->outputs[i]));
  }
  return call(exchange, &item, read_shapes, op->cancellation);
}

// Frees a tensor that is not on its task: what should have made it has failed. Where only the
// answer was lost it may be there, until the context ends.
static void discard(leat_remote_tensor_t* tensor) {
  if (!tensor) return;
  leat_eager_cluster_release(tensor->cluster);
  leat_allocator_free(leat_allocator_system(), tensor);
}

static void discard_outputs(exchange_t* exchange) {
  for (int i = 0; i < exchange->output_count; ++i) {
    discard(exchange->outputs[i]);
    leat_shape_release(&exchange->shapes[i]);
    exchange->outputs[i] = NULL;
    exchange->shapes[i] = (leat_shape_t){0};
  }
}

leat_status_t leat_eager_cluster_execute(leat_eager_cluster_t* cluster,
                                         const leat_eager_remote_op_t* op,
                                         leat_remote_tensor_t** out_outputs,
                                         leat_shape_t* out_shapes) {
  leat_eager_peer_t* peer;
  const char* device;
  leat_tensor_t* fetched;
  LEAT_RETURN_IF_ERROR(
      find_peer(cluster, leat_string_view_from(op->device), &peer, &device));
  exchange_t exchange = {.peer = peer,
                         .output_count = op->node->output_count,
                         .outputs = out_outputs,
                         .shapes = out_shapes};
  for (int i = 0; i < exchange.output_count; ++i) {
    out_outputs[i] = NULL;
    out_shapes[i] = (leat_shape_t){0};
  }
  leat_arena_initialize(cluster->allocator, 0, &exchange.arena);
  leat_status_t status =
      LEAT_NEW(&exchange.arena, (size_t)op->node->input_count + 1, &fetched);
  if (!status) {
    status = run_op(op, &exchange, fetched, device);
    for (int i = 0; i < op->node->input_count; ++i) leat_tensor_release(&fetched[i]);
  }
  if (status) discard_outputs(&exchange);
  leat_arena_deinitialize(&exchange.arena);
  return status;
}

// ---- Values -------------------------------------------------------------------------------------

leat_status_t leat_remote_tensor_fetch(leat_remote_tensor_t* tensor, leat_tensor_t* out_tensor) {
  const leat_pb_remote_tensor_handle_t handle = name_tensor(tensor);
  const leat_eager_way_t way = way_to(tensor->peer, NULL);
  LEAT_RETURN_IF_ERROR(leat_eager_cluster_enter(tensor->cluster));
  leat_status_t status = leat_eager_fetch(&way, &handle, out_tensor);
  leat_eager_cluster_leave(tensor->cluster);
  return status;
}

// A leat_eager_read_fn_t, for an item whose answer says nothing.
static leat_status_t read_nothing(void* data, const leat_pb_queue_response_t* response) {
  return leat_ok_status();
}

leat_status_t leat_eager_cluster_send(leat_eager_cluster_t* cluster, const char* device,
                                      const leat_tensor_t* tensor,
                                      leat_remote_tensor_t** out_tensor) {
  exchange_t exchange = {0};
  leat_pb_tensor_proto_t proto;
  const char* known;
  LEAT_RETURN_IF_ERROR(
      find_peer(cluster, leat_string_view_from(device), &exchange.peer, &known));
  leat_pb_send_tensor_op_t message = {.op_id = atomic_fetch_add(&cluster->last_op_id, 1) + 1,
                                      .tensors = {&proto, 1},
                                      .device_name = leat_string_view_from(known)};
  leat_pb_queue_item_t item = {.item_case = LEAT_EAGER_SEND_TENSOR, .send_tensor = &message};
  leat_arena_initialize(cluster->allocator, 0, &exchange.arena);
  leat_status_t status = leat_tensor_to_content(tensor, &exchange.arena, &proto);
  if (!status) {
    status = make_tensor(exchange.peer, known, message.op_id, 0, tensor->dtype, out_tensor);
  }
  if (!status) {
    status = call(&exchange, &item, read_nothing, NULL);
    if (status) discard(*out_tensor);
  }
  leat_arena_deinitialize(&exchange.arena);
  return status;
}
