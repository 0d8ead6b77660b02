// The servers of the process are in a list, and each has a list of the calls that it serves; one
// mutex guards all of these lists. A server that stops cancels its calls. It does so without the
// mutex, because what a cancelled call does may end with another local call. The child of a
// fork inherits the list, but none of the threads of its servers, so it makes no local calls.
#include "cluster/local_call.h"

#include "base/host.h"
#include "kernel/cancellation.h"

static leat_mutex_t servers_mutex = {PTHREAD_MUTEX_INITIALIZER};
static leat_local_server_t* servers;
static int64_t servers_process;

void leat_local_server_open(leat_local_server_t* server) {
  leat_condition_initialize(&server->left);
  leat_mutex_lock(&servers_mutex);
  if (servers_process != leat_host_process_id()) servers = NULL;
  servers_process = leat_host_process_id();
  server->next = servers;
  servers = server;
  leat_mutex_unlock(&servers_mutex);
}

// A call under way that is not cancelled, as its cancellation, retained; NULL: there is none. The
// mutex is held.
static leat_cancellation_t* find_running(const leat_local_server_t* server) {
  for (const leat_local_call_t* call = server->calls; call; call = call->next) {
    if (leat_cancellation_is_cancelled(call->request.cancellation)) continue;
    leat_cancellation_retain(call->request.cancellation);
    return call->request.cancellation;
  }
  return NULL;
}

void leat_local_server_close(leat_local_server_t* server) {
  leat_mutex_lock(&servers_mutex);
  leat_local_server_t** place = &servers;
  while (*place && *place != server) place = &(*place)->next;
  if (*place) *place = server->next;
  for (leat_cancellation_t* running; (running = find_running(server));) {
    leat_mutex_unlock(&servers_mutex);
    leat_cancellation_cancel(running);
    leat_cancellation_release(running);
    leat_mutex_lock(&servers_mutex);
  }
  while (server->calls) leat_condition_wait(&server->left, &servers_mutex);
  leat_mutex_unlock(&servers_mutex);
  leat_condition_deinitialize(&server->left);
}

// ---- The caller ---------------------------------------------------------------------------------

bool leat_local_call_begin(leat_string_view_t address, leat_local_call_t* call) {
  leat_mutex_lock(&servers_mutex);
  leat_local_server_t* server = servers_process == leat_host_process_id() ? servers : NULL;
  while (server && !leat_string_view_equal(server->address, address)) server = server->next;
  if (server) {
    leat_status_t status =
        leat_cancellation_create(leat_allocator_system(), &call->request.cancellation);
    if (status) server = NULL;
    leat_status_free(status);
  }
  if (server) {
    call->server = server;
    call->next = server->calls;
    call->link = &server->calls;
    if (call->next) call->next->link = &call->next;
    server->calls = call;
  }
  leat_mutex_unlock(&servers_mutex);
  return server != NULL;
}

// Of leat_rpc_request_t. The caller may end the call as soon as |done| was called.
static void answer(leat_rpc_request_t* request, leat_status_t status, leat_string_view_t details,
                   leat_rpc_bytes_t bytes) {
  leat_local_call_t* call = (leat_local_call_t*)request;
  leat_rpc_request_on_cancel(request, NULL, NULL);
  const bool has_failed = status != NULL;
  call->done(call->done_data, status, details, has_failed ? (leat_rpc_bytes_t){0} : bytes);
  leat_rpc_bytes_release(bytes);
}

void leat_local_call_run(leat_local_call_t* call, const char* method, const void* message,
                         int64_t deadline_ns, leat_rpc_done_fn_t done, void* data) {
  call->done = done;
  call->done_data = data;
  call->request.base = (leat_rpc_request_t){.method = leat_string_view_from(method),
                                            .message = message,
                                            .deadline_ns = deadline_ns,
                                            .peer = LEAT_SV("inproc"),
                                            .answer = answer};
  call->server->handler(call->server->data, &call->request.base);
}

void leat_local_call_cancel(leat_local_call_t* call) {
  leat_cancellation_cancel(call->request.cancellation);
}

void leat_local_call_end(leat_local_call_t* call) {
  leat_mutex_lock(&servers_mutex);
  *call->link = call->next;
  if (call->next) call->next->link = call->link;
  leat_condition_notify_all(&call->server->left);
  leat_mutex_unlock(&servers_mutex);
  leat_cancellation_release(call->request.cancellation);
}
