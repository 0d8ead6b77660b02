// A transport is a way to a worker: it puts something, such as a network, between the master and
// the worker. The target "scheme:rest" of a session names one. src/init.c lists the transports, and
// opens the empty target as a worker of this process that is called directly.
#ifndef LEAT_CLUSTER_TRANSPORT_H_
#define LEAT_CLUSTER_TRANSPORT_H_

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

#endif  // LEAT_CLUSTER_TRANSPORT_H_
