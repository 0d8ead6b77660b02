// The worker's end of a transport: requests (WorkerRequest of formats/proto/worker.proto) come in
// as bytes and become calls of the worker; the result of each call goes back as a WorkerReply. A
// service may receive any number of requests at once, on any threads.
#ifndef LEAT_CLUSTER_WORKER_SERVICE_H_
#define LEAT_CLUSTER_WORKER_SERVICE_H_

#include "cluster/network.h"
#include "cluster/object_table.h"
#include "worker/worker.h"

// Must live as long as there are calls; all pointers are borrowed.
typedef struct leat_worker_service_s {
  leat_worker_t* worker;
  leat_op_registry_t* ops;
  leat_allocator_t* allocator;
  // Values that cannot be encoded as bytes; the remote worker has the same table.
  leat_object_table_t* objects;
  leat_network_t* network;  // brings replies to |receive_reply|(|replies|, ...)
  leat_network_receive_fn_t receive_reply;
  // Ends a call for whose reply there is no memory. |status| is taken over.
  void (*fail_call)(void* replies, uint64_t call, leat_status_t status);
  void* replies;
} leat_worker_service_t;

// A leat_network_receive_fn_t: serves one request, whose number is |call| (0: it wants no reply).
void leat_worker_service_receive(void* service, uint64_t call, char* bytes, size_t size_bytes);

#endif  // LEAT_CLUSTER_WORKER_SERVICE_H_
