// The master's end of a transport: a worker whose calls are encoded as requests (WorkerRequest of
// formats/proto/worker.proto) and sent to a service (worker_service.h). A call waits in a table of
// pending calls, and ends when a message brings its reply. The functions of the worker may be
// called from any thread, and do not block.
#ifndef LEAT_CLUSTER_REMOTE_WORKER_H_
#define LEAT_CLUSTER_REMOTE_WORKER_H_

#include "cluster/network.h"
#include "cluster/object_table.h"
#include "worker/worker.h"

typedef struct leat_remote_worker_s leat_remote_worker_t;
// The worker, whose struct a transport embeds (loopback.c). |base| is what the master sees and
// calls. The transport fills the upper fields, and must keep what they point to until it has
// deinitialized the worker.
struct leat_remote_worker_s {
  leat_worker_t base;
  // Set by the transport before leat_remote_worker_initialize; borrowed.
  leat_allocator_t* allocator;
  // Values that cannot be encoded as bytes; the service has the same table.
  leat_object_table_t* objects;
  leat_network_t* network;  // brings requests to |receive_request|(|requests|, ...)
  leat_network_receive_fn_t receive_request;
  void* requests;
  leat_worker_t* direct;  // called directly when there is no memory for a message without reply
  void (*destroy)(leat_remote_worker_t* self);  // what the worker's vtable calls
  // Set by leat_remote_worker_initialize.
  leat_object_table_t calls;  // pending calls, by the number that request and reply carry
  leat_mutex_t mutex;
  leat_word_map_t edge_counts;  // handle -> feeds << 32 | fetches; under |mutex|
};

// Initializes a worker whose upper fields are set.
void leat_remote_worker_initialize(leat_remote_worker_t* worker);
void leat_remote_worker_deinitialize(leat_remote_worker_t* worker);  // no call may be pending

// A leat_network_receive_fn_t: takes the reply of |call| and ends the call.
void leat_remote_worker_receive(void* worker, uint64_t call, char* bytes, size_t size_bytes);
// Ends a call whose reply will not come, with |status|, which is taken over.
void leat_remote_worker_fail(void* worker, uint64_t call, leat_status_t status);

#endif  // LEAT_CLUSTER_REMOTE_WORKER_H_
