// The inputs that an op of an eager client has elsewhere: among the outputs that the client's
// contexts keep, on this task and on others. What is on another task is fetched by an op there,
// Identity, whose number says that its output comes with the answer, so that neither task needs
// another call to the other. Both a task and a client of this process (eager_remote.h) fetch so.
#ifndef LEAT_CLUSTER_EAGER_INPUT_H_
#define LEAT_CLUSTER_EAGER_INPUT_H_

#include "cluster/eager_context.h"

#define LEAT_EAGER_ENQUEUE "/tensorflow.eager.EagerService/Enqueue"

typedef struct leat_eager_fetch_s {
  leat_client_calls_t* calls;
  leat_rpc_channel_t* channel;
  leat_string_view_t task;  // its name, for messages
  uint64_t context_id;
  leat_pb_remote_tensor_handle_t handle;
  leat_cancellation_t* cancellation;  // NULL: nobody cancels it
} leat_eager_fetch_t;
// Fetches a tensor and waits for it. UNAVAILABLE where the task is gone, and what it says.
LEAT_MUST_USE leat_status_t leat_eager_fetch(const leat_eager_fetch_t* fetch,
                                             leat_tensor_t* out_tensor);
// |status| (taken), as what a task said.
LEAT_MUST_USE leat_status_t leat_eager_told_by(leat_string_view_t task, leat_status_t status);

void leat_eager_inputs_initialize(leat_eager_inputs_t* out_inputs);
void leat_eager_inputs_deinitialize(leat_eager_inputs_t* inputs);  // no fetch is under way
// The tensor that |handle| names, which may be on another task of the client's cluster. The handle
// of a resource is fetched once. INVALID_ARGUMENT where there is no such tensor (any more), or no
// such task.
LEAT_MUST_USE leat_status_t leat_eager_input_find(leat_eager_context_t* context,
                                                  const leat_pb_remote_tensor_handle_t* handle,
                                                  leat_cancellation_t* cancellation,
                                                  leat_tensor_t* out_tensor);

#endif  // LEAT_CLUSTER_EAGER_INPUT_H_
