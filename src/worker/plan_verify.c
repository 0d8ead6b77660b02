// Checks a plan: every number that an executor uses as an index without looking at it, and every
// count that it counts down. Debug builds do this for each plan that they compile, so that a
// mistake of the compiler is found with the name of the node, not as a damaged value in some later
// step. Release builds do not, since a plan comes from our own compiler and never from a file.
//
// The check is linear in the plan. For a sequence it walks the records in the order in which they
// run and keeps, for each slot, whether a value may lie there; so it finds a record that reads what
// nobody has written, or what was released before. In a plan with loops or branches that depends on
// the step, so there only the numbers are checked. For dataflow it counts the edges that lead to
// each record and compares the counts with those that the executor counts down: one too many would
// leave a record waiting for ever, one too few would run it before its inputs are there.
#include <string.h>

#include "worker/sequence.h"

typedef struct verifier_s {
  const leat_plan_t* plan;
  leat_arena_t scratch;
  uint32_t record;
} verifier_t;

static leat_status_t broken(const verifier_t* v, const char* rule) {
  return leat_make_status(LEAT_INTERNAL,
                          "Verifying the plan failed for node '%.*s' (record %u of %u): %s",
                          LEAT_SV_ARG(leat_plan_record_name(v->plan, v->record)), v->record,
                          v->plan->record_count, rule);
}

#define REQUIRE(condition, rule) \
  do {                           \
    if (!(condition)) return broken(v, rule); \
  } while (0)

// ---- What both executors rely on ----------------------------------------------------------------

// Checks the slots of feeds and fetches. The slot of a feed is UINT32_MAX where no node of the plan
// reads it.
static leat_status_t verify_edges_of_step(verifier_t* v) {
  const leat_plan_t* plan = v->plan;
  REQUIRE(plan->constant_count <= plan->slot_count, "constants must have slots");
  for (int i = 0; i < plan->feed_count; ++i) {
    uint32_t slot = plan->feed_slots[i];
    REQUIRE(slot == UINT32_MAX || (slot >= plan->constant_count && slot < plan->slot_count),
            "a fed slot must exist and be no constant's");
  }
  for (int i = 0; i < plan->fetch_count; ++i) {
    REQUIRE(plan->fetch_slots[i] < plan->slot_count, "a fetched slot must exist");
    REQUIRE(!plan->fetch_moves[i] || plan->fetch_slots[i] >= plan->constant_count,
            "a constant must not be moved out");
    // Only the next few are compared, so that the check stays linear.
    for (int k = i + 1; k < plan->fetch_count && k < i + 8; ++k) {
      REQUIRE(!plan->fetch_moves[i] || plan->fetch_slots[i] != plan->fetch_slots[k],
              "only the last fetch of a slot may move its value");
    }
  }
  return leat_ok_status();
}

// Checks that what a record says of its kernel is so, because the executors go by the record.
static leat_status_t verify_kernel(verifier_t* v, const leat_record_t* record) {
  const leat_plan_t* plan = v->plan;
  bool has_call = record->kernel && !(record->flags & LEAT_RECORD_CONTROL_FLOW);
  REQUIRE(plan->record_nodes[v->record] < (int32_t)plan->graph->node_count,
          "its node must exist");
  if (!record->kernel) {
    const uint32_t bare = LEAT_RECORD_LOOP | LEAT_RECORD_REPEAT | LEAT_RECORD_ONLY_FLAG;
    REQUIRE(record->flags & bare, "it must have a kernel");
    return leat_ok_status();
  }
  REQUIRE(record->compute == record->kernel->compute, "its call must be its kernel's");
  REQUIRE(!has_call || record->compute || (record->flags & LEAT_RECORD_ASYNC),
          "its kernel must be synchronous or marked asynchronous");
  uint32_t read_count;
  leat_plan_reads(plan, v->record, &read_count);
  REQUIRE(!!(record->flags & LEAT_RECORD_PREPARES) ==
              leat_kernel_needs_preparing(record->kernel, read_count),
          "its mark for preparing must say what its kernel and references need");
  return leat_ok_status();
}

// ---- Sequences ----------------------------------------------------------------------------------

// Checks that the record's guard (the flags that decide whether it runs) and its own flag exist. A
// Switch has three flags of its own, every other record has one or none.
static leat_status_t verify_flags(verifier_t* v, const leat_record_t* record) {
  const leat_sequence_tables_t* t = &v->plan->sequence;
  uint32_t width = record->flags & LEAT_RECORD_SWITCH ? 3 : 1;
  bool controlled = record->flags & (LEAT_RECORD_GUARDED | LEAT_RECORD_ONLY_FLAG |
                                     LEAT_RECORD_CONTROL_FLOW);
  REQUIRE(controlled || record->sequence.guard == 0, "its guard must be looked at");
  REQUIRE(controlled || record->sequence.flag == 0, "its flag must be set by somebody");
  if (record->sequence.flag) {
    REQUIRE(record->sequence.flag + width <= t->flag_count, "its flag must exist");
  }
  if (!controlled) return leat_ok_status();
  const uint32_t* guard = &t->guards[record->sequence.guard];
  for (uint32_t i = 1; i <= guard[0]; ++i) {
    REQUIRE(guard[i] < t->flag_count, "the flags of its guard must exist");
  }
  return leat_ok_status();
}

// Checks that each loop begins and ends at records that say so, since an iteration jumps there.
static leat_status_t verify_loops(verifier_t* v) {
  const leat_sequence_tables_t* t = &v->plan->sequence;
  for (uint32_t i = 0; i < t->loop_count; ++i) {
    const leat_sequence_loop_t* loop = &t->loops[i];
    v->record = loop->begin < v->plan->record_count ? loop->begin : 0;
    REQUIRE(loop->begin < loop->end && loop->end < v->plan->record_count,
            "a loop must begin before it ends, within the plan");
    const leat_record_t *begin = &v->plan->records[loop->begin],
                        *end = &v->plan->records[loop->end];
    REQUIRE((begin->flags & LEAT_RECORD_LOOP) && begin->sequence.loop == i &&
                (end->flags & LEAT_RECORD_REPEAT) && end->sequence.loop == i,
            "the borders of a loop must be its LOOP and its REPEAT");
    for (uint32_t k = 0; k < loop->invariant_count; ++k) {
      REQUIRE(loop->invariants[k] < v->plan->slot_count, "an invariant must have a slot");
    }
  }
  return leat_ok_status();
}

// In a plan without control flow every input has been written and not yet released.
static leat_status_t verify_values(verifier_t* v, const leat_record_t* record, uint8_t* filled) {
  const leat_plan_t* plan = v->plan;
  bool straight = plan->sequence.loop_count == 0 && plan->sequence.flag_count == 0;
  uint32_t read_count;
  const leat_reference_read_t* reads = leat_plan_reads(plan, v->record, &read_count);
  for (uint32_t i = 0; i < read_count; ++i) {
    REQUIRE(reads[i].source < plan->slot_count && reads[i].target < plan->slot_count,
            "the slots of the references that it reads must exist");
    REQUIRE(!straight || filled[reads[i].source], "a reference that it reads must be there");
    filled[reads[i].target] = true;
  }
  for (int k = 0; record->kernel && k < record->kernel->input_count; ++k) {
    REQUIRE(record->input_slots[k] < plan->slot_count, "its input slots must exist");
    REQUIRE(!straight || filled[record->input_slots[k]], "its inputs must be there");
    bool overwrites = k < 64 && (record->last_readers >> k & 1);
    REQUIRE(!overwrites || record->input_slots[k] >= plan->constant_count,
            "it must not overwrite a constant");
  }
  bool shares = record->first_output == LEAT_NO_SLOT;
  for (int k = 0; record->kernel && !shares && k < record->kernel->output_count; ++k) {
    uint32_t slot = record->first_output + (uint32_t)k;
    REQUIRE(slot >= plan->constant_count && slot < plan->slot_count,
            "its output slots must exist and be no constant's");
    REQUIRE(!straight || !filled[slot], "its output slots must be empty");
    filled[slot] = true;
  }
  for (uint32_t i = 0; i < record->sequence.release_count; ++i) {
    uint32_t slot = plan->sequence.releases[record->sequence.first_release + i];
    REQUIRE(slot >= plan->constant_count && slot < plan->slot_count,
            "what it releases must exist and be no constant");
    REQUIRE(!straight || filled[slot], "what it releases must be there");
    filled[slot] = false;
  }
  return leat_ok_status();
}

// Walks the records in the order in which they run, with a mark for each slot that holds a value.
static leat_status_t verify_sequence(verifier_t* v) {
  const leat_plan_t* plan = v->plan;
  uint8_t* filled;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(&v->scratch, plan->slot_count + 1, &filled));
  memset(filled, true, plan->constant_count);
  for (int i = 0; i < plan->feed_count; ++i) {
    if (plan->feed_slots[i] != UINT32_MAX) filled[plan->feed_slots[i]] = true;
  }
  for (v->record = 0; v->record < plan->record_count; ++v->record) {
    const leat_record_t* record = &plan->records[v->record];
    LEAT_RETURN_IF_ERROR(verify_kernel(v, record));
    if (record->flags & (LEAT_RECORD_LOOP | LEAT_RECORD_REPEAT)) {
      REQUIRE(record->sequence.loop < plan->sequence.loop_count, "its loop must exist");
      continue;
    }
    LEAT_RETURN_IF_ERROR(verify_flags(v, record));
    LEAT_RETURN_IF_ERROR(verify_values(v, record, filled));
  }
  LEAT_RETURN_IF_ERROR(verify_loops(v));
  if (plan->sequence.flag_count) return leat_ok_status();
  // A fetch may be what was fed: fetches are taken before the step empties the feeds.
  for (int i = 0; i < plan->fetch_count; ++i) {
    uint32_t slot = plan->fetch_slots[i];
    REQUIRE(slot < plan->constant_count || filled[slot] || !plan->fetch_moves[i],
            "a fetched value must be there at the end");
  }
  // The step empties what was fed and what is fetched; nothing else may be left.
  for (int i = 0; i < plan->feed_count; ++i) {
    if (plan->feed_slots[i] != UINT32_MAX) filled[plan->feed_slots[i]] = false;
  }
  for (int i = 0; i < plan->fetch_count; ++i) filled[plan->fetch_slots[i]] = false;
  for (uint32_t slot = plan->constant_count; slot < plan->slot_count; ++slot) {
    REQUIRE(!filled[slot], "every value must be released or fetched");
  }
  return leat_ok_status();
}

// ---- Dataflow -----------------------------------------------------------------------------------

// Checks one record, and adds 1 to |pending| of each record that waits for it.
static leat_status_t verify_dataflow_record(verifier_t* v, const leat_dataflow_frame_t* frame,
                                            uint32_t* pending) {
  const leat_plan_t* plan = v->plan;
  const leat_dataflow_tables_t* t = &plan->dataflow;
  const leat_record_t* record = &plan->records[v->record];
  LEAT_RETURN_IF_ERROR(verify_kernel(v, record));
  REQUIRE(record->dataflow.place < frame->record_count &&
              frame->records[record->dataflow.place] == v->record,
          "its place in its frame must be its own");
  REQUIRE((int)record->dataflow.input_count == record->kernel->input_count &&
              (int)record->dataflow.output_count == record->kernel->output_count,
          "it must have as many inputs and outputs as its kernel");
  for (uint32_t k = 0; k < record->dataflow.input_count; ++k) {
    REQUIRE(record->input_slots[k] < frame->slot_count, "its input slots must exist");
    REQUIRE(frame->readers[record->input_slots[k]] > 0, "its inputs must be counted as read");
  }
  const leat_dataflow_frame_t* out =
      &t->frame_tables[t->frames.outputs_in[plan->record_nodes[v->record]]];
  REQUIRE(record->first_output + record->dataflow.output_count <= out->slot_count,
          "its output slots must exist");
  for (uint32_t i = 0; i < record->dataflow.successor_count; ++i) {
    uint32_t successor = t->successors[record->dataflow.first_successor + i];
    REQUIRE(successor < plan->record_count, "its successors must exist");
    ++pending[successor];
    if (!t->framed) continue;
    int32_t output = t->successor_outputs[record->dataflow.first_successor + i];
    REQUIRE(output < (int32_t)record->dataflow.output_count, "its edges must carry its outputs");
  }
  return leat_ok_status();
}

// Counts the edges that lead to each record, and compares them with the count that the executor
// will count down.
static leat_status_t verify_dataflow(verifier_t* v) {
  const leat_plan_t* plan = v->plan;
  const leat_dataflow_tables_t* t = &plan->dataflow;
  uint32_t *pending, roots = 0;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(&v->scratch, plan->record_count + 1, &pending));
  REQUIRE(t->frame_tables[0].slot_count == plan->slot_count,
          "an instance must have the slots of frame 0");
  for (v->record = 0; v->record < plan->record_count; ++v->record) {
    int32_t frame = t->frames.runs_in[plan->record_nodes[v->record]];
    REQUIRE(frame >= 0 && frame < t->frames.count, "its frame must exist");
    LEAT_RETURN_IF_ERROR(verify_dataflow_record(v, &t->frame_tables[frame], pending));
  }
  for (v->record = 0; v->record < plan->record_count; ++v->record) {
    const leat_record_t* record = &plan->records[v->record];
    const leat_dataflow_frame_t* frame =
        &t->frame_tables[t->frames.runs_in[plan->record_nodes[v->record]]];
    uint32_t waits_for = frame->pending[record->dataflow.place];
    // A Merge runs when the first of its inputs is there, so its count is another one.
    REQUIRE((record->flags & LEAT_RECORD_MERGE) || waits_for == pending[v->record],
            "it must wait for as many inputs as lead to it");
    roots += waits_for == 0;
  }
  v->record = 0;
  REQUIRE(roots == t->root_count, "all records that wait for nothing must be roots");
  return leat_ok_status();
}

leat_status_t leat_plan_verify(const leat_plan_t* plan) {
  verifier_t verifier = {.plan = plan};
  leat_arena_initialize(plan->allocator, 0, &verifier.scratch);
  leat_status_t status = verify_edges_of_step(&verifier);
  if (!status) {
    status = plan->executor == LEAT_EXECUTOR_SEQUENCE ? verify_sequence(&verifier)
                                                      : verify_dataflow(&verifier);
  }
  leat_arena_deinitialize(&verifier.scratch);
  return status;
}
