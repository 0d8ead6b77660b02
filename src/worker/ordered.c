// The ordered executor: control flow (section 4.4) as a list of steps on the caller's thread. What
// the linear executor is for acyclic plans this is for loops and conditions: no counting, no queue,
// and values that do not move; an iteration of a small loop costs little more than its kernels. A
// step that is traced is left to the dataflow executor, which runs every node as one.
#include "worker/ordered_plan.h"

#include <string.h>

#include "worker/executor.h"

typedef struct ordered_s {
  leat_execution_t* execution;
  const leat_plan_t* plan;
  const leat_ordered_plan_t* ordered;
  leat_slot_t* slots;
  uint8_t* flags;
  uint8_t* goes_on;  // loop -> a value goes on to the next iteration
  leat_kernel_context_t context;
} ordered_t;

// ---- Values -------------------------------------------------------------------------------------

// Input |input| of |step| goes to |slot|: moved where nobody reads it after.
static void pass(const ordered_t* o, const leat_ordered_step_t* step, uint32_t input,
                 uint32_t slot) {
  leat_slot_t *from = &o->slots[step->inputs[input]], *to = &o->slots[slot];
  leat_slot_clear(to);
  to->alive = from->alive;
  if (LEAT_LIKELY(input < 64 && (step->last_readers >> input & 1))) {
    leat_tensor_move_to(&from->tensor, &to->tensor);
    from->alive = false;
  } else if (from->tensor.dtype) {
    to->tensor = leat_tensor_share(&from->tensor);
  }
}

static bool is_live(const ordered_t* o, const leat_ordered_step_t* step) {
  for (uint32_t i = 0; i < step->check_count; ++i) {
    if (!o->flags[step->checks[i]]) return false;
  }
  return true;
}

// ---- Steps --------------------------------------------------------------------------------------

static leat_status_t run_switch(ordered_t* o, const leat_ordered_step_t* step, bool live) {
  uint8_t* flags = o->flags + step->flag;
  flags[0] = flags[1] = false;
  flags[2] = live;
  if (!live) return leat_ok_status();
  const leat_tensor_t* predicate = &o->slots[step->inputs[1]].tensor;
  if (LEAT_UNLIKELY(predicate->shape.rank != 0)) {
    return leat_switch_refuse(o->plan->records[step->record].kernel, predicate);
  }
  // Read as a byte: |taken| is an index, and must be 0 or 1 whatever a kernel left there.
  uint32_t taken = *leat_tensor_data(predicate, const uint8_t) != 0;
  flags[taken] = true;
  if (step->read_outputs >> taken & 1) pass(o, step, 0, step->first_output + taken);
  return leat_ok_status();
}

static leat_status_t run_merge(ordered_t* o, const leat_ordered_step_t* step) {
  o->flags[step->flag] = false;
  for (uint32_t k = 0; k < step->check_count; ++k) {
    if (!o->flags[step->checks[k]]) continue;
    o->flags[step->flag] = true;
    if (step->read_outputs & 1) pass(o, step, k, step->first_output);
    if (!(step->read_outputs & 2)) return leat_ok_status();
    int32_t index = (int32_t)k;
    leat_slot_t* value_index = &o->slots[step->first_output + 1];
    leat_slot_clear(value_index);
    value_index->alive = true;
    return leat_tensor_scalar(LEAT_DTYPE_INT32, &index, &value_index->tensor);
  }
  return leat_ok_status();
}

static void run_move(ordered_t* o, const leat_ordered_step_t* step, bool live) {
  if (live || !step->exits) o->flags[step->flag] = live;
  // A variable that stays as it is goes on where it lies.
  bool stays = step->inputs[0] == step->first_output;
  if (!live && stays) leat_slot_clear(&o->slots[step->first_output]);
  if (!live) return;
  if (step->goes_on != LEAT_NO_LOOP) o->goes_on[step->goes_on] = true;
  if (stays) return;
  if (step->read_outputs & 1) pass(o, step, 0, step->first_output);
}

static leat_status_t run_kernel(ordered_t* o, const leat_ordered_step_t* step) {
  const leat_record_t* record = &o->plan->records[step->record];
  leat_kernel_context_t* context = &o->context;
  context->kernel = record->kernel;
  context->input_slots = step->inputs;
  context->outputs = o->slots + step->first_output;
  context->last_readers = step->last_readers;
  if (LEAT_UNLIKELY(record->flags & (LEAT_RECORD_HAS_REFS | LEAT_RECORD_CONTRACT))) {
    LEAT_RETURN_IF_ERROR(leat_execution_prepare(o->execution, o->slots + step->frame_slots,
                                                step->record, context));
  }
  return record->compute(context);
}

static leat_status_t run_step(ordered_t* o, const leat_ordered_step_t* step) {
  if (step->kind == LEAT_STEP_MERGE) return run_merge(o, step);
  bool live = is_live(o, step);
  if (step->kind == LEAT_STEP_MOVE) {
    run_move(o, step, live);
    return leat_ok_status();
  }
  if (step->kind == LEAT_STEP_SWITCH) return run_switch(o, step, live);
  if (step->flag != LEAT_FLAG_ALWAYS) o->flags[step->flag] = live;
  return live && step->kind == LEAT_STEP_RUN ? run_kernel(o, step) : leat_ok_status();
}

// ---- Loops --------------------------------------------------------------------------------------

// The step to go on with: the loop's first, or the one behind it when nothing live entered.
static uint32_t begin_loop(ordered_t* o, const leat_ordered_step_t* step) {
  const leat_ordered_loop_t* loop = &o->ordered->loops[step->record];
  bool enters = false;
  for (uint32_t i = 0; i < loop->entry_count; ++i) enters |= o->flags[loop->entries[i]];
  for (uint32_t i = 0; i < loop->exit_count; ++i) o->flags[loop->exits[i]] = false;
  o->goes_on[step->record] = false;
  return enters ? loop->begin + 1 : loop->end + 1;
}

static uint32_t end_iteration(ordered_t* o, const leat_ordered_step_t* step) {
  const leat_ordered_loop_t* loop = &o->ordered->loops[step->record];
  for (uint32_t i = 0; i < loop->first_count; ++i) o->flags[loop->firsts[i]] = false;
  if (o->goes_on[step->record]) {
    o->goes_on[step->record] = false;
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
    for (uint32_t k = 0; k < step->release_count; ++k) {
      leat_slot_clear(&o->slots[step->releases[k]]);
    }
    ++i;
  }
  return leat_ok_status();
}

static void set_constants(const ordered_t* o) {
  for (uint32_t i = 0; i < o->ordered->constant_count; ++i) {
    leat_slot_t* slot = &o->slots[o->ordered->constant_slots[i]];
    if (LEAT_LIKELY(slot->tensor.dtype)) continue;
    slot->tensor = leat_tensor_share(o->ordered->constant_tensors[i]);
    slot->alive = true;
  }
}

void leat_execution_run_ordered(leat_execution_t* e) {
  const leat_ordered_plan_t* ordered = e->plan->ordered;
  ordered_t o = {.execution = e,
                 .plan = e->plan,
                 .ordered = ordered,
                 .slots = e->instance->slots,
                 .flags = e->instance->flags,
                 .goes_on = e->instance->flags + ordered->flag_count,
                 .context = {.slots = e->instance->slots, .services = &e->services}};
  memset(o.flags, 0, ordered->flag_count);
  o.flags[LEAT_FLAG_ALWAYS] = true;
  set_constants(&o);
  leat_execution_finish(e, run_steps(&o));
}
