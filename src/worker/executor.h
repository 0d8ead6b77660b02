// Runs a plan once. Two executors, same results: the linear one is a list of calls on the caller's
// thread; the dataflow one counts pending inputs, runs cheap nodes inline and gives the rest to the
// pool, and lets asynchronous kernels finish elsewhere.
#ifndef LEAT_WORKER_EXECUTOR_H_
#define LEAT_WORKER_EXECUTOR_H_

#include "worker/plan.h"

// One run of a plan. Made by the caller, who keeps it until |done|.
typedef struct leat_execution_s {
  leat_step_work_t work;  // hears of the plan's kernels that enqueue; the services' |work|
  leat_plan_t* plan;
  leat_plan_instance_t* instance;  // the run's own; at the end as it was made
  leat_step_services_t services;
  const leat_tensor_t* feeds;
  leat_tensor_t* fetches;
  int64_t deadline_ns;
  leat_step_waiter_t* waiter;  // or NULL
  _Atomic(int64_t) calls;      // of functions; the services' where the step is no call itself
  // Set by leat_execution_stop, from any thread: the step ends with |stop_status|, which the maker
  // of the execution frees when it can no longer be stopped.
  _Atomic(bool) stopped;
  leat_spinlock_t stop_lock;
  leat_status_t stop_status;
  // The executor's.
  bool leaves_slots;  // the dataflow executor does, of what was dead
  leat_kernel_context_t awaited;  // of the record that the linear executor waits for
  _Atomic(int) awaited_state;
  leat_status_t awaited_status;  // of the record, then of all records while the device works on
  int64_t awaited_start_ns;
  leat_worker_done_fn_t done;
  void* done_data;
} leat_execution_t;

// Calls |done| once with the step's status; the fetches are filled when it is OK. The linear
// executor calls it before it returns.
void leat_execution_start(leat_execution_t* execution, leat_executor_kind_t kind,
                          leat_worker_done_fn_t done, void* data);
// |status| is taken; the first wins. The step ends as soon as its running kernels do.
void leat_execution_stop(leat_execution_t* execution, leat_status_t status);

// ---- Between the executors ----------------------------------------------------------------------

void leat_execution_run_linear(leat_execution_t* execution);
void leat_execution_run_awaiting(leat_execution_t* execution);  // linear but for one record
void leat_execution_run_dataflow(leat_execution_t* execution);
void leat_execution_run_ordered(leat_execution_t* execution);  // control flow on this thread
void leat_execution_run_single(leat_execution_t* execution);  // dataflow on this thread alone
// The status to end with when the step was stopped or its deadline has passed, else OK.
LEAT_MUST_USE leat_status_t leat_execution_check(leat_execution_t* execution);
// Prepares the inputs of a record that has references or a contract.
LEAT_MUST_USE leat_status_t leat_execution_prepare(leat_execution_t* execution, leat_slot_t* slots,
                                                   uint32_t record,
                                                   const leat_kernel_context_t* context);
// What a stateful kernel gave: a value of a queue, a container or another device is of the type
// that somebody else declared. INTERNAL when it is not this node's.
LEAT_MUST_USE leat_status_t leat_execution_verify(const leat_kernel_context_t* context);
// INVALID_ARGUMENT for a Switch whose |predicate| is no scalar.
LEAT_MUST_USE leat_status_t leat_switch_refuse(const leat_kernel_t* kernel,
                                               const leat_tensor_t* predicate);
// Notes a record that has run, for the step's collector.
void leat_execution_trace(leat_execution_t* execution, const leat_slot_t* slots, uint32_t record,
                          int64_t start_ns);
// Names the node in |status| when the kernel did not.
LEAT_MUST_USE leat_status_t leat_execution_annotate(leat_execution_t* execution,
                                                    uint32_t record, leat_status_t status);
// All records have run, or |status| says why not: waits for the device where they enqueued work,
// then moves or shares the fetches out when all is well, empties the instance and calls done.
void leat_execution_finish(leat_execution_t* execution, leat_status_t status);

#endif  // LEAT_WORKER_EXECUTOR_H_
