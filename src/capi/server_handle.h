// The struct behind TF_Server, for the files that make and use one.
#ifndef LEAT_CAPI_SERVER_HANDLE_H_
#define LEAT_CAPI_SERVER_HANDLE_H_

#include "cluster/server.h"
#include "leat/cluster.h"

struct TF_Server {
  leat_server_t* server;
  void (*observer)(void* data, const leat_server_event_t* event);
  void* observer_data;
};

#endif  // LEAT_CAPI_SERVER_HANDLE_H_
