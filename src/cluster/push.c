// Both ends of a push. The sender's frame and key are a piece before those of the value, so that
// the elements of a large tensor go out from its own buffer; the receiver reads them over, and what
// follows is read as an answer to RecvTensor is, straight into the memory of the tensor.
//
// The receiver leaves the value in the rendezvous of the step, as a Send of its own would, also
// where no graph of the step has come yet. Where the step has ended there, the value is dropped and
// the push succeeds all the same: whoever ended the step tells the master why, and a second cause
// from the sender would only hide it. A step that is short of memory for a value is ended, since
// its Recv would wait for ever. What does not get there ends the step at the sender
// (rendezvous_table.c).
#include "cluster/push.h"

#include <inttypes.h>
#include <string.h>

#include "base/span.h"
#include "cluster/recv_tensor.h"
#include "cluster/service.h"

// What stands before the key. Both tasks run on little-endian machines.
typedef struct frame_s {
  int64_t step_id;
  uint32_t key_bytes;
  uint32_t reserved;  // 0
} frame_t;

bool leat_task_takes_pushed_values(const leat_task_t* task) { return !task->root->plane; }

static leat_task_t* task_of(const leat_value_exchange_t* exchange) {
  return (leat_task_t*)((char*)(uintptr_t)exchange - offsetof(leat_task_t, exchange));
}

static int receiver_of(const leat_task_t* task, leat_string_view_t key) {
  return leat_cluster_spec_find_device(&task->spec, leat_rendezvous_key_receiver(key));
}

bool leat_task_goes_elsewhere(const leat_value_exchange_t* exchange, leat_string_view_t key) {
  const leat_task_t* task = task_of(exchange);
  const int receiver = receiver_of(task, key);
  return receiver >= 0 && receiver != task->number;
}

// ---- The sender ---------------------------------------------------------------------------------

typedef struct push_s {
  leat_rendezvous_receive_fn_t fn;
  void* data;
  leat_task_t* task;
  int receiver;  // its number
} push_t;

// A leat_rpc_done_fn_t.
static void pushed(void* data, leat_status_t status, leat_string_view_t details,
                   leat_rpc_bytes_t answer) {
  const push_t push = *(push_t*)data;
  leat_allocator_free(push.task->allocator, data);
  if (status) {
    leat_status_t told = leat_make_status(leat_status_code(status), "To %.*s:\n%s",
                                          LEAT_SV_ARG(push.task->spec.tasks[push.receiver].name),
                                          leat_status_message(status));
    leat_status_free(status);
    status = told;
  }
  push.fn(push.data, status, (leat_slot_t){0});
}

// Makes the pieces of a push; |value| is taken.
static leat_status_t encode(int64_t step_id, leat_string_view_t key, leat_slot_t value,
                            leat_string_builder_t* head,
                            leat_rpc_piece_t pieces[1 + LEAT_RECV_TENSOR_PIECES]) {
  const frame_t frame = {.step_id = step_id, .key_bytes = (uint32_t)key.size};
  const int64_t span = leat_span_begin();
  leat_rpc_bytes_t bytes;
  leat_string_builder_append(head, leat_string_view_make((const char*)&frame, sizeof frame));
  leat_string_builder_append(head, key);
  if (head->status) {
    leat_slot_release(&value);
    return leat_status_clone(head->status);
  }
  LEAT_RETURN_IF_ERROR(leat_recv_tensor_encode(value, &pieces[1], &bytes));
  LEAT_DCHECK(bytes.pieces == &pieces[1] && bytes.count == LEAT_RECV_TENSOR_PIECES);
  const leat_string_view_t text = leat_string_builder_view(head);
  pieces[0] = (leat_rpc_piece_t){.data = text.data, .size = text.size};
  if (LEAT_UNLIKELY(span)) {
    leat_span_end(span, LEAT_SPAN_ENCODE, 0, leat_span_message(step_id, key));
  }
  return leat_ok_status();
}

static leat_status_t start_push(leat_task_t* task, int64_t step_id, leat_string_view_t key,
                                const leat_rpc_bytes_t* bytes, leat_rendezvous_receive_fn_t fn,
                                void* data, leat_exchange_call_t* out_call) {
  push_t* push;
  leat_rpc_channel_t* channel;
  const int receiver = receiver_of(task, key);
  LEAT_RETURN_IF_ERROR(leat_task_channel(task, receiver, &channel));
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(task->allocator, 1, &push));
  *push = (push_t){.fn = fn, .data = data, .task = task, .receiver = receiver};
  leat_task_metrics_t* metrics = &task->root->metrics;
  leat_metrics_add(&metrics->tensors_sent, 1);
  leat_metrics_add(&metrics->pushed_tensors_sent, 1);
  leat_metrics_add(&metrics->tensor_bytes_sent, leat_rpc_bytes_size(*bytes));
  const leat_rpc_call_options_t options = {.method = "/leat.Values/Push",
                                           .bytes = *bytes,
                                           .deadline_ns = LEAT_DEADLINE_NEVER};
  leat_rpc_call(channel, &options, pushed, push, &out_call->rpc);
  return leat_ok_status();
}

void leat_task_push(leat_value_exchange_t* exchange, int64_t step_id, leat_string_view_t key,
                    leat_slot_t value, leat_rendezvous_receive_fn_t fn, void* data,
                    leat_exchange_call_t* out_call) {
  leat_task_t* task = task_of(exchange);
  leat_rpc_piece_t pieces[1 + LEAT_RECV_TENSOR_PIECES];
  const leat_rpc_bytes_t bytes = {pieces, LEAT_ARRAY_SIZE(pieces)};
  leat_string_builder_t head;
  leat_string_builder_initialize(task->allocator, &head);
  leat_status_t status = encode(step_id, key, value, &head, pieces);
  if (!status) {
    status = start_push(task, step_id, key, &bytes, fn, data, out_call);
    if (status) leat_rpc_bytes_release(bytes);
  }
  leat_string_builder_deinitialize(&head);
  if (status) fn(data, status, (leat_slot_t){0});
}

// ---- The receiver -------------------------------------------------------------------------------

// Reads the frame and the key, which is copied into the call's arena; the bytes of the value are
// what follows.
static leat_status_t read_head(leat_service_call_t* call, frame_t* out_frame,
                               leat_string_view_t* out_key, leat_rpc_bytes_t* out_value) {
  const leat_rpc_bytes_t bytes = call->request->bytes;
  const size_t size = leat_rpc_bytes_size(bytes);
  if (size < sizeof *out_frame) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "Push failed: the request has %zu bytes, must have %zu at least", size,
                            sizeof *out_frame);
  }
  leat_rpc_bytes_copy(bytes, 0, (char*)out_frame, sizeof *out_frame);
  if (out_frame->key_bytes > size - sizeof *out_frame) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "Push failed: the key has %" PRIu32 " bytes, must have %zu at most",
                            out_frame->key_bytes, size - sizeof *out_frame);
  }
  char* key;
  leat_rpc_piece_t* pieces;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(&call->arena, out_frame->key_bytes + 1, &key));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(&call->arena, bytes.count, &pieces));
  leat_rpc_bytes_copy(bytes, sizeof *out_frame, key, out_frame->key_bytes);
  *out_key = leat_string_view_make(key, out_frame->key_bytes);
  *out_value = leat_rpc_bytes_from(bytes, sizeof *out_frame + out_frame->key_bytes, pieces);
  return leat_ok_status();
}

static leat_status_t check_receiver(leat_task_t* task, leat_string_view_t key) {
  bool is_named = false;
  LEAT_RETURN_IF_ERROR(leat_rendezvous_key_check(key));
  leat_task_has_device(task, leat_rendezvous_key_receiver(key), 0, &is_named);
  if (is_named) return leat_ok_status();
  return leat_make_status(LEAT_INVALID_ARGUMENT,
                          "Push failed: key '%.*s' is for an unknown device, must be for one of "
                          "%.*s",
                          LEAT_SV_ARG(key), LEAT_SV_ARG(task->spec.tasks[task->number].name));
}

static leat_status_t take_value(leat_service_call_t* call, const frame_t* frame,
                                leat_string_view_t key, leat_rpc_bytes_t bytes) {
  leat_task_metrics_t* metrics = &call->task->metrics;
  leat_slot_t value;
  const int64_t span = leat_span_begin();
  LEAT_RETURN_IF_ERROR(leat_recv_tensor_decode(bytes, &value));
  if (LEAT_UNLIKELY(span)) {
    leat_span_end(span, LEAT_SPAN_DECODE, 0, leat_span_message(frame->step_id, key));
  }
  leat_metrics_add(&metrics->tensors_received, 1);
  leat_metrics_add(&metrics->pushed_tensors_received, 1);
  leat_metrics_add(&metrics->tensor_bytes_received, leat_rpc_bytes_size(bytes));
  leat_status_t status =
      leat_rendezvous_table_send(call->task->rendezvous, frame->step_id, key, value);
  if (status) leat_rendezvous_table_abort(call->task->rendezvous, frame->step_id, status);
  return leat_ok_status();
}

static void serve_push(leat_service_call_t* call, const void* message) {
  frame_t frame;
  leat_string_view_t key;
  leat_rpc_bytes_t bytes;
  leat_status_t status = read_head(call, &frame, &key, &bytes);
  if (!status) status = check_receiver(call->task, key);
  if (!status) status = take_value(call, &frame, key, bytes);
  leat_service_answer(call, status, NULL, NULL);
}

const leat_service_method_t leat_value_methods[] = {
    {"Push", NULL, serve_push},
    {0},
};
