// A process of a data service: a dispatcher or a worker, and the port that it listens on.
#ifndef LEAT_DATA_SERVICE_DATA_SERVER_H_
#define LEAT_DATA_SERVICE_DATA_SERVER_H_

#include "data_service/dispatcher.h"
#include "data_service/worker.h"

typedef struct leat_data_server_s leat_data_server_t;

typedef struct leat_data_server_options_s {
  // "host:port", by which the others reach it; port 0 takes a free one. It listens on the loopback
  // address where the host is this machine alone, else on all of its addresses.
  leat_string_view_t address;
  // One of the two; NULL: it is the other.
  const leat_dispatcher_options_t* dispatcher;
  const leat_data_worker_options_t* worker;
} leat_data_server_options_t;

// Listens, and of a worker has it register with its dispatcher, for which nobody waits. The
// certificates are the environment's (cluster/security.h). UNIMPLEMENTED where the module for gRPC
// is absent, UNAVAILABLE where the port is taken, INVALID_ARGUMENT for an address without a port.
LEAT_MUST_USE leat_status_t leat_data_server_start(const leat_data_server_options_t* options,
                                                   leat_data_server_t** out_server);
// "host:port", with the port that it listens on; borrowed.
const char* leat_data_server_address(const leat_data_server_t* server);
int leat_data_server_port(const leat_data_server_t* server);
// Of a dispatcher the number of workers that have registered, of a worker that of its tasks.
size_t leat_data_server_count(leat_data_server_t* server);
// Whether a worker has registered; true of a dispatcher.
bool leat_data_server_is_ready(leat_data_server_t* server);
// Takes no more calls, ends those under way with CANCELLED, and waits until they have ended; then
// frees the server. NULL is allowed.
void leat_data_server_stop(leat_data_server_t* server);

#endif  // LEAT_DATA_SERVICE_DATA_SERVER_H_
