// Finds the inputs of an eager client's op, which are among the outputs that the client's contexts
// keep: on this task or on another one. A task fetches what is on another one by an op there,
// Identity, whose number says that its output comes with the answer, so that the other task needs
// no call back. A client of this process (eager_remote.h) fetches in the same way.
#ifndef LEAT_CLUSTER_EAGER_INPUT_H_
#define LEAT_CLUSTER_EAGER_INPUT_H_

#include "cluster/eager_context.h"

#define LEAT_EAGER_ENQUEUE "/tensorflow.eager.EagerService/Enqueue"

// The way to a context that the client has on another task.
typedef struct leat_eager_way_s {
  leat_client_calls_t* calls;
  leat_rpc_channel_t* channel;
  leat_string_view_t task;  // its name, for messages
  uint64_t context_id;
  leat_cancellation_t* cancellation;  // NULL: nobody cancels the call
} leat_eager_way_t;
// Reads the answer to an item, on the thread that has it.
typedef leat_status_t (*leat_eager_read_fn_t)(void* data,
                                              const leat_pb_queue_response_t* response);
// Has the context work on a queue of one item, and waits for the answer, which is decoded in
// |arena|. UNAVAILABLE where the task is gone, and what it says.
LEAT_MUST_USE leat_status_t leat_eager_exchange(const leat_eager_way_t* way,
                                                leat_pb_queue_item_t* item, leat_arena_t* arena,
                                                leat_eager_read_fn_t read, void* data);
// Fetches the tensor that |handle| names, and waits for it. Fails likewise.
LEAT_MUST_USE leat_status_t leat_eager_fetch(const leat_eager_way_t* way,
                                             const leat_pb_remote_tensor_handle_t* handle,
                                             leat_tensor_t* out_tensor);

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
