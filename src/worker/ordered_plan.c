// Records of a frame, and the frames that begin in it as one unit each, are sorted so that every
// input comes first; edges that close loops are set aside. Then one walk over the steps finds who
// reads each slot last, another writes that down.
#include "worker/ordered_plan.h"

#include <string.h>

#define MAX_FRAMES 1000
#define NOBODY UINT32_MAX
#define STAYS (UINT32_MAX - 1)  // constants, fetches, invariants

typedef struct maker_s {
  leat_plan_t* plan;
  leat_ordered_plan_t* ordered;
  leat_arena_t scratch;
  uint32_t* first_slot;   // frame -> its first slot
  uint32_t* unit_of;      // record -> unit at the level that is being sorted
  uint32_t* pending;      // unit -> inputs to come; records, then frames
  bool* conditional;      // record
  uint32_t* last;         // slot -> step that reads it last
  uint32_t next;          // free entry of |lists|
  uint32_t* lists;        // what the steps' lists lie in
  bool fits;
} maker_t;

static leat_status_t allocate(leat_arena_t* arena, size_t count, size_t item_bytes, void* out) {
  return leat_arena_allocate_array(arena, count + 1, item_bytes, (void**)out);
}

static int32_t frame_of(const maker_t* m, uint32_t record) {
  return m->plan->frames.runs_in[m->plan->record_nodes[record]];
}

static int32_t output_frame_of(const maker_t* m, uint32_t record) {
  return m->plan->frames.outputs_in[m->plan->record_nodes[record]];
}

// ---- Order --------------------------------------------------------------------------------------

// The unit of |record| among those of |frame|: the record itself, or a frame that begins in it.
// NOBODY outside.
static uint32_t find_unit(const maker_t* m, uint32_t record, int32_t frame) {
  int32_t own = frame_of(m, record);
  if (own == frame) return record;
  while (own > 0 && m->plan->frames.items[own].parent != frame) {
    own = m->plan->frames.items[own].parent;
  }
  return own > 0 ? m->plan->record_count + (uint32_t)own : NOBODY;
}

static bool closes_loop(const maker_t* m, uint32_t from, uint32_t to) {
  return (m->plan->records[from].flags & LEAT_RECORD_NEXT_ITERATION) &&
         (m->plan->records[to].flags & LEAT_RECORD_MERGE);
}

typedef void (*edge_fn_t)(maker_t* m, uint32_t from_unit, uint32_t to_unit);

static void count_edge(maker_t* m, uint32_t from, uint32_t to) {
  (void)from;
  ++m->pending[to];
}

// Calls |fn| for every edge that leaves |record| for another unit of its level.
static void for_edges(maker_t* m, uint32_t record, edge_fn_t fn) {
  const leat_record_t* from = &m->plan->records[record];
  uint32_t unit = m->unit_of[record];
  for (uint32_t i = 0; unit != NOBODY && i < from->successor_count; ++i) {
    uint32_t to = m->plan->successors[from->first_successor + i];
    if (closes_loop(m, record, to) || m->unit_of[to] == NOBODY || m->unit_of[to] == unit) continue;
    fn(m, unit, m->unit_of[to]);
  }
}

static leat_status_t order_frame(maker_t* m, int32_t frame);

static leat_ordered_step_t* add_step(maker_t* m, leat_step_kind_t kind, uint32_t record) {
  leat_ordered_step_t* step = &m->ordered->steps[m->ordered->step_count++];
  *step = (leat_ordered_step_t){.kind = kind, .record = record};
  return step;
}

static leat_status_t emit_loop(maker_t* m, int32_t frame) {
  uint32_t index = (uint32_t)frame - 1;
  leat_ordered_loop_t* loop = &m->ordered->loops[index];
  loop->begin = m->ordered->step_count;
  add_step(m, LEAT_STEP_LOOP, index);
  LEAT_RETURN_IF_ERROR(order_frame(m, frame));
  loop->end = m->ordered->step_count;
  add_step(m, LEAT_STEP_REPEAT, index);
  return leat_ok_status();
}

static void emit_record(maker_t* m, uint32_t record) {
  uint32_t flags = m->plan->records[record].flags;
  leat_step_kind_t kind = LEAT_STEP_RUN;
  if (flags & LEAT_RECORD_SWITCH) kind = LEAT_STEP_SWITCH;
  if (flags & LEAT_RECORD_MERGE) kind = LEAT_STEP_MERGE;
  if (flags & (LEAT_RECORD_ENTER | LEAT_RECORD_EXIT | LEAT_RECORD_NEXT_ITERATION)) {
    kind = LEAT_STEP_MOVE;
  }
  leat_ordered_step_t* step = add_step(m, kind, record);
  step->first_input = m->first_slot[frame_of(m, record)];
  step->first_output =
      m->first_slot[output_frame_of(m, record)] + m->plan->records[record].first_output;
  step->goes_on = flags & LEAT_RECORD_NEXT_ITERATION;
  step->exits = flags & LEAT_RECORD_EXIT;
  if (step->goes_on) step->loop = (uint32_t)frame_of(m, record) - 1;
}

// The units of |frame|, depth first among the ready ones, the lowest record first. What goes on to
// the next iteration comes last, when every Merge has taken what came from the one before.
static leat_status_t order_frame(maker_t* m, int32_t frame) {
  uint32_t records = m->plan->record_count, units = records + (uint32_t)m->plan->frames.count;
  uint32_t *unit_of, *pending, *stack, depth = 0, late = units, total = 0, done = 0;
  LEAT_RETURN_IF_ERROR(allocate(&m->scratch, records, sizeof(uint32_t), &unit_of));
  LEAT_RETURN_IF_ERROR(allocate(&m->scratch, units, sizeof(uint32_t), &pending));
  LEAT_RETURN_IF_ERROR(allocate(&m->scratch, units, sizeof(uint32_t), &stack));
  m->unit_of = unit_of;
  m->pending = pending;
  for (uint32_t r = 0; r < records; ++r) unit_of[r] = find_unit(m, r, frame);
  for (uint32_t r = 0; r < records; ++r) for_edges(m, r, count_edge);
  for (uint32_t u = units; u-- > 0;) {
    bool is_here = u < records ? unit_of[u] == u
                               : u > records && m->plan->frames.items[u - records].parent == frame;
    total += is_here;
    if (is_here && pending[u] == 0) stack[depth++] = u;
  }
  while (depth) {
    uint32_t unit = stack[--depth];
    ++done;
    if (unit < records && (m->plan->records[unit].flags & LEAT_RECORD_NEXT_ITERATION)) {
      stack[--late] = unit;
      continue;
    }
    if (unit < records) {
      emit_record(m, unit);
    } else {
      LEAT_RETURN_IF_ERROR(emit_loop(m, (int32_t)(unit - records)));
      m->unit_of = unit_of;
      m->pending = pending;
    }
    // The records of the unit: itself, or all that run in the frame or below it.
    uint32_t begin = unit < records ? unit : 0, end = unit < records ? unit + 1 : records;
    for (uint32_t r = begin; r < end; ++r) {
      if (unit_of[r] != unit) continue;
      const leat_record_t* from = &m->plan->records[r];
      for (uint32_t i = 0; i < from->successor_count; ++i) {
        uint32_t to = m->plan->successors[from->first_successor + i];
        uint32_t target = unit_of[to];
        if (closes_loop(m, r, to) || target == NOBODY || target == unit) continue;
        if (--pending[target] == 0) stack[depth++] = target;
      }
    }
  }
  while (late < units) emit_record(m, stack[late++]);
  if (done != total) m->fits = false;
  return leat_ok_status();
}

// ---- Slots --------------------------------------------------------------------------------------

// Calls |fn| for each slot that |step| reads, references read as values included.
typedef void (*slot_fn_t)(maker_t* m, uint32_t slot, uint32_t step);

static void for_reads(maker_t* m, uint32_t index, bool of_sources_only, slot_fn_t fn) {
  const leat_plan_t* plan = m->plan;
  const leat_ordered_step_t* step = &m->ordered->steps[index];
  const leat_record_t* record = &plan->records[step->record];
  uint32_t d = plan->first_dereference ? plan->first_dereference[step->record] : 0;
  uint32_t end = plan->first_dereference ? plan->first_dereference[step->record + 1] : 0;
  for (uint32_t k = 0; k < record->input_count; ++k) {
    bool is_read_now = false;
    for (uint32_t i = d; i < end; ++i) {
      is_read_now |= plan->dereferences[i].target == record->input_slots[k];
    }
    if (!is_read_now || !of_sources_only) fn(m, step->first_input + record->input_slots[k], index);
  }
  for (; d < end; ++d) fn(m, step->first_input + plan->dereferences[d].source, index);
}

static bool is_record(const leat_ordered_step_t* step) { return step->kind < LEAT_STEP_LOOP; }

static void note_last(maker_t* m, uint32_t slot, uint32_t step) {
  if (m->last[slot] != STAYS) m->last[slot] = step;
}

static leat_status_t find_last_readers(maker_t* m) {
  const leat_plan_t* plan = m->plan;
  LEAT_RETURN_IF_ERROR(
      allocate(&m->scratch, m->ordered->slot_count, sizeof(uint32_t), &m->last));
  for (uint32_t i = 0; i < m->ordered->slot_count; ++i) m->last[i] = NOBODY;
  for (uint32_t i = 0; i < plan->constant_count; ++i) m->last[plan->constant_slots[i]] = STAYS;
  for (int i = 0; i < plan->fetch_count; ++i) m->last[plan->fetch_slots[i]] = STAYS;
  for (int i = 0; i < plan->feed_count; ++i) {
    if (plan->feed_slots[i] != UINT32_MAX) m->last[plan->feed_slots[i]] = STAYS;
  }
  for (uint32_t i = 0; i < m->ordered->loop_count; ++i) {
    const leat_ordered_loop_t* loop = &m->ordered->loops[i];
    for (uint32_t k = 0; k < loop->invariant_count; ++k) m->last[loop->invariants[k]] = STAYS;
  }
  for (uint32_t i = 0; i < m->ordered->step_count; ++i) {
    if (is_record(&m->ordered->steps[i])) for_reads(m, i, false, note_last);
  }
  return leat_ok_status();
}

static void list_slot(maker_t* m, uint32_t slot, uint32_t step) {
  (void)step;
  m->lists[m->next++] = slot;
}

static void list_release(maker_t* m, uint32_t slot, uint32_t step) {
  if (m->last[slot] != step) return;
  m->last[slot] = STAYS;  // once
  m->lists[m->next++] = slot;
}

static uint64_t last_reader_mask(const maker_t* m, uint32_t index) {
  const leat_ordered_step_t* step = &m->ordered->steps[index];
  const leat_record_t* record = &m->plan->records[step->record];
  uint64_t mask = 0;
  for (uint32_t k = 0; k < record->input_count && k < 64; ++k) {
    uint32_t slot = record->input_slots[k];
    int uses = 0;
    for (uint32_t i = 0; i < record->input_count; ++i) uses += record->input_slots[i] == slot;
    if (uses == 1 && m->last[step->first_input + slot] == index) mask |= UINT64_C(1) << k;
  }
  return mask;
}

// The records before it whose control edges lead here and which may be dead.
static void list_controls(maker_t* m, uint32_t index, uint32_t* begin_of, uint32_t* sources) {
  leat_ordered_step_t* step = &m->ordered->steps[index];
  step->controls = m->lists + m->next;
  for (uint32_t i = begin_of[step->record]; i < begin_of[step->record + 1]; ++i) {
    if (!m->conditional[sources[i]]) continue;
    m->lists[m->next++] = sources[i];
    ++step->control_count;
  }
}

static void describe(maker_t* m, uint32_t index, uint32_t* begin_of, uint32_t* sources) {
  leat_ordered_step_t* step = &m->ordered->steps[index];
  const leat_record_t* record = &m->plan->records[step->record];
  step->conditional = m->conditional[step->record];
  if (step->conditional && step->kind != LEAT_STEP_MERGE) {
    uint32_t begin = m->next;
    step->checks = m->lists + begin;
    for_reads(m, index, true, list_slot);
    step->check_count = m->next - begin;
    list_controls(m, index, begin_of, sources);
  }
  for (uint32_t k = 0; k < 2 && k < record->output_count; ++k) {
    if (m->last[step->first_output + k] != NOBODY) step->read_outputs |= (uint8_t)(1 << k);
  }
  step->last_readers = last_reader_mask(m, index);
  uint32_t begin = m->next;
  step->releases = m->lists + begin;
  for_reads(m, index, false, list_release);
  bool moves = step->kind == LEAT_STEP_MOVE;
  for (uint32_t k = 0; k < record->output_count; ++k) {
    uint32_t slot = step->first_output + k;
    if (m->last[slot] == NOBODY && !moves) m->lists[m->next++] = slot;
  }
  step->release_count = m->next - begin;
}

// ---- Conditions ---------------------------------------------------------------------------------

// Behind a Switch, and in loops, a record may be dead.
static leat_status_t find_conditional(maker_t* m) {
  const leat_plan_t* plan = m->plan;
  LEAT_RETURN_IF_ERROR(allocate(&m->scratch, plan->record_count, 1, &m->conditional));
  for (uint32_t i = 0; i < m->ordered->step_count; ++i) {
    const leat_ordered_step_t* step = &m->ordered->steps[i];
    if (!is_record(step)) continue;
    const leat_record_t* record = &plan->records[step->record];
    if (record->flags & (LEAT_RECORD_MERGE | LEAT_RECORD_EXIT)) m->conditional[step->record] = true;
    if (record->flags & LEAT_RECORD_NEVER_DEAD) m->conditional[step->record] = false;
    bool spreads = m->conditional[step->record] || (record->flags & LEAT_RECORD_SWITCH);
    for (uint32_t k = 0; spreads && k < record->successor_count; ++k) {
      m->conditional[plan->successors[record->first_successor + k]] = true;
    }
  }
  return leat_ok_status();
}

// Control edges by the record that they lead to: CSR.
static leat_status_t list_control_sources(maker_t* m, uint32_t** out_begin, uint32_t** out_sources) {
  const leat_plan_t* plan = m->plan;
  uint32_t *begin, *sources, total = 0;
  LEAT_RETURN_IF_ERROR(allocate(&m->scratch, plan->record_count + 1, sizeof(uint32_t), &begin));
  for (int fill = 0; fill < 2; ++fill) {
    for (uint32_t r = 0; r < plan->record_count; ++r) {
      const leat_record_t* record = &plan->records[r];
      for (uint32_t k = 0; k < record->successor_count; ++k) {
        uint32_t place = record->first_successor + k;
        if (plan->successor_outputs[place] != LEAT_CONTROL_INDEX) continue;
        if (fill) {
          sources[--begin[plan->successors[place]]] = r;
        } else {
          ++begin[plan->successors[place]];
        }
      }
    }
    if (fill) break;
    for (uint32_t r = 0; r <= plan->record_count; ++r) begin[r] = total += begin[r];
    LEAT_RETURN_IF_ERROR(allocate(&m->scratch, total, sizeof(uint32_t), &sources));
  }
  *out_begin = begin;
  *out_sources = sources;
  return leat_ok_status();
}

// ---- The whole ----------------------------------------------------------------------------------

// Slots and records at the borders of loops.
static leat_status_t find_borders(maker_t* m) {
  leat_plan_t* plan = m->plan;
  for (uint32_t i = 0; i < m->ordered->loop_count; ++i) {
    leat_ordered_loop_t* loop = &m->ordered->loops[i];
    uint32_t *entries, *invariants, *exits;
    size_t most = plan->record_count;
    LEAT_RETURN_IF_ERROR(allocate(&m->scratch, most, sizeof(uint32_t), &entries));
    LEAT_RETURN_IF_ERROR(allocate(&m->scratch, most, sizeof(uint32_t), &invariants));
    LEAT_RETURN_IF_ERROR(allocate(&m->scratch, most, sizeof(uint32_t), &exits));
    for (uint32_t r = 0; r < plan->record_count; ++r) {
      uint32_t flags = plan->records[r].flags;
      uint32_t slot = m->first_slot[i + 1] + plan->records[r].first_output;
      if ((flags & LEAT_RECORD_ENTER) && output_frame_of(m, r) == (int32_t)i + 1) {
        entries[loop->entry_count++] = slot;
        if (flags & LEAT_RECORD_INVARIANT) invariants[loop->invariant_count++] = slot;
      }
      if ((flags & LEAT_RECORD_EXIT) && frame_of(m, r) == (int32_t)i + 1) {
        exits[loop->exit_count++] = r;
      }
    }
    uint32_t* lists;
    LEAT_RETURN_IF_ERROR(allocate(
        &plan->arena, loop->entry_count + loop->invariant_count + loop->exit_count,
        sizeof(uint32_t), &lists));
    memcpy(lists, entries, loop->entry_count * sizeof *lists);
    loop->entries = lists;
    lists += loop->entry_count;
    memcpy(lists, invariants, loop->invariant_count * sizeof *lists);
    loop->invariants = lists;
    lists += loop->invariant_count;
    memcpy(lists, exits, loop->exit_count * sizeof *lists);
    loop->exits = lists;
  }
  return leat_ok_status();
}

// What the executor does not do in order: values that go on to no Merge; a Merge that would read
// references.
static bool is_plain(const maker_t* m) {
  const leat_plan_t* plan = m->plan;
  for (uint32_t r = 0; r < plan->record_count; ++r) {
    const leat_record_t* record = &plan->records[r];
    for (uint32_t k = 0; k < record->successor_count; ++k) {
      uint32_t to = plan->successors[record->first_successor + k];
      if ((record->flags & LEAT_RECORD_NEXT_ITERATION) && !closes_loop(m, r, to)) return false;
    }
    bool reads = plan->first_dereference &&
                 plan->first_dereference[r] != plan->first_dereference[r + 1];
    if (reads && (record->flags & LEAT_RECORD_CONTROL_FLOW)) return false;
  }
  return true;
}

static leat_status_t number_slots(maker_t* m) {
  leat_frames_t* frames = &m->plan->frames;
  LEAT_RETURN_IF_ERROR(
      allocate(&m->scratch, (size_t)frames->count, sizeof(uint32_t), &m->first_slot));
  for (int32_t f = 0; f < frames->count; ++f) {
    m->first_slot[f] = m->ordered->slot_count;
    m->ordered->slot_count += frames->items[f].slot_count;
  }
  m->ordered->loop_count = (uint32_t)frames->count - 1;
  LEAT_RETURN_IF_ERROR(allocate(&m->plan->arena, m->ordered->loop_count,
                                sizeof(leat_ordered_loop_t), &m->ordered->loops));
  return allocate(&m->plan->arena, m->plan->record_count + 2 * m->ordered->loop_count,
                  sizeof(leat_ordered_step_t), &m->ordered->steps);
}

static leat_status_t make(maker_t* m) {
  leat_plan_t* plan = m->plan;
  LEAT_RETURN_IF_ERROR(number_slots(m));
  LEAT_RETURN_IF_ERROR(order_frame(m, 0));
  m->fits = m->fits && is_plain(m);
  if (!m->fits) return leat_ok_status();
  LEAT_RETURN_IF_ERROR(find_borders(m));
  LEAT_RETURN_IF_ERROR(find_conditional(m));
  LEAT_RETURN_IF_ERROR(find_last_readers(m));
  uint32_t *begin, *sources;
  LEAT_RETURN_IF_ERROR(list_control_sources(m, &begin, &sources));
  size_t most = 0;
  for (uint32_t r = 0; r < plan->record_count; ++r) {
    most += 3 * (size_t)plan->records[r].input_count + plan->records[r].output_count;
    most += plan->records[r].successor_count;
  }
  most += 3 * (size_t)plan->dereference_count;
  LEAT_RETURN_IF_ERROR(allocate(&plan->arena, most, sizeof(uint32_t), &m->lists));
  for (uint32_t i = 0; i < m->ordered->step_count; ++i) {
    if (is_record(&m->ordered->steps[i])) describe(m, i, begin, sources);
  }
  return leat_ok_status();
}

leat_status_t leat_ordered_plan_make(leat_plan_t* plan, leat_ordered_plan_t** out_ordered) {
  *out_ordered = NULL;
  if (plan->has_async || plan->uses_rendezvous || plan->frames.count > MAX_FRAMES) {
    return leat_ok_status();
  }
  maker_t m = {.plan = plan, .fits = true};
  LEAT_RETURN_IF_ERROR(allocate(&plan->arena, 1, sizeof *m.ordered, &m.ordered));
  leat_arena_initialize(plan->allocator, 0, &m.scratch);
  leat_status_t status = make(&m);
  leat_arena_deinitialize(&m.scratch);
  if (!status && m.fits) *out_ordered = m.ordered;
  return status;
}
