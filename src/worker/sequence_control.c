// Makes a plan with control flow (section 4.4) a sequence. Whether a value is live becomes a flag,
// a byte of the instance, so that control flow becomes tests of flags and jumps:
//
//   - A record runs when all flags of its guard are set. It has a flag of its own only where the
//     guard has two or more; else its outputs are live exactly when its one input is.
//   - Switch sets the flags of its two sides. Both sides share the slot of the value that it reads,
//     because at most one of them is live.
//   - A loop variable has one slot: Enter fills it, NextIteration fills it anew. Merge, and
//     whatever only passes its input on (Identity, LoopCond), share it and are no records at all.
//   - A constant that waits for a control edge is always in its slot; its flag is the edge's.
//   - LOOP jumps behind its REPEAT when nothing live enters; REPEAT jumps back to the first record
//     of the loop when a NextIteration was live.
//
// So one iteration runs at a time, a frame needs one set of slots, and those of all frames lie one
// behind the other in the instance: a slot number in a sequence counts from the instance's first.
//
// Some graphs are left to the dataflow executor: with asynchronous kernels or Sends beside control
// flow, with references that pass through control flow, and with loops in which something besides
// one Merge reads what enters or goes on, or whose Enters wait for their own Exits.
#include <string.h>

#include "worker/compiler.h"
#include "worker/sequence.h"

#define NOBODY UINT32_MAX

typedef struct sequencer_s {
  leat_plan_compiler_t* c;
  leat_plan_t* plan;
  const leat_record_t* records;  // the plan's, with |dataflow| filled
  leat_dataflow_tables_t edges;
  leat_sequence_order_t order;
  uint32_t* frame_base;     // frame -> number of its first slot
  uint32_t slot_count;
  uint32_t* slot_of;        // slot -> the slot that holds its value
  uint32_t* slot_flags;     // slot -> the flag that says whether it is live
  uint32_t* record_flags;   // record -> the flag that its control edges carry
  uint32_t* writers;        // slot -> record, or NOBODY
  uint32_t* control_begin;  // record -> where control edges come from: begins in |control_sources|
  uint32_t* control_sources;
  uint32_t* variables;      // record -> the Merge whose variable it fills or is; NOBODY
  bool* is_fetched;         // slot
  // What the plan becomes.
  leat_sequence_tables_t tables;
  leat_record_t* steps;
  uint32_t step_count;
  int32_t* step_nodes;
  uint32_t* first_read;
  leat_reference_read_t* reads;
  uint32_t late_count;
  uint32_t* late_slots;
  const leat_tensor_t** late_constants;
} sequencer_t;

// ---- What the plan says of a record -------------------------------------------------------------

static int32_t frame_of(const sequencer_t* s, uint32_t record) {
  return leat_plan_compiler_frame(s->c, record);
}

static uint32_t input_count(const sequencer_t* s, uint32_t record) {
  return s->records[record].dataflow.input_count;
}

static uint32_t output_slot(const sequencer_t* s, uint32_t record, uint32_t output) {
  LEAT_DCHECK(output < s->records[record].dataflow.output_count || output == 0);
  int32_t frame = s->c->frames.outputs_in[s->plan->record_nodes[record]];
  return s->frame_base[frame] + s->records[record].first_output + output;
}

static uint32_t input_slot(const sequencer_t* s, uint32_t record, uint32_t input) {
  LEAT_DCHECK(input < input_count(s, record));
  return s->frame_base[frame_of(s, record)] + s->records[record].input_slots[input];
}

static bool has_controls(const sequencer_t* s, uint32_t record) {
  return s->control_begin[record] != s->control_begin[record + 1];
}

// Its output is its input, and nothing else is to be done.
static bool passes_through(const sequencer_t* s, uint32_t record) {
  const leat_record_t* r = &s->records[record];
  uint32_t op_flags = leat_plan_compiler_node(s->c, record)->op->flags;
  return (op_flags & (LEAT_OP_PASS_THROUGH | LEAT_OP_LOOP_CONDITION)) &&
         r->dataflow.input_count == 1 && r->dataflow.output_count == 1 &&
         !has_controls(s, record) && !(r->flags & LEAT_RECORD_HAS_REFS) &&
         !s->is_fetched[output_slot(s, record, 0)];
}

static bool shares_sides(const sequencer_t* s, uint32_t record) {
  return (s->records[record].flags & LEAT_RECORD_SWITCH) &&
         !s->is_fetched[output_slot(s, record, 0)] && !s->is_fetched[output_slot(s, record, 1)];
}

// ---- Loop variables -----------------------------------------------------------------------------

// The record whose value |slot| holds once shared slots are followed back.
static uint32_t trace_back(const sequencer_t* s, uint32_t slot) {
  uint32_t record = s->writers[slot];
  while (record != NOBODY && (passes_through(s, record) || shares_sides(s, record))) {
    record = s->writers[input_slot(s, record, 0)];
  }
  return record;
}

static uint32_t only_successor(const sequencer_t* s, uint32_t record) {
  const leat_record_t* r = &s->records[record];
  return r->dataflow.successor_count == 1 ? s->edges.successors[r->dataflow.first_successor]
                                          : NOBODY;
}

static bool is_loop_merge(const sequencer_t* s, uint32_t record) {
  const leat_record_t* r = &s->records[record];
  if (!(r->flags & LEAT_RECORD_MERGE) || r->dataflow.input_count != 2 || has_controls(s, record)) {
    return false;
  }
  uint32_t enter = s->writers[input_slot(s, record, 0)];
  uint32_t next = s->writers[input_slot(s, record, 1)];
  return enter != NOBODY && next != NOBODY && (s->records[enter].flags & LEAT_RECORD_ENTER) &&
         !(s->records[enter].flags & LEAT_RECORD_INVARIANT) &&
         (s->records[next].flags & LEAT_RECORD_NEXT_ITERATION) &&
         only_successor(s, enter) == record && only_successor(s, next) == record;
}

static bool reads_value_index(const sequencer_t* s, uint32_t merge) {
  const leat_record_t* r = &s->records[merge];
  for (uint32_t i = 0; i < r->dataflow.successor_count; ++i) {
    if (s->edges.successor_outputs[r->dataflow.first_successor + i] == 1) return true;
  }
  return false;
}

// A variable that becomes another variable of the loop must be read before that one changes, so its
// Merge stays a record with a slot of its own.
static bool takes_other_variable(const sequencer_t* s, uint32_t merge) {
  uint32_t next = s->writers[input_slot(s, merge, 1)];
  uint32_t source = trace_back(s, input_slot(s, next, 0));
  return source != NOBODY && source != merge && (s->records[source].flags & LEAT_RECORD_MERGE) &&
         frame_of(s, source) > 0;
}

static uint32_t new_flag(sequencer_t* s) { return s->tables.flag_count++; }

static leat_status_t find_variables(sequencer_t* s) {
  uint32_t count = s->plan->record_count;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(&s->c->scratch, count + 1, &s->variables));
  for (uint32_t r = 0; r < count; ++r) s->variables[r] = NOBODY;
  for (uint32_t r = 0; r < count; ++r) {
    if (!is_loop_merge(s, r) || reads_value_index(s, r) || takes_other_variable(s, r)) continue;
    s->variables[r] = r;
    s->variables[s->writers[input_slot(s, r, 0)]] = r;
    s->variables[s->writers[input_slot(s, r, 1)]] = r;
    s->record_flags[r] = s->slot_flags[output_slot(s, r, 0)] = new_flag(s);
  }
  return leat_ok_status();
}

// ---- Guards -------------------------------------------------------------------------------------

// The flag of input |input|: that of the reference, where a reference is read.
static uint32_t input_flag(const sequencer_t* s, uint32_t record, uint32_t input) {
  uint32_t slot = s->records[record].input_slots[input], read_count;
  const leat_reference_read_t* reads = leat_plan_reads(s->plan, record, &read_count);
  for (uint32_t i = 0; i < read_count; ++i) {
    if (reads[i].target == slot) slot = reads[i].source;
  }
  return s->slot_flags[s->frame_base[frame_of(s, record)] + slot];
}

static void add_check(uint32_t* guard, uint32_t flag) {
  if (flag == LEAT_FLAG_ALWAYS) return;
  for (uint32_t i = 1; i <= guard[0]; ++i) {
    if (guard[i] == flag) return;
  }
  guard[++guard[0]] = flag;
}

// All that must be live for |record| to be, each flag once; a Merge wants the flags of its inputs
// one by one. Returns the guard's place; 0 for none.
static uint32_t make_guard(sequencer_t* s, uint32_t record) {
  uint32_t flags = s->records[record].flags, place = s->tables.guard_length;
  uint32_t* guard = &s->tables.guards[place];
  if (flags & LEAT_RECORD_NEVER_DEAD) return 0;
  for (uint32_t k = 0; k < input_count(s, record); ++k) {
    if (flags & LEAT_RECORD_MERGE) {
      guard[++guard[0]] = input_flag(s, record, k);
    } else {
      add_check(guard, input_flag(s, record, k));
    }
  }
  for (uint32_t i = s->control_begin[record];
       !(flags & LEAT_RECORD_MERGE) && i < s->control_begin[record + 1]; ++i) {
    add_check(guard, s->record_flags[s->control_sources[i]]);
  }
  if (guard[0] == 0) return 0;
  LEAT_DCHECK(place > 0);
  s->tables.guard_length += guard[0] + 1;
  return place;
}

// ---- Steps --------------------------------------------------------------------------------------

static void set_flags(sequencer_t* s, uint32_t record, uint32_t flag) {
  s->record_flags[record] = flag;
  for (uint32_t k = 0; k < s->records[record].dataflow.output_count; ++k) {
    s->slot_flags[output_slot(s, record, k)] = flag;
  }
}

// The flag of what is live when all of |guard| is: one of them where it is the only one, else a new
// one, which |step| sets.
static uint32_t flag_of_guard(sequencer_t* s, leat_record_t* step) {
  const uint32_t* guard = &s->tables.guards[step->sequence.guard];
  if (guard[0] == 0) return LEAT_FLAG_ALWAYS;
  if (guard[0] == 1) return guard[1];
  return step->sequence.flag = new_flag(s);
}

static leat_record_t* add_bare_step(sequencer_t* s, uint32_t flags, int32_t node) {
  leat_record_t* step = &s->steps[s->step_count];
  s->step_nodes[s->step_count++] = node;
  if (s->first_read) s->first_read[s->step_count] = s->first_read[s->step_count - 1];
  *step = (leat_record_t){.flags = flags};
  return step;
}

// A step that does what |record| does, over the slots of the sequence.
static leat_status_t add_step(sequencer_t* s, uint32_t record, uint32_t guard,
                              leat_record_t** out_step) {
  const leat_record_t* r = &s->records[record];
  uint32_t base = s->frame_base[frame_of(s, record)], read_count;
  const leat_reference_read_t* reads = leat_plan_reads(s->plan, record, &read_count);
  uint32_t* inputs;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(&s->plan->arena, input_count(s, record) + 1, &inputs));
  for (uint32_t k = 0; k < input_count(s, record); ++k) {
    inputs[k] = s->slot_of[input_slot(s, record, k)];
  }
  leat_record_t* step = add_bare_step(s, r->flags, s->plan->record_nodes[record]);
  LEAT_DCHECK(r->kernel);
  step->compute = r->compute;
  step->kernel = r->kernel;
  step->input_slots = inputs;
  step->first_output = output_slot(s, record, 0);
  step->sequence.guard = guard;
  for (uint32_t i = 0; i < read_count; ++i) {
    s->reads[s->first_read[s->step_count]++] = (leat_reference_read_t){
        s->slot_of[base + reads[i].source], base + reads[i].target};
  }
  *out_step = step;
  return leat_ok_status();
}

static leat_status_t add_merge(sequencer_t* s, uint32_t record) {
  leat_record_t* step;
  if (s->variables[record] != NOBODY) return leat_ok_status();  // its Enter and Next fill the slot
  LEAT_RETURN_IF_ERROR(add_step(s, record, make_guard(s, record), &step));
  set_flags(s, record, step->sequence.flag = new_flag(s));
  return leat_ok_status();
}

// Three flags behind each other: of the false side, of the true side, of the Switch itself.
static leat_status_t add_switch(sequencer_t* s, uint32_t record) {
  leat_record_t* step;
  LEAT_RETURN_IF_ERROR(add_step(s, record, make_guard(s, record), &step));
  uint32_t flag = step->sequence.flag = new_flag(s);
  s->tables.flag_count += 2;
  s->record_flags[record] = flag + 2;
  for (uint32_t k = 0; k < 2; ++k) {
    uint32_t slot = output_slot(s, record, k);
    s->slot_flags[slot] = flag + k;
    if (shares_sides(s, record)) s->slot_of[slot] = step->input_slots[0];
  }
  if (shares_sides(s, record)) step->first_output = LEAT_NO_SLOT;
  return leat_ok_status();
}

static leat_status_t add_move(sequencer_t* s, uint32_t record) {
  uint32_t flags = s->records[record].flags, merge = s->variables[record];
  leat_record_t* step;
  LEAT_RETURN_IF_ERROR(add_step(s, record, make_guard(s, record), &step));
  if (flags & LEAT_RECORD_NEXT_ITERATION) step->sequence.loop = (uint32_t)frame_of(s, record) - 1;
  if (merge != NOBODY) {
    step->sequence.flag = s->record_flags[merge];
    step->first_output = output_slot(s, merge, 0);
  } else {
    // That of a NextIteration is known already, for its Merge.
    uint32_t known = s->record_flags[record];
    step->sequence.flag = known != LEAT_FLAG_ALWAYS ? known : new_flag(s);
    set_flags(s, record, step->sequence.flag);
  }
  return leat_ok_status();
}

static bool is_constant(const sequencer_t* s, uint32_t record) {
  const leat_node_t* node = leat_plan_compiler_node(s->c, record);
  const leat_tensor_t* constant = leat_node_constant(node);
  return constant && constant->dtype == node->output_types[0] &&
         !s->is_fetched[output_slot(s, record, 0)];
}

// Its value lies in its slot from the beginning: at most a flag is to be set.
static leat_status_t add_constant(sequencer_t* s, uint32_t record) {
  uint32_t guard = make_guard(s, record);
  const uint32_t* checks = &s->tables.guards[guard];
  uint32_t flag = checks[0] ? checks[1] : LEAT_FLAG_ALWAYS;
  if (checks[0] > 1) {
    leat_record_t* step =
        add_bare_step(s, LEAT_RECORD_ONLY_FLAG, s->plan->record_nodes[record]);
    step->sequence.guard = guard;
    flag = step->sequence.flag = new_flag(s);
  }
  set_flags(s, record, flag);
  LEAT_DCHECK(s->late_count < s->plan->record_count);
  s->late_slots[s->late_count] = output_slot(s, record, 0);
  s->late_constants[s->late_count++] = leat_node_constant(leat_plan_compiler_node(s->c, record));
  return leat_ok_status();
}

static leat_status_t add_record(sequencer_t* s, uint32_t record) {
  uint32_t flags = s->records[record].flags;
  leat_record_t* step;
  if (flags & LEAT_RECORD_MERGE) return add_merge(s, record);
  if (flags & LEAT_RECORD_SWITCH) return add_switch(s, record);
  if (flags & LEAT_RECORD_MOVES) return add_move(s, record);
  if (is_constant(s, record)) return add_constant(s, record);
  uint32_t guard = make_guard(s, record);
  if (passes_through(s, record)) {
    s->slot_of[output_slot(s, record, 0)] = s->slot_of[input_slot(s, record, 0)];
    set_flags(s, record, s->tables.guards[guard] ? s->tables.guards[guard + 1] : LEAT_FLAG_ALWAYS);
    return leat_ok_status();
  }
  LEAT_RETURN_IF_ERROR(add_step(s, record, guard, &step));
  set_flags(s, record, flag_of_guard(s, step));
  if (guard || step->sequence.flag) step->flags |= LEAT_RECORD_GUARDED;
  return leat_ok_status();
}

static void add_border(sequencer_t* s, uint32_t item) {
  bool begins = !(item & LEAT_ORDER_REPEAT);
  uint32_t loop = item & ~(LEAT_ORDER_LOOP | LEAT_ORDER_REPEAT);
  LEAT_DCHECK(loop < s->tables.loop_count);
  *(begins ? &s->tables.loops[loop].begin : &s->tables.loops[loop].end) = s->step_count;
  leat_record_t* step = add_bare_step(s, begins ? LEAT_RECORD_LOOP : LEAT_RECORD_REPEAT, -1);
  step->sequence.loop = loop;
}

static bool goes_on(const sequencer_t* s, uint32_t item) {
  return item < LEAT_ORDER_LOOP && (s->records[item].flags & LEAT_RECORD_NEXT_ITERATION);
}

// Of the NextIterations at the end of a loop those that keep a slot of their own come before those
// that fill a variable, which may be what the former read.
static leat_status_t add_steps(sequencer_t* s) {
  // A Merge with a slot of its own comes before the NextIteration that it reads, so that one's flag
  // is made now.
  for (uint32_t r = 0; r < s->plan->record_count; ++r) {
    if (goes_on(s, r) && s->variables[r] == NOBODY) set_flags(s, r, new_flag(s));
  }
  for (uint32_t i = 0; i < s->order.count;) {
    uint32_t item = s->order.items[i], end = i;
    while (end < s->order.count && goes_on(s, s->order.items[end])) ++end;
    for (int fills = 0; fills < 2; ++fills) {
      for (uint32_t k = i; k < end; ++k) {
        uint32_t record = s->order.items[k];
        if ((s->variables[record] != NOBODY) != fills) continue;
        LEAT_RETURN_IF_ERROR(add_record(s, record));
      }
    }
    if (end == i) {
      end = i + 1;
      if (item >= LEAT_ORDER_LOOP) {
        add_border(s, item);
      } else {
        LEAT_RETURN_IF_ERROR(add_record(s, item));
      }
    }
    i = end;
  }
  return leat_ok_status();
}

// ---- The borders of loops -----------------------------------------------------------------------

// Appends |value| to a list of a loop's, or, before there is memory for the lists, counts it.
static void append(const uint32_t* list, uint32_t* inout_count, uint32_t value) {
  if (list) ((uint32_t*)list)[*inout_count] = value;
  ++*inout_count;
}

// Lists the flags and slots that are to be set or emptied where a loop begins and ends. Two walks
// over the steps: one counts, one fills.
static leat_status_t find_borders(sequencer_t* s) {
  for (int fill = 0; fill < 2; ++fill) {
    for (uint32_t i = 0; i < s->step_count; ++i) {
      const uint32_t flags = s->steps[i].flags, flag = s->steps[i].sequence.flag;
      int32_t node = s->step_nodes[i];
      if (flags & LEAT_RECORD_EXIT) {
        leat_sequence_loop_t* loop = &s->tables.loops[s->c->frames.runs_in[node] - 1];
        append(loop->exits, &loop->exit_count, flag);
      }
      if (!(flags & LEAT_RECORD_ENTER)) continue;
      leat_sequence_loop_t* loop = &s->tables.loops[s->c->frames.outputs_in[node] - 1];
      if (flags & LEAT_RECORD_INVARIANT) {
        append(loop->invariants, &(uint32_t){loop->invariant_count}, s->steps[i].first_output);
        append(loop->invariant_flags, &loop->invariant_count, flag);
        continue;
      }
      append(loop->entries, &loop->entry_count, flag);
      if (s->variables[s->c->record_of[node]] == NOBODY) {
        append(loop->firsts, &loop->first_count, flag);
      }
    }
    for (uint32_t i = 0; !fill && i < s->tables.loop_count; ++i) {
      leat_sequence_loop_t* loop = &s->tables.loops[i];
      LEAT_RETURN_IF_ERROR(LEAT_NEW(&s->plan->arena, loop->entry_count + 1, &loop->entries));
      LEAT_RETURN_IF_ERROR(LEAT_NEW(&s->plan->arena, loop->invariant_count + 1, &loop->invariants));
      LEAT_RETURN_IF_ERROR(
          LEAT_NEW(&s->plan->arena, loop->invariant_count + 1, &loop->invariant_flags));
      LEAT_RETURN_IF_ERROR(LEAT_NEW(&s->plan->arena, loop->exit_count + 1, &loop->exits));
      LEAT_RETURN_IF_ERROR(LEAT_NEW(&s->plan->arena, loop->first_count + 1, &loop->firsts));
      loop->entry_count = loop->invariant_count = loop->exit_count = loop->first_count = 0;
    }
  }
  return leat_ok_status();
}

// What no record empties, besides constants and fetches: late constants, feeds, and what all
// iterations of a loop read.
static leat_status_t find_lasting(sequencer_t* s, bool** out_stays) {
  LEAT_RETURN_IF_ERROR(LEAT_NEW(&s->c->scratch, s->slot_count + 1, out_stays));
  bool* stays = *out_stays;
  for (uint32_t i = 0; i < s->late_count; ++i) stays[s->late_slots[i]] = true;
  for (int i = 0; i < s->plan->feed_count; ++i) {
    if (s->plan->feed_slots[i] != UINT32_MAX) stays[s->plan->feed_slots[i]] = true;
  }
  for (uint32_t i = 0; i < s->tables.loop_count; ++i) {
    for (uint32_t k = 0; k < s->tables.loops[i].invariant_count; ++k) {
      stays[s->tables.loops[i].invariants[k]] = true;
    }
  }
  return leat_ok_status();
}

// ---- The whole ----------------------------------------------------------------------------------

static void note_obstacle(sequencer_t* s, uint32_t record, const char* rule) {
  s->c->obstacle = leat_plan_compiler_node(s->c, record);
  s->c->obstacle_rule = rule;
}

static bool is_plain(sequencer_t* s) {
  for (uint32_t r = 0; r < s->plan->record_count; ++r) {
    uint32_t flags = s->records[r].flags;
    if (flags & LEAT_RECORD_ASYNC) {
      note_obstacle(s, r, "it is asynchronous, and the graph has control flow");
      return false;
    }
    if (flags & LEAT_RECORD_RUNS_DEAD) {
      note_obstacle(s, r, "it must run for a dead value too, which a sequence skips");
      return false;
    }
    if (!(flags & LEAT_RECORD_CONTROL_FLOW)) continue;
    if (flags & LEAT_RECORD_HAS_REFS) {
      note_obstacle(s, r, "a reference passes through it, and it is control flow");
      return false;
    }
    bool once = (flags & LEAT_RECORD_NEXT_ITERATION) ||
                ((flags & LEAT_RECORD_ENTER) && !(flags & LEAT_RECORD_INVARIANT));
    if (!once) continue;
    uint32_t reader = only_successor(s, r);
    if (reader == NOBODY || !is_loop_merge(s, reader)) {
      note_obstacle(s, r, "something besides one Merge of the loop reads it");
      return false;
    }
  }
  return true;
}

static leat_status_t list_controls(sequencer_t* s) {
  const leat_plan_t* plan = s->plan;
  uint32_t total = 0, *begin;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(&s->c->scratch, plan->record_count + 2, &begin));
  for (int fill = 0; fill < 2; ++fill) {
    for (uint32_t r = 0; r < plan->record_count; ++r) {
      const leat_record_t* record = &s->records[r];
      for (uint32_t k = 0; k < record->dataflow.successor_count; ++k) {
        uint32_t place = record->dataflow.first_successor + k;
        if (s->edges.successor_outputs[place] != LEAT_CONTROL_INDEX) continue;
        if (fill) {
          LEAT_DCHECK(begin[s->edges.successors[place]] > 0);
          s->control_sources[--begin[s->edges.successors[place]]] = r;
        } else {
          ++begin[s->edges.successors[place]];
        }
      }
    }
    if (fill) break;
    for (uint32_t r = 0; r <= plan->record_count; ++r) begin[r] = total += begin[r];
    LEAT_RETURN_IF_ERROR(LEAT_NEW(&s->c->scratch, total + 1, &s->control_sources));
  }
  s->control_begin = begin;
  return leat_ok_status();
}

static leat_status_t prepare(sequencer_t* s) {
  const leat_plan_t* plan = s->plan;
  size_t frames = (size_t)s->c->frames.count;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(&s->c->scratch, frames + 1, &s->frame_base));
  for (size_t f = 0; f < frames; ++f) {
    s->frame_base[f] = s->slot_count;
    s->slot_count += s->c->frame_slots[f];
  }
  LEAT_RETURN_IF_ERROR(LEAT_NEW(&s->c->scratch, s->slot_count + 1, &s->slot_of));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(&s->c->scratch, s->slot_count + 1, &s->slot_flags));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(&s->c->scratch, s->slot_count + 1, &s->writers));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(&s->c->scratch, s->slot_count + 1, &s->is_fetched));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(&s->c->scratch, plan->record_count + 1, &s->record_flags));
  for (uint32_t i = 0; i < s->slot_count; ++i) {
    s->slot_of[i] = i;
    s->writers[i] = NOBODY;
  }
  for (uint32_t r = 0; r < plan->record_count; ++r) {
    for (uint32_t k = 0; k < s->records[r].dataflow.output_count; ++k) {
      s->writers[output_slot(s, r, k)] = r;
    }
  }
  for (int i = 0; i < plan->fetch_count; ++i) s->is_fetched[plan->fetch_slots[i]] = true;
  return leat_ok_status();
}

static leat_status_t allocate_steps(sequencer_t* s) {
  const leat_plan_t* plan = s->plan;
  size_t loops = (size_t)s->c->frames.count - 1, steps = plan->record_count + 2 * loops;
  size_t edges = s->control_begin[plan->record_count], reads = 0;
  s->tables.loop_count = (uint32_t)loops;
  s->tables.flag_count = 1;  // LEAT_FLAG_ALWAYS
  s->tables.guard_length = 1;  // the empty guard
  for (uint32_t r = 0; r < plan->record_count; ++r) {
    edges += s->records[r].dataflow.input_count;
  }
  if (plan->first_read) reads = plan->first_read[plan->record_count];
  LEAT_RETURN_IF_ERROR(LEAT_NEW(&s->plan->arena, loops + 1, &s->tables.loops));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(&s->plan->arena, edges + steps + 1, &s->tables.guards));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(&s->plan->arena, steps + 1, &s->step_nodes));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(&s->plan->arena, plan->record_count + 1, &s->late_slots));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(&s->plan->arena, plan->record_count + 1, &s->late_constants));
  if (reads) {
    LEAT_RETURN_IF_ERROR(LEAT_NEW(&s->plan->arena, steps + 1, &s->first_read));
    LEAT_RETURN_IF_ERROR(LEAT_NEW(&s->plan->arena, reads + 1, &s->reads));
  }
  return leat_allocator_allocate_aligned(plan->allocator, 64, (steps + 1) * sizeof(leat_record_t),
                                         (void**)&s->steps);
}

// The steps become the plan's records. Kernels of records that have become no step go.
static void install(sequencer_t* s) {
  leat_plan_t* plan = s->plan;
  for (uint32_t i = 0; i < s->step_count; ++i) {
    LEAT_DCHECK(!s->steps[i].kernel || s->step_nodes[i] >= 0);
    if (s->steps[i].kernel) plan->records[s->c->record_of[s->step_nodes[i]]].kernel = NULL;
  }
  for (uint32_t r = 0; r < plan->record_count; ++r) leat_kernel_free(plan->records[r].kernel);
  leat_allocator_free(plan->allocator, plan->records);
  LEAT_DCHECK(s->step_count <= plan->record_count + 2 * s->tables.loop_count);
  plan->records = s->steps;
  plan->record_count = s->step_count;
  plan->record_nodes = s->step_nodes;
  plan->first_read = s->first_read;
  plan->reads = s->reads;
  plan->slot_count = s->slot_count;
  plan->late_constant_slots = s->late_slots;
  plan->late_constants = s->late_constants;
  plan->late_constant_count = s->late_count;
  plan->sequence = s->tables;
}

leat_status_t leat_sequence_compile_framed(leat_plan_compiler_t* c, bool* out_possible) {
  sequencer_t s = {.c = c, .plan = c->plan, .records = c->plan->records};
  LEAT_RETURN_IF_ERROR(leat_dataflow_compile(c, &c->scratch, &s.edges));
  LEAT_RETURN_IF_ERROR(prepare(&s));
  LEAT_RETURN_IF_ERROR(list_controls(&s));
  *out_possible = is_plain(&s);
  if (!*out_possible) return leat_ok_status();
  LEAT_RETURN_IF_ERROR(leat_sequence_order_find(c, &s.edges, &s.order));
  *out_possible = s.order.is_whole;
  if (!s.order.is_whole) {
    note_obstacle(&s, 0, "the graph has a loop whose Enters wait for its own Exits");
    return leat_ok_status();
  }
  leat_status_t status = allocate_steps(&s);
  if (!status) status = find_variables(&s);
  if (!status) status = add_steps(&s);
  if (!status) status = find_borders(&s);
  if (status) leat_allocator_free(c->plan->allocator, s.steps);  // the kernels are the records'
  LEAT_RETURN_IF_ERROR(status);
  install(&s);
  bool* stays;
  LEAT_RETURN_IF_ERROR(find_lasting(&s, &stays));
  return leat_sequence_set_releases(c, stays);
}
