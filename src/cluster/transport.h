// A transport is a way to a worker: it puts something, such as a network, between the master and
// the worker. The target "scheme:rest" of a session names one. src/init.c lists the transports, and
// opens the empty target as a worker of this process that is called directly. What every transport
// has at its two ends follows: a worker for the master to call, and a service that calls the
// worker, so that a new transport only adds the way between them.
#ifndef LEAT_CLUSTER_TRANSPORT_H_
#define LEAT_CLUSTER_TRANSPORT_H_

#include "cluster/network.h"
#include "cluster/object_table.h"
#include "worker/worker.h"

typedef struct leat_transport_s {
  const char* scheme;
  // Puts the transport before |worker|, which is taken over on success alone. |rest| is the
  // target's text behind the colon; INVALID_ARGUMENT when the transport cannot read it.
  leat_status_t (*join)(leat_string_view_t rest, leat_worker_t* worker, leat_op_registry_t* ops,
                        leat_allocator_t* allocator, leat_worker_t** out_worker);
} leat_transport_t;

// loopback.c: a transport that leads back into this process, for tests. Between the master and the
// worker, every request and every reply is encoded as bytes and goes through a simulated network
// (network.h), which delays and reorders it. The target of such a session is
// "loopback:SEED,MAX_DELAY_US".
extern const leat_transport_t leat_loopback_transport;

// ---- The master's end of a transport (remote_worker.c) ------------------------------------------

// A worker whose calls are encoded as requests (WorkerRequest of formats/proto/worker.proto) and
// sent to a service (below). A call waits in a table of pending calls, and ends when a message
// brings its reply. The functions of the worker may be called from any thread, and do not block.
typedef struct leat_remote_worker_s leat_remote_worker_t;
// A transport embeds the struct (loopback.c). |base| is what the master sees and calls. The
// transport fills the upper fields, and must keep what they point to until it has deinitialized the
// worker.
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

// ---- The worker's end of a transport (worker_service.c) -----------------------------------------

// Requests (WorkerRequest of formats/proto/worker.proto) come in as bytes and become calls of the
// worker; the result of each call goes back as a WorkerReply. A service may receive any number of
// requests at once, on any threads. It must live as long as there are calls; all pointers are
// borrowed.
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

#endif  // LEAT_CLUSTER_TRANSPORT_H_
