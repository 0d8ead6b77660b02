// The dataflow executor: a record runs when its pending count is zero. The thread that makes a
// record ready keeps it on its own list and runs it next, unless it is expensive and there is other
// work here: then it becomes a task of the pool. Asynchronous kernels hold the step open and
// continue wherever they finish. The step ends when its last activity (a running list or an
// asynchronous kernel) does.
#include <string.h>

#include "kernel/cancellation.h"
#include "kernel/rendezvous.h"
#include "trace/collector.h"
#include "worker/executor.h"

#define NONE UINT32_MAX

typedef struct dataflow_s {
  leat_execution_t* execution;
  const leat_plan_t* plan;
  leat_plan_instance_t* instance;
  bool parallel;
  _Atomic(int64_t) activities;
  _Atomic(bool) failed;
  leat_spinlock_t lock;
  leat_status_t status;  // the first failure
} dataflow_t;

// An asynchronous kernel under way. One that completes before its start returns goes on in the
// list it was started from: |state| tells which of the two comes second and has to act.
typedef enum { CALL_STARTING, CALL_STARTED, CALL_DONE } call_state_t;
typedef struct async_call_s {
  leat_kernel_context_t context;
  dataflow_t* dataflow;
  uint32_t record;
  int64_t start_ns;
  _Atomic(int) state;
  leat_status_t status;
} async_call_t;

typedef struct task_s {
  dataflow_t* dataflow;
  uint32_t record;
} task_t;

// Ready records of one thread, linked through instance->next_ready.
typedef struct ready_list_s {
  uint32_t first;
} ready_list_t;

// The first failure ends whatever of the step waits: for a queue, or for another device.
static void fail(dataflow_t* d, leat_status_t status) {
  const leat_step_services_t* services = &d->execution->services;
  leat_status_t cause = services->rendezvous ? leat_status_clone(status) : NULL;
  leat_spinlock_lock(&d->lock);
  d->status = leat_status_join(d->status, status);
  leat_spinlock_unlock(&d->lock);
  if (!atomic_exchange_explicit(&d->failed, true, memory_order_acq_rel)) {
    if (services->cancellation) leat_cancellation_cancel(services->cancellation);
    if (cause) services->rendezvous->vtable->abort(services->rendezvous, cause);
  }
  leat_status_free(cause);
}

static void end_activity(dataflow_t* d) {
  if (atomic_fetch_sub_explicit(&d->activities, 1, memory_order_acq_rel) != 1) return;
  leat_execution_t* execution = d->execution;
  leat_status_t status = d->status;
  leat_allocator_free(d->plan->allocator, d);
  leat_execution_finish(execution, status);
}

static void push(dataflow_t* d, ready_list_t* ready, uint32_t record) {
  d->instance->next_ready[record] = ready->first;
  ready->first = record;
}

static void run_list(dataflow_t* d, ready_list_t* ready);

static void run_task(void* data) {
  task_t task = *(task_t*)data;
  leat_allocator_free(task.dataflow->plan->allocator, data);
  ready_list_t ready = {NONE};
  push(task.dataflow, &ready, task.record);
  run_list(task.dataflow, &ready);
  end_activity(task.dataflow);
}

// Keeps |record| here, or hands it to the pool when it is worth a thread and this one has work.
static void dispatch(dataflow_t* d, ready_list_t* ready, uint32_t record) {
  bool hand_over = d->parallel && ready->first != NONE &&
                   (d->plan->records[record].flags & LEAT_RECORD_EXPENSIVE);
  task_t* task;
  if (hand_over) {
    leat_status_t status =
        leat_allocator_allocate(d->plan->allocator, sizeof *task, (void**)&task);
    if (!status) {
      *task = (task_t){d, record};
      atomic_fetch_add_explicit(&d->activities, 1, memory_order_relaxed);
      leat_thread_pool_schedule(d->execution->services.pool, run_task, task);
      return;
    }
    leat_status_free(status);  // no memory for a task: run it here
  }
  push(d, ready, record);
}

static inline bool count_down(const dataflow_t* d, _Atomic(uint32_t)* counter) {
  if (!d->parallel) {
    uint32_t left = atomic_load_explicit(counter, memory_order_relaxed) - 1;
    atomic_store_explicit(counter, left, memory_order_relaxed);
    return left == 0;
  }
  return atomic_fetch_sub_explicit(counter, 1, memory_order_acq_rel) == 1;
}

static void release_input(dataflow_t* d, uint32_t slot) {
  if (d->plan->readers[slot] == LEAT_READERS_CONSTANT) return;
  if (d->plan->readers[slot] == 1 || count_down(d, &d->instance->readers[slot])) {
    leat_slot_clear(&d->instance->slots[slot]);
  }
}

// Empties what this record was the last to read, and what nobody reads.
static void release_slots(dataflow_t* d, uint32_t index) {
  const leat_plan_t* plan = d->plan;
  const leat_record_t* record = &plan->records[index];
  for (uint32_t k = 0; k < record->input_count; ++k) release_input(d, record->input_slots[k]);
  for (uint32_t k = 0; k < record->output_count; ++k) {
    uint32_t slot = record->first_output + k;
    if (plan->readers[slot] == 0) leat_slot_clear(&d->instance->slots[slot]);
  }
  if (!plan->first_dereference) return;
  uint32_t end = plan->first_dereference[index + 1];
  for (uint32_t i = plan->first_dereference[index]; i < end; ++i) {
    release_input(d, plan->dereferences[i].source);
  }
}

static void complete(dataflow_t* d, uint32_t index, ready_list_t* ready) {
  const leat_record_t* record = &d->plan->records[index];
  release_slots(d, index);
  const uint32_t* successors = d->plan->successors + record->first_successor;
  for (uint32_t i = 0; i < record->successor_count; ++i) {
    if (count_down(d, &d->instance->pending[successors[i]])) dispatch(d, ready, successors[i]);
  }
}

// Inputs that this record alone still reads.
static uint64_t last_readers(const dataflow_t* d, const leat_record_t* record) {
  uint64_t mask = 0;
  uint32_t count = record->input_count < 64 ? record->input_count : 64;
  for (uint32_t k = 0; k < count; ++k) {
    uint32_t slot = record->input_slots[k];
    uint32_t readers = d->plan->readers[slot];
    if (readers == LEAT_READERS_CONSTANT) continue;
    if (readers == 1 ||
        atomic_load_explicit(&d->instance->readers[slot], memory_order_acquire) == 1) {
      mask |= UINT64_C(1) << k;
    }
  }
  return mask;
}

// The call's status; the call is freed.
static leat_status_t end_call(async_call_t* call) {
  dataflow_t* d = call->dataflow;
  leat_status_t status = call->status;
  if (d->execution->services.collector && !status) {
    leat_execution_trace(d->execution, call->record, call->start_ns);
  }
  leat_allocator_free(d->plan->allocator, call);
  return status;
}

static void async_done(leat_kernel_context_t* context, leat_status_t status) {
  async_call_t* call = context->owner;
  dataflow_t* d = call->dataflow;
  uint32_t record = call->record;
  call->status = status;
  if (atomic_exchange_explicit(&call->state, CALL_DONE, memory_order_acq_rel) == CALL_STARTING) {
    return;
  }
  status = end_call(call);
  if (status) {
    fail(d, leat_execution_annotate(d->execution, record, status));
  } else if (!atomic_load_explicit(&d->failed, memory_order_acquire)) {
    ready_list_t ready = {NONE};
    complete(d, record, &ready);
    run_list(d, &ready);
  }
  end_activity(d);
}

static leat_status_t start_async(dataflow_t* d, const leat_kernel_context_t* context,
                                 uint32_t index, bool* out_completed) {
  async_call_t* call;
  LEAT_RETURN_IF_ERROR(
      leat_allocator_allocate(d->plan->allocator, sizeof *call, (void**)&call));
  *call = (async_call_t){.context = *context, .dataflow = d, .record = index};
  if (d->execution->services.collector) call->start_ns = leat_step_collector_now();
  call->context.owner = call;
  atomic_fetch_add_explicit(&d->activities, 1, memory_order_relaxed);
  context->kernel->row->compute_async(&call->context, async_done);
  *out_completed =
      atomic_exchange_explicit(&call->state, CALL_STARTED, memory_order_acq_rel) == CALL_DONE;
  if (!*out_completed) return leat_ok_status();
  // The list that runs this is an activity too: this one is not the last.
  atomic_fetch_sub_explicit(&d->activities, 1, memory_order_relaxed);
  return end_call(call);
}

// Runs one record; |*out_completed| is false when an asynchronous kernel will complete it.
static leat_status_t run_record(dataflow_t* d, uint32_t index, bool* out_completed) {
  const leat_record_t* record = &d->plan->records[index];
  leat_execution_t* e = d->execution;
  leat_slot_t* slots = d->instance->slots;
  leat_kernel_context_t context = {.kernel = record->kernel,
                                   .slots = slots,
                                   .input_slots = record->input_slots,
                                   .outputs = slots + record->first_output,
                                   .services = &e->services,
                                   .last_readers = last_readers(d, record)};
  if (LEAT_UNLIKELY(e->deadline_ns != INT64_MAX ||
                    atomic_load_explicit(&e->stopped, memory_order_relaxed))) {
    LEAT_RETURN_IF_ERROR(leat_execution_check(e));
  }
  if (record->flags & (LEAT_RECORD_HAS_REFS | LEAT_RECORD_CONTRACT)) {
    LEAT_RETURN_IF_ERROR(leat_execution_prepare(e, index, &context));
  }
  if (record->flags & LEAT_RECORD_ASYNC) return start_async(d, &context, index, out_completed);
  if (LEAT_LIKELY(!e->services.collector)) return record->compute(&context);
  int64_t start_ns = leat_step_collector_now();
  LEAT_RETURN_IF_ERROR(record->compute(&context));
  leat_execution_trace(e, index, start_ns);
  return leat_ok_status();
}

static void run_list(dataflow_t* d, ready_list_t* ready) {
  while (ready->first != NONE) {
    uint32_t index = ready->first;
    ready->first = d->instance->next_ready[index];
    if (LEAT_UNLIKELY(atomic_load_explicit(&d->failed, memory_order_relaxed))) continue;
    bool completed = true;
    leat_status_t status = run_record(d, index, &completed);
    if (LEAT_UNLIKELY(status)) {
      fail(d, leat_execution_annotate(d->execution, index, status));
    } else if (completed) {
      complete(d, index, ready);
    }
  }
}

static leat_status_t prepare_instance(leat_plan_t* plan, leat_plan_instance_t* instance) {
  size_t records = plan->record_count + 1, slots = plan->slot_count + 1;
  if (!instance->pending) {
    LEAT_RETURN_IF_ERROR(leat_allocator_allocate_array(plan->allocator, records, sizeof(uint32_t),
                                                       (void**)&instance->pending));
  }
  if (!instance->readers) {
    LEAT_RETURN_IF_ERROR(leat_allocator_allocate_array(plan->allocator, slots, sizeof(uint32_t),
                                                       (void**)&instance->readers));
  }
  if (!instance->next_ready) {
    LEAT_RETURN_IF_ERROR(leat_allocator_allocate_array(plan->allocator, records, sizeof(uint32_t),
                                                       (void**)&instance->next_ready));
  }
  // No other thread sees the counters yet.
  memcpy((void*)instance->pending, plan->pending, plan->record_count * sizeof(uint32_t));
  memcpy((void*)instance->readers, plan->readers, plan->slot_count * sizeof(uint32_t));
  return leat_ok_status();
}

void leat_execution_run_dataflow(leat_execution_t* e) {
  leat_plan_t* plan = e->plan;
  leat_plan_instance_t* instance = e->instance;
  leat_status_t status = prepare_instance(plan, instance);
  dataflow_t* d = NULL;
  if (!status) status = leat_allocator_allocate(plan->allocator, sizeof *d, (void**)&d);
  if (status) {
    leat_execution_finish(e, status);
    return;
  }
  d->execution = e;
  d->plan = plan;
  d->instance = instance;
  d->parallel = !plan->linear || (e->services.pool && leat_thread_pool_size(e->services.pool) > 1);
  d->activities = 1;
  ready_list_t ready = {NONE};
  for (uint32_t i = plan->root_count; i-- > 0;) dispatch(d, &ready, plan->roots[i]);
  run_list(d, &ready);
  end_activity(d);
}
