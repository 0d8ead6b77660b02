// Channels and calls, the client's side. A call is one batch of six operations of the C core, and
// so one event: it comes when the status has, whatever became of the rest.
//
// A call lives as long as two parties need it: the engine until its |done| has returned, and the
// caller, if it asked for it, until leat_rpc_call_free. The C core's call in it ends with the first
// of these, since a piece that was sent may stay with it until then. Who cancels therefore takes a
// reference to the C core's call under the spinlock of ours, and lets go of the lock before it uses
// it.
//
// A channel keeps a list of its calls under way. Freeing it cancels each and waits until the list
// is empty; a call leaves it when all else of it is gone, so that nothing of a call outlives its
// channel but what leat_rpc_call_free frees.
//
// A call that waits for a server to come up is first made as one that does not wait: where the
// server is there and the handshake failed, waiting helps nobody, but only a call that does not
// wait is told so. Where there is no connection for another reason nothing was sent, and the call
// is made again, as one that waits.
#include <grpc/grpc_security.h>
#include <string.h>

#include "modules/grpc/engine.h"

struct leat_rpc_channel_s {
  grpc_channel* channel;
  rpc_engine_t* engine;
  bool is_secure;
  leat_mutex_t mutex;
  leat_condition_t emptied;
  // Guarded by |mutex|.
  leat_rpc_call_t* first;  // calls under way, in no order
  uint64_t failures;       // how often rpc_channel_fail was called
};

struct leat_rpc_call_s {
  leat_reference_count_t owners;
  leat_spinlock_t lock;
  grpc_call* call;    // NULL once it has ended; guarded by |lock|
  bool is_cancelled;  // by us; guarded by |lock|
  leat_rpc_channel_t* channel;
  leat_rpc_call_t *previous, *next;  // in the channel's list
  // Guarded by the channel's mutex.
  bool is_cancelled_by_channel;
  bool waits;         // for a server that is not up yet
  bool is_patient;
  uint64_t failures;  // the channel's, when the call was made or was failed last
  rpc_event_t ended;
  leat_rpc_done_fn_t done;
  void* data;
  // Of a call that waits, until it is made as such.
  grpc_byte_buffer* message;
  const char* method;
  int64_t deadline_ns;
  // What the C core writes.
  grpc_metadata_array initial, trailing;
  rpc_received_t answer;
  grpc_status_code code;
  grpc_slice text;
};

// ---- Channels -----------------------------------------------------------------------------------

static grpc_channel_credentials* make_credentials(const leat_rpc_credentials_t* credentials) {
  if (!rpc_is_secure(credentials)) return grpc_insecure_credentials_create();
  grpc_ssl_pem_key_cert_pair own = {credentials->private_key, credentials->certificate_chain};
  return grpc_ssl_credentials_create(credentials->root_certificates,
                                     credentials->certificate_chain ? &own : NULL, NULL, NULL);
}

static grpc_channel* open_channel(const char* address, grpc_channel_credentials* credentials) {
  grpc_arg arguments[RPC_MAX_ARGUMENTS];
  size_t count = rpc_shared_arguments(arguments);
  // Each channel has its own connection: two tasks in one process are two peers.
  arguments[count++] = rpc_integer_argument(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments[count++] = rpc_integer_argument(GRPC_ARG_SERVICE_CONFIG_DISABLE_RESOLUTION, 1);
  // A task that starts again is found within two seconds, and not within two minutes.
  arguments[count++] = rpc_integer_argument(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 100);
  arguments[count++] = rpc_integer_argument(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 2000);
  const grpc_channel_args all = {count, arguments};
  grpc_channel* channel = grpc_channel_create(address, credentials, &all);
  // For a target that it cannot read, the C core makes a channel whose calls all fail.
  if (grpc_channel_support_connectivity_watcher(channel)) return channel;
  grpc_channel_destroy(channel);
  return NULL;
}

int rpc_channel_create(const char* address, const leat_rpc_credentials_t* credentials,
                       leat_rpc_channel_t** out_channel) {
  leat_rpc_channel_t* channel = rpc_host->allocate(sizeof *channel);
  rpc_engine_t* engine = channel ? rpc_engine_acquire() : NULL;
  if (!engine) {
    rpc_host->free(channel);
    return LEAT_RESOURCE_EXHAUSTED;
  }
  channel->engine = engine;
  channel->is_secure = rpc_is_secure(credentials);
  grpc_channel_credentials* made = make_credentials(credentials);
  if (made) channel->channel = open_channel(address, made);
  if (made) grpc_channel_credentials_release(made);
  if (!channel->channel) {
    rpc_engine_release(engine);
    rpc_host->free(channel);
    return LEAT_INVALID_ARGUMENT;
  }
  rpc_host->mutex_initialize(&channel->mutex);
  rpc_host->condition_initialize(&channel->emptied);
  *out_channel = channel;
  return LEAT_OK;
}

static void add_to_channel(leat_rpc_channel_t* channel, leat_rpc_call_t* call) {
  leat_mutex_lock(&channel->mutex);
  call->failures = channel->failures;
  call->next = channel->first;
  if (call->next) call->next->previous = call;
  channel->first = call;
  leat_mutex_unlock(&channel->mutex);
}

static void remove_from_channel(leat_rpc_channel_t* channel, leat_rpc_call_t* call) {
  leat_mutex_lock(&channel->mutex);
  if (call->next) call->next->previous = call->previous;
  if (call->previous) {
    call->previous->next = call->next;
  } else {
    channel->first = call->next;
  }
  // Within the lock: whoever waits for it may free the channel as soon as it has it.
  if (!channel->first) rpc_host->condition_notify_all(&channel->emptied);
  leat_mutex_unlock(&channel->mutex);
}

static leat_rpc_call_t* find_uncancelled(leat_rpc_channel_t* channel) {
  leat_mutex_lock(&channel->mutex);
  leat_rpc_call_t* call = channel->first;
  while (call && call->is_cancelled_by_channel) call = call->next;
  if (call) {
    call->is_cancelled_by_channel = true;
    leat_reference_count_retain(&call->owners);
  }
  leat_mutex_unlock(&channel->mutex);
  return call;
}

void rpc_channel_free(leat_rpc_channel_t* channel) {
  if (!channel) return;
  for (leat_rpc_call_t* call; (call = find_uncancelled(channel));) {
    rpc_cancel(call);
    rpc_call_free(call);
  }
  leat_mutex_lock(&channel->mutex);
  while (channel->first) {
    rpc_host->condition_wait_until(&channel->emptied, &channel->mutex, LEAT_DEADLINE_NEVER);
  }
  leat_mutex_unlock(&channel->mutex);
  grpc_channel_destroy(channel->channel);
  rpc_engine_release(channel->engine);
  rpc_host->condition_deinitialize(&channel->emptied);
  rpc_host->mutex_deinitialize(&channel->mutex);
  rpc_host->free(channel);
}

bool rpc_channel_is_busy(leat_rpc_channel_t* channel) {
  leat_mutex_lock(&channel->mutex);
  const leat_rpc_call_t* call = channel->first;
  while (call && (call->waits || call->is_patient)) call = call->next;
  leat_mutex_unlock(&channel->mutex);
  return call != NULL;
}

// A call that was made before failure number |failures| and has not been ended by it yet; retained.
static leat_rpc_call_t* find_unfailed(leat_rpc_channel_t* channel, uint64_t failures) {
  leat_mutex_lock(&channel->mutex);
  leat_rpc_call_t* call = channel->first;
  while (call && (call->waits || call->failures >= failures)) call = call->next;
  if (call) {
    call->failures = failures;
    leat_reference_count_retain(&call->owners);
  }
  leat_mutex_unlock(&channel->mutex);
  return call;
}

// The C core's call, with a reference of the caller's, who ends it; NULL once it has ended.
static grpc_call* take_inner(leat_rpc_call_t* call) {
  leat_spinlock_lock(&call->lock);
  grpc_call* inner = call->call;
  call->is_cancelled = true;
  if (inner) grpc_call_ref(inner);
  leat_spinlock_unlock(&call->lock);
  return inner;
}

void rpc_channel_fail(leat_rpc_channel_t* channel, int code, const char* message) {
  leat_mutex_lock(&channel->mutex);
  const uint64_t failures = ++channel->failures;
  leat_mutex_unlock(&channel->mutex);
  for (leat_rpc_call_t* call; (call = find_unfailed(channel, failures));) {
    grpc_call* inner = take_inner(call);
    if (inner) {
      grpc_call_cancel_with_status(inner, (grpc_status_code)code, message, NULL);
      grpc_call_unref(inner);
    }
    rpc_call_free(call);
  }
}

// ---- Calls --------------------------------------------------------------------------------------

void rpc_call_free(leat_rpc_call_t* call) {
  if (call && leat_reference_count_release(&call->owners)) rpc_host->free(call);
}

void rpc_cancel(leat_rpc_call_t* call) {
  grpc_call* inner = call ? take_inner(call) : NULL;
  if (!inner) return;
  grpc_call_cancel(inner, NULL);
  grpc_call_unref(inner);
}

static leat_string_view_t find_details(const leat_rpc_call_t* call) {
  for (size_t i = 0; i < call->trailing.count; ++i) {
    const grpc_metadata* pair = &call->trailing.metadata[i];
    if (grpc_slice_str_cmp(pair->key, RPC_DETAILS_KEY) == 0) return rpc_slice_view(&pair->value);
  }
  return leat_string_view_make(NULL, 0);
}

// Tells the caller how the call ended.
static void finish_call(leat_rpc_call_t* call) {
  leat_rpc_bytes_t bytes;
  int code = call->code;
  leat_string_view_t message = rpc_slice_view(&call->text);
  if (!rpc_received_open(&call->answer, &bytes)) {
    code = LEAT_RESOURCE_EXHAUSTED;
    message = LEAT_SV("Receiving the answer failed: there is no memory for its pieces");
  } else if (code == LEAT_OK && !call->answer.buffer) {
    code = LEAT_INTERNAL;
    message = LEAT_SV("Receiving the answer failed: the server sent success without a message");
  }
  // Where the answer comes with a failure, only the failure counts.
  if (code != LEAT_OK) bytes.count = 0;
  rpc_engine_enter_caller(call->ended.engine);
  rpc_host->finish(call->done, call->data, code, message, find_details(call), bytes);
  rpc_engine_leave_caller(call->ended.engine);
}

static bool says(const leat_rpc_call_t* call, const char* part) {
  const leat_string_view_t text = rpc_slice_view(&call->text);
  const size_t size = strlen(part);
  for (size_t i = 0; i + size <= text.size; ++i) {
    if (!memcmp(text.data + i, part, size)) return true;
  }
  return false;
}

// Whether the server could not be reached and may come up later. With TLS 1.3 a server that refuses
// a certificate does so after the client's handshake has succeeded, by closing the connection.
static bool may_come_up(const leat_rpc_call_t* call) {
  if (call->code != GRPC_STATUS_UNAVAILABLE) return false;
  if (!says(call, "failed to connect") && !says(call, "resolution")) return false;  // of a name
  if (says(call, "handshake") || says(call, "peer certificate")) return false;
  return !(call->channel->is_secure && says(call, "Socket closed"));
}

static void forget_end(leat_rpc_call_t* call) {
  rpc_received_close(&call->answer);
  grpc_metadata_array_destroy(&call->initial);
  grpc_metadata_array_destroy(&call->trailing);
  grpc_slice_unref(call->text);
}

static bool wait_for_server(leat_rpc_call_t* call);

static void end_call(rpc_event_t* event, bool success) {
  leat_rpc_call_t* call = RPC_EVENT_OWNER(event, leat_rpc_call_t, ended);
  if (call->message && may_come_up(call) && wait_for_server(call)) return;
  finish_call(call);
  forget_end(call);
  leat_spinlock_lock(&call->lock);
  grpc_call* inner = call->call;
  call->call = NULL;
  leat_spinlock_unlock(&call->lock);
  grpc_call_unref(inner);
  if (call->message) grpc_byte_buffer_destroy(call->message);
  remove_from_channel(call->channel, call);
  rpc_call_free(call);
}

// Starts everything at once. |message| is the request.
static grpc_call_error start_batch(leat_rpc_call_t* call, bool waits, grpc_byte_buffer* message) {
  const uint32_t flags = waits ? GRPC_INITIAL_METADATA_WAIT_FOR_READY |
                                     GRPC_INITIAL_METADATA_WAIT_FOR_READY_EXPLICITLY_SET
                               : 0;
  grpc_metadata_array_init(&call->initial);
  grpc_metadata_array_init(&call->trailing);
  call->text = grpc_empty_slice();
  const grpc_op operations[] = {
      {.op = GRPC_OP_SEND_INITIAL_METADATA, .flags = flags},
      {.op = GRPC_OP_SEND_MESSAGE, .data.send_message.send_message = message},
      {.op = GRPC_OP_SEND_CLOSE_FROM_CLIENT},
      {.op = GRPC_OP_RECV_INITIAL_METADATA,
       .data.recv_initial_metadata.recv_initial_metadata = &call->initial},
      {.op = GRPC_OP_RECV_MESSAGE, .data.recv_message.recv_message = &call->answer.buffer},
      {.op = GRPC_OP_RECV_STATUS_ON_CLIENT,
       .data.recv_status_on_client = {.trailing_metadata = &call->trailing,
                                      .status = &call->code,
                                      .status_details = &call->text}},
  };
  grpc_call* inner = call->call;
  void* tag = rpc_event_send(call->channel->engine, &call->ended, end_call);
  return grpc_call_start_batch(inner, operations, sizeof operations / sizeof *operations, tag,
                               NULL);
}

static grpc_call* create_inner(const leat_rpc_call_t* call) {
  const leat_rpc_channel_t* channel = call->channel;
  // A copy, because the C core keeps the text of paths beyond the call, to compress the next one's.
  grpc_slice method = grpc_slice_from_copied_string(call->method);
  grpc_call* inner = grpc_channel_create_call(
      channel->channel, NULL, GRPC_PROPAGATE_DEFAULTS, rpc_engine_queue(channel->engine), method,
      NULL, rpc_deadline_to_core(call->deadline_ns), NULL);
  grpc_slice_unref(method);
  return inner;
}

// Makes the call again, as one that waits. false where it was cancelled meanwhile.
static bool wait_for_server(leat_rpc_call_t* call) {
  grpc_call* inner = create_inner(call);
  leat_spinlock_lock(&call->lock);
  const bool is_cancelled = call->is_cancelled;
  grpc_call* old = is_cancelled ? inner : call->call;
  if (!is_cancelled) call->call = inner;
  leat_spinlock_unlock(&call->lock);
  grpc_call_unref(old);
  if (is_cancelled) {
    call->code = GRPC_STATUS_CANCELLED;
    return false;
  }
  grpc_byte_buffer* message = call->message;
  call->message = NULL;
  forget_end(call);
  const grpc_call_error error = start_batch(call, true, message);
  grpc_byte_buffer_destroy(message);
  if (error == GRPC_CALL_OK) return true;
  call->code = GRPC_STATUS_INTERNAL;
  call->text = grpc_slice_from_static_string(grpc_call_error_to_string(error));
  return false;
}

void rpc_call(leat_rpc_channel_t* channel, const leat_rpc_call_options_t* options,
              leat_rpc_done_fn_t done, void* data, leat_rpc_call_t** out_call) {
  grpc_byte_buffer* message = NULL;
  if (out_call) *out_call = NULL;
  leat_rpc_call_t* call = rpc_host->allocate(sizeof *call);
  if (!call) rpc_bytes_release(options->bytes);
  if (!call || rpc_bytes_to_buffer(options->bytes, &message) != LEAT_OK) {
    rpc_host->free(call);
    rpc_host->finish(done, data, LEAT_RESOURCE_EXHAUSTED,
                     LEAT_SV("Sending a request failed: there is no memory, or it is over 2 GiB"),
                     LEAT_SV(""), (leat_rpc_bytes_t){NULL, 0});
    return;
  }
  atomic_init(&call->owners, out_call ? 2 : 1);
  call->channel = channel;
  call->done = done;
  call->data = data;
  call->waits = options->waits;
  call->is_patient = options->is_patient;
  call->method = options->method;
  call->deadline_ns = options->deadline_ns;
  if (options->waits) call->message = grpc_byte_buffer_copy(message);
  call->call = create_inner(call);
  add_to_channel(channel, call);
  if (out_call) *out_call = call;
  const grpc_call_error error = start_batch(call, false, message);
  grpc_byte_buffer_destroy(message);
  if (error == GRPC_CALL_OK) return;
  // The batch is of the right form, so this does not happen; but a caller must not wait for ever.
  call->code = GRPC_STATUS_INTERNAL;
  call->text = grpc_slice_from_static_string(grpc_call_error_to_string(error));
  end_call(&call->ended, false);
}
