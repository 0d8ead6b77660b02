// The carrier of calls of other processes (kernel/remote_call.h).
#include "kernel/remote_call.h"

#include "base/sync.h"

static _Atomic(const leat_remote_carrier_t*) current;

// Whoever has a way has opened it, so that there is a carrier.
static const leat_remote_carrier_t* carrier(void) {
  return atomic_load_explicit(&current, memory_order_acquire);
}

void leat_remote_carrier_set(const leat_remote_carrier_t* carrier) {
  atomic_store_explicit(&current, carrier, memory_order_release);
}

leat_status_t leat_remote_open(leat_string_view_t address, leat_remote_way_t** out_way) {
  if (carrier()) return carrier()->open(address, out_way);
  return leat_make_status(LEAT_UNIMPLEMENTED,
                          "Calling '%.*s' failed: nobody carries calls of other processes here",
                          LEAT_SV_ARG(address));
}

void leat_remote_close(leat_remote_way_t* way) {
  if (way) carrier()->close(way);
}

void leat_remote_call(leat_remote_way_t* way, const leat_remote_request_t* request,
                      leat_remote_done_fn_t done, void* data, leat_remote_call_t** out_call) {
  carrier()->call(way, request, done, data, out_call);
}

void leat_remote_cancel(leat_remote_call_t* call) {
  if (call) carrier()->cancel(call);
}

void leat_remote_call_free(leat_remote_call_t* call) {
  if (call) carrier()->call_free(call);
}
