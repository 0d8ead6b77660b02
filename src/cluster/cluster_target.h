// The target of a client's session: this task's devices and those of the other tasks that the
// session may use.
#ifndef LEAT_CLUSTER_CLUSTER_TARGET_H_
#define LEAT_CLUSTER_CLUSTER_TARGET_H_

#include "cluster/task.h"

typedef struct leat_cluster_target_s {
  leat_task_t* task;          // the master's
  leat_string_view_t handle;  // of the session
  leat_string_view_t config;  // a ConfigProto, whose device_filters choose among the tasks
  int64_t deadline_ns;        // for reaching the tasks
} leat_cluster_target_t;

// Makes a session over the target. It fails with what the first task says that cannot be reached
// or refuses.
LEAT_MUST_USE leat_status_t leat_cluster_target_open_session(const leat_cluster_target_t* target,
                                                             leat_shared_graph_t* graph,
                                                             const leat_session_options_t* options,
                                                             leat_session_t** out_session);

// Describes the devices of |task| and those of all other tasks, for a client without a session. A
// task that cannot be reached in time is left out.
LEAT_MUST_USE leat_status_t leat_task_describe_cluster(
    leat_task_t* task, int64_t deadline_ns, leat_arena_t* arena,
    leat_pb_device_attributes_list_t* out_local, leat_pb_device_attributes_list_t* out_remote);
// Empties containers on this task and on all others that the filters leave; no names: the default
// ones. Fails with what the first task says that cannot be reached.
LEAT_MUST_USE leat_status_t leat_task_clear_cluster(leat_task_t* task,
                                                    const leat_pb_string_list_t* containers,
                                                    const leat_pb_string_list_t* filters,
                                                    int64_t deadline_ns);

#endif  // LEAT_CLUSTER_CLUSTER_TARGET_H_
