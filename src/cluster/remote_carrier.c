// The way of a kernel is a channel, and its call one of the channel's. Two things differ. A kernel
// wants the answer as one view, so that an answer in several pieces is joined. And a kernel may
// close a way within the end of one of its calls, where leat_rpc_channel_free would wait for
// itself: a thread of its own therefore frees the channel.
#include "cluster/remote_carrier.h"

#include "base/log.h"
#include "base/thread.h"
#include "cluster/security.h"

// Who waits for a call.
typedef struct leat_carried_call_s {
  leat_remote_done_fn_t done;
  void* data;
} carried_call_t;

static leat_status_t carry_open(leat_string_view_t address, leat_remote_way_t** out_way) {
  return leat_security_open_channel(address, (leat_rpc_channel_t**)out_way);
}

static void free_channel(void* data) { leat_rpc_channel_free(data); }

static void carry_close(leat_remote_way_t* way) {
  leat_thread_t thread;
  leat_status_t status = leat_thread_start("leat-close", free_channel, way, &thread);
  if (status) {
    leat_log(LEAT_LOG_WARNING, "A connection stays open: %s", leat_status_message(status));
    leat_status_free(status);
    return;
  }
  leat_thread_detach(thread);
}

static void carry_done(void* data, leat_status_t status, leat_string_view_t details,
                       leat_rpc_bytes_t answer) {
  carried_call_t call = *(carried_call_t*)data;
  leat_string_view_t view = LEAT_SV("");
  char* copy = NULL;
  leat_allocator_free(leat_allocator_system(), data);
  if (!status) status = leat_rpc_bytes_join(answer, leat_allocator_system(), &view, &copy);
  call.done(call.data, status, view);
  leat_allocator_free(leat_allocator_system(), copy);
}

static void carry_call(leat_remote_way_t* way, const leat_remote_request_t* request,
                       leat_remote_done_fn_t done, void* data, leat_remote_call_t** out_call) {
  carried_call_t* call;
  const leat_rpc_piece_t piece = {.data = request->bytes.data, .size = request->bytes.size};
  const leat_rpc_call_options_t options = {.method = request->method,
                                           .bytes = {&piece, 1},
                                           .deadline_ns = request->deadline_ns,
                                           .waits = request->waits};
  *out_call = NULL;
  leat_status_t status = LEAT_ALLOCATE(leat_allocator_system(), 1, &call);
  if (status) {
    done(data, status, LEAT_SV(""));
    return;
  }
  *call = (carried_call_t){done, data};
  leat_rpc_call((leat_rpc_channel_t*)way, &options, carry_done, call, (leat_rpc_call_t**)out_call);
}

static void carry_cancel(leat_remote_call_t* call) { leat_rpc_cancel((leat_rpc_call_t*)call); }

static void carry_free(leat_remote_call_t* call) { leat_rpc_call_free((leat_rpc_call_t*)call); }

const leat_remote_carrier_t leat_remote_carrier_rpc = {.open = carry_open,
                                                       .close = carry_close,
                                                       .call = carry_call,
                                                       .cancel = carry_cancel,
                                                       .call_free = carry_free};
