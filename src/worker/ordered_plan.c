// Goes through the records in the order of leat_step_order_find and makes of each a step, or a
// share in a slot and a flag that are there already. Then two walks over the steps find who reads
// each slot last, and write it down.
#include "worker/ordered_plan.h"

#include <string.h>

#define MAX_FRAMES 500
#define NOBODY UINT32_MAX
#define STAYS (UINT32_MAX - 1)  // constants, feeds, fetches, invariants

typedef struct maker_s {
  leat_plan_t* plan;
  const leat_graph_t* graph;
  leat_ordered_plan_t* ordered;
  leat_arena_t scratch;
  leat_step_order_t order;
  uint32_t* first_slot;     // frame -> its first slot
  uint32_t* slot_of;        // slot -> the one that holds its value
  uint32_t* slot_flags;     // slot -> flag that says whether its output is live
  uint32_t* record_flags;   // record -> flag for control edges
  uint32_t* writers;        // slot -> record that writes it
  uint32_t* control_begin;  // record -> the records that control edges come from: CSR
  uint32_t* control_sources;
  uint32_t* variables;      // record -> the Merge whose variable it fills, or NOBODY
  bool* is_fetched;         // slot
  uint32_t* last;           // slot -> step that reads it last
} maker_t;

static leat_status_t allocate(leat_arena_t* arena, size_t count, size_t item_bytes, void* out) {
  return leat_arena_allocate_array(arena, count + 1, item_bytes, (void**)out);
}

// ---- What the plan says of a record -------------------------------------------------------------

static const leat_record_t* record_at(const maker_t* m, uint32_t record) {
  return &m->plan->records[record];
}

static const leat_node_t* node_of(const maker_t* m, uint32_t record) {
  return &m->graph->nodes[m->plan->record_nodes[record]];
}

static int32_t frame_of(const maker_t* m, uint32_t record) {
  return m->plan->frames.runs_in[m->plan->record_nodes[record]];
}

static uint32_t output_slot(const maker_t* m, uint32_t record, uint32_t output) {
  int32_t frame = m->plan->frames.outputs_in[m->plan->record_nodes[record]];
  return m->first_slot[frame] + record_at(m, record)->first_output + output;
}

static uint32_t input_slot(const maker_t* m, uint32_t record, uint32_t input) {
  return m->first_slot[frame_of(m, record)] + record_at(m, record)->input_slots[input];
}

static uint32_t dereference_begin(const maker_t* m, uint32_t record) {
  return m->plan->first_dereference ? m->plan->first_dereference[record] : 0;
}

static uint32_t dereference_end(const maker_t* m, uint32_t record) {
  return m->plan->first_dereference ? m->plan->first_dereference[record + 1] : 0;
}

static bool has_references(const maker_t* m, uint32_t record) {
  return (record_at(m, record)->flags & LEAT_RECORD_HAS_REFS) ||
         dereference_begin(m, record) != dereference_end(m, record);
}

static bool has_controls(const maker_t* m, uint32_t record) {
  return m->control_begin[record] != m->control_begin[record + 1];
}

// Its output is its input, and nothing else is to be done.
static bool passes_through(const maker_t* m, uint32_t record) {
  const leat_node_t* node = node_of(m, record);
  return (node->op->flags & (LEAT_OP_PASS_THROUGH | LEAT_OP_LOOP_CONDITION)) &&
         record_at(m, record)->input_count == 1 && record_at(m, record)->output_count == 1 &&
         !has_controls(m, record) && !has_references(m, record) &&
         !m->is_fetched[output_slot(m, record, 0)];
}

static bool shares_sides(const maker_t* m, uint32_t record) {
  return (record_at(m, record)->flags & LEAT_RECORD_SWITCH) &&
         !m->is_fetched[output_slot(m, record, 0)] && !m->is_fetched[output_slot(m, record, 1)];
}

// ---- Loop variables -----------------------------------------------------------------------------

// The record whose value |slot| holds once shares are followed back.
static uint32_t trace_back(const maker_t* m, uint32_t slot) {
  uint32_t record = m->writers[slot];
  while (record != NOBODY && (passes_through(m, record) || shares_sides(m, record))) {
    record = m->writers[input_slot(m, record, 0)];
  }
  return record;
}

static uint32_t only_successor(const maker_t* m, uint32_t record) {
  const leat_record_t* r = record_at(m, record);
  return r->successor_count == 1 ? m->plan->successors[r->first_successor] : NOBODY;
}

static bool is_loop_merge(const maker_t* m, uint32_t record) {
  const leat_record_t* r = record_at(m, record);
  if (!(r->flags & LEAT_RECORD_MERGE) || r->input_count != 2 || has_controls(m, record)) {
    return false;
  }
  uint32_t enter = m->writers[input_slot(m, record, 0)];
  uint32_t next = m->writers[input_slot(m, record, 1)];
  return enter != NOBODY && next != NOBODY &&
         (record_at(m, enter)->flags & LEAT_RECORD_ENTER) &&
         !(record_at(m, enter)->flags & LEAT_RECORD_INVARIANT) &&
         (record_at(m, next)->flags & LEAT_RECORD_NEXT_ITERATION) &&
         only_successor(m, enter) == record && only_successor(m, next) == record;
}

static bool reads_value_index(const maker_t* m, uint32_t merge) {
  const leat_record_t* r = record_at(m, merge);
  for (uint32_t i = 0; i < r->successor_count; ++i) {
    if (m->plan->successor_outputs[r->first_successor + i] == 1) return true;
  }
  return false;
}

// A variable that becomes another one of the loop is taken before that one changes: it keeps its
// Merge.
static bool takes_other_variable(const maker_t* m, uint32_t merge) {
  uint32_t next = m->writers[input_slot(m, merge, 1)];
  uint32_t source = trace_back(m, input_slot(m, next, 0));
  return source != NOBODY && source != merge &&
         (record_at(m, source)->flags & LEAT_RECORD_MERGE) && frame_of(m, source) > 0;
}

static leat_status_t find_variables(maker_t* m) {
  const leat_plan_t* plan = m->plan;
  LEAT_RETURN_IF_ERROR(
      allocate(&m->scratch, plan->record_count, sizeof(uint32_t), &m->variables));
  for (uint32_t r = 0; r < plan->record_count; ++r) m->variables[r] = NOBODY;
  for (uint32_t r = 0; r < plan->record_count; ++r) {
    if (!is_loop_merge(m, r) || reads_value_index(m, r) || takes_other_variable(m, r)) continue;
    m->variables[r] = r;
    m->variables[m->writers[input_slot(m, r, 0)]] = r;
    m->variables[m->writers[input_slot(m, r, 1)]] = r;
    m->record_flags[r] = m->ordered->flag_count++;
    m->slot_flags[output_slot(m, r, 0)] = m->record_flags[r];
  }
  return leat_ok_status();
}

// ---- Steps --------------------------------------------------------------------------------------

static uint32_t new_flag(maker_t* m) { return m->ordered->flag_count++; }

static void add_check(uint32_t* checks, uint32_t* count, uint32_t flag) {
  if (flag == LEAT_FLAG_ALWAYS) return;
  for (uint32_t i = 0; i < *count; ++i) {
    if (checks[i] == flag) return;
  }
  checks[(*count)++] = flag;
}

// The flag of input |input|: of the reference, where a reference is read.
static uint32_t input_flag(const maker_t* m, uint32_t record, uint32_t input) {
  uint32_t slot = record_at(m, record)->input_slots[input];
  for (uint32_t d = dereference_begin(m, record); d < dereference_end(m, record); ++d) {
    if (m->plan->dereferences[d].target == slot) slot = m->plan->dereferences[d].source;
  }
  return m->slot_flags[m->first_slot[frame_of(m, record)] + slot];
}

// All that must be live for |record| to be, each flag once.
static leat_status_t find_checks(maker_t* m, uint32_t record, uint32_t** out_checks,
                                 uint32_t* out_count) {
  const leat_record_t* r = record_at(m, record);
  uint32_t begin = m->control_begin[record], end = m->control_begin[record + 1];
  *out_count = 0;
  LEAT_RETURN_IF_ERROR(allocate(&m->plan->arena, r->input_count + (end - begin),
                                sizeof(uint32_t), out_checks));
  if (r->flags & LEAT_RECORD_NEVER_DEAD) return leat_ok_status();
  if (r->flags & LEAT_RECORD_MERGE) {
    for (uint32_t k = 0; k < r->input_count; ++k) (*out_checks)[k] = input_flag(m, record, k);
    *out_count = r->input_count;
    return leat_ok_status();
  }
  for (uint32_t k = 0; k < r->input_count; ++k) {
    add_check(*out_checks, out_count, input_flag(m, record, k));
  }
  for (uint32_t i = begin; i < end; ++i) {
    add_check(*out_checks, out_count, m->record_flags[m->control_sources[i]]);
  }
  return leat_ok_status();
}

static void set_flags(maker_t* m, uint32_t record, uint32_t flag) {
  m->record_flags[record] = flag;
  for (uint32_t k = 0; k < record_at(m, record)->output_count; ++k) {
    m->slot_flags[output_slot(m, record, k)] = flag;
  }
}

static leat_status_t add_step(maker_t* m, leat_step_kind_t kind, uint32_t record,
                              uint32_t* checks, uint32_t check_count,
                              leat_ordered_step_t** out_step) {
  const leat_record_t* r = record_at(m, record);
  leat_ordered_step_t* step = &m->ordered->steps[m->ordered->step_count++];
  uint32_t* inputs;
  LEAT_RETURN_IF_ERROR(
      allocate(&m->plan->arena, r->input_count, sizeof(uint32_t), &inputs));
  for (uint32_t k = 0; k < r->input_count; ++k) {
    inputs[k] = m->slot_of[input_slot(m, record, k)];
  }
  *step = (leat_ordered_step_t){.record = record,
                                .kind = kind,
                                .checks = checks,
                                .check_count = check_count,
                                .inputs = inputs,
                                .first_output = output_slot(m, record, 0),
                                .goes_on = LEAT_NO_LOOP,
                                .frame_slots = m->first_slot[frame_of(m, record)]};
  *out_step = step;
  return leat_ok_status();
}

// The flag of what is live when all of |checks| are: one of them where it is the only one.
static uint32_t flag_of_checks(maker_t* m, leat_ordered_step_t* step) {
  if (step->check_count == 0) return LEAT_FLAG_ALWAYS;
  if (step->check_count == 1) return step->checks[0];
  return step->flag = new_flag(m);
}

static leat_status_t add_switch(maker_t* m, uint32_t record, uint32_t* checks, uint32_t count) {
  leat_ordered_step_t* step;
  LEAT_RETURN_IF_ERROR(add_step(m, LEAT_STEP_SWITCH, record, checks, count, &step));
  step->flag = new_flag(m);
  m->ordered->flag_count += 2;
  m->record_flags[record] = step->flag + 2;
  for (uint32_t k = 0; k < 2; ++k) {
    uint32_t slot = output_slot(m, record, k);
    m->slot_flags[slot] = step->flag + k;
    if (shares_sides(m, record)) m->slot_of[slot] = step->inputs[0];
  }
  if (shares_sides(m, record)) step->first_output = NOBODY;
  return leat_ok_status();
}

static leat_status_t add_move(maker_t* m, uint32_t record, uint32_t* checks, uint32_t count) {
  uint32_t flags = record_at(m, record)->flags, merge = m->variables[record];
  leat_ordered_step_t* step;
  LEAT_RETURN_IF_ERROR(add_step(m, LEAT_STEP_MOVE, record, checks, count, &step));
  step->exits = flags & LEAT_RECORD_EXIT;
  if (flags & LEAT_RECORD_NEXT_ITERATION) step->goes_on = (uint32_t)frame_of(m, record) - 1;
  if (merge != NOBODY) {
    step->flag = m->record_flags[merge];
    step->first_output = output_slot(m, merge, 0);
  } else {
    // That of a NextIteration is known already, for its Merge.
    uint32_t known = m->record_flags[record];
    step->flag = known != LEAT_FLAG_ALWAYS ? known : new_flag(m);
    set_flags(m, record, step->flag);
  }
  return leat_ok_status();
}

static leat_status_t add_constant(maker_t* m, uint32_t record, uint32_t* checks, uint32_t count) {
  uint32_t flag = count ? checks[0] : LEAT_FLAG_ALWAYS;
  if (count > 1) {
    leat_ordered_step_t* step;
    LEAT_RETURN_IF_ERROR(add_step(m, LEAT_STEP_NOTE, record, checks, count, &step));
    flag = step->flag = new_flag(m);
  }
  set_flags(m, record, flag);
  m->ordered->constant_slots[m->ordered->constant_count] = output_slot(m, record, 0);
  m->ordered->constant_tensors[m->ordered->constant_count++] =
      leat_node_constant(node_of(m, record));
  return leat_ok_status();
}

static bool is_constant(const maker_t* m, uint32_t record) {
  const leat_node_t* node = node_of(m, record);
  const leat_tensor_t* constant = leat_node_constant(node);
  return constant && constant->dtype == node->output_types[0] &&
         !m->is_fetched[output_slot(m, record, 0)];
}

static leat_status_t add_record(maker_t* m, uint32_t record) {
  uint32_t flags = record_at(m, record)->flags, count;
  uint32_t* checks;
  leat_ordered_step_t* step;
  bool merges = flags & LEAT_RECORD_MERGE;
  if (merges && m->variables[record] != NOBODY) return leat_ok_status();
  LEAT_RETURN_IF_ERROR(find_checks(m, record, &checks, &count));
  if (merges) {
    LEAT_RETURN_IF_ERROR(add_step(m, LEAT_STEP_MERGE, record, checks, count, &step));
    set_flags(m, record, step->flag = new_flag(m));
    return leat_ok_status();
  }
  if (flags & LEAT_RECORD_SWITCH) return add_switch(m, record, checks, count);
  if (flags & LEAT_RECORD_CONTROL_FLOW) return add_move(m, record, checks, count);
  if (is_constant(m, record)) return add_constant(m, record, checks, count);
  if (passes_through(m, record)) {
    m->slot_of[output_slot(m, record, 0)] = m->slot_of[input_slot(m, record, 0)];
    set_flags(m, record, count ? checks[0] : LEAT_FLAG_ALWAYS);
    return leat_ok_status();
  }
  LEAT_RETURN_IF_ERROR(add_step(m, LEAT_STEP_RUN, record, checks, count, &step));
  set_flags(m, record, flag_of_checks(m, step));
  return leat_ok_status();
}

// What a Merge of its own reads from a NextIteration comes later in the order: its flag is made
// now.
static void flag_next_iterations(maker_t* m) {
  for (uint32_t r = 0; r < m->plan->record_count; ++r) {
    bool goes_on = record_at(m, r)->flags & LEAT_RECORD_NEXT_ITERATION;
    if (goes_on && m->variables[r] == NOBODY) set_flags(m, r, new_flag(m));
  }
}

static leat_status_t add_border(maker_t* m, uint32_t item) {
  bool begins = !(item & LEAT_ORDER_REPEAT);
  uint32_t loop = item & ~(LEAT_ORDER_LOOP | LEAT_ORDER_REPEAT);
  leat_ordered_step_t* step = &m->ordered->steps[m->ordered->step_count];
  *(begins ? &m->ordered->loops[loop].begin : &m->ordered->loops[loop].end) =
      m->ordered->step_count++;
  *step = (leat_ordered_step_t){.kind = begins ? LEAT_STEP_LOOP : LEAT_STEP_REPEAT,
                                .record = loop,
                                .goes_on = LEAT_NO_LOOP};
  return leat_ok_status();
}

// NextIterations that keep a slot of their own go before those that fill the variables.
static leat_status_t add_steps(maker_t* m) {
  for (uint32_t i = 0; i < m->order.count;) {
    uint32_t item = m->order.items[i], end = i;
    while (end < m->order.count && m->order.items[end] < LEAT_ORDER_LOOP &&
           (record_at(m, m->order.items[end])->flags & LEAT_RECORD_NEXT_ITERATION)) {
      ++end;
    }
    for (int fills = 0; fills < 2; ++fills) {
      for (uint32_t k = i; k < end; ++k) {
        uint32_t record = m->order.items[k];
        if ((m->variables[record] != NOBODY) != fills) continue;
        LEAT_RETURN_IF_ERROR(add_record(m, record));
      }
    }
    if (end == i) {
      end = i + 1;
      LEAT_RETURN_IF_ERROR(item >= LEAT_ORDER_LOOP ? add_border(m, item) : add_record(m, item));
    }
    i = end;
  }
  return leat_ok_status();
}

// ---- Who reads last -----------------------------------------------------------------------------

typedef void (*slot_fn_t)(maker_t* m, uint32_t slot, uint32_t step, uint32_t** inout_list);

static void for_reads(maker_t* m, uint32_t index, slot_fn_t fn, uint32_t** inout_list) {
  const leat_ordered_step_t* step = &m->ordered->steps[index];
  if (step->kind >= LEAT_STEP_LOOP || step->kind == LEAT_STEP_NOTE) return;
  const leat_record_t* record = record_at(m, step->record);
  for (uint32_t k = 0; k < record->input_count; ++k) fn(m, step->inputs[k], index, inout_list);
  for (uint32_t d = dereference_begin(m, step->record); d < dereference_end(m, step->record); ++d) {
    fn(m, m->slot_of[step->frame_slots + m->plan->dereferences[d].source], index, inout_list);
  }
}

static void note_last(maker_t* m, uint32_t slot, uint32_t step, uint32_t** unused) {
  (void)unused;
  if (m->last[slot] != STAYS) m->last[slot] = step;
}

static void list_release(maker_t* m, uint32_t slot, uint32_t step, uint32_t** inout_list) {
  if (m->last[slot] != step) return;
  m->last[slot] = STAYS;  // listed once
  *(*inout_list)++ = slot;
}

static leat_status_t find_last_readers(maker_t* m) {
  const leat_plan_t* plan = m->plan;
  const leat_ordered_plan_t* o = m->ordered;
  LEAT_RETURN_IF_ERROR(allocate(&m->scratch, o->slot_count, sizeof(uint32_t), &m->last));
  for (uint32_t i = 0; i < o->slot_count; ++i) m->last[i] = m->is_fetched[i] ? STAYS : NOBODY;
  for (uint32_t i = 0; i < plan->constant_count; ++i) m->last[plan->constant_slots[i]] = STAYS;
  for (uint32_t i = 0; i < o->constant_count; ++i) m->last[o->constant_slots[i]] = STAYS;
  for (int i = 0; i < plan->feed_count; ++i) {
    if (plan->feed_slots[i] != UINT32_MAX) m->last[plan->feed_slots[i]] = STAYS;
  }
  for (uint32_t i = 0; i < o->loop_count; ++i) {
    for (uint32_t k = 0; k < o->loops[i].invariant_count; ++k) {
      m->last[o->loops[i].invariants[k]] = STAYS;
    }
  }
  for (uint32_t i = 0; i < o->step_count; ++i) for_reads(m, i, note_last, NULL);
  return leat_ok_status();
}

static uint64_t last_reader_mask(const maker_t* m, uint32_t index) {
  const leat_ordered_step_t* step = &m->ordered->steps[index];
  const leat_record_t* record = record_at(m, step->record);
  uint64_t mask = 0;
  for (uint32_t k = 0; k < record->input_count && k < 64; ++k) {
    int uses = 0;
    for (uint32_t i = 0; i < record->input_count; ++i) uses += step->inputs[i] == step->inputs[k];
    if (uses == 1 && m->last[step->inputs[k]] == index) mask |= UINT64_C(1) << k;
  }
  return mask;
}

static leat_status_t set_releases(maker_t* m, uint32_t index) {
  leat_ordered_step_t* step = &m->ordered->steps[index];
  if (step->kind >= LEAT_STEP_LOOP || step->kind == LEAT_STEP_NOTE) return leat_ok_status();
  const leat_record_t* record = record_at(m, step->record);
  uint32_t outputs = step->first_output == NOBODY || step->kind == LEAT_STEP_MOVE
                         ? 0 : record->output_count;
  uint32_t dereferences = dereference_end(m, step->record) - dereference_begin(m, step->record);
  uint32_t* list;
  LEAT_RETURN_IF_ERROR(allocate(&m->plan->arena, record->input_count + outputs + dereferences,
                                sizeof(uint32_t), &list));
  for (uint32_t k = 0; k < 2 && k < record->output_count && step->first_output != NOBODY; ++k) {
    if (m->last[step->first_output + k] != NOBODY) step->read_outputs |= (uint8_t)(1 << k);
  }
  step->last_readers = last_reader_mask(m, index);
  step->releases = list;
  bool stays = step->kind == LEAT_STEP_MOVE && step->inputs[0] == step->first_output;
  if (!stays) for_reads(m, index, list_release, &list);  // else it is emptied when the loop ends
  for (uint32_t k = 0; k < outputs; ++k) {
    if (m->last[step->first_output + k] == NOBODY) *list++ = step->first_output + k;
  }
  step->release_count = (uint32_t)(list - step->releases);
  return leat_ok_status();
}

// ---- The whole ----------------------------------------------------------------------------------

// Values and flags at the borders of loops.
static leat_status_t find_borders(maker_t* m) {
  leat_plan_t* plan = m->plan;
  for (uint32_t i = 0; i < m->ordered->loop_count; ++i) {
    leat_ordered_loop_t* loop = &m->ordered->loops[i];
    size_t most = plan->record_count;
    uint32_t *entries, *invariants, *exits, *firsts;
    LEAT_RETURN_IF_ERROR(allocate(&plan->arena, most, sizeof(uint32_t), &firsts));
    LEAT_RETURN_IF_ERROR(allocate(&plan->arena, most, sizeof(uint32_t), &entries));
    LEAT_RETURN_IF_ERROR(allocate(&plan->arena, most, sizeof(uint32_t), &invariants));
    LEAT_RETURN_IF_ERROR(allocate(&plan->arena, most, sizeof(uint32_t), &exits));
    for (uint32_t s = 0; s < m->ordered->step_count; ++s) {
      const leat_ordered_step_t* step = &m->ordered->steps[s];
      if (step->kind != LEAT_STEP_MOVE) continue;
      uint32_t flags = record_at(m, step->record)->flags;
      int32_t into = plan->frames.outputs_in[plan->record_nodes[step->record]];
      if ((flags & LEAT_RECORD_ENTER) && into == (int32_t)i + 1) {
        entries[loop->entry_count++] = step->flag;
        if (flags & LEAT_RECORD_INVARIANT) {
          invariants[loop->invariant_count++] = step->first_output;
        } else if (m->variables[step->record] == NOBODY) {
          firsts[loop->first_count++] = step->flag;
        }
      }
      if (step->exits && frame_of(m, step->record) == (int32_t)i + 1) {
        exits[loop->exit_count++] = step->flag;
      }
    }
    loop->entries = entries;
    loop->invariants = invariants;
    loop->exits = exits;
    loop->firsts = firsts;
  }
  return leat_ok_status();
}

// What is left to the dataflow executor: references in control flow; a value that enters, or goes
// on, and is read by others than one Merge.
static bool is_plain(const maker_t* m) {
  for (uint32_t r = 0; r < m->plan->record_count; ++r) {
    uint32_t flags = record_at(m, r)->flags;
    if (!(flags & LEAT_RECORD_CONTROL_FLOW)) continue;
    if (has_references(m, r)) return false;
    bool once = (flags & LEAT_RECORD_NEXT_ITERATION) ||
                ((flags & LEAT_RECORD_ENTER) && !(flags & LEAT_RECORD_INVARIANT));
    if (!once) continue;
    uint32_t reader = only_successor(m, r);
    if (reader == NOBODY || !is_loop_merge(m, reader)) return false;
  }
  return true;
}

static leat_status_t list_controls(maker_t* m) {
  const leat_plan_t* plan = m->plan;
  uint32_t total = 0, *begin;
  LEAT_RETURN_IF_ERROR(allocate(&m->scratch, plan->record_count + 1, sizeof(uint32_t), &begin));
  for (int fill = 0; fill < 2; ++fill) {
    for (uint32_t r = 0; r < plan->record_count; ++r) {
      const leat_record_t* record = record_at(m, r);
      for (uint32_t k = 0; k < record->successor_count; ++k) {
        uint32_t place = record->first_successor + k;
        if (plan->successor_outputs[place] != LEAT_CONTROL_INDEX) continue;
        if (fill) {
          m->control_sources[--begin[plan->successors[place]]] = r;
        } else {
          ++begin[plan->successors[place]];
        }
      }
    }
    if (fill) break;
    for (uint32_t r = 0; r <= plan->record_count; ++r) begin[r] = total += begin[r];
    LEAT_RETURN_IF_ERROR(allocate(&m->scratch, total, sizeof(uint32_t), &m->control_sources));
  }
  m->control_begin = begin;
  return leat_ok_status();
}

static leat_status_t prepare_slots(maker_t* m) {
  leat_plan_t* plan = m->plan;
  leat_ordered_plan_t* o = m->ordered;
  uint32_t slots = 0;
  LEAT_RETURN_IF_ERROR(
      allocate(&m->scratch, (size_t)plan->frames.count, sizeof(uint32_t), &m->first_slot));
  for (int32_t f = 0; f < plan->frames.count; ++f) {
    m->first_slot[f] = slots;
    slots += plan->frame_plans[f].slot_count;
  }
  o->slot_count = slots;
  o->loop_count = (uint32_t)plan->frames.count - 1;
  o->flag_count = 1;
  LEAT_RETURN_IF_ERROR(allocate(&m->scratch, slots, sizeof(uint32_t), &m->slot_of));
  LEAT_RETURN_IF_ERROR(allocate(&m->scratch, slots, sizeof(uint32_t), &m->slot_flags));
  LEAT_RETURN_IF_ERROR(allocate(&m->scratch, slots, sizeof(uint32_t), &m->writers));
  LEAT_RETURN_IF_ERROR(allocate(&m->scratch, slots, 1, &m->is_fetched));
  LEAT_RETURN_IF_ERROR(
      allocate(&m->scratch, plan->record_count, sizeof(uint32_t), &m->record_flags));
  for (uint32_t i = 0; i < slots; ++i) {
    m->slot_of[i] = i;
    m->writers[i] = NOBODY;
  }
  for (uint32_t r = 0; r < plan->record_count; ++r) {
    for (uint32_t k = 0; k < record_at(m, r)->output_count; ++k) {
      m->writers[output_slot(m, r, k)] = r;
    }
  }
  for (int i = 0; i < plan->fetch_count; ++i) m->is_fetched[plan->fetch_slots[i]] = true;
  return leat_ok_status();
}

static leat_status_t prepare_steps(maker_t* m) {
  leat_arena_t* arena = &m->plan->arena;
  size_t records = m->plan->record_count, items = records + 2 * m->ordered->loop_count;
  LEAT_RETURN_IF_ERROR(allocate(&m->scratch, items, sizeof(uint32_t), &m->order.items));
  LEAT_RETURN_IF_ERROR(allocate(arena, items, sizeof(leat_ordered_step_t), &m->ordered->steps));
  LEAT_RETURN_IF_ERROR(allocate(arena, m->ordered->loop_count, sizeof(leat_ordered_loop_t),
                                &m->ordered->loops));
  LEAT_RETURN_IF_ERROR(
      allocate(arena, records, sizeof(uint32_t), &m->ordered->constant_slots));
  return allocate(arena, records, sizeof(leat_tensor_t*), &m->ordered->constant_tensors);
}

static leat_status_t make(maker_t* m) {
  LEAT_RETURN_IF_ERROR(prepare_slots(m));
  LEAT_RETURN_IF_ERROR(list_controls(m));
  if (!is_plain(m)) return leat_ok_status();
  LEAT_RETURN_IF_ERROR(prepare_steps(m));
  LEAT_RETURN_IF_ERROR(leat_step_order_find(m->plan, &m->scratch, &m->order));
  if (!m->order.is_whole) return leat_ok_status();
  LEAT_RETURN_IF_ERROR(find_variables(m));
  flag_next_iterations(m);
  LEAT_RETURN_IF_ERROR(add_steps(m));
  LEAT_RETURN_IF_ERROR(find_borders(m));
  LEAT_RETURN_IF_ERROR(find_last_readers(m));
  for (uint32_t i = 0; i < m->ordered->step_count; ++i) LEAT_RETURN_IF_ERROR(set_releases(m, i));
  return leat_ok_status();
}

leat_status_t leat_ordered_plan_make(leat_plan_t* plan, const leat_graph_t* graph,
                                     leat_ordered_plan_t** out_ordered) {
  *out_ordered = NULL;
  if (plan->has_async || plan->uses_rendezvous || plan->frames.count > MAX_FRAMES) {
    return leat_ok_status();
  }
  maker_t m = {.plan = plan, .graph = graph};
  LEAT_RETURN_IF_ERROR(allocate(&plan->arena, 1, sizeof *m.ordered, &m.ordered));
  leat_arena_initialize(plan->allocator, 0, &m.scratch);
  leat_status_t status = make(&m);
  leat_arena_deinitialize(&m.scratch);
  if (!status && m.order.is_whole) *out_ordered = m.ordered;
  return status;
}
