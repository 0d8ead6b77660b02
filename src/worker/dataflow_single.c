// The dataflow executor when one thread does it all and there is no control flow: the same pending
// counts, without atomics. Ready records queue in an array: each enters once, and first come, first
// run goes through memory in order.
#include <string.h>

#include "trace/collector.h"
#include "worker/executor.h"

typedef struct single_s {
  leat_execution_t* execution;
  const leat_plan_t* plan;
  leat_slot_t* slots;
  uint32_t* pending;
  uint32_t* readers;
  uint32_t* ready;  // in the order of becoming so; room for one more than there are records
  uint32_t root_count;
  leat_kernel_context_t context;
} single_t;

static uint64_t last_readers(const single_t* s, const leat_record_t* record) {
  uint64_t mask = 0;
  uint32_t count = record->input_count < 64 ? record->input_count : 64;
  for (uint32_t k = 0; k < count; ++k) {
    mask |= (uint64_t)(s->readers[record->input_slots[k]] == 1) << k;
  }
  return mask;
}

// Constants are counted from so high that they never come down to 0.
static void release_input(single_t* s, uint32_t slot) {
  if (--s->readers[slot] == 0) leat_slot_clear(&s->slots[slot]);
}

static void release(single_t* s, uint32_t index) {
  const leat_plan_t* plan = s->plan;
  const leat_record_t* record = &plan->records[index];
  for (uint32_t k = 0; k < record->input_count; ++k) release_input(s, record->input_slots[k]);
  for (uint32_t k = 0; k < record->output_count; ++k) {
    uint32_t slot = record->first_output + k;
    if (plan->readers[slot] == 0) leat_slot_clear(&s->slots[slot]);
  }
  if (!plan->first_dereference) return;
  uint32_t end = plan->first_dereference[index + 1];
  for (uint32_t i = plan->first_dereference[index]; i < end; ++i) {
    release_input(s, plan->dereferences[i].source);
  }
}

static leat_status_t run_record(single_t* s, uint32_t index) {
  leat_execution_t* e = s->execution;
  const leat_record_t* record = &s->plan->records[index];
  leat_kernel_context_t* context = &s->context;
  context->kernel = record->kernel;
  context->input_slots = record->input_slots;
  context->outputs = s->slots + record->first_output;
  context->last_readers = last_readers(s, record);
  if (record->flags & (LEAT_RECORD_HAS_REFS | LEAT_RECORD_CONTRACT)) {
    LEAT_RETURN_IF_ERROR(leat_execution_prepare(e, s->slots, index, context));
  }
  if (LEAT_LIKELY(!e->services.collector)) return record->compute(context);
  int64_t start_ns = leat_step_collector_now();
  LEAT_RETURN_IF_ERROR(record->compute(context));
  leat_execution_trace(e, s->slots, index, start_ns);
  return leat_ok_status();
}

static leat_status_t run_ready(single_t* s) {
  leat_execution_t* e = s->execution;
  const leat_plan_t* plan = s->plan;
  bool timed = e->deadline_ns != INT64_MAX;
  uint32_t count = s->root_count;
  for (uint32_t next = 0; next < count; ++next) {
    uint32_t index = s->ready[next];
    const leat_record_t* record = &plan->records[index];
    if (LEAT_UNLIKELY(timed || atomic_load_explicit(&e->stopped, memory_order_relaxed))) {
      LEAT_RETURN_IF_ERROR(leat_execution_check(e));
    }
    leat_status_t status = run_record(s, index);
    if (LEAT_UNLIKELY(status)) return leat_execution_annotate(e, index, status);
    if (record->input_count | record->output_count) release(s, index);
    const uint32_t* successors = plan->successors + record->first_successor;
    // Written in any case, kept when ready: a branch here would be guessed wrong half of the time.
    for (uint32_t i = 0; i < record->successor_count; ++i) {
      s->ready[count] = successors[i];
      count += --s->pending[successors[i]] == 0;
    }
  }
  return leat_ok_status();
}

static leat_status_t prepare(leat_plan_t* plan, leat_plan_instance_t* instance) {
  size_t records = plan->record_count, slots = plan->slot_count;
  if (!instance->counters) {
    LEAT_RETURN_IF_ERROR(leat_allocator_allocate_array(plan->allocator, 2 * records + slots + 1,
                                                       sizeof(uint32_t),
                                                       (void**)&instance->counters));
  }
  memcpy(instance->counters, plan->pending, records * sizeof(uint32_t));
  memcpy(instance->counters + records, plan->readers, slots * sizeof(uint32_t));
  return leat_ok_status();
}

void leat_execution_run_single(leat_execution_t* e) {
  leat_plan_t* plan = e->plan;
  leat_status_t status = prepare(plan, e->instance);
  if (!status) {
    single_t s = {.execution = e,
                  .plan = plan,
                  .slots = e->instance->slots,
                  .pending = e->instance->counters,
                  .readers = e->instance->counters + plan->record_count,
                  .ready = e->instance->counters + plan->record_count + plan->slot_count,
                  .root_count = plan->root_count,
                  .context = {.slots = e->instance->slots, .services = &e->services}};
    memcpy(s.ready, plan->roots, plan->root_count * sizeof(uint32_t));
    status = run_ready(&s);
  }
  leat_execution_finish(e, status);
}
