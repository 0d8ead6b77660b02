// Servers and requests. No method is registered with the C core: each call that comes in matches
// the one generic request, of which several always wait, and the handler reads the method's name.
//
//   arrived ─▶ a new one waits in its place; the message and the close are asked for
//   received ─▶ the handler runs                        closed ─▶ the |fn| of cancellation, if any
//   leat_rpc_answer ─▶ answered
//
// A request lives until the handler has returned, it has been answered and that is written, and the
// C core has told how the call closed (|owners|). Stopping a server waits until the last one is
// gone, so that nothing of the handler's |data| is used afterwards.
//
// A stream is one request that is served again and again: one message of the client is in memory at
// a time. An answer is sent and the next message asked for in one batch, which is complete when
// both are done, so that a client who takes no answers is not read either.
//
//   received ─▶ the handler runs ─▶ leat_rpc_answer(OK) ─▶ received: the next message, and so on
//                                   leat_rpc_answer(failure), or no message left ─▶ answered
//
// The state of cancellation is guarded by the server's mutex, of which all requests and the answer
// share one: it is held for some instructions, and never while |fn| runs. An answer sets
// |is_answered| under it, so |fn| is not called from then on, and waits on |changed| while |fn|
// runs.
#include <string.h>

#include <grpc/grpc_security.h>
#include <grpc/support/alloc.h>

#include "modules/grpc/engine.h"

// How many calls may come in before the first of them has been looked at.
enum { WAITING_REQUESTS = 4 };

struct leat_rpc_server_s {
  grpc_server* server;
  rpc_engine_t* engine;
  leat_rpc_handler_fn_t handler;
  void* data;
  bool (*streams)(leat_string_view_t method);
  rpc_event_t shut_down;
  leat_mutex_t mutex;
  leat_condition_t changed;
  // Guarded by |mutex|.
  int requests;  // that exist, the waiting ones included
  int missing;   // that should wait but could not be allocated
  bool is_stopping, is_shut_down;
};

typedef struct rpc_request_s {
  leat_rpc_request_t base;  // first, so that it can be cast back
  leat_rpc_server_t* server;
  leat_reference_count_t owners;
  rpc_event_t arrived, received, closed, answered;
  bool is_stream;
  bool has_initial;  // the initial metadata, which go with the first answer, are sent
  // What the C core writes.
  grpc_call* call;
  grpc_call_details details;
  grpc_metadata_array metadata;
  rpc_received_t message;
  int was_cancelled;
  char* peer;
  grpc_metadata trailer;  // the details of a failure
  // Guarded by the server's mutex.
  void (*on_cancel)(void* data);
  void* on_cancel_data;
  bool is_cancelled, is_answered, is_in_on_cancel;
  pthread_t canceller;  // the thread that |is_in_on_cancel|
} rpc_request_t;

// ---- The life of a request ----------------------------------------------------------------------

static void serve_arrival(rpc_event_t* event, bool success);

// Lets |request|, zeroed memory, wait for a call.
static void wait_for_call(leat_rpc_server_t* server, rpc_request_t* request) {
  request->server = server;
  grpc_call_details_init(&request->details);
  grpc_metadata_array_init(&request->metadata);
  request->trailer.value = grpc_empty_slice();
  grpc_completion_queue* queue = rpc_engine_queue(server->engine);
  const grpc_call_error error = grpc_server_request_call(
      server->server, &request->call, &request->details, &request->metadata, queue, queue,
      rpc_event_send(server->engine, &request->arrived, serve_arrival));
  // The queue is the server's, and the C core reports a server that is shut down by an event.
  if (error != GRPC_CALL_OK) serve_arrival(&request->arrived, false);
}

static void add_waiting_request(leat_rpc_server_t* server) {
  rpc_request_t* request = rpc_host->allocate(sizeof *request);
  leat_mutex_lock(&server->mutex);
  if (request) {
    ++server->requests;
  } else {
    ++server->missing;
  }
  leat_mutex_unlock(&server->mutex);
  if (request) wait_for_call(server, request);
}

// Frees a request, or lets it wait again where one is missing.
static void end_request(rpc_request_t* request) {
  leat_rpc_server_t* server = request->server;
  rpc_received_close(&request->message);
  grpc_call_details_destroy(&request->details);
  grpc_metadata_array_destroy(&request->metadata);
  grpc_slice_unref(request->trailer.value);
  gpr_free(request->peer);
  if (request->call) grpc_call_unref(request->call);
  leat_mutex_lock(&server->mutex);
  const bool waits_again = server->missing > 0 && !server->is_stopping;
  if (waits_again) --server->missing;
  leat_mutex_unlock(&server->mutex);
  if (waits_again) {
    memset(request, 0, sizeof *request);
    wait_for_call(server, request);
    return;
  }
  rpc_host->free(request);
  leat_mutex_lock(&server->mutex);
  // Within the lock: whoever waits for it may free the server as soon as it has it.
  if (--server->requests == 0) rpc_host->condition_notify_all(&server->changed);
  leat_mutex_unlock(&server->mutex);
}

static void release_request(rpc_request_t* request) {
  if (leat_reference_count_release(&request->owners)) end_request(request);
}

// Marks that this thread calls a function of cancellation. The mutex is held.
static void enter_on_cancel(rpc_request_t* request) {
  request->is_in_on_cancel = true;
  request->canceller = pthread_self();
}

// Waits until no other thread is in a function of cancellation. The mutex is held.
static void await_on_cancel(rpc_request_t* request) {
  leat_rpc_server_t* server = request->server;
  while (request->is_in_on_cancel && !pthread_equal(request->canceller, pthread_self())) {
    rpc_host->condition_wait_until(&server->changed, &server->mutex, LEAT_DEADLINE_NEVER);
  }
}

// Calls |fn| of the caller's, with the request marked so that an answer waits.
static void run_on_cancel(rpc_request_t* request, void (*fn)(void* data), void* data) {
  leat_rpc_server_t* server = request->server;
  rpc_engine_enter_caller(server->engine);
  fn(data);
  rpc_engine_leave_caller(server->engine);
  leat_mutex_lock(&server->mutex);
  request->is_in_on_cancel = false;
  rpc_host->condition_notify_all(&server->changed);
  leat_mutex_unlock(&server->mutex);
}

void rpc_request_on_cancel(leat_rpc_request_t* base, void (*fn)(void* data), void* data) {
  rpc_request_t* request = (rpc_request_t*)base;
  leat_mutex_lock(&request->server->mutex);
  const bool runs_now = fn && request->is_cancelled;
  if (runs_now) {
    enter_on_cancel(request);
  } else {
    request->on_cancel = fn;
    request->on_cancel_data = data;
  }
  if (!fn) await_on_cancel(request);
  leat_mutex_unlock(&request->server->mutex);
  if (runs_now) run_on_cancel(request, fn, data);
}

static void serve_close(rpc_event_t* event, bool success) {
  rpc_request_t* request = RPC_EVENT_OWNER(event, rpc_request_t, closed);
  leat_mutex_lock(&request->server->mutex);
  request->is_cancelled = request->was_cancelled != 0;
  const bool runs = request->is_cancelled && !request->is_answered && request->on_cancel;
  void (*fn)(void* data) = request->on_cancel;
  void* data = request->on_cancel_data;
  if (runs) enter_on_cancel(request);
  leat_mutex_unlock(&request->server->mutex);
  if (runs) run_on_cancel(request, fn, data);
  release_request(request);
}

// ---- Answers ------------------------------------------------------------------------------------

static void serve_answered(rpc_event_t* event, bool success) {
  release_request(RPC_EVENT_OWNER(event, rpc_request_t, answered));
}

// Begins the operations of an answer, with |bytes| unless that is NULL. How many there are.
static size_t begin_answer(rpc_request_t* request, grpc_byte_buffer* bytes, grpc_op* operations) {
  size_t count = 0;
  if (!request->has_initial) {
    operations[count++] = (grpc_op){.op = GRPC_OP_SEND_INITIAL_METADATA};
  }
  request->has_initial = true;
  if (bytes) {
    operations[count++] =
        (grpc_op){.op = GRPC_OP_SEND_MESSAGE, .data.send_message.send_message = bytes};
  }
  return count;
}

// Ends the call. After the batch has started, the request may be gone at any moment.
static void start_answer(rpc_request_t* request, int code, leat_string_view_t message,
                         leat_string_view_t details, grpc_byte_buffer* bytes) {
  grpc_op operations[3];
  size_t count = begin_answer(request, bytes, operations);
  grpc_slice text = rpc_slice_from(message);
  request->trailer = (grpc_metadata){.key = grpc_slice_from_static_string(RPC_DETAILS_KEY),
                                     .value = rpc_slice_from(details)};
  operations[count++] =
      (grpc_op){.op = GRPC_OP_SEND_STATUS_FROM_SERVER,
                .data.send_status_from_server = {.trailing_metadata_count = details.size > 0,
                                                 .trailing_metadata = &request->trailer,
                                                 .status = (grpc_status_code)code,
                                                 .status_details = code ? &text : NULL}};
  grpc_call* call = request->call;
  void* tag = rpc_event_send(request->server->engine, &request->answered, serve_answered);
  const grpc_call_error error = grpc_call_start_batch(call, operations, count, tag, NULL);
  grpc_slice_unref(text);
  // The batch is of the right form, so this does not happen.
  if (error != GRPC_CALL_OK) release_request(request);
}

static void serve_continuation(rpc_event_t* event, bool success);

// Answers a message of a stream with |bytes| and asks for the next one, for which the memory of the
// last one is used. After the batch has started, the request is that of the next message.
static void start_continuation(rpc_request_t* request, grpc_byte_buffer* bytes) {
  grpc_op operations[3];
  rpc_received_close(&request->message);
  size_t count = begin_answer(request, bytes, operations);
  operations[count++] = (grpc_op){.op = GRPC_OP_RECV_MESSAGE,
                                  .data.recv_message.recv_message = &request->message.buffer};
  grpc_call* call = request->call;
  void* tag = rpc_event_send(request->server->engine, &request->received, serve_continuation);
  const grpc_call_error error = grpc_call_start_batch(call, operations, count, tag, NULL);
  // The batch is of the right form, so this does not happen.
  if (error != GRPC_CALL_OK) serve_continuation(&request->received, false);
}

void rpc_answer(leat_rpc_request_t* base, int code, leat_string_view_t message,
                leat_string_view_t details, leat_rpc_bytes_t bytes) {
  rpc_request_t* request = (rpc_request_t*)base;
  leat_rpc_server_t* server = request->server;
  grpc_byte_buffer* buffer = NULL;
  leat_mutex_lock(&server->mutex);
  request->is_answered = true;
  await_on_cancel(request);
  leat_mutex_unlock(&server->mutex);
  if (code != LEAT_OK) {
    rpc_bytes_release(bytes);
  } else if (rpc_bytes_to_buffer(bytes, &buffer) != LEAT_OK) {
    code = LEAT_RESOURCE_EXHAUSTED;
    message = LEAT_SV("Sending the answer failed: there is no memory, or it is over 2 GiB");
  }
  if (request->is_stream && code == LEAT_OK) {
    start_continuation(request, buffer);
  } else {
    start_answer(request, code, message, code == LEAT_OK ? LEAT_SV("") : details, buffer);
  }
  if (buffer) grpc_byte_buffer_destroy(buffer);
}

// ---- Arrivals -----------------------------------------------------------------------------------

// Serves |request->message|; of a stream there is none when the client has no more, or is gone.
static void serve_request(rpc_request_t* request) {
  leat_rpc_server_t* server = request->server;
  if (!request->message.buffer && request->is_stream) {
    start_answer(request, LEAT_OK, LEAT_SV(""), LEAT_SV(""), NULL);
  } else if (!request->message.buffer) {
    // The caller is gone, or its message was too large, of which the C core has told it already.
    rpc_answer(&request->base, LEAT_INTERNAL, LEAT_SV("The request came without a message"),
               LEAT_SV(""), (leat_rpc_bytes_t){NULL, 0});
  } else if (!rpc_received_open(&request->message, &request->base.bytes)) {
    rpc_answer(&request->base, LEAT_RESOURCE_EXHAUSTED,
               LEAT_SV("The request failed: the server has no memory for it"), LEAT_SV(""),
               (leat_rpc_bytes_t){NULL, 0});
  } else {
    if (!request->peer) request->peer = grpc_call_get_peer(request->call);
    request->base.peer = leat_string_view_from(request->peer);
    request->base.method = rpc_slice_view(&request->details.method);
    request->base.deadline_ns = rpc_deadline_from_core(request->details.deadline);
    rpc_engine_enter_caller(server->engine);
    server->handler(server->data, &request->base);
    rpc_engine_leave_caller(server->engine);
  }
  release_request(request);
}

static void serve_message(rpc_event_t* event, bool success) {
  serve_request(RPC_EVENT_OWNER(event, rpc_request_t, received));
}

// The handler of the last message may not have returned yet, and keeps its share in the request.
static void serve_continuation(rpc_event_t* event, bool success) {
  rpc_request_t* request = RPC_EVENT_OWNER(event, rpc_request_t, received);
  if (!success) rpc_received_close(&request->message);
  leat_reference_count_retain(&request->owners);
  leat_mutex_lock(&request->server->mutex);
  request->on_cancel = NULL;
  request->is_answered = !request->message.buffer;
  leat_mutex_unlock(&request->server->mutex);
  serve_request(request);
}

static void serve_arrival(rpc_event_t* event, bool success) {
  rpc_request_t* request = RPC_EVENT_OWNER(event, rpc_request_t, arrived);
  leat_rpc_server_t* server = request->server;
  if (!success) {  // the server stops
    end_request(request);
    return;
  }
  add_waiting_request(server);
  atomic_init(&request->owners, 3);  // the handler, the answer and the close
  request->is_stream =
      server->streams && server->streams(rpc_slice_view(&request->details.method));
  const grpc_op close = {.op = GRPC_OP_RECV_CLOSE_ON_SERVER,
                         .data.recv_close_on_server.cancelled = &request->was_cancelled};
  const grpc_op receive = {.op = GRPC_OP_RECV_MESSAGE,
                           .data.recv_message.recv_message = &request->message.buffer};
  // Both batches are of the right form, so neither is refused.
  grpc_call_start_batch(request->call, &close, 1,
                        rpc_event_send(server->engine, &request->closed, serve_close), NULL);
  grpc_call_start_batch(request->call, &receive, 1,
                        rpc_event_send(server->engine, &request->received, serve_message), NULL);
}

// ---- Servers ------------------------------------------------------------------------------------

static grpc_server_credentials* make_credentials(const leat_rpc_credentials_t* credentials) {
  if (!rpc_is_secure(credentials)) return grpc_insecure_server_credentials_create();
  grpc_ssl_pem_key_cert_pair own = {credentials->private_key, credentials->certificate_chain};
  return grpc_ssl_server_credentials_create_ex(
      credentials->root_certificates, &own, 1,
      credentials->requires_client_certificate
          ? GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY
          : GRPC_SSL_DONT_REQUEST_CLIENT_CERTIFICATE,
      NULL);
}

// A server of the C core with the port opened, or NULL.
static grpc_server* open_server(const leat_rpc_server_settings_t* settings,
                                const leat_rpc_credentials_t* credentials, int* out_port) {
  grpc_arg arguments[RPC_MAX_ARGUMENTS];
  size_t count = rpc_shared_arguments(arguments);
  // Otherwise two servers would share a port, and each get some of the other's calls.
  arguments[count++] = rpc_integer_argument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  if (settings->max_message_bytes > 0 && settings->max_message_bytes < INT32_MAX) {
    arguments[0] = rpc_integer_argument(GRPC_ARG_MAX_RECEIVE_MESSAGE_LENGTH,
                                        (int)settings->max_message_bytes);
  }
  const grpc_channel_args all = {count, arguments};
  grpc_server* server = grpc_server_create(&all, NULL);
  grpc_server_credentials* made = make_credentials(credentials);
  *out_port = made ? grpc_server_add_http2_port(server, settings->address, made) : 0;
  if (made) grpc_server_credentials_release(made);
  return server;
}

static void serve_shutdown(rpc_event_t* event, bool success) {
  leat_rpc_server_t* server = RPC_EVENT_OWNER(event, leat_rpc_server_t, shut_down);
  leat_mutex_lock(&server->mutex);
  server->is_shut_down = true;
  rpc_host->condition_notify_all(&server->changed);
  leat_mutex_unlock(&server->mutex);
}

void rpc_server_stop(leat_rpc_server_t* server) {
  if (!server) return;
  leat_mutex_lock(&server->mutex);
  server->is_stopping = true;
  leat_mutex_unlock(&server->mutex);
  grpc_server_shutdown_and_notify(
      server->server, rpc_engine_queue(server->engine),
      rpc_event_send(server->engine, &server->shut_down, serve_shutdown));
  grpc_server_cancel_all_calls(server->server);
  leat_mutex_lock(&server->mutex);
  while (server->requests > 0 || !server->is_shut_down) {
    rpc_host->condition_wait_until(&server->changed, &server->mutex, LEAT_DEADLINE_NEVER);
  }
  leat_mutex_unlock(&server->mutex);
  grpc_server_destroy(server->server);
  rpc_engine_release(server->engine);
  rpc_host->condition_deinitialize(&server->changed);
  rpc_host->mutex_deinitialize(&server->mutex);
  rpc_host->free(server);
}

// Why the port could not be opened: the same address without certificates tells.
static int find_reason(const leat_rpc_server_settings_t* settings) {
  if (!rpc_is_secure(&settings->credentials)) return LEAT_UNAVAILABLE;
  int port;
  grpc_completion_queue* queue = grpc_completion_queue_create_for_pluck(NULL);
  grpc_server* server = open_server(settings, &(leat_rpc_credentials_t){NULL}, &port);
  grpc_server_register_completion_queue(server, queue, NULL);
  grpc_server_start(server);
  grpc_server_shutdown_and_notify(server, queue, NULL);
  grpc_completion_queue_pluck(queue, NULL, gpr_inf_future(GPR_CLOCK_MONOTONIC), NULL);
  grpc_server_destroy(server);
  grpc_completion_queue_shutdown(queue);
  grpc_completion_queue_destroy(queue);
  return port > 0 ? LEAT_INVALID_ARGUMENT : LEAT_UNAVAILABLE;
}

int rpc_server_start(const leat_rpc_server_settings_t* settings, int* out_port,
                     leat_rpc_server_t** out_server) {
  leat_rpc_server_t* server = rpc_host->allocate(sizeof *server);
  rpc_engine_t* engine = server ? rpc_engine_acquire() : NULL;
  if (!engine) {
    rpc_host->free(server);
    return LEAT_RESOURCE_EXHAUSTED;
  }
  server->engine = engine;
  server->handler = settings->handler;
  server->data = settings->data;
  server->streams = settings->streams;
  rpc_host->mutex_initialize(&server->mutex);
  rpc_host->condition_initialize(&server->changed);
  server->server = open_server(settings, &settings->credentials, out_port);
  grpc_server_register_completion_queue(server->server, rpc_engine_queue(engine), NULL);
  grpc_server_start(server->server);
  if (*out_port <= 0) {
    rpc_server_stop(server);
    return find_reason(settings);
  }
  for (int i = 0; i < WAITING_REQUESTS; ++i) add_waiting_request(server);
  *out_server = server;
  return LEAT_OK;
}
