// The methods of tensorflow.WorkerService, but for RunGraph (worker_run.c). Most answer before they
// return. RecvTensor is answered when a Send leaves the value, or the step ends; CleanupGraph ends
// the step here, and what still waits for it gets ABORTED.
//
// When another task cancels a RecvTensor it is answered at once; the rendezvous keeps its receiver
// until the value comes or the step is over, and the value is dropped then. Where a step was
// cancelled, the tasks that wait for its values are told that this follows from another failure.
// Nothing of the task is used once a call is answered, since a server that stops waits for answers.
#include <stdio.h>
#include <string.h>

#include "base/span.h"
#include "cluster/collective_methods.h"
#include "cluster/fetch.h"
#include "cluster/recv_tensor.h"
#include "cluster/service.h"
#include "cluster/worker_run.h"
#include "cluster/worker_session.h"
#include "formats/generated/worker_service.h"

// ---- Sessions and graphs ------------------------------------------------------------------------

static void get_status(leat_service_call_t* call, const void* message) {
  leat_pb_get_status_response_t response = {0};
  leat_status_t status =
      leat_task_describe_devices(call->task, &call->arena, &response.device_attributes);
  leat_service_answer(call, status, &leat_pb_get_status_response_descriptor, &response);
}

static void create_worker_session(leat_service_call_t* call, const void* message) {
  const leat_pb_create_worker_session_request_t* request = message;
  leat_status_t status = leat_worker_session_create(call->task, request);
  leat_service_answer(call, status, NULL, NULL);
}

static void delete_worker_session(leat_service_call_t* call, const void* message) {
  const leat_pb_delete_worker_session_request_t* request = message;
  leat_worker_session_delete(call->task, request->session_handle, "its master closed it");
  leat_service_answer(call, leat_ok_status(), NULL, NULL);
}

static void register_graph(leat_service_call_t* call, const void* message) {
  const leat_pb_register_graph_request_t* request = message;
  leat_pb_register_graph_response_t response = {0};
  leat_worker_session_t* session = NULL;
  leat_status_t status = leat_worker_session_find(call->task, request->session_handle, &session);
  if (!status) {
    status = leat_worker_session_register(session, request, &call->arena, &response.graph_handle);
  }
  if (!session) {
    leat_service_answer_failure(call, status, LEAT_FAILURE_RESTARTED);
    return;
  }
  leat_worker_session_release(session);
  leat_service_answer(call, status, &leat_pb_register_graph_response_descriptor, &response);
}

static void deregister_graph(leat_service_call_t* call, const void* message) {
  const leat_pb_deregister_graph_request_t* request = message;
  leat_worker_session_t* session = NULL;
  leat_status_t status = leat_worker_session_find(call->task, request->session_handle, &session);
  if (!status) status = leat_worker_session_deregister(session, request->graph_handle);
  leat_worker_session_release(session);
  leat_service_answer(call, status, NULL, NULL);
}

static void cleanup_all(leat_service_call_t* call, const void* message) {
  const leat_pb_cleanup_all_request_t* request = message;
  if (request->container.count == 0) leat_task_clear_container(call->task, LEAT_SV(""));
  for (size_t i = 0; i < request->container.count; ++i) {
    leat_task_clear_container(call->task, request->container.items[i]);
  }
  leat_service_answer(call, leat_ok_status(), NULL, NULL);
}

// ---- Steps --------------------------------------------------------------------------------------

static void cleanup_graph(leat_service_call_t* call, const void* message) {
  const leat_pb_cleanup_graph_request_t* request = message;
  leat_worker_runs_forget(call->task, request->step_id);
  leat_worker_sessions_cleanup(call->task, request->step_id);
  leat_collectives_forget_step(leat_task_collectives_rounds(call->task->collectives),
                               request->step_id);
  leat_service_answer(call, leat_ok_status(), NULL, NULL);
}

// ---- Values -------------------------------------------------------------------------------------

// A RecvTensor under way. The value and the call's cancellation race: the first of them answers.
// Where that is the value, no cancellation comes any more, and the reception is freed; where it is
// the cancellation, the rendezvous still has the reception, which is freed when the value comes.
typedef struct reception_s {
  leat_service_call_t* call;
  _Atomic(bool) is_answered;
  int64_t message;  // its number in recordings; 0: nothing was recorded when it was asked for
  char key[];
} reception_t;

static void answer_value(leat_service_call_t* call, int64_t message, leat_slot_t value) {
  leat_rpc_piece_t pieces[LEAT_RECV_TENSOR_PIECES];
  leat_rpc_bytes_t bytes;
  const int64_t span = message ? leat_span_begin() : 0;
  leat_status_t status = leat_recv_tensor_encode(value, pieces, &bytes);
  if (LEAT_UNLIKELY(span)) leat_span_end(span, LEAT_SPAN_ENCODE, 0, message);
  if (!status) {
    leat_metrics_note_sent(&call->task->metrics, leat_rpc_bytes_size(bytes), false);
  }
  leat_service_answer_bytes(call, status, bytes);
}

// A leat_rendezvous_receive_fn_t.
static void received(void* data, leat_status_t status, leat_slot_t value) {
  reception_t* reception = data;
  if (atomic_exchange(&reception->is_answered, true)) {
    leat_status_free(status);
    if (!status) leat_slot_release(&value);
  } else if (!status) {
    answer_value(reception->call, reception->message, value);
  } else {
    const leat_failure_kind_t kind = leat_status_code(status) == LEAT_CANCELLED
                                         ? LEAT_FAILURE_DERIVED
                                         : LEAT_FAILURE_PLAIN;
    leat_service_answer_failure(reception->call, status, kind);
  }
  leat_allocator_free(leat_allocator_system(), reception);
}

static void cancel_reception(void* data) {
  reception_t* reception = data;
  leat_service_call_t* call = reception->call;  // |received| may free the reception from here on
  if (atomic_exchange(&reception->is_answered, true)) return;
  leat_service_answer(call,
                      leat_make_status(LEAT_CANCELLED, "RecvTensor failed: it was cancelled"), NULL,
                      NULL);
}

// Once the cancellation is asked for, the call may be answered at any moment, and its message be
// gone; the reception, which has a copy of the key, stays until the rendezvous has called back.
static void recv_tensor(leat_service_call_t* call, const void* message) {
  const leat_pb_recv_tensor_request_t* request = message;
  leat_rendezvous_table_t* table = call->task->rendezvous;
  const int64_t step_id = request->step_id;
  bool restarted = false;
  void* memory = NULL;
  leat_status_t status = leat_task_note_request(call->task, request->request_id, "RecvTensor");
  if (!status) status = leat_task_check_key(call->task, request->rendezvous_key, &restarted);
  if (!status) {
    status = leat_allocator_allocate(leat_allocator_system(),
                                     sizeof(reception_t) + request->rendezvous_key.size, &memory);
  }
  if (status) {
    leat_service_answer_failure(call, status,
                                restarted ? LEAT_FAILURE_RESTARTED : LEAT_FAILURE_PLAIN);
    return;
  }
  reception_t* reception = memory;
  reception->call = call;
  const leat_string_view_t key =
      leat_string_view_make(reception->key, request->rendezvous_key.size);
  memcpy(reception->key, request->rendezvous_key.data, key.size);
  if (leat_spans_are_recorded()) reception->message = leat_span_message(step_id, key);
  leat_rpc_request_on_cancel(call->request, cancel_reception, reception);
  leat_rendezvous_table_receive(table, step_id, key, received, reception);
}

static void mark_recv_finished(leat_service_call_t* call, const void* message) {
  leat_service_answer(call, leat_ok_status(), NULL, NULL);
}

// ---- What is traced -----------------------------------------------------------------------------

// Transfers are not logged; a master that asks for them is told of none.
static void logging(leat_service_call_t* call, const void* message) {
  const leat_pb_logging_request_t* request = message;
  leat_pb_logging_response_t response = {0};
  const size_t count = request->fetch_step_id.count;
  leat_status_t status = LEAT_NEW(&call->arena, count + 1, &response.step.items);
  for (size_t i = 0; i < count && !status; ++i) {
    status = LEAT_NEW(&call->arena, 1, &response.step.items[i].step_stats);
    response.step.items[i].step_id = request->fetch_step_id.items[i];
    response.step.count = i + 1;
  }
  leat_service_answer(call, status, &leat_pb_logging_response_descriptor, &response);
}

static void tracing(leat_service_call_t* call, const void* message) {
  leat_service_answer(call, leat_ok_status(), NULL, NULL);
}

const leat_service_method_t leat_worker_methods[] = {
    {"GetStatus", NULL, get_status},
    {"CreateWorkerSession", &leat_pb_create_worker_session_request_descriptor,
     create_worker_session},
    {"DeleteWorkerSession", &leat_pb_delete_worker_session_request_descriptor,
     delete_worker_session},
    {"RegisterGraph", &leat_pb_register_graph_request_descriptor, register_graph},
    {"DeregisterGraph", &leat_pb_deregister_graph_request_descriptor, deregister_graph},
    {"RunGraph", &leat_pb_run_graph_request_descriptor, leat_worker_run_graph},
    {"CleanupGraph", &leat_pb_cleanup_graph_request_descriptor, cleanup_graph},
    {"CleanupAll", &leat_pb_cleanup_all_request_descriptor, cleanup_all},
    {"RecvTensor", &leat_pb_recv_tensor_request_descriptor, recv_tensor},
    {"RecvBuf", &leat_pb_recv_buf_request_descriptor, leat_worker_recv_buf},
    {"CompleteGroup", &leat_pb_complete_group_request_descriptor, leat_worker_complete_group},
    {"CompleteInstance", &leat_pb_complete_instance_request_descriptor,
     leat_worker_complete_instance},
    {"GetStepSequence", &leat_pb_get_step_sequence_request_descriptor,
     leat_worker_get_step_sequence},
    {"MarkRecvFinished", NULL, mark_recv_finished},
    {"Logging", &leat_pb_logging_request_descriptor, logging},
    {"Tracing", NULL, tracing},
    {0},
};
