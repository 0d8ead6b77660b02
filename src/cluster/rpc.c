// Remote procedure calls, the library's side: it loads the module with the engine, gives it what it
// may use of the library, checks options, and makes statuses of the engine's codes and texts. gRPC
// is in a module so that programs without a cluster neither load nor need it; where the module is
// absent every call here is UNIMPLEMENTED and names the package. cluster/rpc_module.h is the
// interface between the two. Who holds a server, a channel, a call or a request has one that the
// module made, so the module is loaded wherever one of them is used.
#include "cluster/rpc.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/module.h"
#include "base/thread.h"
#include "cluster/rpc_module.h"
#include "kernel/cancellation.h"

static leat_module_t grpc = {
    .name = "grpc", .struct_size = sizeof(leat_rpc_module_t), .package = "libgrpc29"};

// ---- Bytes --------------------------------------------------------------------------------------

size_t leat_rpc_bytes_size(leat_rpc_bytes_t bytes) {
  size_t size = 0;
  for (size_t i = 0; i < bytes.count; ++i) size += bytes.pieces[i].size;
  return size;
}

void leat_rpc_bytes_release(leat_rpc_bytes_t bytes) {
  for (size_t i = 0; i < bytes.count; ++i) {
    if (bytes.pieces[i].release) bytes.pieces[i].release(bytes.pieces[i].owner);
  }
}

void leat_rpc_release_text(void* text) { leat_allocator_free(leat_allocator_system(), text); }

leat_status_t leat_rpc_bytes_join(leat_rpc_bytes_t bytes, leat_allocator_t* allocator,
                                  leat_string_view_t* out_view, char** out_copy) {
  *out_copy = NULL;
  *out_view = bytes.count ? leat_string_view_make(bytes.pieces[0].data, bytes.pieces[0].size)
                          : LEAT_SV("");
  if (bytes.count < 2) return leat_ok_status();
  const size_t size = leat_rpc_bytes_size(bytes);
  void* copy = NULL;
  LEAT_RETURN_IF_ERROR(
      leat_allocator_allocate_uninitialized(allocator, 16, size ? size : 1, &copy));
  char* end = copy;
  for (size_t i = 0; i < bytes.count; ++i) {
    // An empty piece may have no address, which memcpy must not be given.
    if (bytes.pieces[i].size) memcpy(end, bytes.pieces[i].data, bytes.pieces[i].size);
    end += bytes.pieces[i].size;
  }
  *out_copy = copy;
  *out_view = leat_string_view_make(copy, size);
  return leat_ok_status();
}

// ---- What the module may use --------------------------------------------------------------------

static void* allocate(size_t size_bytes) {
  void* pointer = NULL;
  leat_status_t status = leat_allocator_allocate(leat_allocator_system(), size_bytes, &pointer);
  if (!status) return pointer;
  leat_status_free(status);
  return NULL;
}

static void free_memory(void* pointer) { leat_allocator_free(leat_allocator_system(), pointer); }

static bool start_thread(const char* name, void (*fn)(void* data), void* data) {
  leat_thread_t thread;
  leat_status_t status = leat_thread_start(name, fn, data, &thread);
  if (!status) leat_thread_detach(thread);
  leat_status_free(status);
  return !status;
}

// What the C core calls an error is often only a peer that is not there.
static void log_text(bool is_error, const char* text) {
  leat_log(is_error ? LEAT_LOG_INFO : LEAT_LOG_DEBUG, "gRPC: %s", text);
}

// A peer may send any number as a code.
static leat_status_t make_status(int code, leat_string_view_t message) {
  if (code < LEAT_OK || code > LEAT_UNAUTHENTICATED) {
    return leat_make_status(LEAT_UNKNOWN, "%.*s (the peer's code is %d)", LEAT_SV_ARG(message),
                            code);
  }
  return leat_make_status((leat_status_code_t)code, "%.*s", LEAT_SV_ARG(message));
}

static void finish(leat_rpc_done_fn_t done, void* data, int code, leat_string_view_t message,
                   leat_string_view_t details, leat_rpc_bytes_t answer) {
  done(data, make_status(code, message), details, answer);
}

static const leat_rpc_host_t host = {
    .allocate = allocate,
    .free = free_memory,
    .now_ns = leat_clock_now_ns,
    .start_thread = start_thread,
    .mutex_initialize = leat_mutex_initialize,
    .mutex_deinitialize = leat_mutex_deinitialize,
    .condition_initialize = leat_condition_initialize,
    .condition_deinitialize = leat_condition_deinitialize,
    .condition_wait_until = leat_condition_wait_until,
    .condition_notify_one = leat_condition_notify_one,
    .condition_notify_all = leat_condition_notify_all,
    .log = log_text,
    .finish = finish,
};

static leat_status_t load(const leat_rpc_module_t** out_module) {
  const void* table;
  LEAT_RETURN_IF_ERROR(leat_module_load(&grpc, &table));
  *out_module = table;
  (*out_module)->initialize(&host);
  return leat_ok_status();
}

void leat_rpc_use_module(const leat_rpc_module_t* module) { atomic_store(&grpc.table, module); }

// The module where it is known to be loaded.
static const leat_rpc_module_t* module(void) {
  const leat_rpc_module_t* loaded = atomic_load_explicit(&grpc.table, memory_order_acquire);
  LEAT_DCHECK(loaded);
  return loaded;
}

// ---- Addresses and security ---------------------------------------------------------------------

// The C core would take a port modulo 65536.
static leat_status_t check_address(leat_string_view_t address) {
  const size_t colon = leat_string_view_find_last(address, ':');
  int64_t port = -1;
  const bool is_right =
      colon != SIZE_MAX && colon > 0 &&
      leat_string_view_to_int64(leat_string_view_from_index(address, colon + 1), &port) &&
      port >= 0 && port <= UINT16_MAX;
  if (is_right) return leat_ok_status();
  return leat_make_status(LEAT_INVALID_ARGUMENT,
                          "Reading an address failed: it is '%.*s', must be host:port",
                          LEAT_SV_ARG(address));
}

static leat_status_t clone_pem(leat_string_view_t text, const char** out_text) {
  char* copy = NULL;
  if (text.size) {
    LEAT_RETURN_IF_ERROR(
        leat_allocator_clone_string(leat_allocator_system(), text.data, text.size, &copy));
  }
  *out_text = copy;
  return leat_ok_status();
}

static void free_credentials(leat_rpc_credentials_t* credentials) {
  free_memory((void*)credentials->root_certificates);
  free_memory((void*)credentials->certificate_chain);
  free_memory((void*)credentials->private_key);
}

static leat_status_t check_security(const leat_rpc_security_t* security, bool is_server) {
  const bool has_root = security->root_certificates.size > 0;
  const bool has_chain = security->certificate_chain.size > 0;
  const bool has_key = security->private_key.size > 0;
  const char* fault = NULL;
  if (has_chain != has_key) fault = "a certificate_chain and its private_key must come together";
  if (is_server && has_root && !has_chain) fault = "a server with TLS needs a certificate_chain";
  if (security->requires_client_certificate && !(has_root && has_chain)) {
    fault = "requires_client_certificate needs root_certificates and a certificate_chain";
  }
  if (!fault) return leat_ok_status();
  return leat_make_status(LEAT_INVALID_ARGUMENT, "Setting up TLS failed: %s", fault);
}

// On failure, too, the caller calls free_credentials.
static leat_status_t make_credentials(const leat_rpc_security_t* security, bool is_server,
                                      leat_rpc_credentials_t* out_credentials) {
  *out_credentials = (leat_rpc_credentials_t){
      .requires_client_certificate = security->requires_client_certificate};
  LEAT_RETURN_IF_ERROR(check_security(security, is_server));
  LEAT_RETURN_IF_ERROR(clone_pem(security->root_certificates, &out_credentials->root_certificates));
  LEAT_RETURN_IF_ERROR(clone_pem(security->certificate_chain, &out_credentials->certificate_chain));
  return clone_pem(security->private_key, &out_credentials->private_key);
}

leat_status_t leat_rpc_check_security(const leat_rpc_security_t* security,
                                      leat_string_view_t address, leat_rpc_text_t* out_which,
                                      char* message, size_t message_size) {
  const leat_rpc_module_t* loaded;
  leat_rpc_credentials_t credentials;
  char host[256];
  const size_t colon = leat_string_view_find_last(address, ':');
  const bool has_brackets = leat_string_view_starts_with(address, LEAT_SV("["));
  if (colon != SIZE_MAX) address.size = colon;
  if (has_brackets && leat_string_view_ends_with(address, LEAT_SV("]"))) {
    address = leat_string_view_make(address.data + 1, address.size - 2);
  }
  snprintf(host, sizeof host, "%.*s", LEAT_SV_ARG(address));
  LEAT_RETURN_IF_ERROR(load(&loaded));
  leat_status_t status = make_credentials(security, false, &credentials);
  if (!status) {
    const int code = loaded->check_credentials(&credentials, *host ? host : NULL, out_which,
                                               message, message_size);
    if (code != LEAT_OK) status = leat_make_status((leat_status_code_t)code, "%s", message);
  }
  free_credentials(&credentials);
  return status;
}

// ---- Server -------------------------------------------------------------------------------------

static leat_status_t fail_start(int code, leat_string_view_t address) {
  const char* rule = code == LEAT_UNAVAILABLE        ? "must be free and of this machine"
                     : code == LEAT_INVALID_ARGUMENT ? "the certificates cannot be read"
                                                     : "there is no memory or no thread for it";
  return leat_make_status((leat_status_code_t)code,
                          "Starting a server failed: address is '%.*s', %s", LEAT_SV_ARG(address),
                          rule);
}

leat_status_t leat_rpc_server_start(const leat_rpc_server_options_t* options, int* out_port,
                                    leat_rpc_server_t** out_server) {
  const leat_rpc_module_t* loaded;
  leat_rpc_server_settings_t settings = {.max_message_bytes = options->max_message_bytes,
                                         .handler = options->handler,
                                         .data = options->data,
                                         .streams = options->streams};
  char* address = NULL;
  *out_server = NULL;
  LEAT_RETURN_IF_ERROR(check_address(options->address));
  LEAT_RETURN_IF_ERROR(load(&loaded));
  leat_status_t status = make_credentials(&options->security, true, &settings.credentials);
  if (!status) {
    status = leat_allocator_clone_string(leat_allocator_system(), options->address.data,
                                         options->address.size, &address);
  }
  if (!status) {
    settings.address = address;
    int code = loaded->server_start(&settings, out_port, out_server);
    if (code != LEAT_OK) status = fail_start(code, options->address);
  }
  free_credentials(&settings.credentials);
  free_memory(address);
  return status;
}

bool leat_rpc_is_loopback(leat_string_view_t address) {
  return leat_string_view_starts_with(address, LEAT_SV("localhost:")) ||
         leat_string_view_starts_with(address, LEAT_SV("127.")) ||
         leat_string_view_starts_with(address, LEAT_SV("[::1]:"));
}

leat_status_t leat_rpc_server_start_reachable(const leat_rpc_server_options_t* options,
                                              int* out_port, leat_rpc_server_t** out_server) {
  leat_rpc_server_options_t everywhere = *options;
  const leat_string_view_t address = options->address;
  const size_t colon = leat_string_view_find_last(address, ':');
  char text[32];
  if (colon < address.size && !leat_rpc_is_loopback(address)) {
    snprintf(text, sizeof text, "[::]:%.*s", (int)(address.size - colon - 1),
             address.data + colon + 1);
    everywhere.address = leat_string_view_from(text);
  }
  return leat_rpc_server_start(&everywhere, out_port, out_server);
}

void leat_rpc_answer(leat_rpc_request_t* request, leat_status_t status,
                     leat_string_view_t details, leat_rpc_bytes_t bytes) {
  if (request->answer) {
    request->answer(request, status, details, bytes);
    return;
  }
  module()->answer(request, leat_status_code(status),
                   leat_string_view_from(leat_status_message(status)), details, bytes);
  leat_status_free(status);
}

void leat_rpc_request_on_cancel(leat_rpc_request_t* request, void (*fn)(void* data), void* data) {
  if (!request->answer) {
    module()->request_on_cancel(request, fn, data);
    return;
  }
  leat_rpc_direct_request_t* direct = (leat_rpc_direct_request_t*)request;
  if (direct->is_watched) leat_cancellation_deregister(direct->cancellation, direct->token);
  direct->is_watched =
      fn && leat_cancellation_register(direct->cancellation, fn, data, &direct->token);
  if (fn && !direct->is_watched) fn(data);
}

void leat_rpc_server_stop(leat_rpc_server_t* server) {
  if (server) module()->server_stop(server);
}

// ---- Client -------------------------------------------------------------------------------------

leat_status_t leat_rpc_channel_create(leat_string_view_t address,
                                      const leat_rpc_security_t* security,
                                      leat_rpc_channel_t** out_channel) {
  const leat_rpc_module_t* loaded;
  leat_rpc_credentials_t credentials;
  char* target = NULL;
  *out_channel = NULL;
  LEAT_RETURN_IF_ERROR(check_address(address));
  LEAT_RETURN_IF_ERROR(load(&loaded));
  leat_status_t status = make_credentials(security, false, &credentials);
  if (!status) {
    status = leat_allocator_clone_string(leat_allocator_system(), address.data, address.size,
                                         &target);
  }
  if (!status) {
    int code = loaded->channel_create(target, &credentials, out_channel);
    if (code != LEAT_OK) {
      status = leat_make_status((leat_status_code_t)code,
                                "Opening a channel failed: address is '%.*s', %s",
                                LEAT_SV_ARG(address),
                                code == LEAT_INVALID_ARGUMENT
                                    ? "must be host:port"
                                    : "there is no memory or no thread for it");
    }
  }
  free_credentials(&credentials);
  free_memory(target);
  return status;
}

void leat_rpc_channel_free(leat_rpc_channel_t* channel) {
  if (channel) module()->channel_free(channel);
}

bool leat_rpc_channel_is_busy(leat_rpc_channel_t* channel) {
  return module()->channel_is_busy(channel);
}

void leat_rpc_channel_fail(leat_rpc_channel_t* channel, leat_status_t status) {
  module()->channel_fail(channel, leat_status_code(status), leat_status_message(status));
  leat_status_free(status);
}

void leat_rpc_call(leat_rpc_channel_t* channel, const leat_rpc_call_options_t* options,
                   leat_rpc_done_fn_t done, void* data, leat_rpc_call_t** out_call) {
  module()->call(channel, options, done, data, out_call);
}

void leat_rpc_cancel(leat_rpc_call_t* call) {
  if (call) module()->cancel(call);
}

void leat_rpc_call_free(leat_rpc_call_t* call) {
  if (call) module()->call_free(call);
}
