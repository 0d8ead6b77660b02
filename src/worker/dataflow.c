// Runs records as their inputs come. The thread that makes a record ready keeps it on its own list
// and runs it next, newest first, because its inputs are still in that core's cache. A record that
// is worth another thread's coming becomes a task of the pool instead, unless this thread has
// nothing else to do. Asynchronous kernels hold the step open and go on wherever they end.
//
// Invariants: a record is on one ready list at most once in an iteration, since its count reaches
// zero once. A slot is emptied by whoever counts its readers down to zero, so no reader finds it
// empty; the reader that is alone with a count of one may overwrite the value in place. The step
// ends when its last activity does (a running list, an asynchronous kernel): an activity is counted
// before the one that begins it ends. A step that one thread has for itself keeps these rules with
// plain counters and a queue (run_alone).
#include "worker/dataflow.h"

#include <stddef.h>
#include <string.h>

#include "base/clock.h"
#include "kernel/cancellation.h"
#include "kernel/rendezvous.h"

// An asynchronous kernel under way.
typedef struct async_record_s {
  leat_async_call_t call;
  leat_dataflow_t* dataflow;
  leat_iteration_t* iteration;
  uint32_t record;
} async_record_t;

typedef struct task_s {
  leat_dataflow_t* dataflow;
  leat_ready_t* entry;
} task_t;

// Notes that |index| failed. Records after it in the plan's order are no longer run, but those
// before it are, and the failure of the first of all is the step's. All that it depends on comes
// before it and does not fail, so it is always reached: the step ends with the same status on any
// number of threads, and as a sequence would. With control flow, where records run many times, the
// failure that comes first is the step's.
//
// The first failure also wakes who waits: this partition may wait for a value that follows from one
// which it will now never send. What those say is no cause. The caller's activity keeps |d| alive.
static void fail(leat_dataflow_t* d, uint32_t index, leat_status_t status) {
  LEAT_DCHECK(status && index < d->plan->record_count);
  const leat_step_services_t* services = &d->execution->services;
  const bool is_async = d->plan->records[index].flags & LEAT_RECORD_ASYNC;
  leat_status_t cause = services->rendezvous ? leat_status_clone(status) : leat_ok_status();
  leat_spinlock_lock(&d->lock);
  const uint32_t former = atomic_load_explicit(&d->failed_record, memory_order_relaxed);
  const bool is_first = former == LEAT_NO_RECORD;
  leat_status_t unwanted = status;
  if (is_first || (index < former && !is_async)) {
    unwanted = d->status;
    d->status = status;
    atomic_store_explicit(&d->failed_record, d->tables->framed ? 0 : index, memory_order_release);
  }
  leat_spinlock_unlock(&d->lock);
  leat_status_free(unwanted);
  if (is_first) {
    if (cause) services->rendezvous->vtable->abort(services->rendezvous, cause);
    if (services->cancellation) leat_cancellation_cancel(services->cancellation);
  }
  leat_status_free(cause);
}

static void end_activity(leat_dataflow_t* d) {
  int64_t before = atomic_fetch_sub_explicit(&d->activities, 1, memory_order_acq_rel);
  LEAT_DCHECK(before > 0);
  if (before != 1) return;
  leat_execution_t* execution = d->execution;
  leat_status_t status = d->status;
  if (d->tables->framed) leat_frames_abandon(d);
  leat_mutex_deinitialize(&d->frames_mutex);
  leat_allocator_free(d->plan->allocator, d);
  leat_execution_finish(execution, status);
}

// ---- Ready lists --------------------------------------------------------------------------------

static void push(leat_ready_list_t* ready, leat_ready_t* entry) {
  LEAT_DCHECK(entry != ready->first);
  entry->next = ready->first;
  ready->first = entry;
}

static void run_list(leat_dataflow_t* d, leat_ready_list_t* ready);

static void run_task(void* data) {
  task_t task = *(task_t*)data;
  leat_dataflow_t* d = task.dataflow;
  leat_allocator_free(d->plan->allocator, data);
  leat_ready_list_t ready = {NULL};
  push(&ready, task.entry);
  run_list(d, &ready);
  atomic_fetch_sub_explicit(&d->threads, 1, memory_order_relaxed);
  end_activity(d);
}

// Gives the entry to another thread. Returns false where no more threads may come, or no memory is
// left for a task.
static bool hand_over(leat_dataflow_t* d, leat_ready_t* entry) {
  task_t* task;
  if (atomic_fetch_add_explicit(&d->threads, 1, memory_order_relaxed) >= d->thread_limit) {
    atomic_fetch_sub_explicit(&d->threads, 1, memory_order_relaxed);
    return false;
  }
  leat_status_t status = LEAT_ALLOCATE(d->plan->allocator, 1, &task);
  if (status) {
    leat_status_free(status);
    atomic_fetch_sub_explicit(&d->threads, 1, memory_order_relaxed);
    return false;
  }
  *task = (task_t){d, entry};
  atomic_fetch_add_explicit(&d->activities, 1, memory_order_relaxed);
  leat_thread_pool_schedule(d->execution->services.pool, run_task, task);
  return true;
}

void leat_dataflow_dispatch(leat_dataflow_t* d, leat_ready_list_t* ready,
                            leat_iteration_t* iteration, uint32_t record, bool dead) {
  leat_ready_t* entry = &iteration->entries[d->plan->records[record].dataflow.place];
  LEAT_DCHECK(entry->record == record && entry->iteration == iteration);
  entry->dead = dead;
  if (d->thread_limit > 1 && ready->first && !dead &&
      (d->plan->records[record].flags & LEAT_RECORD_EXPENSIVE) && hand_over(d, entry)) {
    return;
  }
  push(ready, entry);
}

// ---- A record that has run ----------------------------------------------------------------------

static inline bool count_down(bool parallel, _Atomic(uint32_t)* counter) {
  LEAT_DCHECK(atomic_load_explicit(counter, memory_order_relaxed) > 0);
  if (!parallel) {
    uint32_t left = atomic_load_explicit(counter, memory_order_relaxed) - 1;
    atomic_store_explicit(counter, left, memory_order_relaxed);
    return left == 0;
  }
  return atomic_fetch_sub_explicit(counter, 1, memory_order_acq_rel) == 1;
}

static inline void release_input(bool parallel, leat_iteration_t* iteration, uint32_t slot) {
  LEAT_DCHECK(slot < iteration->table->slot_count);
  uint32_t readers = iteration->table->readers[slot];
  if (readers == LEAT_READERS_CONSTANT) return;
  LEAT_DCHECK(readers > 0);
  if (readers == 1 || count_down(parallel, &iteration->readers[slot])) {
    leat_slot_clear(&iteration->slots[slot]);
  }
}

// Empties the slots that this record was the last one to read, and those of its outputs that nobody
// reads. It is not for control flow, where a Merge reads only one of its inputs.
static inline void release_usual(const leat_dataflow_t* d, bool parallel,
                                 leat_iteration_t* iteration, const leat_record_t* record,
                                 uint32_t index) {
  if (!(record->dataflow.input_count | record->dataflow.output_count)) return;
  for (uint32_t k = 0; k < record->dataflow.input_count; ++k) {
    release_input(parallel, iteration, record->input_slots[k]);
  }
  for (uint32_t k = 0; k < record->dataflow.output_count; ++k) {
    uint32_t slot = record->first_output + k;
    if (iteration->table->readers[slot] == 0) leat_slot_clear(&iteration->slots[slot]);
  }
  if (LEAT_LIKELY(!(record->flags & LEAT_RECORD_PREPARES))) return;
  uint32_t read_count;
  const leat_reference_read_t* reads = leat_plan_reads(d->plan, index, &read_count);
  for (uint32_t i = 0; i < read_count; ++i) release_input(parallel, iteration, reads[i].source);
}

void leat_dataflow_release(leat_dataflow_t* d, leat_iteration_t* iteration, uint32_t index) {
  const leat_record_t* record = &d->plan->records[index];
  if (!(record->flags & LEAT_RECORD_CONTROL_FLOW)) {
    release_usual(d, d->parallel, iteration, record, index);
    return;
  }
  const leat_ready_t* entry = &iteration->entries[record->dataflow.place];
  uint32_t read_count;
  const leat_reference_read_t* reads = leat_plan_reads(d->plan, index, &read_count);
  if (record->flags & LEAT_RECORD_MERGE) {
    LEAT_DCHECK(entry->dead || entry->live_input < record->dataflow.input_count);
    if (!entry->dead) release_input(d->parallel, iteration, record->input_slots[entry->live_input]);
  } else {
    for (uint32_t k = 0; k < record->dataflow.input_count; ++k) {
      release_input(d->parallel, iteration, record->input_slots[k]);
    }
  }
  for (uint32_t i = 0; i < read_count; ++i) release_input(d->parallel, iteration, reads[i].source);
}

// Ends a record: releases what it has read, and counts down its successors, of which those that
// wait for nothing else become ready. Returns one of these, which is then on no list, or NULL: the
// caller runs it next without a look at the list.
static inline leat_ready_t* complete(leat_dataflow_t* d, leat_iteration_t* iteration,
                                     uint32_t index, bool dead, leat_ready_list_t* ready) {
  const leat_record_t* record = &d->plan->records[index];
  if (LEAT_UNLIKELY(d->tables->framed)) {
    leat_status_t status = leat_frames_complete(d, iteration, index, dead, ready);
    if (status) fail(d, index, leat_kernel_annotate(record->kernel, status));
    return NULL;
  }
  release_usual(d, d->parallel, iteration, record, index);
  leat_ready_t* next = NULL;
  const uint32_t* successors = d->tables->successors + record->dataflow.first_successor;
  for (uint32_t i = 0; i < record->dataflow.successor_count; ++i) {
    // Where there is no control flow there is one frame, in which places are the records' numbers.
    leat_ready_t* entry = &iteration->entries[successors[i]];
    LEAT_DCHECK(d->plan->records[successors[i]].dataflow.place == successors[i] &&
                entry->record == successors[i]);
    if (!count_down(d->parallel, &iteration->pending[successors[i]])) continue;
    if (d->thread_limit > 1) {
      leat_dataflow_dispatch(d, ready, iteration, successors[i], false);
      continue;
    }
    if (next) push(ready, next);
    next = entry;  // where there is no control flow, none is dead
  }
  return next;
}

// ---- Running records ----------------------------------------------------------------------------

// Returns a bit for each input that this record alone still reads.
static inline uint64_t last_readers(const leat_iteration_t* iteration,
                                    const leat_record_t* record) {
  uint64_t mask = 0;
  uint32_t count = record->dataflow.input_count < 64 ? record->dataflow.input_count : 64;
  for (uint32_t k = 0; k < count; ++k) {
    uint32_t slot = record->input_slots[k];
    uint32_t readers = iteration->table->readers[slot];
    if (readers == LEAT_READERS_CONSTANT) continue;
    if (readers == 1 ||
        atomic_load_explicit(&iteration->readers[slot], memory_order_acquire) == 1) {
      mask |= UINT64_C(1) << k;
    }
  }
  return mask;
}

// Returns false where the step has failed at |record| or before it.
static inline bool is_wanted(const leat_dataflow_t* d, uint32_t record) {
  return LEAT_LIKELY(record < atomic_load_explicit(&d->failed_record, memory_order_acquire));
}

static void on_async_end(void* data) {
  async_record_t async = *(async_record_t*)data;
  leat_dataflow_t* d = async.dataflow;
  leat_allocator_free(d->plan->allocator, data);
  if (async.call.status) {
    fail(d, async.record, async.call.status);
  } else if (is_wanted(d, async.record)) {
    leat_ready_list_t ready = {NULL};
    leat_ready_t* next = complete(d, async.iteration, async.record, false, &ready);
    if (next) push(&ready, next);
    run_list(d, &ready);
  }
  end_activity(d);
}

static void on_resume(leat_async_call_t* call) {
  async_record_t* async = LEAT_CONTAINER_OF(call, async_record_t, call);
  leat_execution_resume(async->dataflow->execution, on_async_end, async);
}

// Starts an asynchronous kernel. It counts as an activity before it starts, because it may end on
// another thread before this call returns.
static leat_status_t start_async(leat_dataflow_t* d, const leat_kernel_context_t* context,
                                 const leat_ready_t* entry, bool* out_completed) {
  LEAT_DCHECK(d->parallel);
  async_record_t* async;
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(d->plan->allocator, 1, &async));
  async->call.context = *context;
  async->call.prepares = !entry->dead && (d->plan->records[entry->record].flags &
                                          LEAT_RECORD_PREPARES);
  async->call.takes_dead = d->tables->framed;
  async->call.observed = d->execution->services.observed;
  async->call.resume = on_resume;
  async->dataflow = d;
  async->iteration = entry->iteration;
  async->record = entry->record;
  atomic_fetch_add_explicit(&d->activities, 1, memory_order_relaxed);
  *out_completed = leat_async_call_start(&async->call);
  if (!*out_completed) return leat_ok_status();
  // The list that runs this is an activity too: this one is not the last.
  atomic_fetch_sub_explicit(&d->activities, 1, memory_order_relaxed);
  leat_status_t status = async->call.status;
  leat_allocator_free(d->plan->allocator, async);
  return status;
}

// Returns DEADLINE_EXCEEDED or CANCELLED where the step must not go on. |timed|: it has a deadline.
static inline leat_status_t check_step(leat_execution_t* e, bool timed) {
  if (LEAT_LIKELY(!timed && !atomic_load_explicit(&e->stopped, memory_order_relaxed))) {
    return leat_ok_status();
  }
  return leat_execution_check(e);
}

// Fills in what differs from record to record of |context|, whose |slots| are the iteration's.
static inline void describe_record(const leat_iteration_t* iteration, const leat_record_t* record,
                                   leat_kernel_context_t* context) {
  context->kernel = record->kernel;
  context->input_slots = record->input_slots;
  context->outputs = context->slots + record->first_output;
  context->last_readers = last_readers(iteration, record);
}

// Runs one record; |*out_completed| is false when an asynchronous kernel will complete it. A Switch
// or a Merge of references has them read first, but is no kernel's call. |context| is the list's:
// what is the same for all records is set already.
static inline leat_status_t run_record(leat_dataflow_t* d, const leat_ready_t* entry,
                                       leat_kernel_context_t* context, bool* out_completed) {
  const leat_record_t* record = &d->plan->records[entry->record];
  leat_execution_t* e = d->execution;
  LEAT_RETURN_IF_ERROR(check_step(e, e->deadline_ns != LEAT_DEADLINE_NEVER));
  context->slots = entry->iteration->slots;
  describe_record(entry->iteration, record, context);
  bool prepares = !entry->dead && (record->flags & LEAT_RECORD_PREPARES);
  if (LEAT_UNLIKELY(prepares)) {
    context->reads = leat_plan_reads(d->plan, entry->record, &context->read_count);
  }
  if (LEAT_UNLIKELY(d->tables->framed)) {
    context->inputs_dead = entry->dead;
    context->frame_id = leat_iteration_frame_id(entry->iteration);
    context->iteration = entry->iteration->number;
    if (record->flags & LEAT_RECORD_CONTROL_FLOW) {
      if (prepares) LEAT_RETURN_IF_ERROR(leat_kernel_prepare(context));
      return leat_frames_run(entry->iteration, record);
    }
  }
  if (LEAT_UNLIKELY(record->flags & LEAT_RECORD_ASYNC)) {
    return start_async(d, context, entry, out_completed);
  }
  return leat_kernel_call(context, record->compute, prepares, e->services.observed);
}

static bool runs(const leat_dataflow_t* d, const leat_ready_t* entry) {
  return LEAT_LIKELY(!entry->dead) ||
         (d->plan->records[entry->record].flags & LEAT_RECORD_RUNS_DEAD);
}

// Where fewer threads may come than the pool has, one that has left may be replaced now: gives the
// next entry of the list away if it is worth it.
static void share(leat_dataflow_t* d, leat_ready_list_t* ready) {
  leat_ready_t* entry = ready->first;
  LEAT_DCHECK(entry);
  if (entry->dead || !(d->plan->records[entry->record].flags & LEAT_RECORD_EXPENSIVE)) return;
  leat_ready_t* next = entry->next;
  if (hand_over(d, entry)) ready->first = next;
}

static void run_list(leat_dataflow_t* d, leat_ready_list_t* ready) {
  leat_kernel_context_t context = {.services = &d->execution->services};
  leat_ready_t* next = NULL;  // that is on no list
  for (;;) {
    if (!next) {
      next = ready->first;
      if (!next) return;
      ready->first = next->next;
    }
    const leat_ready_t entry = *next;  // which may be reused by a later iteration
    next = NULL;
    if (LEAT_UNLIKELY(!is_wanted(d, entry.record))) continue;
    if (d->thread_limit > 1 && ready->first) share(d, ready);
    bool completed = true;
    leat_status_t status = runs(d, &entry) ? run_record(d, &entry, &context, &completed) : NULL;
    if (LEAT_UNLIKELY(status)) {
      fail(d, entry.record, leat_kernel_annotate(d->plan->records[entry.record].kernel, status));
    } else if (completed) {
      next = complete(d, entry.iteration, entry.record, entry.dead, ready);
    }
  }
}

// Runs a step that this thread has for itself, without control flow or asynchronous kernels, first
// come, first run: the queue's memory and most of the records' are then gone through in order. A
// step is run so where the caller asks for its own thread (RunOptions.inter_op_thread_pool of -1).
static void run_alone(leat_dataflow_t* d, uint32_t* queue) {
  const leat_plan_t* plan = d->plan;
  leat_execution_t* e = d->execution;
  leat_iteration_t* root = d->root;
  _Atomic(uint32_t)* pending = root->pending;
  const leat_record_t* records = plan->records;
  const uint32_t* all_successors = d->tables->successors;
  leat_kernel_context_t context = {.services = &e->services, .slots = root->slots};
  const bool timed = e->deadline_ns != LEAT_DEADLINE_NEVER;
  const bool observed = e->services.observed;
  bool failed = false;
  uint32_t count = d->tables->root_count;
  memcpy(queue, d->tables->roots, count * sizeof(uint32_t));
  for (uint32_t i = 0; i < count; ++i) {
    const uint32_t index = queue[i];
    const leat_record_t* record = &records[index];
    if (LEAT_UNLIKELY(failed) && !is_wanted(d, index)) continue;
    leat_status_t status = check_step(e, timed);
    if (LEAT_LIKELY(!status)) {
      describe_record(root, record, &context);
      const bool prepares = record->flags & LEAT_RECORD_PREPARES;
      if (LEAT_UNLIKELY(prepares)) {
        context.reads = leat_plan_reads(plan, index, &context.read_count);
      }
      status = leat_kernel_call(&context, record->compute, prepares, observed);
    }
    if (LEAT_UNLIKELY(status)) {
      failed = true;
      fail(d, index, leat_kernel_annotate(record->kernel, status));
      continue;
    }
    release_usual(d, false, root, record, index);
    // Written in any case, and kept where it is ready: a branch would be guessed wrong as often as
    // not. The queue has room for one more than there are records.
    const uint32_t* successors = all_successors + record->dataflow.first_successor;
    for (uint32_t k = 0; k < record->dataflow.successor_count; ++k) {
      queue[count] = successors[k];
      count += count_down(false, &pending[successors[k]]);
    }
  }
}

// ---- A run --------------------------------------------------------------------------------------

static leat_status_t prepare_instance(const leat_plan_t* plan, bool alone,
                                      leat_plan_instance_t* instance) {
  if (!instance->root) {
    LEAT_RETURN_IF_ERROR(leat_iteration_create(plan, instance, 0, &instance->root));
  }
  if (alone && !instance->root->queue) {
    LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(plan->allocator, (size_t)plan->record_count + 1,
                                       &instance->root->queue));
  }
  if (plan->dataflow.framed && !instance->free_iterations) {
    LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(plan->allocator, (size_t)plan->dataflow.frames.count,
                                       &instance->free_iterations));
  }
  leat_iteration_reset(plan, instance->root);
  return leat_ok_status();
}

static int thread_limit(const leat_execution_t* e) {
  int threads = e->services.pool ? leat_thread_pool_size(e->services.pool) : 1;
  if (e->inter_op_threads < 0) return 1;
  return e->inter_op_threads && e->inter_op_threads < threads ? e->inter_op_threads : threads;
}

void leat_dataflow_run(leat_execution_t* e) {
  leat_plan_t* plan = e->plan;
  const int threads = thread_limit(e);
  const bool parallel = plan->has_async || threads > 1;
  const bool alone = !parallel && !plan->dataflow.framed;
  leat_status_t status = prepare_instance(plan, alone, e->instance);
  leat_dataflow_t* d = NULL;
  if (!status) status = LEAT_ALLOCATE(plan->allocator, 1, &d);
  if (status) {
    leat_execution_finish(e, status);
    return;
  }
  d->execution = e;
  d->plan = plan;
  d->tables = &plan->dataflow;
  d->instance = e->instance;
  d->root = e->instance->root;
  d->thread_limit = threads;
  d->parallel = parallel;
  LEAT_DCHECK(d->thread_limit >= 1);
  d->activities = 1;
  d->threads = 1;
  d->failed_record = LEAT_NO_RECORD;
  e->leaves_slots = plan->dataflow.framed;
  leat_mutex_initialize(&d->frames_mutex);
  d->root->outstanding = plan->dataflow.root_count;
  if (alone) {
    run_alone(d, d->root->queue);
  } else {
    leat_ready_list_t ready = {NULL};
    for (uint32_t i = plan->dataflow.root_count; i-- > 0;) {
      leat_dataflow_dispatch(d, &ready, d->root, plan->dataflow.roots[i], false);
    }
    run_list(d, &ready);
  }
  atomic_fetch_sub_explicit(&d->threads, 1, memory_order_relaxed);
  end_activity(d);
}
