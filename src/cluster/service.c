// Answers one call: finds the method by the request's name, decodes the request, and gives both to
// the method, which answers now or later, on any thread. Requests come from anybody who reaches the
// port, so that the decoder's limits hold, and a method never sees a message that could not be
// decoded. Messages of the request live in the call's arena until the answer is given, which frees
// the call: whoever answers must not touch it afterwards. The methods themselves are in
// master_methods.c and worker_methods.c.
#include "cluster/service.h"

#include <string.h>

#include "cluster/rpc_message.h"
#include "formats/generated/worker_service.h"
#include "formats/wire/encode.h"

static void end_call(leat_service_call_t* call) {
  leat_allocator_t* allocator = call->task->allocator;
  leat_allocator_free(allocator, call->joined);
  leat_arena_deinitialize(&call->arena);
  leat_allocator_free(allocator, call);
}

void leat_service_answer_bytes(leat_service_call_t* call, leat_status_t status,
                               leat_rpc_bytes_t bytes) {
  leat_rpc_request_t* request = call->request;
  end_call(call);
  leat_rpc_answer(request, status, LEAT_SV(""), bytes);
}

leat_status_t leat_service_encode(leat_status_t status,
                                  const leat_message_descriptor_t* descriptor,
                                  const void* message, leat_rpc_piece_t* piece,
                                  leat_rpc_bytes_t* out_bytes) {
  leat_string_builder_t text;
  char* bytes = NULL;
  size_t size = 0;
  leat_string_builder_initialize(leat_allocator_system(), &text);
  if (!status && descriptor) status = leat_message_encode(descriptor, message, &text);
  if (!status && text.size) status = leat_string_builder_finish(&text, &bytes, &size);
  leat_string_builder_deinitialize(&text);
  *piece = (leat_rpc_piece_t){bytes, size, leat_rpc_release_text, bytes};
  *out_bytes = (leat_rpc_bytes_t){piece, bytes != NULL};
  return status;
}

void leat_service_answer(leat_service_call_t* call, leat_status_t status,
                         const leat_message_descriptor_t* descriptor, const void* message) {
  leat_rpc_piece_t piece;
  leat_rpc_bytes_t bytes;
  status = leat_service_encode(status, descriptor, message, &piece, &bytes);
  leat_service_answer_bytes(call, status, bytes);
}

// The trailer of a failure: a payload without content, whose name says the kind.
static leat_status_t write_kind(leat_failure_kind_t kind, leat_string_builder_t* out) {
  static const char* const kNames[] = {
      [LEAT_FAILURE_DERIVED] = "type.googleapis.com/tensorflow.DerivedStatus",
      [LEAT_FAILURE_RESTARTED] =
          "type.googleapis.com/tensorflow.distributed_runtime.WorkerPossiblyRestarted",
  };
  leat_pb_grpc_payload_container_payloads_entry_t entry = {
      .key = leat_string_view_from(kNames[kind])};
  const leat_pb_grpc_payload_container_t container = {.payloads = {&entry, 1}};
  return leat_message_encode(&leat_pb_grpc_payload_container_descriptor, &container, out);
}

void leat_service_answer_failure(leat_service_call_t* call, leat_status_t status,
                                 leat_failure_kind_t kind) {
  leat_rpc_request_t* request = call->request;
  leat_string_builder_t details;
  end_call(call);
  leat_string_builder_initialize(leat_allocator_system(), &details);
  // Without memory the kind is not told.
  if (kind != LEAT_FAILURE_PLAIN) leat_status_free(write_kind(kind, &details));
  leat_rpc_answer(request, status, leat_string_builder_view(&details), (leat_rpc_bytes_t){0});
  leat_string_builder_deinitialize(&details);
}

// ---- Requests -----------------------------------------------------------------------------------

static const leat_service_method_t* find_method(leat_string_view_t path, bool* out_is_stream) {
  static const struct {
    leat_string_view_t prefix;
    const leat_service_method_t* methods;
    bool are_streams;
  } kServices[] = {
      {LEAT_SV("/tensorflow.WorkerService/"), leat_worker_methods, false},
      {LEAT_SV("/tensorflow.MasterService/"), leat_master_methods, false},
      {LEAT_SV("/tensorflow.eager.EagerService/"), leat_eager_methods, false},
      {LEAT_SV("/tensorflow.eager.EagerService/"), leat_eager_streams, true},
      {LEAT_SV("/leat.Diagnosis/"), leat_diagnosis_methods, false},
      {LEAT_SV("/leat.Collective/"), leat_collective_methods, false},
      {LEAT_SV("/leat.Plane/"), leat_plane_methods, false},
  };
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(kServices); ++i) {
    if (!leat_string_view_starts_with(path, kServices[i].prefix)) continue;
    const leat_string_view_t name = leat_string_view_from_index(path, kServices[i].prefix.size);
    for (const leat_service_method_t* method = kServices[i].methods; method->name; ++method) {
      if (!leat_string_view_equals(name, method->name)) continue;
      *out_is_stream = kServices[i].are_streams;
      return method;
    }
  }
  return NULL;
}

bool leat_service_streams(leat_string_view_t path) {
  bool is_stream;
  return find_method(path, &is_stream) && is_stream;
}

static leat_status_t decode(const leat_service_method_t* method, leat_service_call_t* call,
                            const void** out_message) {
  leat_string_view_t bytes;
  void* message;
  *out_message = call->request->message;
  if (!method->descriptor || call->request->message) return leat_ok_status();
  LEAT_RETURN_IF_ERROR(
      leat_rpc_bytes_join(call->request->bytes, call->task->allocator, &bytes, &call->joined));
  LEAT_RETURN_IF_ERROR(
      leat_rpc_decode_request(bytes, &call->arena, method->descriptor, &message));
  *out_message = message;
  return leat_ok_status();
}

void leat_service_handle(void* data, leat_rpc_request_t* request) {
  leat_task_t* task = data;
  bool is_stream;
  const leat_service_method_t* method = find_method(request->method, &is_stream);
  leat_service_call_t* call = NULL;
  leat_status_t status = leat_ok_status();
  leat_metrics_add(&task->metrics.calls, 1);
  leat_metrics_add(&task->metrics.request_bytes, leat_rpc_bytes_size(request->bytes));
  if (!method) {
    status = leat_make_status(LEAT_UNIMPLEMENTED, "Method '%.*s' is not served here",
                              LEAT_SV_ARG(request->method));
    leat_task_note_refusal(task, request->peer, status);
  }
  if (!status) status = LEAT_ALLOCATE(task->allocator, 1, &call);
  if (status) {
    leat_rpc_answer(request, status, LEAT_SV(""), (leat_rpc_bytes_t){0});
    return;
  }
  *call = (leat_service_call_t){.task = task, .request = request};
  leat_arena_initialize(task->allocator, 0, &call->arena);
  const void* message;
  status = decode(method, call, &message);
  if (status) {
    leat_task_note_refusal(task, request->peer, status);
    leat_service_answer(call, status, NULL, NULL);
  } else {
    method->serve(call, message);
  }
}
