// CompleteGroup and CompleteInstance are answered when the leader's tables know the answer, and
// RecvBuf when a member here offers the chunk. A call whose caller gives up is answered at once;
// what still comes for it then is dropped, as with RecvTensor (worker_methods.c). FailStep tells of
// a step that failed at another master.
#include "cluster/collective_methods.h"

#include "base/clock.h"
#include "cluster/collective_chunk.h"
#include "formats/generated/collective.h"
#include "formats/generated/worker_service.h"
#include "formats/wire/encode.h"

// A call that waits. What it waits for and its cancellation race; whoever comes first answers.
//
//   ENTERING ──────▶ WAITING ──▶ ANSWERED
//      └──▶ GIVEN_UP ────────────▲
//
// While a method enters the call where it waits, it reads the message, which is gone with the
// answer: a cancellation that comes then is left to the method.
typedef enum waiting_state_e { ENTERING, GIVEN_UP, WAITING, ANSWERED } waiting_state_t;
typedef struct waiting_call_s {
  leat_service_call_t* call;
  _Atomic(waiting_state_t) state;
  leat_reference_count_t references;  // the method's, and that of what the call waits for
} waiting_call_t;

static void release_waiting(waiting_call_t* waiting) {
  if (!leat_reference_count_release(&waiting->references)) return;
  leat_allocator_free(leat_allocator_system(), waiting);
}

// Whether the call is still to be answered, by whoever asks.
static bool is_first(waiting_call_t* waiting) {
  return atomic_exchange(&waiting->state, ANSWERED) != ANSWERED;
}

static void give_up(waiting_call_t* waiting) {
  leat_service_call_t* call = waiting->call;
  // Where this is first, what the call waits for may come, and free |waiting|, from here on.
  if (!is_first(waiting)) return;
  leat_service_answer(call, leat_make_status(LEAT_CANCELLED, "the call was cancelled"), NULL, NULL);
}

static void cancel_waiting(void* data) {
  waiting_call_t* waiting = data;
  waiting_state_t state = ENTERING;
  if (!atomic_compare_exchange_strong(&waiting->state, &state, GIVEN_UP)) give_up(waiting);
}

// A call that the method is to enter, with two references. NULL: there was no memory, and the call
// is answered.
static waiting_call_t* begin_entering(leat_service_call_t* call) {
  waiting_call_t* waiting;
  leat_status_t status = LEAT_ALLOCATE(leat_allocator_system(), 1, &waiting);
  if (status) {
    leat_service_answer(call, status, NULL, NULL);
    return NULL;
  }
  waiting->call = call;
  waiting->references = 2;
  leat_rpc_request_on_cancel(call->request, cancel_waiting, waiting);
  return waiting;
}

// The method reads its message no more.
static void end_entering(waiting_call_t* waiting) {
  waiting_state_t state = ENTERING;
  if (!atomic_compare_exchange_strong(&waiting->state, &state, WAITING) && state == GIVEN_UP) {
    give_up(waiting);
  }
  release_waiting(waiting);
}

// Answers with |message| as leat_service_answer does, unless the caller has given up.
static void answer_waiting(waiting_call_t* waiting, leat_status_t status,
                           const leat_message_descriptor_t* descriptor, const void* message) {
  if (is_first(waiting)) {
    leat_service_answer(waiting->call, status, descriptor, message);
  } else {
    leat_status_free(status);
  }
  release_waiting(waiting);
}

// ---- The leader ---------------------------------------------------------------------------------

// A leat_group_told_fn_t.
static void group_told(void* data, leat_status_t status,
                       const leat_pb_complete_group_response_t* response) {
  answer_waiting(data, status, &leat_pb_complete_group_response_descriptor, response);
}

void leat_worker_complete_group(leat_service_call_t* call, const void* message) {
  leat_collective_leader_t* leader = leat_task_collectives_leader(call->task->collectives);
  waiting_call_t* waiting = begin_entering(call);
  if (!waiting) return;
  leat_collective_leader_join(leader, message, group_told, waiting);
  end_entering(waiting);
}

// A leat_instance_told_fn_t.
static void instance_told(void* data, leat_status_t status,
                          const leat_pb_complete_instance_response_t* response) {
  answer_waiting(data, status, &leat_pb_complete_instance_response_descriptor, response);
}

void leat_worker_complete_instance(leat_service_call_t* call, const void* message) {
  leat_collective_leader_t* leader = leat_task_collectives_leader(call->task->collectives);
  waiting_call_t* waiting = begin_entering(call);
  if (!waiting) return;
  leat_collective_leader_enter(leader, message, instance_told, waiting);
  end_entering(waiting);
}

// ---- Steps of several masters -------------------------------------------------------------------

void leat_worker_get_step_sequence(leat_service_call_t* call, const void* message) {
  leat_pb_get_step_sequence_response_t response = {0};
  leat_status_t status =
      leat_step_sequences_tell(leat_task_collectives_sequences(call->task->collectives), message,
                               &call->arena, &response);
  leat_service_answer(call, status, &leat_pb_get_step_sequence_response_descriptor, &response);
}

static void fail_step(leat_service_call_t* call, const void* message) {
  const leat_pb_fail_step_request_t* request = message;
  const bool is_known = request->code > LEAT_OK && request->code <= LEAT_UNAUTHENTICATED;
  if (request->step_id) {
    leat_collectives_fail_step(
        leat_task_collectives_rounds(call->task->collectives), request->step_id,
        leat_make_status(is_known ? (leat_status_code_t)request->code : LEAT_UNKNOWN, "%.*s",
                         LEAT_SV_ARG(request->message)));
  }
  leat_service_answer(call, leat_ok_status(), NULL, NULL);
}

const leat_service_method_t leat_collective_methods[] = {
    {"FailStep", &leat_pb_fail_step_request_descriptor, fail_step},
    {0},
};

// ---- Chunks -------------------------------------------------------------------------------------

static leat_status_t write_extra(leat_string_view_t bytes, leat_string_builder_t* out) {
  const leat_pb_recv_buf_resp_extra_t extra = {.tensor_content = {&bytes, 1}};
  return leat_message_encode(&leat_pb_recv_buf_resp_extra_descriptor, &extra, out);
}

static void answer_chunk(leat_service_call_t* call, leat_string_view_t bytes) {
  leat_string_builder_t extra;
  leat_string_builder_initialize(leat_allocator_system(), &extra);
  leat_status_t status = write_extra(bytes, &extra);
  leat_pb_any_t options = {.type_url = LEAT_SV("type.googleapis.com/tensorflow.RecvBufRespExtra"),
                           .value = leat_string_builder_view(&extra)};
  const leat_pb_recv_buf_response_t response = {.transport_options = &options,
                                                .send_start_micros = leat_clock_wall_ns() / 1000};
  leat_rpc_piece_t piece;
  leat_rpc_bytes_t answer;
  status = leat_service_encode(status, &leat_pb_recv_buf_response_descriptor, &response, &piece,
                               &answer);
  leat_string_builder_deinitialize(&extra);
  if (!status) leat_metrics_note_sent(&call->task->metrics, bytes.size, false);
  leat_service_answer_bytes(call, status, answer);
}

// A leat_collective_chunk_fn_t.
static void chunk_offered(void* data, leat_status_t status, leat_string_view_t bytes) {
  waiting_call_t* waiting = data;
  if (!is_first(waiting)) {
    leat_status_free(status);
  } else if (!status) {
    answer_chunk(waiting->call, bytes);
  } else {
    const leat_failure_kind_t kind = leat_status_code(status) == LEAT_CANCELLED
                                         ? LEAT_FAILURE_DERIVED
                                         : LEAT_FAILURE_PLAIN;
    leat_service_answer_failure(waiting->call, status, kind);
  }
  release_waiting(waiting);
}

void leat_worker_recv_buf(leat_service_call_t* call, const void* message) {
  const leat_pb_recv_buf_request_t* request = message;
  leat_collectives_t* rounds = leat_task_collectives_rounds(call->task->collectives);
  leat_status_t status = leat_task_note_request(call->task, request->request_id, "RecvBuf");
  if (!status) {
    status = leat_collective_chunk_check(call->task, request->step_id, request->src_device,
                                         request->src_incarnation);
  }
  if (status) {
    leat_service_answer(call, status, NULL, NULL);
    return;
  }
  waiting_call_t* waiting = begin_entering(call);
  if (!waiting) return;
  leat_collectives_take(rounds, request->step_id, request->buf_rendezvous_key, request->src_device,
                        chunk_offered, waiting);
  end_entering(waiting);
}
