// A call under way lies on the stack of the thread that waits for it, and in the session's list,
// under whose mutex it is cancelled, so that whoever cancels it never meets one that has returned.
// A step that its caller cancels is a call that is cancelled: the master sees that, and ends the
// step on all tasks, while the session goes on. The handle of the call lives until its thread has
// deregistered the callback of the cancellation, which waits for one that runs.
#include "cluster/client_call.h"

#include "cluster/local_call.h"
#include "cluster/rpc_message.h"

// A call under way, on the stack of the thread that waits for it.
typedef struct leat_exchange_s {
  struct leat_exchange_s *next, **link;  // in the session's list; |*link| is this call
  bool is_local;              // |local|, and no |call|
  leat_local_call_t local;
  leat_rpc_call_t* call;
  _Atomic(bool) is_cancelled;  // by the caller of the step
  leat_notification_t ended;
  leat_status_t status;
  const leat_client_call_t* asked;
} exchange_t;

void leat_client_calls_initialize(leat_client_calls_t* out_calls) {
  *out_calls = (leat_client_calls_t){0};
  leat_mutex_initialize(&out_calls->mutex);
}

void leat_client_calls_deinitialize(leat_client_calls_t* calls) {
  LEAT_DCHECK(!calls->first);
  leat_mutex_deinitialize(&calls->mutex);
}

void leat_client_calls_close(leat_client_calls_t* calls) {
  leat_mutex_lock(&calls->mutex);
  calls->is_closed = true;
  leat_mutex_unlock(&calls->mutex);
}

static void cancel(exchange_t* exchange) {
  if (exchange->is_local) {
    leat_local_call_cancel(&exchange->local);
  } else {
    leat_rpc_cancel(exchange->call);
  }
}

void leat_client_calls_cancel(leat_client_calls_t* calls) {
  leat_mutex_lock(&calls->mutex);
  for (exchange_t* exchange = calls->first; exchange; exchange = exchange->next) {
    cancel(exchange);
  }
  leat_mutex_unlock(&calls->mutex);
}

static void end_exchange(void* data, leat_status_t status, leat_string_view_t details,
                         leat_rpc_bytes_t answer) {
  exchange_t* exchange = data;
  leat_string_view_t view;
  char* copy = NULL;
  if (!status) status = leat_rpc_bytes_join(answer, leat_allocator_system(), &view, &copy);
  if (!status && exchange->asked->read) status = exchange->asked->read(exchange->asked->data, view);
  leat_allocator_free(leat_allocator_system(), copy);
  exchange->status = status;
  leat_notification_open(&exchange->ended);
}

// Enters the call into the list. One that begins after the session was closed ends at once.
static void enter(leat_client_calls_t* calls, exchange_t* exchange) {
  leat_mutex_lock(&calls->mutex);
  exchange->next = calls->first;
  exchange->link = &calls->first;
  if (exchange->next) exchange->next->link = &exchange->next;
  calls->first = exchange;
  if (calls->is_closed) cancel(exchange);
  leat_mutex_unlock(&calls->mutex);
}

// Takes the call out of the list. The master knows no session (ABORTED) where it reads a step only
// after the end of its session; the step was then cancelled by that end, as the others were.
static void leave(leat_client_calls_t* calls, exchange_t* exchange) {
  leat_mutex_lock(&calls->mutex);
  *exchange->link = exchange->next;
  if (exchange->next) exchange->next->link = exchange->link;
  const bool is_closed = calls->is_closed;
  leat_mutex_unlock(&calls->mutex);
  if (!is_closed || leat_status_code(exchange->status) != LEAT_ABORTED) return;
  leat_status_free(exchange->status);
  exchange->status = leat_make_status(LEAT_CANCELLED, "Run failed: the session was closed");
}

// Of a leat_cancellation_t: the caller gives the step up.
static void cancel_exchange(void* data) {
  exchange_t* exchange = data;
  atomic_store(&exchange->is_cancelled, true);
  cancel(exchange);
}

// Waits for the end of the call, which the caller's cancellation brings too. A call to a server of
// this process is made here, on this thread, when the cancellation is already watched.
static void wait_for_end(exchange_t* exchange) {
  const leat_client_call_t* call = exchange->asked;
  leat_cancellation_t* cancellation = call->cancellation;
  uint64_t token = 0;
  const bool is_watched =
      cancellation && leat_cancellation_register(cancellation, cancel_exchange, exchange, &token);
  if (cancellation && !is_watched) cancel_exchange(exchange);
  if (exchange->is_local) {
    leat_local_call_run(&exchange->local, call->method, call->message, call->deadline_ns,
                        end_exchange, exchange);
  }
  leat_notification_sleep(&exchange->ended, LEAT_DEADLINE_NEVER);
  if (is_watched) leat_cancellation_deregister(cancellation, token);
  if (!exchange->is_cancelled || leat_status_code(exchange->status) != LEAT_CANCELLED) return;
  leat_status_free(exchange->status);
  exchange->status = leat_make_status(LEAT_CANCELLED, "Run failed: the step was cancelled");
}

leat_status_t leat_client_call(leat_client_calls_t* calls, const leat_client_call_t* call) {
  exchange_t exchange = {.asked = call};
  const bool is_step = call->kind == LEAT_CLIENT_CALL_STEP;
  leat_notification_initialize(&exchange.ended);
  exchange.is_local = leat_local_call_begin(call->address, &exchange.local);
  if (!exchange.is_local) {
    const leat_rpc_call_options_t options = {.method = call->method,
                                             .deadline_ns = call->deadline_ns,
                                             .waits = call->kind == LEAT_CLIENT_CALL_OPENS};
    leat_rpc_call_message(call->channel, &options, call->descriptor, call->message, end_exchange,
                          &exchange, &exchange.call);
  }
  if (is_step) enter(calls, &exchange);
  wait_for_end(&exchange);
  if (is_step) leave(calls, &exchange);
  if (exchange.is_local) leat_local_call_end(&exchange.local);
  leat_notification_deinitialize(&exchange.ended);
  leat_rpc_call_free(exchange.call);
  return exchange.status;
}
