// Checks a plan: every number that an executor uses as an index without looking at it, and every
// count that it counts down. Debug builds do this for each plan that they compile, so that a
// mistake of the compiler is found with the name of the node, not as a damaged value in some later
// step. Release builds do not, since a plan comes from our own compiler and never from a file.
//
// The check walks the records in the plan's order and keeps marks for each slot: whether an earlier
// record has filled it, and whether one has released it. So it finds a record that reads what
// nobody has written before it, or what was released. The one exception is a Merge, whose inputs
// may come from the iteration before, that is from records behind it. For dataflow the check also
// counts the edges that lead to each record and the reads of each slot, and compares them with the
// counts that the executor counts down: one too many would leave a record waiting for ever or a
// slot filled, one too few would run a record before its inputs are there or empty a slot that is
// still read.
//
// The time is linear in the plan, but for the search of an input among the few slots that its own
// record releases. plan_verify_test.c breaks each rule once.
#include <string.h>

#include "worker/sequence.h"

#define NOBODY UINT32_MAX

typedef enum mark_e {
  FILLED = 1 << 0,    // a value may lie in the slot: an earlier record, a feed or a constant put it
  RELEASED = 1 << 1,  // an earlier record empties the slot
  KEPT = 1 << 2,      // no record may empty it, since a fetch or another iteration reads it later
  MOVED = 1 << 3,     // an Enter, Exit or NextIteration fills it, perhaps in some iterations only
} mark_t;

typedef struct verifier_s {
  const leat_plan_t* plan;
  leat_arena_t scratch;
  uint32_t record;
  // By slot. The slots of a dataflow plan's frames lie one behind the other here.
  uint8_t* marks;
  uint32_t* writers;  // the record that fills it, or NOBODY
  uint32_t* reads;    // how many inputs and fetches read it; only for dataflow
  // Only for dataflow.
  uint32_t* frame_base;     // frame -> the place of its first slot in the arrays above
  uint32_t* data_edges;     // by record: edges that lead to it
  uint32_t* control_edges;
  uint32_t* entries;        // by frame: Enters that lead into it
  uint32_t edge_count;
} verifier_t;

static leat_status_t broken(const verifier_t* v, const char* rule) {
  return leat_make_status(LEAT_INTERNAL,
                          "Verifying the plan failed for node '%.*s' (record %u of %u): %s",
                          LEAT_SV_ARG(leat_plan_record_name(v->plan, v->record)), v->record,
                          v->plan->record_count, rule);
}

// Names something that is no record by |kind|, its number and, where it has one, its name.
static leat_status_t broken_of(const char* kind, uint32_t number, leat_string_view_t name,
                               const char* rule) {
  return leat_make_status(LEAT_INTERNAL, "Verifying the plan failed for %s %u%s%.*s%s: %s", kind,
                          number, name.size ? " ('" : "", LEAT_SV_ARG(name), name.size ? "')" : "",
                          rule);
}

#define REQUIRE(condition, rule) \
  do {                           \
    if (!(condition)) return broken(v, rule); \
  } while (0)
#define REQUIRE_OF(kind, number, name, condition, rule) \
  do {                                                  \
    if (!(condition)) return broken_of((kind), (uint32_t)(number), (name), (rule)); \
  } while (0)

static leat_string_view_t fetch_name(const leat_plan_t* plan, int fetch) {
  return plan->graph->nodes[plan->fetches[fetch].node].name;
}

// ---- What both executors rely on ----------------------------------------------------------------

// Checks the slots that are filled before the first record or read after the last one, and marks
// them. The slot of a feed is UINT32_MAX where no node of the plan reads it. The slots of frame 0
// are the first ones in the arrays.
static leat_status_t verify_edges_of_step(verifier_t* v, uint32_t slot_count) {
  const leat_plan_t* plan = v->plan;
  const leat_string_view_t no_name = LEAT_SV("");
  LEAT_RETURN_IF_ERROR(LEAT_NEW(&v->scratch, slot_count + 1, &v->marks));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(&v->scratch, slot_count + 1, &v->writers));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(&v->scratch, slot_count + 1, &v->reads));
  for (uint32_t i = 0; i < slot_count; ++i) v->writers[i] = NOBODY;
  REQUIRE_OF("constant", plan->slot_count, no_name, plan->constant_count <= plan->slot_count,
             "constants must have slots");
  memset(v->marks, FILLED | KEPT, plan->constant_count);
  for (uint32_t i = 0; i < plan->late_constant_count; ++i) {
    uint32_t slot = plan->late_constant_slots[i];
    REQUIRE_OF("late constant", i, no_name,
               slot >= plan->constant_count && slot < plan->slot_count,
               "its slot must exist and be no other constant's");
    v->marks[slot] |= FILLED | KEPT;
  }
  for (int i = 0; i < plan->feed_count; ++i) {
    uint32_t slot = plan->feed_slots[i];
    if (slot == UINT32_MAX) continue;
    REQUIRE_OF("feed", i, no_name, slot >= plan->constant_count && slot < plan->slot_count,
               "a fed slot must exist and be no constant's");
    REQUIRE_OF("feed", i, no_name, !(v->marks[slot] & FILLED),
               "a fed slot must be no other feed's");
    v->marks[slot] |= FILLED;
  }
  for (int i = 0; i < plan->fetch_count; ++i) {
    uint32_t slot = plan->fetch_slots[i];
    REQUIRE_OF("fetch", i, fetch_name(plan, i), slot < plan->slot_count,
               "a fetched slot must exist");
    REQUIRE_OF("fetch", i, fetch_name(plan, i),
               !plan->fetch_moves[i] || slot >= plan->constant_count,
               "a constant must not be moved out");
    v->marks[slot] |= KEPT;
  }
  return leat_ok_status();
}

// Checks behind the last record that what is fetched is there, and that of several fetches of one
// slot only the last one takes the value away. |reads| of fetched slots are counted.
static leat_status_t verify_fetches(verifier_t* v) {
  const leat_plan_t* plan = v->plan;
  for (int i = plan->fetch_count; i-- > 0;) {
    uint32_t slot = plan->fetch_slots[i];
    bool is_last = !(v->marks[slot] & RELEASED);
    REQUIRE_OF("fetch", i, fetch_name(plan, i), v->marks[slot] & FILLED,
               "a fetched value must be there at the end");
    REQUIRE_OF("fetch", i, fetch_name(plan, i), is_last || !plan->fetch_moves[i],
               "only the last fetch of a slot may move its value");
    v->marks[slot] |= RELEASED;
    ++v->reads[slot];
  }
  return leat_ok_status();
}

// Checks that what a record says of its kernel and its references is so, because the executors go
// by the record.
static leat_status_t verify_kernel(verifier_t* v, const leat_record_t* record) {
  const leat_plan_t* plan = v->plan;
  const uint32_t r = v->record;
  bool has_call = record->kernel && !(record->flags & LEAT_RECORD_CONTROL_FLOW);
  REQUIRE(!plan->first_read || plan->first_read[r] <= plan->first_read[r + 1],
          "the references that it reads must be a range");
  if (!record->kernel) {
    const uint32_t bare = LEAT_RECORD_LOOP | LEAT_RECORD_REPEAT | LEAT_RECORD_ONLY_FLAG;
    REQUIRE(plan->executor == LEAT_EXECUTOR_SEQUENCE && (record->flags & bare),
            "it must have a kernel");
    return leat_ok_status();
  }
  REQUIRE(record->compute == record->kernel->compute, "its call must be its kernel's");
  REQUIRE(!has_call || record->compute || (record->flags & LEAT_RECORD_ASYNC),
          "its kernel must be synchronous or marked asynchronous");
  REQUIRE(!(record->flags & LEAT_RECORD_ASYNC) || (plan->has_async && !plan->ends_at_once),
          "the plan must say that it has asynchronous kernels");
  uint32_t read_count;
  leat_plan_reads(plan, r, &read_count);
  REQUIRE(!!(record->flags & LEAT_RECORD_PREPARES) ==
              leat_kernel_needs_preparing(record->kernel, read_count),
          "its mark for preparing must say what its kernel and references need");
  return leat_ok_status();
}

// Checks that the inputs of a record, and the references that it reads, were written before it.
// The slots that it uses are those from |base| on, |slot_count| of them.
static leat_status_t verify_inputs(verifier_t* v, const leat_record_t* record, uint32_t base,
                                   uint32_t slot_count) {
  const leat_plan_t* plan = v->plan;
  const bool is_merge = record->flags & LEAT_RECORD_MERGE;
  const uint32_t constants = base ? 0 : plan->constant_count;
  uint32_t read_count;
  const leat_reference_read_t* reads = leat_plan_reads(plan, v->record, &read_count);
  for (uint32_t i = 0; i < read_count; ++i) {
    const uint32_t source = base + reads[i].source, target = base + reads[i].target;
    REQUIRE(reads[i].source < slot_count && reads[i].target < slot_count &&
                reads[i].target >= constants,
            "the slots of the references that it reads must exist");
    REQUIRE(v->marks[source] & FILLED, "a reference that it reads must be there");
    REQUIRE(v->writers[target] == NOBODY && !(v->marks[target] & FILLED),
            "what it reads references into must be empty");
    ++v->reads[source];
    v->writers[target] = v->record;
    v->marks[target] |= FILLED;
  }
  for (int k = 0; record->kernel && k < record->kernel->input_count; ++k) {
    REQUIRE(record->input_slots[k] < slot_count, "its input slots must exist");
    REQUIRE(is_merge || (v->marks[base + record->input_slots[k]] & FILLED),
            "its inputs must be there");
    ++v->reads[base + record->input_slots[k]];
  }
  return leat_ok_status();
}

// ---- Sequences ----------------------------------------------------------------------------------

// Checks that the record's guard (the flags that decide whether it runs) and its own flag exist. A
// Switch has three flags of its own, every other record of control flow has one.
static leat_status_t verify_flags(verifier_t* v, const leat_record_t* record) {
  const leat_sequence_tables_t* t = &v->plan->sequence;
  const uint32_t width = record->flags & LEAT_RECORD_SWITCH ? 3 : 1;
  const uint32_t flag = record->sequence.flag, guard = record->sequence.guard;
  const bool owns = record->flags & (LEAT_RECORD_ONLY_FLAG | LEAT_RECORD_CONTROL_FLOW);
  const bool controlled = owns || (record->flags & LEAT_RECORD_GUARDED);
  REQUIRE(controlled || guard == 0, "its guard must be looked at");
  REQUIRE(controlled || flag == LEAT_FLAG_ALWAYS, "its flag must be set by somebody");
  if (!controlled) return leat_ok_status();
  REQUIRE(!owns || flag != LEAT_FLAG_ALWAYS, "it must have a flag of its own");
  REQUIRE(flag < t->flag_count && width <= t->flag_count - flag, "its flag must exist");
  REQUIRE(guard < t->guard_length && t->guards[guard] < t->guard_length - guard,
          "its guard must exist");
  for (uint32_t i = 1; i <= t->guards[guard]; ++i) {
    REQUIRE(t->guards[guard + i] < t->flag_count, "the flags of its guard must exist");
  }
  REQUIRE(!(record->flags & LEAT_RECORD_MERGE) ||
              (int)t->guards[guard] == record->kernel->input_count,
          "a Merge must have a flag for each input");
  return leat_ok_status();
}

// Checks that each loop begins and ends at records that say so, since an iteration jumps there, and
// marks the slots that all its iterations read.
static leat_status_t verify_loops(verifier_t* v) {
  const leat_sequence_tables_t* t = &v->plan->sequence;
  const leat_string_view_t no_name = LEAT_SV("");
  for (uint32_t i = 0; i < t->loop_count; ++i) {
    const leat_sequence_loop_t* loop = &t->loops[i];
    if (loop->begin == 0 && loop->end == 0) continue;  // nothing runs in it
    REQUIRE_OF("loop", i, no_name, loop->begin < loop->end && loop->end < v->plan->record_count,
               "a loop must begin before it ends, within the plan");
    const leat_record_t *begin = &v->plan->records[loop->begin],
                        *end = &v->plan->records[loop->end];
    REQUIRE_OF("loop", i, no_name,
               (begin->flags & LEAT_RECORD_LOOP) && (end->flags & LEAT_RECORD_REPEAT),
               "the borders of a loop must be a LOOP and a REPEAT");
    for (uint32_t k = 0; k < loop->invariant_count; ++k) {
      REQUIRE_OF("loop", i, no_name, loop->invariants[k] < v->plan->slot_count,
                 "an invariant must have a slot");
      v->marks[loop->invariants[k]] |= KEPT;
    }
    const struct { const uint32_t* flags; uint32_t count; } lists[] = {
        {loop->entries, loop->entry_count},
        {loop->invariant_flags, loop->invariant_count}, {loop->exits, loop->exit_count},
        {loop->firsts, loop->first_count}};
    for (size_t l = 0; l < LEAT_ARRAY_SIZE(lists); ++l) {
      for (uint32_t k = 0; k < lists[l].count; ++k) {
        REQUIRE_OF("loop", i, no_name,
                   lists[l].flags[k] != LEAT_FLAG_ALWAYS && lists[l].flags[k] < t->flag_count,
                   "the flags that are set at its borders must exist");
      }
    }
  }
  return leat_ok_status();
}

// Checks a LOOP or a REPEAT against the loops that are open there, |*inout_depth| of them: each
// lies wholly in the one around it.
static leat_status_t verify_border(verifier_t* v, const leat_record_t* record, uint32_t* open,
                                   uint32_t* inout_depth) {
  const leat_sequence_tables_t* t = &v->plan->sequence;
  REQUIRE(record->sequence.loop < t->loop_count, "its loop must exist");
  const leat_sequence_loop_t* loop = &t->loops[record->sequence.loop];
  if (record->flags & LEAT_RECORD_LOOP) {
    REQUIRE(loop->begin == v->record, "its loop must begin here");
    open[(*inout_depth)++] = record->sequence.loop;
    return leat_ok_status();
  }
  REQUIRE(loop->end == v->record, "its loop must end here");
  REQUIRE(*inout_depth && open[*inout_depth - 1] == record->sequence.loop,
          "its loop must end before the one around it");
  --*inout_depth;
  return leat_ok_status();
}

static bool releases(const leat_plan_t* plan, const leat_record_t* record, uint32_t slot) {
  const uint32_t* list = plan->sequence.releases + record->sequence.first_release;
  for (uint32_t i = 0; i < record->sequence.release_count; ++i) {
    if (list[i] == slot) return true;
  }
  return false;
}

// Checks the outputs of a record that has a kernel, and marks them. A Switch whose sides share the
// slot of its input has none.
static leat_status_t verify_outputs(verifier_t* v, const leat_record_t* record) {
  const leat_plan_t* plan = v->plan;
  const bool is_straight = plan->sequence.flag_count == 0;
  if (record->first_output == LEAT_NO_SLOT) {
    const uint32_t reads = LEAT_RECORD_READS_OUTPUT_0 | LEAT_RECORD_READS_OUTPUT_1;
    REQUIRE(record->flags & LEAT_RECORD_SWITCH, "it must have output slots");
    REQUIRE(!(record->flags & reads), "nobody may read outputs that have no slots");
    return leat_ok_status();
  }
  for (int k = 0; k < record->kernel->output_count; ++k) {
    uint32_t slot = record->first_output + (uint32_t)k;
    REQUIRE(slot >= plan->constant_count && slot < plan->slot_count,
            "its output slots must exist and be no constant's");
    REQUIRE(!is_straight || !(v->marks[slot] & FILLED), "its output slots must be empty");
    v->marks[slot] |= record->flags & LEAT_RECORD_MOVES ? FILLED | MOVED : FILLED;
    v->writers[slot] = v->record;
  }
  REQUIRE(!(record->flags & LEAT_RECORD_READS_OUTPUT_1) || record->kernel->output_count > 1,
          "output 1 must exist where somebody reads it");
  return leat_ok_status();
}

// Checks what the record empties and overwrites, and marks it. What a Merge empties may come from
// the iteration before, so it need not be there.
static leat_status_t verify_releases(verifier_t* v, const leat_record_t* record) {
  const leat_plan_t* plan = v->plan;
  const uint32_t first = record->sequence.first_release, count = record->sequence.release_count;
  REQUIRE(first <= plan->slot_count && count <= plan->slot_count - first,
          "its list of slots to release must exist");
  for (int k = 0; k < record->kernel->input_count && k < 64; ++k) {
    REQUIRE(!(record->last_readers >> k & 1) || releases(plan, record, record->input_slots[k]),
            "what it may overwrite must be among what it releases");
  }
  for (uint32_t i = 0; i < count; ++i) {
    uint32_t slot = plan->sequence.releases[first + i];
    REQUIRE(slot >= plan->constant_count && slot < plan->slot_count,
            "what it releases must exist and be no constant");
    REQUIRE(!(v->marks[slot] & KEPT), "what it releases must not be read later");
    REQUIRE(!(v->marks[slot] & RELEASED), "what it releases must not be released already");
    REQUIRE((v->marks[slot] & FILLED) || (record->flags & LEAT_RECORD_MERGE),
            "what it releases must be there");
    v->marks[slot] = (uint8_t)((v->marks[slot] | RELEASED) & ~FILLED);
  }
  return leat_ok_status();
}

static leat_status_t verify_sequence_record(verifier_t* v, const leat_record_t* record) {
  const leat_sequence_tables_t* t = &v->plan->sequence;
  LEAT_RETURN_IF_ERROR(verify_flags(v, record));
  if (record->flags & LEAT_RECORD_NEXT_ITERATION) {
    const uint32_t loop = record->sequence.loop;
    REQUIRE(loop < t->loop_count && t->loops[loop].begin < v->record &&
                v->record < t->loops[loop].end,
            "it must lie in its loop");
  }
  if (!record->kernel) return leat_ok_status();  // it only sets its flag
  LEAT_RETURN_IF_ERROR(verify_inputs(v, record, 0, v->plan->slot_count));
  LEAT_RETURN_IF_ERROR(verify_outputs(v, record));
  return verify_releases(v, record);
}

// Walks the records in the order in which they run.
static leat_status_t verify_sequence(verifier_t* v) {
  const leat_plan_t* plan = v->plan;
  const bool is_straight = plan->sequence.flag_count == 0;
  uint32_t *open, depth = 0;
  LEAT_RETURN_IF_ERROR(verify_edges_of_step(v, plan->slot_count));
  for (int i = 0; i < plan->feed_count && !is_straight; ++i) {
    if (plan->feed_slots[i] != UINT32_MAX) v->marks[plan->feed_slots[i]] |= KEPT;
  }
  LEAT_RETURN_IF_ERROR(verify_loops(v));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(&v->scratch, plan->sequence.loop_count + 1, &open));
  for (v->record = 0; v->record < plan->record_count; ++v->record) {
    const leat_record_t* record = &plan->records[v->record];
    LEAT_RETURN_IF_ERROR(verify_kernel(v, record));
    if (record->flags & (LEAT_RECORD_LOOP | LEAT_RECORD_REPEAT)) {
      LEAT_RETURN_IF_ERROR(verify_border(v, record, open, &depth));
    } else {
      LEAT_RETURN_IF_ERROR(verify_sequence_record(v, record));
    }
  }
  // The step itself empties what was fed and what is fetched, and the border of a loop empties what
  // its iterations share; nothing else may be left.
  for (uint32_t slot = plan->constant_count; slot < plan->slot_count; ++slot) {
    bool may_stay = !(v->marks[slot] & FILLED) || (v->marks[slot] & (KEPT | MOVED)) ||
                    v->writers[slot] == NOBODY;
    if (may_stay) continue;
    v->record = v->writers[slot];
    return broken(v, "every value that it makes must be released or fetched");
  }
  return verify_fetches(v);
}

// ---- Dataflow -----------------------------------------------------------------------------------

static int32_t frame_of(const verifier_t* v, uint32_t record) {
  return v->plan->dataflow.frames.runs_in[v->plan->record_nodes[record]];
}

// Checks the records that wait for this one, and counts this one's edges at them.
static leat_status_t verify_successors(verifier_t* v, const leat_record_t* record,
                                       int32_t outputs_in) {
  const leat_plan_t* plan = v->plan;
  const leat_dataflow_tables_t* t = &plan->dataflow;
  REQUIRE(record->dataflow.first_successor == v->edge_count,
          "its list of successors must follow that of the record before");
  v->edge_count += record->dataflow.successor_count;
  for (uint32_t i = 0; i < record->dataflow.successor_count; ++i) {
    uint32_t successor = t->successors[record->dataflow.first_successor + i];
    REQUIRE(successor < plan->record_count, "its successors must exist");
    REQUIRE(frame_of(v, successor) == outputs_in,
            "its successors must run in the frame of its outputs");
    int32_t output =
        t->framed ? t->successor_outputs[record->dataflow.first_successor + i] : 0;
    REQUIRE(!t->framed || (output >= LEAT_CONTROL_INDEX &&
                           output < (int32_t)record->dataflow.output_count),
            "its edges must carry its outputs");
    ++(output == LEAT_CONTROL_INDEX ? v->control_edges : v->data_edges)[successor];
  }
  return leat_ok_status();
}

static leat_status_t verify_dataflow_record(verifier_t* v) {
  const leat_plan_t* plan = v->plan;
  const leat_dataflow_tables_t* t = &plan->dataflow;
  const leat_record_t* record = &plan->records[v->record];
  const int32_t runs_in = frame_of(v, v->record),
                outputs_in = t->frames.outputs_in[plan->record_nodes[v->record]];
  LEAT_RETURN_IF_ERROR(verify_kernel(v, record));
  REQUIRE(runs_in >= 0 && runs_in < t->frames.count && outputs_in >= 0 &&
              outputs_in < t->frames.count,
          "its frame must exist");
  const leat_dataflow_frame_t *frame = &t->frame_tables[runs_in],
                              *out = &t->frame_tables[outputs_in];
  REQUIRE(record->dataflow.place < frame->record_count &&
              frame->records[record->dataflow.place] == v->record,
          "its place in its frame must be its own");
  REQUIRE((int)record->dataflow.input_count == record->kernel->input_count &&
              (int)record->dataflow.output_count == record->kernel->output_count,
          "it must have as many inputs and outputs as its kernel");
  LEAT_RETURN_IF_ERROR(verify_inputs(v, record, v->frame_base[runs_in], frame->slot_count));
  REQUIRE(record->dataflow.output_count == 0 ||
              (record->first_output < out->slot_count &&
               record->dataflow.output_count <= out->slot_count - record->first_output),
          "its output slots must exist");
  for (uint32_t k = 0; k < record->dataflow.output_count; ++k) {
    uint32_t slot = v->frame_base[outputs_in] + record->first_output + k;
    REQUIRE(v->writers[slot] == NOBODY && !(v->marks[slot] & FILLED),
            "its output slots must be nobody else's");
    v->writers[slot] = v->record;
    v->marks[slot] |= FILLED;
  }
  if (record->flags & LEAT_RECORD_ENTER) ++v->entries[outputs_in];
  return verify_successors(v, record, outputs_in);
}

// Compares the count that the executor counts down with the edges that lead to each record. A Merge
// waits for its control inputs, each of which counts twice, and for the first live value, which
// counts once, unless one of its inputs is a constant.
static leat_status_t verify_pending(verifier_t* v) {
  const leat_plan_t* plan = v->plan;
  const leat_dataflow_tables_t* t = &plan->dataflow;
  uint32_t root = 0;
  for (v->record = 0; v->record < plan->record_count; ++v->record) {
    const leat_record_t* record = &plan->records[v->record];
    const uint32_t edges = v->data_edges[v->record], controls = v->control_edges[v->record];
    uint32_t expected = edges + controls;
    if (record->flags & LEAT_RECORD_MERGE) {
      expected = 2 * controls + (edges == record->dataflow.input_count);
    }
    const int32_t frame = frame_of(v, v->record);
    const uint32_t pending = t->frame_tables[frame].pending[record->dataflow.place];
    REQUIRE(pending == expected, "it must wait for as many inputs as lead to it");
    if (pending) continue;
    REQUIRE(root < t->root_count && t->roots[root] == v->record,
            "a record that waits for nothing must be a root, in the plan's order");
    REQUIRE(frame == 0, "a root must lie outside loops");
    ++root;
  }
  if (root == t->root_count) return leat_ok_status();
  v->record = t->roots[root] < plan->record_count ? t->roots[root] : 0;
  return broken(v, "a root must be a record that waits for nothing");
}

// Compares the counts of readers with the reads: one for each input, for each reference that is
// read, and for each fetch. A constant is never counted down.
static leat_status_t verify_readers(verifier_t* v) {
  const leat_plan_t* plan = v->plan;
  const leat_dataflow_tables_t* t = &plan->dataflow;
  for (int32_t f = 0; f < t->frames.count; ++f) {
    for (uint32_t slot = 0; slot < t->frame_tables[f].slot_count; ++slot) {
      bool is_constant = f == 0 && slot < plan->constant_count;
      uint32_t at = v->frame_base[f] + slot;
      uint32_t expected = is_constant ? LEAT_READERS_CONSTANT : v->reads[at];
      if (t->frame_tables[f].readers[slot] == expected) continue;
      if (v->writers[at] == NOBODY) {
        return broken_of("slot", slot, LEAT_SV(""),
                         "its count of readers must be the number of inputs and fetches of it");
      }
      v->record = v->writers[at];
      return broken(v, "the count of readers of a slot that it fills must be the number of inputs "
                       "and fetches that read it");
    }
  }
  return leat_ok_status();
}

static leat_status_t verify_dataflow(verifier_t* v) {
  const leat_plan_t* plan = v->plan;
  const leat_dataflow_tables_t* t = &plan->dataflow;
  uint32_t slot_count = 0, record_count = 0;
  REQUIRE_OF("frame", 0, LEAT_SV(""), t->frame_tables[0].slot_count == plan->slot_count,
             "an instance must have the slots of frame 0");
  LEAT_RETURN_IF_ERROR(LEAT_NEW(&v->scratch, plan->record_count + 1, &v->data_edges));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(&v->scratch, plan->record_count + 1, &v->control_edges));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(&v->scratch, (size_t)t->frames.count, &v->frame_base));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(&v->scratch, (size_t)t->frames.count, &v->entries));
  for (int32_t f = 0; f < t->frames.count; ++f) {
    v->frame_base[f] = slot_count;
    slot_count += t->frame_tables[f].slot_count;
    record_count += t->frame_tables[f].record_count;
  }
  LEAT_RETURN_IF_ERROR(verify_edges_of_step(v, slot_count));
  for (v->record = 0; v->record < plan->record_count; ++v->record) {
    LEAT_RETURN_IF_ERROR(verify_dataflow_record(v));
  }
  REQUIRE_OF("frame", 0, LEAT_SV(""), record_count == plan->record_count,
             "the frames together must have as many records as the plan");
  for (int32_t f = 1; f < t->frames.count; ++f) {
    const leat_frame_t* frame = &t->frames.items[f];
    REQUIRE_OF("frame", f, frame->name, frame->entries == v->entries[f],
               "it must wait for as many Enters as lead into it");
    REQUIRE_OF("frame", f, frame->name, frame->parallel_iterations > 0,
               "at least one iteration of it must run at once");
  }
  LEAT_RETURN_IF_ERROR(verify_fetches(v));
  LEAT_RETURN_IF_ERROR(verify_pending(v));
  return verify_readers(v);
}

leat_status_t leat_plan_verify(const leat_plan_t* plan) {
  verifier_t verifier = {.plan = plan};
  leat_arena_initialize(plan->allocator, 0, &verifier.scratch);
  leat_status_t status = leat_ok_status();
  for (uint32_t r = 0; r < plan->record_count && !status; ++r) {
    if (plan->record_nodes[r] < (int32_t)plan->graph->node_count &&
        (plan->record_nodes[r] >= 0 || !plan->records[r].kernel)) {
      continue;
    }
    status = broken_of("record", r, LEAT_SV(""), "its node must exist");
  }
  if (!status) {
    status = plan->executor == LEAT_EXECUTOR_SEQUENCE ? verify_sequence(&verifier)
                                                      : verify_dataflow(&verifier);
  }
  leat_arena_deinitialize(&verifier.scratch);
  return status;
}
