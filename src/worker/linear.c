// The linear executor: every record in order, on the caller's thread. A plan runs here when it is
// acyclic, on one device, and no kernel is asynchronous. A null op costs a load, a call and a
// compare. One asynchronous record is allowed (a dequeue) where nothing could run while it waits:
// the records behind it run on the thread that waits for the step, or else where it completes.
#include "trace/collector.h"
#include "worker/executor.h"

static inline void release_slots(const leat_plan_t* plan, const leat_record_t* record,
                                 leat_slot_t* slots) {
  const uint32_t* release = plan->releases + record->first_release;
  for (uint32_t i = 0; i < record->release_count; ++i) leat_slot_clear(&slots[release[i]]);
}

static leat_status_t run_records(leat_execution_t* e, uint32_t first, uint32_t last) {
  const leat_plan_t* plan = e->plan;
  leat_slot_t* slots = e->instance->slots;
  leat_kernel_context_t context = {.slots = slots, .services = &e->services};
  bool timed = e->deadline_ns != INT64_MAX;
  bool traced = e->services.collector != NULL;
  int64_t start_ns = 0;
  const leat_record_t* end = plan->records + last;
  for (const leat_record_t* record = plan->records + first; record != end; ++record) {
    uint32_t index = (uint32_t)(record - plan->records);
    if (LEAT_UNLIKELY(timed || atomic_load_explicit(&e->stopped, memory_order_relaxed))) {
      LEAT_RETURN_IF_ERROR(leat_execution_check(e));
    }
    context.kernel = record->kernel;
    context.input_slots = record->input_slots;
    context.outputs = slots + record->first_output;
    context.last_readers = record->last_readers;
    if (LEAT_UNLIKELY(record->flags & (LEAT_RECORD_HAS_REFS | LEAT_RECORD_CONTRACT))) {
      LEAT_RETURN_IF_ERROR(leat_execution_prepare(e, slots, index, &context));
    }
    if (LEAT_UNLIKELY(traced)) start_ns = leat_step_collector_now();
    leat_status_t status = record->compute(&context);
    if (LEAT_UNLIKELY(status)) return leat_execution_annotate(e, index, status);
    if (LEAT_UNLIKELY(traced)) leat_execution_trace(e, slots, index, start_ns);
    release_slots(plan, record, slots);
  }
  return leat_ok_status();
}

void leat_execution_run_linear(leat_execution_t* e) {
  leat_execution_finish(e, run_records(e, 0, e->plan->record_count));
}

// ---- One record that is waited for --------------------------------------------------------------

enum { AWAITED_STARTING, AWAITED_STARTED, AWAITED_DONE };

// A completion runs the rest of a step, which may complete another: beyond this depth through the
// pool.
#define MAX_NESTED 16
static LEAT_THREAD_LOCAL int nested;

static void go_on(void* data) {
  leat_execution_t* e = data;
  const leat_plan_t* plan = e->plan;
  uint32_t index = plan->awaited_record;
  leat_status_t status = e->awaited_status;
  if (!status) status = leat_execution_verify(&e->awaited);
  if (status) {
    status = leat_execution_annotate(e, index, status);
  } else {
    if (e->services.collector) {
      leat_execution_trace(e, e->instance->slots, index, e->awaited_start_ns);
    }
    release_slots(plan, &plan->records[index], e->instance->slots);
    status = run_records(e, index + 1, plan->record_count);
  }
  ++nested;
  leat_execution_finish(e, status);
  --nested;
}

static void awaited_done(leat_kernel_context_t* context, leat_status_t status) {
  leat_execution_t* e = context->owner;
  e->awaited_status = status;
  if (atomic_exchange_explicit(&e->awaited_state, AWAITED_DONE, memory_order_acq_rel) ==
      AWAITED_STARTING) {
    return;
  }
  if (e->waiter) {
    e->waiter->go_on(e->waiter, go_on, e);
  } else if (nested >= MAX_NESTED && e->services.pool) {
    leat_thread_pool_schedule(e->services.pool, go_on, e);
  } else {
    go_on(e);
  }
}

void leat_execution_run_awaiting(leat_execution_t* e) {
  const leat_record_t* record = &e->plan->records[e->plan->awaited_record];
  leat_slot_t* slots = e->instance->slots;
  leat_status_t status = run_records(e, 0, e->plan->awaited_record);
  e->awaited = (leat_kernel_context_t){.kernel = record->kernel,
                                       .slots = slots,
                                       .input_slots = record->input_slots,
                                       .outputs = slots + record->first_output,
                                       .services = &e->services,
                                       .last_readers = record->last_readers,
                                       .owner = e};
  if (!status) status = leat_execution_check(e);
  if (!status && (record->flags & (LEAT_RECORD_HAS_REFS | LEAT_RECORD_CONTRACT))) {
    status = leat_execution_prepare(e, slots, e->plan->awaited_record, &e->awaited);
  }
  if (status) {
    leat_execution_finish(e, status);
    return;
  }
  if (e->services.collector) e->awaited_start_ns = leat_step_collector_now();
  e->awaited_state = AWAITED_STARTING;
  record->kernel->row->compute_async(&e->awaited, awaited_done);
  if (atomic_exchange_explicit(&e->awaited_state, AWAITED_STARTED, memory_order_acq_rel) ==
      AWAITED_DONE) {
    go_on(e);
  }
}
