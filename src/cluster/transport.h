// Ways to a worker. A session's target "scheme:rest" names one: src/init.c lists them, and opens
// the target "" as a worker of this process that is called directly.
#ifndef LEAT_CLUSTER_TRANSPORT_H_
#define LEAT_CLUSTER_TRANSPORT_H_

#include "worker/worker.h"

typedef struct leat_transport_s {
  const char* scheme;
  // Puts the transport before |worker| (taken over on success only). |rest| is what follows the
  // colon; INVALID_ARGUMENT for what the transport cannot read.
  leat_status_t (*join)(leat_string_view_t rest, leat_worker_t* worker, leat_op_registry_t* ops,
                        leat_allocator_t* allocator, leat_worker_t** out_worker);
} leat_transport_t;

#endif  // LEAT_CLUSTER_TRANSPORT_H_
