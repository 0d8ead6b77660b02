// The end of a transport that has the worker: requests (WorkerRequest of
// formats/proto/worker.proto) come in as bytes, become calls of the worker, and what these bring
// goes back as a WorkerReply.
#ifndef LEAT_CLUSTER_WORKER_SERVICE_H_
#define LEAT_CLUSTER_WORKER_SERVICE_H_

#include "cluster/delivery.h"
#include "cluster/shelf.h"
#include "worker/worker.h"

// Lives as long as there are calls; everything is borrowed.
typedef struct leat_worker_service_s {
  leat_worker_t* worker;
  leat_op_registry_t* ops;
  leat_allocator_t* allocator;
  leat_shelf_t* shelf;
  leat_delivery_t* delivery;  // of replies, to |receive_reply|(|replies|)
  leat_letter_fn_t receive_reply;
  // Ends a call that gets no reply, for want of memory. |status| is taken.
  void (*fail_call)(void* replies, uint64_t call, leat_status_t status);
  void* replies;
} leat_worker_service_t;

// A leat_letter_fn_t of a service.
void leat_worker_service_receive(void* service, uint64_t call, char* bytes, size_t size_bytes);

#endif  // LEAT_CLUSTER_WORKER_SERVICE_H_
