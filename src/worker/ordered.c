// The ordered executor: control flow (section 4.4) as a list of steps on the caller's thread. What
// the linear executor is for acyclic plans this is for loops and conditions: no counting, no queue;
// an iteration of a small loop costs little more than its kernels.
#include <string.h>

#include "trace/collector.h"
#include "worker/executor.h"
#include "worker/ordered_plan.h"

typedef struct ordered_s {
  leat_execution_t* execution;
  const leat_plan_t* plan;
  const leat_ordered_plan_t* ordered;
  leat_slot_t* slots;
  uint8_t* dead;   // record
  uint8_t* again;  // loop -> a value goes on to the next iteration
  leat_kernel_context_t context;
} ordered_t;

// ---- Values -------------------------------------------------------------------------------------

static leat_slot_t share_slot(const leat_slot_t* slot) {
  leat_slot_t shared = {.alive = slot->alive, .ref = slot->ref};
  if (slot->tensor.dtype) shared.tensor = leat_tensor_share(&slot->tensor);
  if (shared.ref) leat_cell_retain(shared.ref);
  return shared;
}

// Input |input| of |step|: moved out where nobody reads it after.
static leat_slot_t take(const ordered_t* o, const leat_ordered_step_t* step, uint32_t input) {
  const leat_record_t* record = &o->plan->records[step->record];
  leat_slot_t* slot = &o->slots[step->first_input + record->input_slots[input]];
  if (input >= 64 || !(step->last_readers >> input & 1)) return share_slot(slot);
  leat_slot_t moved = *slot;
  memset(slot, 0, sizeof *slot);
  return moved;
}

static void put(const ordered_t* o, uint32_t slot, leat_slot_t value) {
  leat_slot_clear(&o->slots[slot]);
  o->slots[slot] = value;
}

static void release(const ordered_t* o, const leat_ordered_step_t* step) {
  for (uint32_t i = 0; i < step->release_count; ++i) {
    leat_slot_clear(&o->slots[step->releases[i]]);
  }
}

static bool is_dead(const ordered_t* o, const leat_ordered_step_t* step) {
  for (uint32_t i = 0; i < step->check_count; ++i) {
    if (!o->slots[step->checks[i]].alive) return true;
  }
  for (uint32_t i = 0; i < step->control_count; ++i) {
    if (o->dead[step->controls[i]]) return true;
  }
  return false;
}

// ---- Steps --------------------------------------------------------------------------------------

static leat_status_t run_switch(ordered_t* o, const leat_ordered_step_t* step) {
  const leat_record_t* record = &o->plan->records[step->record];
  const leat_tensor_t* predicate =
      &o->slots[step->first_input + record->input_slots[1]].tensor;
  if (LEAT_UNLIKELY(predicate->shape.rank != 0)) return leat_switch_refuse(record->kernel, predicate);
  uint32_t taken = *leat_tensor_data(predicate, const bool) ? 1 : 0;
  put(o, step->first_output + taken, take(o, step, 0));
  return leat_ok_status();
}

static leat_status_t run_merge(ordered_t* o, const leat_ordered_step_t* step) {
  const leat_record_t* record = &o->plan->records[step->record];
  o->dead[step->record] = 1;
  for (uint32_t k = 0; k < record->input_count; ++k) {
    if (!o->slots[step->first_input + record->input_slots[k]].alive) continue;
    o->dead[step->record] = 0;
    put(o, step->first_output, take(o, step, k));
    if (!(step->read_outputs & 2)) return leat_ok_status();
    int32_t index = (int32_t)k;
    leat_slot_t value = {.alive = true};
    LEAT_RETURN_IF_ERROR(leat_tensor_scalar(LEAT_DTYPE_INT32, &index, &value.tensor));
    put(o, step->first_output + 1, value);
    return leat_ok_status();
  }
  return leat_ok_status();
}

static void run_move(ordered_t* o, const leat_ordered_step_t* step) {
  if (step->goes_on) o->again[step->loop] = 1;
  if (step->read_outputs & 1) put(o, step->first_output, take(o, step, 0));
}

static leat_status_t run_kernel(ordered_t* o, const leat_ordered_step_t* step) {
  leat_execution_t* e = o->execution;
  const leat_record_t* record = &o->plan->records[step->record];
  leat_slot_t* slots = o->slots + step->first_input;
  leat_kernel_context_t* context = &o->context;
  context->kernel = record->kernel;
  context->slots = slots;
  context->input_slots = record->input_slots;
  context->outputs = o->slots + step->first_output;
  context->last_readers = step->last_readers;
  if (LEAT_UNLIKELY(record->flags & (LEAT_RECORD_HAS_REFS | LEAT_RECORD_CONTRACT))) {
    LEAT_RETURN_IF_ERROR(leat_execution_prepare(e, slots, step->record, context));
  }
  if (LEAT_LIKELY(!e->services.collector)) return record->compute(context);
  int64_t start_ns = leat_step_collector_now();
  LEAT_RETURN_IF_ERROR(record->compute(context));
  leat_execution_trace(e, slots, step->record, start_ns);
  return leat_ok_status();
}

static leat_status_t run_step(ordered_t* o, const leat_ordered_step_t* step) {
  if (step->kind == LEAT_STEP_MERGE) return run_merge(o, step);
  if (step->conditional) {
    bool dead = is_dead(o, step);
    // An Exit of an earlier iteration stays what it was: live.
    if (!dead || !step->exits) o->dead[step->record] = dead;
    if (dead) return leat_ok_status();
  }
  if (step->kind == LEAT_STEP_MOVE) {
    run_move(o, step);
    return leat_ok_status();
  }
  return step->kind == LEAT_STEP_SWITCH ? run_switch(o, step) : run_kernel(o, step);
}

// ---- Loops --------------------------------------------------------------------------------------

// The step to go on with: the loop's first, or the one behind it when nothing live entered.
static uint32_t begin_loop(ordered_t* o, const leat_ordered_step_t* step) {
  const leat_ordered_loop_t* loop = &o->ordered->loops[step->record];
  bool enters = false;
  for (uint32_t i = 0; i < loop->entry_count; ++i) enters |= o->slots[loop->entries[i]].alive;
  for (uint32_t i = 0; i < loop->exit_count; ++i) o->dead[loop->exits[i]] = 1;
  o->again[step->record] = 0;
  return enters ? loop->begin + 1 : loop->end + 1;
}

static uint32_t end_iteration(ordered_t* o, const leat_ordered_step_t* step) {
  const leat_ordered_loop_t* loop = &o->ordered->loops[step->record];
  if (o->again[step->record]) {
    o->again[step->record] = 0;
    return loop->begin + 1;
  }
  for (uint32_t i = 0; i < loop->invariant_count; ++i) {
    leat_slot_clear(&o->slots[loop->invariants[i]]);
  }
  return loop->end + 1;
}

static leat_status_t run_steps(ordered_t* o) {
  leat_execution_t* e = o->execution;
  bool timed = e->deadline_ns != INT64_MAX;
  for (uint32_t i = 0; i < o->ordered->step_count;) {
    const leat_ordered_step_t* step = &o->ordered->steps[i];
    if (LEAT_UNLIKELY(step->kind >= LEAT_STEP_LOOP)) {
      i = step->kind == LEAT_STEP_LOOP ? begin_loop(o, step) : end_iteration(o, step);
      continue;
    }
    if (LEAT_UNLIKELY(timed || atomic_load_explicit(&e->stopped, memory_order_relaxed))) {
      LEAT_RETURN_IF_ERROR(leat_execution_check(e));
    }
    leat_status_t status = run_step(o, step);
    if (LEAT_UNLIKELY(status)) return leat_execution_annotate(e, step->record, status);
    release(o, step);
    ++i;
  }
  return leat_ok_status();
}

void leat_execution_run_ordered(leat_execution_t* e) {
  const leat_plan_t* plan = e->plan;
  ordered_t o = {.execution = e,
                 .plan = plan,
                 .ordered = plan->ordered,
                 .slots = e->instance->slots,
                 .dead = e->instance->dead,
                 .context = {.services = &e->services}};
  o.again = o.dead + plan->record_count;
  memset(o.dead, 0, plan->record_count + plan->ordered->loop_count);
  leat_execution_finish(e, run_steps(&o));
}
