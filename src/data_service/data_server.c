// Listens for a dispatcher or a worker. A worker must know its port before it registers, so that it
// is made first, serves with UNAVAILABLE for a moment, and is started when the port is known.
// Stopping has an order: calls that wait inside the dispatcher or the worker are ended, which lets
// leat_rpc_server_stop come to its end, and only then are they freed.
#include "data_service/data_server.h"

#include <stdio.h>
#include <string.h>

#include "cluster/security.h"

struct leat_data_server_s {
  leat_security_t security;
  bool has_security;
  leat_dispatcher_t* dispatcher;
  leat_data_worker_t* worker;
  leat_data_endpoint_t service;
  leat_rpc_server_t* listener;
  int port;
  char address[280];
};

static leat_status_t listen(leat_data_server_t* server, leat_string_view_t address) {
  const size_t colon = leat_string_view_find_last(address, ':');
  if (colon >= address.size || address.size > 256) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "Starting a data service failed: the address is '%.*s', must be "
                            "HOST:PORT",
                            LEAT_SV_ARG(address));
  }
  const leat_rpc_server_options_t options = {.address = address,
                                             .security = server->security.rpc,
                                             .handler = leat_data_endpoint_handle,
                                             .data = &server->service};
  LEAT_RETURN_IF_ERROR(
      leat_rpc_server_start_reachable(&options, &server->port, &server->listener));
  snprintf(server->address, sizeof server->address, "%.*s:%d", (int)colon, address.data,
           server->port);
  return leat_ok_status();
}

static leat_status_t start(leat_data_server_t* server, const leat_data_server_options_t* options) {
  LEAT_RETURN_IF_ERROR(leat_security_initialize(options->address, &server->security));
  server->has_security = true;
  if (options->dispatcher) {
    LEAT_RETURN_IF_ERROR(leat_dispatcher_create(options->dispatcher, &server->dispatcher));
    server->service = (leat_data_endpoint_t){LEAT_SV("/tensorflow.data.DispatcherService/"),
                                            leat_dispatcher_methods, server->dispatcher};
  } else {
    LEAT_RETURN_IF_ERROR(leat_data_worker_create(options->worker, &server->worker));
    server->service = (leat_data_endpoint_t){LEAT_SV("/tensorflow.data.WorkerService/"),
                                            leat_data_worker_methods, server->worker};
  }
  LEAT_RETURN_IF_ERROR(listen(server, options->address));
  if (!server->worker) return leat_ok_status();
  return leat_data_worker_start(server->worker, leat_string_view_from(server->address));
}

leat_status_t leat_data_server_start(const leat_data_server_options_t* options,
                                     leat_data_server_t** out_server) {
  leat_data_server_t* server;
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(leat_allocator_system(), 1, &server));
  leat_status_t status = start(server, options);
  if (status) {
    leat_data_server_stop(server);
    return status;
  }
  *out_server = server;
  return leat_ok_status();
}

const char* leat_data_server_address(const leat_data_server_t* server) { return server->address; }
int leat_data_server_port(const leat_data_server_t* server) { return server->port; }

size_t leat_data_server_count(leat_data_server_t* server) {
  return server->dispatcher ? leat_dispatcher_count_workers(server->dispatcher)
                            : leat_data_worker_count_tasks(server->worker);
}

bool leat_data_server_is_ready(leat_data_server_t* server) {
  return !server->worker || leat_data_worker_is_registered(server->worker);
}

void leat_data_server_stop(leat_data_server_t* server) {
  if (!server) return;
  if (server->dispatcher) leat_dispatcher_stop(server->dispatcher);
  if (server->worker) leat_data_worker_stop(server->worker);
  leat_rpc_server_stop(server->listener);
  leat_dispatcher_free(server->dispatcher);
  leat_data_worker_free(server->worker);
  if (server->has_security) leat_security_deinitialize(&server->security);
  leat_allocator_free(leat_allocator_system(), server);
}
