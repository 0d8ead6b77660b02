// A task of a worker: what the dispatcher said of it, and, from the first request for an element
// on, what makes its elements.
#ifndef LEAT_DATA_SERVICE_WORKER_TASK_H_
#define LEAT_DATA_SERVICE_WORKER_TASK_H_

#include "cluster/rpc.h"
#include "data_service/task_runner.h"

typedef struct leat_worker_task_s {
  struct leat_worker_task_s* next;  // of the worker's list
  leat_reference_count_t references;
  leat_arena_t arena;  // of |def|
  leat_pb_task_def_t def;
  leat_mutex_t mutex;  // guards what follows; held while the runner is made
  leat_task_runner_t* runner;
  struct leat_worker_splits_s** splits;  // [split_count], where the sharding is dynamic
  size_t split_count;
  bool is_stopped;
} leat_worker_task_t;

// What a task needs of its worker to make elements; borrowed.
typedef struct leat_worker_task_context_s {
  const leat_runtime_t* runtime;
  leat_string_view_t address;      // of the worker
  leat_rpc_channel_t* dispatcher;
  int64_t dispatcher_timeout_ms;
  int64_t window_bytes;
} leat_worker_task_context_t;

// Makes a task with one reference, the caller's. |def| is copied.
LEAT_MUST_USE leat_status_t leat_worker_task_create(const leat_pb_task_def_t* def,
                                                    leat_worker_task_t** out_task);
void leat_worker_task_release(leat_worker_task_t* task);  // NULL is allowed
// Gives the runner, which is made at the first call. The next call tries again after a failure.
// CANCELLED where the task was stopped, UNIMPLEMENTED for a way of sharding that is not there.
LEAT_MUST_USE leat_status_t leat_worker_task_open(leat_worker_task_t* task,
                                                  const leat_worker_task_context_t* context,
                                                  leat_task_runner_t** out_runner);
// Ends the task: whoever waits for an element gets CANCELLED.
void leat_worker_task_stop(leat_worker_task_t* task);

#endif  // LEAT_DATA_SERVICE_WORKER_TASK_H_
