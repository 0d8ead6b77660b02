// A call to another task that is under way: by gRPC, or on the plane (plane.h).
#ifndef LEAT_CLUSTER_TASK_CALL_H_
#define LEAT_CLUSTER_TASK_CALL_H_

#include "cluster/plane.h"
#include "cluster/rpc.h"

// One of the two. Neither: it cannot be cancelled.
typedef struct leat_task_call_s {
  leat_rpc_call_t* rpc;
  leat_plane_call_t* plane;
} leat_task_call_t;

// Not with a mutex held that the end of the call takes: on the plane a call ends within this.
static inline void leat_task_call_cancel(leat_task_call_t call) {
  leat_rpc_cancel(call.rpc);
  if (call.plane) leat_plane_cancel(call.plane);
}

static inline void leat_task_call_free(leat_task_call_t call) {
  leat_rpc_call_free(call.rpc);
  leat_plane_call_free(call.plane);
}

// Cancels and frees it.
static inline void leat_task_call_drop(leat_task_call_t call) {
  leat_task_call_cancel(call);
  leat_task_call_free(call);
}

#endif  // LEAT_CLUSTER_TASK_CALL_H_
