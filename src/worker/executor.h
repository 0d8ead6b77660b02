// Runs a plan once. Two executors, same results: the linear one is a list of calls on the caller's
// thread; the dataflow one counts pending inputs, runs cheap nodes inline and gives the rest to the
// pool, and lets asynchronous kernels finish elsewhere.
#ifndef LEAT_WORKER_EXECUTOR_H_
#define LEAT_WORKER_EXECUTOR_H_

#include "worker/plan.h"

typedef struct leat_execution_s {
  leat_plan_t* plan;
  leat_step_services_t services;
  const leat_tensor_t* feeds;
  leat_tensor_t* fetches;
  int64_t deadline_ns;
  _Atomic(int) stop_code;  // leat_status_code_t set by abort: the step ends with |stop_status|
  leat_spinlock_t stop_lock;
  leat_status_t stop_status;
  leat_executor_kind_t executor;
} leat_execution_t;

// Calls |done| once with the step's status; the fetches are filled when it is OK. |execution| lives
// until then.
void leat_execution_start(leat_execution_t* execution, leat_worker_done_fn_t done, void* data);
// Thread-safe; |status| is taken; the first wins. The step ends as soon as its running kernels do.
void leat_execution_stop(leat_execution_t* execution, leat_status_t status);

#endif  // LEAT_WORKER_EXECUTOR_H_
