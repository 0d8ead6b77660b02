// The linear executor: every record in order, on the caller's thread. A plan runs here when it is
// acyclic, on one device, and no kernel is asynchronous. A null op costs a load, a call and a
// compare.
#include "trace/collector.h"
#include "worker/executor.h"

static inline void release_slots(const leat_plan_t* plan, const leat_record_t* record,
                                 leat_slot_t* slots) {
  const uint32_t* release = plan->releases + record->first_release;
  for (uint32_t i = 0; i < record->release_count; ++i) leat_slot_clear(&slots[release[i]]);
}

static leat_status_t run_records(leat_execution_t* e) {
  const leat_plan_t* plan = e->plan;
  leat_slot_t* slots = e->instance->slots;
  leat_kernel_context_t context = {.slots = slots, .services = &e->services};
  bool timed = e->deadline_ns != INT64_MAX;
  bool traced = e->services.collector != NULL;
  int64_t start_ns = 0;
  const leat_record_t* end = plan->records + plan->record_count;
  for (const leat_record_t* record = plan->records; record != end; ++record) {
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
  leat_execution_finish(e, run_records(e));
}
