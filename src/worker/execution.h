// One run of a plan: what it is given, how it is stopped, how it ends. Two executors do the work
// between the beginning and the end: the sequence (worker/sequence.h) and dataflow
// (worker/dataflow.h). The plan says which; the results are the same.
#ifndef LEAT_WORKER_EXECUTION_H_
#define LEAT_WORKER_EXECUTION_H_

#include "worker/plan.h"

// Made by the caller, who keeps it until |done|.
typedef struct leat_execution_s {
  leat_step_listener_t listener;  // hears how kernels ended; it is the services' |listener|
  leat_plan_t* plan;
  leat_plan_instance_t* instance;  // the run's own; at the end as it was made
  leat_step_services_t services;
  const leat_tensor_t* feeds;
  leat_tensor_t* fetches;
  int64_t deadline_ns;
  int inter_op_threads;        // dataflow: at most so many threads run records; 0 = the pool's
  leat_step_waiter_t* waiter;  // or NULL
  _Atomic(int64_t) calls;      // of functions; the services' where the step is no call itself
  // Set by leat_execution_stop, from any thread: the step ends with |stop_status|, which the maker
  // of the execution frees when it can no longer be stopped.
  _Atomic(bool) stopped;
  leat_spinlock_t stop_lock;
  leat_status_t stop_status;
  // The executor's.
  uint32_t next;           // sequence: the record to go on with
  bool leaves_slots;       // dataflow does, of what was dead
  leat_status_t status;    // of all records, while the device still works
  leat_worker_done_fn_t done;
  void* done_data;
  // The asynchronous kernel that a sequence waits for. Most steps have none, so the maker of the
  // execution zeroes only what stands before this member.
  leat_async_call_t call;
} leat_execution_t;

// Runs the step and calls |done| once with its status; the fetches are filled when that is OK.
// |done| may be called before this returns, on this thread or another; always before, where the
// plan says |ends_at_once|.
void leat_execution_start(leat_execution_t* execution, leat_worker_done_fn_t done, void* data);
// Ends the step with |status| as soon as its running kernels end. The first status wins: where
// there is one already, |status| stays the caller's and the answer is false. Allocates and frees
// nothing.
bool leat_execution_try_stop(leat_execution_t* execution, leat_status_t status);
// Does what leat_execution_try_stop does, but takes |status| over in any case.
void leat_execution_stop(leat_execution_t* execution, leat_status_t status);

// ---- For the executors --------------------------------------------------------------------------

// The status to end with when the step was stopped or its deadline has passed, else OK.
LEAT_MUST_USE leat_status_t leat_execution_check(leat_execution_t* execution);
// Runs |fn|(|data|), which goes on with a step after an asynchronous kernel, here or, when too many
// such calls are nested on this thread already, on the pool.
void leat_execution_resume(leat_execution_t* execution, leat_task_fn_t fn, void* data);
// The error of a Switch whose |predicate| is no scalar.
LEAT_MUST_USE leat_status_t leat_switch_refuse(const leat_kernel_t* kernel,
                                               const leat_tensor_t* predicate);
// The side that a Switch takes. INVALID_ARGUMENT when |predicate| is no scalar.
LEAT_MUST_USE static inline leat_status_t leat_switch_choose(const leat_kernel_t* kernel,
                                                             const leat_tensor_t* predicate,
                                                             uint32_t* out_side) {
  if (LEAT_UNLIKELY(predicate->shape.rank != 0)) return leat_switch_refuse(kernel, predicate);
  LEAT_DCHECK(leat_dtype_base(predicate->dtype) == LEAT_DTYPE_BOOL);
  // Read as a byte: the side is an index, and must be 0 or 1 whatever a kernel left there.
  *out_side = *leat_tensor_data(predicate, const uint8_t) != 0;
  return leat_ok_status();
}
// All records have run, or |status| says why not: waits for the device where they enqueued work,
// then moves or shares the fetches out when all is well, empties the instance and calls done.
void leat_execution_finish(leat_execution_t* execution, leat_status_t status);

#endif  // LEAT_WORKER_EXECUTION_H_
