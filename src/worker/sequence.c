// Runs a sequence. Most records are kernels that always run: for them the loop loads the record,
// fills the context, and makes the call (kernel/call.h), about two nanoseconds for an op that does
// nothing. Whatever else a record may be is behind one test of its flags: references or a contract,
// a guard, control flow, the border of a loop, an asynchronous kernel.
//
// Invariant: between two records, the filled slots are those that a later record, the next
// iteration or a fetch still reads. A record that does not run, because its guard is not met, has
// empty outputs, and releases its inputs all the same.
//
// An asynchronous record suspends the run. Everything that the run is lies in the execution and the
// instance (slots, flags, the number of the next record), so that any thread can go on with it.
#include "worker/sequence.h"

#include <stddef.h>
#include <string.h>

#include "base/clock.h"

typedef struct sequence_run_s {
  leat_execution_t* execution;
  const leat_plan_t* plan;
  const leat_sequence_tables_t* tables;
  leat_slot_t* slots;
  uint8_t* flags;
  uint8_t* goes_on;  // by loop: a value goes on to the next iteration
} sequence_run_t;

// Records that are more than a kernel which always runs.
#define SPECIAL                                                                            \
  (LEAT_RECORD_PREPARES | LEAT_RECORD_GUARDED | LEAT_RECORD_ONLY_FLAG | LEAT_RECORD_LOOP | \
   LEAT_RECORD_REPEAT | LEAT_RECORD_CONTROL_FLOW | LEAT_RECORD_ASYNC)

// ---- Control flow -------------------------------------------------------------------------------

static bool is_live(const sequence_run_t* s, const leat_record_t* record) {
  LEAT_DCHECK(record->sequence.guard < s->tables->guard_length);
  const uint32_t* guard = &s->tables->guards[record->sequence.guard];
  for (uint32_t i = 1; i <= guard[0]; ++i) {
    if (!s->flags[guard[i]]) return false;
  }
  return true;
}

// Input |input| of |record| goes to |slot|: it is moved where nobody reads it afterwards.
static void pass(const sequence_run_t* s, const leat_record_t* record, uint32_t input,
                 uint32_t slot) {
  leat_slot_t *from = &s->slots[record->input_slots[input]], *to = &s->slots[slot];
  LEAT_DCHECK(from != to);
  leat_slot_clear(to);
  to->alive = from->alive;
  if (LEAT_LIKELY(input < 64 && (record->last_readers >> input & 1))) {
    leat_tensor_move_to(&from->tensor, &to->tensor);
    from->alive = false;
  } else if (from->tensor.dtype) {
    to->tensor = leat_tensor_share(&from->tensor);
  }
}

static leat_status_t run_switch(const sequence_run_t* s, const leat_record_t* record) {
  uint8_t* flags = s->flags + record->sequence.flag;
  LEAT_DCHECK(record->sequence.flag > LEAT_FLAG_ALWAYS &&
              record->sequence.flag + 2 < s->tables->flag_count);
  flags[0] = flags[1] = false;
  flags[2] = is_live(s, record);
  if (!flags[2]) return leat_ok_status();
  uint32_t taken = 0;
  LEAT_RETURN_IF_ERROR(
      leat_switch_choose(record->kernel, &s->slots[record->input_slots[1]].tensor, &taken));
  flags[taken] = true;
  uint32_t reads = taken ? LEAT_RECORD_READS_OUTPUT_1 : LEAT_RECORD_READS_OUTPUT_0;
  if (record->flags & reads) pass(s, record, 0, record->first_output + taken);
  return leat_ok_status();
}

// The first live input becomes output 0, its number output 1.
static leat_status_t run_merge(const sequence_run_t* s, const leat_record_t* record) {
  const uint32_t* guard = &s->tables->guards[record->sequence.guard];
  LEAT_DCHECK(record->sequence.flag > LEAT_FLAG_ALWAYS &&
              record->sequence.flag < s->tables->flag_count);
  s->flags[record->sequence.flag] = false;
  for (uint32_t k = 0; k < guard[0]; ++k) {
    if (!s->flags[guard[k + 1]]) continue;
    s->flags[record->sequence.flag] = true;
    LEAT_DCHECK((int)k < record->kernel->input_count);
    if (record->flags & LEAT_RECORD_READS_OUTPUT_0) pass(s, record, k, record->first_output);
    if (!(record->flags & LEAT_RECORD_READS_OUTPUT_1)) return leat_ok_status();
    int32_t index = (int32_t)k;
    leat_slot_t* value_index = &s->slots[record->first_output + 1];
    leat_slot_clear(value_index);
    value_index->alive = true;
    return leat_tensor_scalar(LEAT_DTYPE_INT32, &index, &value_index->tensor);
  }
  return leat_ok_status();
}

// Enter, Exit, NextIteration. A dead Exit leaves its flag alone: an earlier iteration may have set
// it. A variable that stays as it is goes on in the slot in which it lies.
static void run_move(const sequence_run_t* s, const leat_record_t* record) {
  LEAT_DCHECK(record->sequence.flag > LEAT_FLAG_ALWAYS &&
              record->sequence.flag < s->tables->flag_count);
  bool live = is_live(s, record);
  bool stays = record->input_slots[0] == record->first_output;
  if (live || !(record->flags & LEAT_RECORD_EXIT)) s->flags[record->sequence.flag] = live;
  if (!live) {
    if (stays) leat_slot_clear(&s->slots[record->first_output]);
    return;
  }
  if (record->flags & LEAT_RECORD_NEXT_ITERATION) {
    LEAT_DCHECK(record->sequence.loop < s->tables->loop_count);
    s->goes_on[record->sequence.loop] = true;
  }
  if (stays || !(record->flags & LEAT_RECORD_READS_OUTPUT_0)) return;
  pass(s, record, 0, record->first_output);
}

// Tells the recording under way, if there is one, that a loop begins. What has only values that all
// iterations see, as an inner loop in the last iteration of the outer one, does not count as one.
static LEAT_COLD void tell_loop_begins(const sequence_run_t* s, uint32_t number, bool varies) {
  leat_loop_times_t* times = &s->execution->instance->loops[number];
  const int64_t now = varies ? leat_span_begin() : 0;
  *times = (leat_loop_times_t){.begin = now, .iteration_begin = now};
}

// Tells it that an iteration ends, and, unless the loop goes on, that the loop does.
static LEAT_COLD void tell_iteration_ends(const sequence_run_t* s, uint32_t number) {
  leat_loop_times_t* times = &s->execution->instance->loops[number];
  leat_loop_label_t* label = &s->plan->loop_labels[number];
  const leat_step_services_t* services = &s->execution->services;
  leat_loop_span_end(times->iteration_begin, LEAT_SPAN_ITERATION, label, times->iteration++,
                     services);
  if (s->goes_on[number]) {
    times->iteration_begin = times->begin ? leat_span_begin() : 0;
  } else {
    leat_loop_span_end(times->begin, LEAT_SPAN_LOOP, label, times->iteration, services);
  }
}

// Returns the record to go on with: the first one of the loop, or, when nothing live entered, the
// one behind it.
static uint32_t begin_loop(const sequence_run_t* s, uint32_t number) {
  const leat_sequence_loop_t* loop = &s->tables->loops[number];
  bool varies = false, enters = false;
  LEAT_DCHECK(loop->begin < loop->end && loop->end < s->plan->record_count);
  for (uint32_t i = 0; i < loop->entry_count; ++i) varies |= s->flags[loop->entries[i]];
  for (uint32_t i = 0; i < loop->invariant_count; ++i) {
    enters |= s->flags[loop->invariant_flags[i]];
  }
  for (uint32_t i = 0; i < loop->exit_count; ++i) s->flags[loop->exits[i]] = false;
  s->goes_on[number] = false;
  if (LEAT_UNLIKELY(s->execution->services.observed)) tell_loop_begins(s, number, varies);
  if (!varies && !enters) return loop->end + 1;
  return loop->begin + 1;
}

// Returns the record to go on with: the loop's first, or the one behind it when nothing goes on.
static uint32_t end_iteration(const sequence_run_t* s, uint32_t number) {
  const leat_sequence_loop_t* loop = &s->tables->loops[number];
  LEAT_DCHECK(loop->begin < loop->end && loop->end < s->plan->record_count);
  for (uint32_t i = 0; i < loop->first_count; ++i) s->flags[loop->firsts[i]] = false;
  if (LEAT_UNLIKELY(s->execution->services.observed)) tell_iteration_ends(s, number);
  if (s->goes_on[number]) {
    s->goes_on[number] = false;
    return loop->begin + 1;
  }
  for (uint32_t i = 0; i < loop->invariant_count; ++i) {
    LEAT_DCHECK(loop->invariants[i] < s->plan->slot_count);
    leat_slot_clear(&s->slots[loop->invariants[i]]);
  }
  return loop->end + 1;
}

// ---- Records ------------------------------------------------------------------------------------

static inline void release_slots(const sequence_run_t* s, const leat_record_t* record) {
  const uint32_t* release = s->tables->releases + record->sequence.first_release;
  const uint32_t* end = release + record->sequence.release_count;
  for (; release != end; ++release) {
    LEAT_DCHECK(*release >= s->plan->constant_count && *release < s->plan->slot_count);
    leat_slot_clear(&s->slots[*release]);
  }
}

static inline void fill_context(const sequence_run_t* s, const leat_record_t* record,
                                leat_kernel_context_t* context) {
  context->kernel = record->kernel;
  context->input_slots = record->input_slots;
  context->outputs = s->slots + record->first_output;
  context->last_readers = record->last_readers;
}

static void go_on(void* data);

static void on_resume(leat_async_call_t* call) {
  leat_execution_t* e = LEAT_CONTAINER_OF(call, leat_execution_t, call);
  if (e->waiter) {
    e->waiter->go_on(e->waiter, go_on, e);
  } else {
    leat_execution_resume(e, go_on, e);
  }
}

// true when the kernel has ended already.
static bool start_async(const sequence_run_t* s, const leat_record_t* record,
                        const leat_kernel_context_t* context) {
  leat_async_call_t* call = &s->execution->call;
  call->context = *context;
  call->prepares = record->flags & LEAT_RECORD_PREPARES;
  call->takes_dead = false;
  call->observed = s->execution->services.observed;
  call->resume = on_resume;
  return leat_async_call_start(call);
}

// What a record that is more than a kernel which always runs comes to.
typedef enum outcome_e {
  DONE,       // the record has run, or is passed over
  GOES_ON,    // the run goes on with the record |execution->next|
  SUSPENDED,  // an asynchronous kernel is under way: whoever it resumes has the execution now
  FAILED,     // the step ends here
} outcome_t;

static outcome_t outcome_of(leat_status_t status, leat_status_t* out_status) {
  *out_status = status;
  return LEAT_LIKELY(!status) ? DONE : FAILED;
}

// Runs a record that is more than a kernel which always runs, or any record of a step that is
// observed. The flags are tested in this order because the first kinds have no kernel.
static inline outcome_t run_special(const sequence_run_t* s, const leat_record_t* record,
                                    leat_kernel_context_t* context, leat_status_t* out_status) {
  leat_execution_t* e = s->execution;
  const uint32_t flags = record->flags;
  if (flags & (LEAT_RECORD_LOOP | LEAT_RECORD_REPEAT)) {
    e->next = flags & LEAT_RECORD_LOOP ? begin_loop(s, record->sequence.loop)
                                       : end_iteration(s, record->sequence.loop);
    return GOES_ON;
  }
  if (flags & LEAT_RECORD_MOVES) {
    run_move(s, record);
    return DONE;
  }
  if (flags & LEAT_RECORD_CONTROL_FLOW) {
    return outcome_of(flags & LEAT_RECORD_SWITCH ? run_switch(s, record) : run_merge(s, record),
                      out_status);
  }
  if (flags & (LEAT_RECORD_GUARDED | LEAT_RECORD_ONLY_FLAG)) {
    bool live = is_live(s, record);
    LEAT_DCHECK(record->sequence.flag < s->tables->flag_count);
    if (record->sequence.flag != LEAT_FLAG_ALWAYS) s->flags[record->sequence.flag] = live;
    if (!live || (flags & LEAT_RECORD_ONLY_FLAG)) return DONE;
  }
  fill_context(s, record, context);
  if (flags & LEAT_RECORD_PREPARES) {
    context->reads = leat_plan_reads(s->plan, (uint32_t)(record - s->plan->records),
                                     &context->read_count);
  }
  if (!(flags & LEAT_RECORD_ASYNC)) {
    return outcome_of(leat_kernel_call(context, record->compute, flags & LEAT_RECORD_PREPARES,
                                       e->services.observed),
                      out_status);
  }
  e->next = (uint32_t)(record - s->plan->records);
  if (!start_async(s, record, context)) return SUSPENDED;
  return outcome_of(e->call.status, out_status);
}

// Runs the records from |execution->next| on. false: suspended.
static bool run_records(const sequence_run_t* s, leat_status_t* out_status) {
  leat_execution_t* e = s->execution;
  const leat_record_t* records = s->plan->records;
  const leat_record_t* end = records + s->plan->record_count;
  leat_kernel_context_t context = {.slots = s->slots, .services = &e->services};
  const bool timed = e->deadline_ns != LEAT_DEADLINE_NEVER;
  // No record of a step that is observed is a usual one.
  const uint32_t always = e->services.observed ? LEAT_RECORD_GUARDED : 0;
  for (const leat_record_t* record = records + e->next; record != end;) {
    if (LEAT_UNLIKELY(timed || atomic_load_explicit(&e->stopped, memory_order_relaxed))) {
      *out_status = leat_execution_check(e);
      if (*out_status) return true;
    }
    if (LEAT_LIKELY(!((record->flags | always) & SPECIAL))) {
      fill_context(s, record, &context);
      leat_status_t status = leat_kernel_call(&context, record->compute, false, false);
      if (LEAT_UNLIKELY(status)) {
        *out_status = status;
        return true;
      }
    } else {
      outcome_t outcome = run_special(s, record, &context, out_status);
      if (outcome == SUSPENDED) return false;
      if (outcome == FAILED) return true;
      if (outcome == GOES_ON) {
        LEAT_DCHECK(e->next <= s->plan->record_count);
        record = records + e->next;
        continue;
      }
    }
    release_slots(s, record++);
  }
  *out_status = leat_ok_status();
  return true;
}

static sequence_run_t run_of(leat_execution_t* e) {
  uint8_t* flags = e->instance->flags;  // NULL in a plan without control flow
  return (sequence_run_t){.execution = e,
                          .plan = e->plan,
                          .tables = &e->plan->sequence,
                          .slots = e->instance->slots,
                          .flags = flags,
                          .goes_on = flags ? flags + e->plan->sequence.flag_count : NULL};
}

// The asynchronous record at |next| has ended.
static void go_on(void* data) {
  leat_execution_t* e = data;
  sequence_run_t s = run_of(e);
  leat_status_t status = e->call.status;
  LEAT_DCHECK(e->next < e->plan->record_count &&
              (e->plan->records[e->next].flags & LEAT_RECORD_ASYNC));
  if (!status) {
    release_slots(&s, &e->plan->records[e->next++]);
    if (!run_records(&s, &status)) return;
  }
  leat_execution_finish(e, status);
}

void leat_sequence_run(leat_execution_t* e) {
  sequence_run_t s = run_of(e);
  leat_status_t status;
  if (e->plan->sequence.flag_count) {
    memset(s.flags, 0, e->plan->sequence.flag_count);
    s.flags[LEAT_FLAG_ALWAYS] = true;
  }
  if (run_records(&s, &status)) leat_execution_finish(e, status);
}
