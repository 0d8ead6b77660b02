#include "data_service/call.h"

#include "base/sync.h"
#include "cluster/rpc_message.h"

typedef struct waiting_call_s {
  leat_notification_t ended;
  leat_status_t status;
  const leat_data_request_t* request;
  leat_arena_t* arena;
  void* answer;
} waiting_call_t;

// On a thread of the engine.
static void end_call(void* data, leat_status_t status, leat_string_view_t details,
                     leat_rpc_bytes_t answer) {
  waiting_call_t* call = data;
  if (!status && call->request->answer) {
    status = leat_rpc_decode_message(answer, call->arena, call->request->answer, call->answer);
  }
  call->status = status;
  leat_notification_open(&call->ended);
}

leat_status_t leat_data_call(leat_rpc_channel_t* channel, const leat_data_request_t* request,
                             leat_arena_t* arena, void* out_answer) {
  waiting_call_t call = {.request = request, .arena = arena, .answer = out_answer};
  const leat_rpc_call_options_t options = {.method = request->method,
                                           .deadline_ns = request->deadline_ns};
  leat_notification_initialize(&call.ended);
  leat_rpc_call_message(channel, &options, request->descriptor, request->message, end_call, &call,
                        NULL);
  leat_notification_wait(&call.ended, LEAT_DEADLINE_NEVER);
  leat_notification_deinitialize(&call.ended);
  return call.status;
}

bool leat_data_is_preempted(const leat_status_t status) {
  const leat_status_code_t code = leat_status_code(status);
  return code == LEAT_UNAVAILABLE || code == LEAT_ABORTED || code == LEAT_CANCELLED;
}
