// The worker of another task, as a master sees it: the interface of worker/worker.h, whose calls
// become calls of tensorflow.WorkerService. The task may run TensorFlow or Leat.
//
//   register_graph ─▶ RegisterGraph   run_graph ─▶ RunGraph
//   cleanup_step ─▶ CleanupGraph      abort_step ─▶ cancels RunGraph
//   clear_container ─▶ CleanupAll     destroy ─▶ DeleteWorkerSession
//
// A step has no feeds and fetches here: its values come and go by Send and Recv, and the master's
// own task sends what is fed and receives what is fetched (master/partitioner.h).
#ifndef LEAT_CLUSTER_REMOTE_TASK_H_
#define LEAT_CLUSTER_REMOTE_TASK_H_

#include "cluster/task.h"

typedef struct leat_remote_task_options_s {
  int number;                 // of the task in the cluster
  uint64_t incarnation;       // of its devices
  leat_string_view_t handle;  // of the master's session
  leat_string_view_t config;  // its ConfigProto, which is copied
  bool isolates;              // whether it has state of its own
  // Those of the whole cluster, where the session has a cluster of its own; else none.
  leat_pb_device_attributes_list_t devices;
  bool ends_steps;            // the task has described its devices as LEAT_TASK_DESCRIPTION
  int64_t deadline_ns;
} leat_remote_task_options_t;

// Makes a session with another task for the master |task|, and its worker. Blocks until the other
// task has answered, or the deadline has passed.
LEAT_MUST_USE leat_status_t leat_remote_task_open(leat_task_t* task,
                                                  const leat_remote_task_options_t* options,
                                                  leat_worker_t** out_worker);
// Asks task |number| for its devices, waiting for a task that is not up yet. |fn| is called once
// with the answer, a GetStatusResponse.
void leat_remote_task_get_status(leat_task_t* task, int number, int64_t deadline_ns,
                                 leat_rpc_done_fn_t fn, void* data);

// Empties containers of task |number|, by a call of its own; blocks until it has answered.
LEAT_MUST_USE leat_status_t leat_remote_task_clear(leat_task_t* task, int number,
                                                   const leat_pb_string_list_t* containers,
                                                   int64_t deadline_ns);

#endif  // LEAT_CLUSTER_REMOTE_TASK_H_
