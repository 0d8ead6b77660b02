// The dataflow executor: a record runs when its pending count is zero. The thread that makes a
// record ready keeps it on its own list and runs it next, unless it is expensive and there is other
// work here: then it becomes a task of the pool. Asynchronous kernels hold the step open and
// continue wherever they finish. The step ends when its last activity (a running list or an
// asynchronous kernel) does.
#include "worker/dataflow.h"

#include "kernel/cancellation.h"
#include "kernel/rendezvous.h"
#include "trace/collector.h"
#include "worker/ordered_plan.h"

// An asynchronous kernel under way. One that completes before its start returns goes on in the
// list it was started from: |state| tells which of the two comes second and has to act.
typedef enum { CALL_STARTING, CALL_STARTED, CALL_DONE } call_state_t;
typedef struct async_call_s {
  leat_kernel_context_t context;
  leat_dataflow_t* dataflow;
  leat_iteration_t* iteration;
  uint32_t record;
  int64_t start_ns;
  _Atomic(int) state;
  leat_status_t status;
} async_call_t;

typedef struct task_s {
  leat_dataflow_t* dataflow;
  leat_ready_t* entry;
} task_t;

// The first failure also wakes who waits: this partition may wait for a value that follows from one
// which it will now never send. The caller's activity keeps |d| alive meanwhile.
static void fail(leat_dataflow_t* d, leat_status_t status) {
  const leat_step_services_t* services = &d->execution->services;
  leat_status_t cause = services->rendezvous ? leat_status_clone(status) : leat_ok_status();
  leat_spinlock_lock(&d->lock);
  d->status = leat_status_join(d->status, status);
  leat_spinlock_unlock(&d->lock);
  if (!atomic_exchange_explicit(&d->failed, true, memory_order_acq_rel)) {
    if (cause) services->rendezvous->vtable->abort(services->rendezvous, cause);
    if (services->cancellation) leat_cancellation_cancel(services->cancellation);
  }
  leat_status_free(cause);
}

static void end_activity(leat_dataflow_t* d) {
  if (atomic_fetch_sub_explicit(&d->activities, 1, memory_order_acq_rel) != 1) return;
  leat_execution_t* execution = d->execution;
  leat_status_t status = d->status;
  if (d->plan->framed) leat_frames_abandon(d);
  leat_mutex_deinitialize(&d->frames_mutex);
  leat_allocator_free(d->plan->allocator, d);
  leat_execution_finish(execution, status);
}

// ---- Ready lists --------------------------------------------------------------------------------

static void push(leat_ready_list_t* ready, leat_ready_t* entry) {
  entry->next = ready->first;
  ready->first = entry;
}

static void run_list(leat_dataflow_t* d, leat_ready_list_t* ready);

static void run_task(void* data) {
  task_t task = *(task_t*)data;
  leat_allocator_free(task.dataflow->plan->allocator, data);
  leat_ready_list_t ready = {NULL};
  push(&ready, task.entry);
  run_list(task.dataflow, &ready);
  end_activity(task.dataflow);
}

static bool hand_over(leat_dataflow_t* d, leat_ready_t* entry) {
  task_t* task;
  leat_status_t status = leat_allocator_allocate(d->plan->allocator, sizeof *task, (void**)&task);
  if (status) {
    leat_status_free(status);  // no memory for a task: it runs here
    return false;
  }
  *task = (task_t){d, entry};
  atomic_fetch_add_explicit(&d->activities, 1, memory_order_relaxed);
  leat_thread_pool_schedule(d->execution->services.pool, run_task, task);
  return true;
}

void leat_dataflow_dispatch(leat_dataflow_t* d, leat_ready_list_t* ready,
                            leat_iteration_t* iteration, uint32_t record, bool dead) {
  leat_ready_t* entry = &iteration->entries[d->plan->record_places[record]];
  entry->dead = dead;
  if (d->parallel && ready->first && !dead &&
      (d->plan->records[record].flags & LEAT_RECORD_EXPENSIVE) && hand_over(d, entry)) {
    return;
  }
  push(ready, entry);
}

// ---- A record that has run ----------------------------------------------------------------------

static inline bool count_down(const leat_dataflow_t* d, _Atomic(uint32_t)* counter) {
  if (!d->parallel) {
    uint32_t left = atomic_load_explicit(counter, memory_order_relaxed) - 1;
    atomic_store_explicit(counter, left, memory_order_relaxed);
    return left == 0;
  }
  return atomic_fetch_sub_explicit(counter, 1, memory_order_acq_rel) == 1;
}

static inline void release_input(leat_dataflow_t* d, leat_iteration_t* iteration, uint32_t slot) {
  uint32_t readers = iteration->plan->readers[slot];
  if (readers == LEAT_READERS_CONSTANT) return;
  if (readers == 1 || count_down(d, &iteration->readers[slot])) {
    leat_slot_clear(&iteration->slots[slot]);
  }
}

void leat_dataflow_release(leat_dataflow_t* d, leat_iteration_t* iteration, uint32_t index) {
  const leat_plan_t* plan = d->plan;
  const leat_record_t* record = &plan->records[index];
  if (LEAT_UNLIKELY(record->flags & LEAT_RECORD_MERGE)) {
    const leat_ready_t* entry = &iteration->entries[plan->record_places[index]];
    if (!entry->dead) release_input(d, iteration, record->input_slots[entry->live_input]);
  } else {
    for (uint32_t k = 0; k < record->input_count; ++k) {
      release_input(d, iteration, record->input_slots[k]);
    }
  }
  if (!(record->flags & LEAT_RECORD_CONTROL_FLOW)) {
    for (uint32_t k = 0; k < record->output_count; ++k) {
      uint32_t slot = record->first_output + k;
      if (iteration->plan->readers[slot] == 0) leat_slot_clear(&iteration->slots[slot]);
    }
  }
  if (!plan->first_dereference) return;
  uint32_t end = plan->first_dereference[index + 1];
  for (uint32_t i = plan->first_dereference[index]; i < end; ++i) {
    release_input(d, iteration, plan->dereferences[i].source);
  }
}

static void complete(leat_dataflow_t* d, leat_iteration_t* iteration, uint32_t index, bool dead,
                     leat_ready_list_t* ready) {
  if (LEAT_UNLIKELY(d->plan->framed)) {
    leat_status_t status = leat_frames_complete(d, iteration, index, dead, ready);
    if (status) fail(d, leat_execution_annotate(d->execution, index, status));
    return;
  }
  const leat_record_t* record = &d->plan->records[index];
  leat_dataflow_release(d, iteration, index);
  const uint32_t* successors = d->plan->successors + record->first_successor;
  for (uint32_t i = 0; i < record->successor_count; ++i) {
    if (count_down(d, &iteration->pending[successors[i]])) {
      leat_dataflow_dispatch(d, ready, iteration, successors[i], false);
    }
  }
}

// ---- Running records ----------------------------------------------------------------------------

// Inputs that this record alone still reads.
static uint64_t last_readers(const leat_iteration_t* iteration, const leat_record_t* record) {
  uint64_t mask = 0;
  uint32_t count = record->input_count < 64 ? record->input_count : 64;
  for (uint32_t k = 0; k < count; ++k) {
    uint32_t slot = record->input_slots[k];
    uint32_t readers = iteration->plan->readers[slot];
    if (readers == LEAT_READERS_CONSTANT) continue;
    if (readers == 1 ||
        atomic_load_explicit(&iteration->readers[slot], memory_order_acquire) == 1) {
      mask |= UINT64_C(1) << k;
    }
  }
  return mask;
}

static void complete_and_run(leat_dataflow_t* d, leat_ready_t* entry) {
  leat_ready_list_t ready = {NULL};
  complete(d, entry->iteration, entry->record, false, &ready);
  run_list(d, &ready);
}

static void run_completion(void* data) {
  task_t task = *(task_t*)data;
  leat_allocator_free(task.dataflow->plan->allocator, data);
  complete_and_run(task.dataflow, task.entry);
  end_activity(task.dataflow);
}

// Completions nest: a Send runs what follows its Recv, where the next Send is. Beyond this depth
// they go through the pool, so that no graph ends the stack. Takes the activity over if it does.
#define MAX_NESTED_COMPLETIONS 16
static LEAT_THREAD_LOCAL int nested_completions;

static bool defer_completion(leat_dataflow_t* d, leat_ready_t* entry) {
  task_t* task;
  if (nested_completions < MAX_NESTED_COMPLETIONS || !d->execution->services.pool) return false;
  leat_status_t status = leat_allocator_allocate(d->plan->allocator, sizeof *task, (void**)&task);
  if (status) {
    leat_status_free(status);
    return false;
  }
  *task = (task_t){d, entry};
  leat_thread_pool_schedule(d->execution->services.pool, run_completion, task);
  return true;
}

// The call's status; the call is freed.
static leat_status_t end_call(async_call_t* call) {
  leat_dataflow_t* d = call->dataflow;
  leat_status_t status = call->status;
  if (d->execution->services.collector && !status) {
    leat_execution_trace(d->execution, call->iteration->slots, call->record, call->start_ns);
  }
  leat_allocator_free(d->plan->allocator, call);
  return status;
}

static void async_done(leat_kernel_context_t* context, leat_status_t status) {
  if (!status) status = leat_execution_verify(context);
  async_call_t* call = context->owner;
  leat_dataflow_t* d = call->dataflow;
  uint32_t record = call->record;
  leat_ready_t* entry = &call->iteration->entries[d->plan->record_places[record]];
  call->status = status;
  if (atomic_exchange_explicit(&call->state, CALL_DONE, memory_order_acq_rel) == CALL_STARTING) {
    return;
  }
  status = end_call(call);
  if (status) {
    fail(d, leat_execution_annotate(d->execution, record, status));
  } else if (!atomic_load_explicit(&d->failed, memory_order_acquire)) {
    if (defer_completion(d, entry)) return;
    ++nested_completions;
    complete_and_run(d, entry);
    --nested_completions;
  }
  end_activity(d);
}

static leat_status_t start_async(leat_dataflow_t* d, const leat_kernel_context_t* context,
                                 const leat_ready_t* entry, bool* out_completed) {
  async_call_t* call;
  LEAT_RETURN_IF_ERROR(
      leat_allocator_allocate(d->plan->allocator, sizeof *call, (void**)&call));
  *call = (async_call_t){.context = *context, .dataflow = d, .iteration = entry->iteration,
                         .record = entry->record};
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
static leat_status_t run_record(leat_dataflow_t* d, const leat_ready_t* entry,
                                bool* out_completed) {
  const leat_record_t* record = &d->plan->records[entry->record];
  leat_execution_t* e = d->execution;
  leat_slot_t* slots = entry->iteration->slots;
  if (LEAT_UNLIKELY(e->deadline_ns != INT64_MAX ||
                    atomic_load_explicit(&e->stopped, memory_order_relaxed))) {
    LEAT_RETURN_IF_ERROR(leat_execution_check(e));
  }
  leat_kernel_context_t context = {.kernel = record->kernel,
                                   .slots = slots,
                                   .input_slots = record->input_slots,
                                   .outputs = slots + record->first_output,
                                   .services = &e->services,
                                   .last_readers = last_readers(entry->iteration, record),
                                   .inputs_dead = entry->dead};
  if (LEAT_UNLIKELY(d->plan->framed)) {
    context.frame_iteration = leat_iteration_tag(entry->iteration);
  }
  if ((record->flags & (LEAT_RECORD_HAS_REFS | LEAT_RECORD_CONTRACT)) && !entry->dead) {
    LEAT_RETURN_IF_ERROR(leat_execution_prepare(e, slots, entry->record, &context));
  }
  if (LEAT_UNLIKELY(record->flags & LEAT_RECORD_CONTROL_FLOW)) {
    return leat_frames_run(d, entry->iteration, entry->record);
  }
  if (record->flags & LEAT_RECORD_ASYNC) return start_async(d, &context, entry, out_completed);
  if (LEAT_LIKELY(!e->services.collector)) return record->compute(&context);
  int64_t start_ns = leat_step_collector_now();
  LEAT_RETURN_IF_ERROR(record->compute(&context));
  leat_execution_trace(e, slots, entry->record, start_ns);
  return leat_ok_status();
}

static bool runs(const leat_dataflow_t* d, const leat_ready_t* entry) {
  return LEAT_LIKELY(!entry->dead) ||
         (d->plan->records[entry->record].flags & LEAT_RECORD_RUNS_DEAD);
}

static void run_list(leat_dataflow_t* d, leat_ready_list_t* ready) {
  while (ready->first) {
    leat_ready_t entry = *ready->first;  // the entry may be reused by a later iteration
    ready->first = entry.next;
    if (LEAT_UNLIKELY(atomic_load_explicit(&d->failed, memory_order_relaxed))) continue;
    bool completed = true;
    leat_status_t status = runs(d, &entry) ? run_record(d, &entry, &completed) : NULL;
    if (LEAT_UNLIKELY(status)) {
      fail(d, leat_execution_annotate(d->execution, entry.record, status));
    } else if (completed) {
      complete(d, entry.iteration, entry.record, entry.dead, ready);
    }
  }
}

// ---- A run --------------------------------------------------------------------------------------

static leat_status_t prepare_instance(leat_plan_t* plan, leat_plan_instance_t* instance) {
  if (!instance->root) {
    LEAT_RETURN_IF_ERROR(leat_iteration_create(plan, instance, 0, &instance->root));
  }
  if (plan->framed && !instance->free_iterations) {
    LEAT_RETURN_IF_ERROR(leat_allocator_allocate_array(plan->allocator,
                                                       (size_t)plan->frames.count, sizeof(void*),
                                                       (void**)&instance->free_iterations));
  }
  leat_iteration_reset(plan, instance->root);
  // Here a constant is live only once its control edges are.
  for (uint32_t i = 0; plan->ordered && i < plan->ordered->constant_count; ++i) {
    leat_slot_clear(&instance->slots[plan->ordered->constant_slots[i]]);
  }
  return leat_ok_status();
}

void leat_execution_run_dataflow(leat_execution_t* e) {
  leat_plan_t* plan = e->plan;
  leat_status_t status = prepare_instance(plan, e->instance);
  leat_dataflow_t* d = NULL;
  if (!status) status = leat_allocator_allocate(plan->allocator, sizeof *d, (void**)&d);
  if (status) {
    leat_execution_finish(e, status);
    return;
  }
  d->execution = e;
  d->plan = plan;
  d->instance = e->instance;
  d->root = e->instance->root;
  d->parallel = plan->has_async ||
                (e->services.pool && leat_thread_pool_size(e->services.pool) > 1);
  d->activities = 1;
  e->leaves_slots = plan->framed;
  leat_mutex_initialize(&d->frames_mutex);
  d->root->outstanding = plan->root_count;
  leat_ready_list_t ready = {NULL};
  for (uint32_t i = plan->root_count; i-- > 0;) {
    leat_dataflow_dispatch(d, &ready, d->root, plan->roots[i], false);
  }
  run_list(d, &ready);
  end_activity(d);
}
