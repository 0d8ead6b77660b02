// RunGraph: a step's part on this task (worker_methods.c has the other methods).
#ifndef LEAT_CLUSTER_WORKER_RUN_H_
#define LEAT_CLUSTER_WORKER_RUN_H_

#include "cluster/service.h"
#include "formats/generated/worker_service.h"

// Serves a RunGraph, whose message is |request|.
void leat_worker_run_graph(leat_service_call_t* call, const void* request);
// Forgets a partial run of the step, if there is one: no further call will name it.
void leat_worker_runs_forget(leat_task_t* task, int64_t step_id);
// Ends the partial runs that no master has called for as long as the task's patience lasts, and
// forgets those that have ended.
void leat_worker_runs_collect(leat_task_t* task, int64_t now_ns);
// Forgets all partial runs and waits until none is running; their steps have been aborted.
void leat_worker_runs_end(leat_task_t* task);

#endif  // LEAT_CLUSTER_WORKER_RUN_H_
