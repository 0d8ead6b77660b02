// Eager ops on other tasks, the client's side: what a context of this process (capi/eager/eager.h)
// calls once it was told of a cluster (TFE_ContextSetServerDef). The process then is one task of
// the cluster, with a server of its own, and has an eager context on each of the others
// (tensorflow.eager.EagerService), which may run Leat or TensorFlow:
//
//   leat_eager_cluster_execute ─▶ Enqueue ─▶ context on the task ─▶ kernel
//   leat_remote_tensor_t       ◀── shape ◀──┘  keeps the outputs until they are released
//
// An op is a call, which ends when the op has. Inputs that are here go along with it; those on a
// third task are fetched first. Outputs stay where the op ran. A task that dies or falls silent
// (heartbeat.h) makes calls fail with UNAVAILABLE, and one that was restarted with ABORTED, since
// the context is gone; leat_eager_cluster_update makes a new one. All functions may be called from
// any thread, and block until the tasks have answered, but for releasing.
#ifndef LEAT_CLUSTER_EAGER_REMOTE_H_
#define LEAT_CLUSTER_EAGER_REMOTE_H_

#include "cluster/eager_function.h"

typedef struct leat_eager_cluster_s leat_eager_cluster_t;

typedef struct leat_eager_cluster_options_s {
  const leat_runtime_t* runtime;
  leat_string_view_t server_def;             // a ServerDef, encoded
  leat_eager_home_t home;  // of the client's context; borrowed until the cluster is closed
  int keep_alive_secs;  // how long contexts outlive a client that died; 0 or less: for ever
  int64_t timeout_ms;   // to reach all tasks; 0 or less: as long as it takes
  bool is_async;
  bool clears_contexts;  // of former clients on all tasks
} leat_eager_cluster_options_t;

// Starts this process's server and makes a context on each other task, waiting for those that are
// not up. It fails as leat_server_create and leat_server_start do, with what the first task says
// that refuses, and with DEADLINE_EXCEEDED. The caller closes the cluster and releases it.
LEAT_MUST_USE leat_status_t leat_eager_cluster_create(const leat_eager_cluster_options_t* options,
                                                      leat_eager_cluster_t** out_cluster);
// Has the tasks that |options| name from now on: contexts are made on new and restarted tasks, and
// closed on those that are not named any more. INVALID_ARGUMENT where this process's own task would
// be another one. After a failure on a new task the cluster is as it was.
LEAT_MUST_USE leat_status_t leat_eager_cluster_update(leat_eager_cluster_t* cluster,
                                                      const leat_eager_cluster_options_t* options);
// Ends calls under way with CANCELLED, closes all contexts and stops the server. Later calls fail
// with FAILED_PRECONDITION. To be called once, before the last release.
void leat_eager_cluster_close(leat_eager_cluster_t* cluster);
void leat_eager_cluster_retain(leat_eager_cluster_t* cluster);
void leat_eager_cluster_release(leat_eager_cluster_t* cluster);  // NULL is allowed
// Whether task |name| ("/job:worker/replica:0/task:1") answers now. INVALID_ARGUMENT where the
// cluster has no other task of that name.
LEAT_MUST_USE leat_status_t leat_eager_cluster_check_alive(leat_eager_cluster_t* cluster,
                                                           leat_string_view_t name,
                                                           bool* out_is_alive);

// ---- Devices ------------------------------------------------------------------------------------

// All devices of the cluster, this process's first, in |arena|.
LEAT_MUST_USE leat_status_t leat_eager_cluster_list_devices(leat_eager_cluster_t* cluster,
                                                            leat_arena_t* arena,
                                                            leat_placement_device_t** out_devices,
                                                            int* out_count);
// The full name of the first device that |name|, full or in part, means, in the cluster's memory,
// and whether it is this process's. INVALID_ARGUMENT where there is none.
LEAT_MUST_USE leat_status_t leat_eager_cluster_find_device(leat_eager_cluster_t* cluster,
                                                           leat_string_view_t name,
                                                           const char** out_name,
                                                           bool* out_is_local);
// "/job:worker/replica:0/task:0/device:CPU:0", the first device of this process; borrowed.
const char* leat_eager_cluster_local_device(const leat_eager_cluster_t* cluster);

// ---- Functions ----------------------------------------------------------------------------------

// Tells all tasks of a function, which the client's library has by now, or that it is removed.
LEAT_MUST_USE leat_status_t leat_eager_cluster_add_function(leat_eager_cluster_t* cluster,
                                                            const leat_pb_function_def_t* function);
LEAT_MUST_USE leat_status_t leat_eager_cluster_remove_function(leat_eager_cluster_t* cluster,
                                                               leat_string_view_t name);

// ---- Tensors and ops ----------------------------------------------------------------------------

// A tensor on another task. It is let go of there with the last reference here.
typedef struct leat_remote_tensor_s {
  leat_reference_count_t references;
  leat_eager_cluster_t* cluster;  // retained
  struct leat_eager_peer_s* peer;
  int64_t op_id;
  int32_t output;
  int32_t dtype;
  const char* device;  // its full name, in the cluster's memory
} leat_remote_tensor_t;

static inline void leat_remote_tensor_retain(leat_remote_tensor_t* tensor) {
  if (tensor) leat_reference_count_retain(&tensor->references);
}
void leat_remote_tensor_release(leat_remote_tensor_t* tensor);  // NULL is allowed

// An input of an op: a tensor elsewhere or, where |remote| is NULL, here.
typedef struct leat_eager_input_s {
  const leat_tensor_t* tensor;
  leat_remote_tensor_t* remote;
} leat_eager_input_t;

// Calls a function in this process, where its nodes, or resources among its arguments, are on other
// tasks too (eager_function.h). |call->device| is the cluster's. |*out_is_done| is false where it
// needs none of them, and then nothing has happened.
LEAT_MUST_USE leat_status_t leat_eager_cluster_call(leat_eager_cluster_t* cluster,
                                                    const leat_eager_call_t* call,
                                                    bool* out_is_done,
                                                    leat_tensor_t** out_outputs, int* out_count);

typedef struct leat_eager_remote_op_s {
  const char* device;         // as leat_eager_cluster_find_device gave it
  const leat_node_t* node;    // the op with its attributes
  bool is_function;
  const leat_eager_input_t* inputs;    // [node->input_count]
  leat_cancellation_t* cancellation;   // NULL: nobody cancels the op
} leat_eager_remote_op_t;

// Runs an op. |out_outputs| and |out_shapes| [node->output_count] are the caller's to release.
LEAT_MUST_USE leat_status_t leat_eager_cluster_execute(leat_eager_cluster_t* cluster,
                                                       const leat_eager_remote_op_t* op,
                                                       leat_remote_tensor_t** out_outputs,
                                                       leat_shape_t* out_shapes);
// The value of a tensor elsewhere, which the caller releases.
LEAT_MUST_USE leat_status_t leat_remote_tensor_fetch(leat_remote_tensor_t* tensor,
                                                     leat_tensor_t* out_tensor);
// Copies a tensor of this process to a device of another task.
LEAT_MUST_USE leat_status_t leat_eager_cluster_send(leat_eager_cluster_t* cluster,
                                                    const char* device,
                                                    const leat_tensor_t* tensor,
                                                    leat_remote_tensor_t** out_tensor);

#endif  // LEAT_CLUSTER_EAGER_REMOTE_H_
