// What the dataflow executor needs of a plan (section 3.1): for each record, who waits for it and
// how many it waits for itself; for each slot, how many read it. Counts are kept by frame, in the
// form in which an iteration of the frame copies them when it begins.
//
// A Merge waits otherwise than the rest: for its control inputs and for the first live value. Its
// count is twice the control inputs still to come, plus one until that value has come.
//
// The sequence compiler uses the same tables as scratch, to find the order of control flow.
#include <string.h>

#include "worker/compiler.h"

// Walks all edges between records. The first walk counts them at their sources; the second, when
// |tables->successors| has room, writes them down and counts them at their readers.
static size_t list_edges(leat_plan_compiler_t* c, leat_dataflow_tables_t* tables,
                         uint32_t* pending) {
  leat_plan_t* plan = c->plan;
  size_t count = 0;
  for (uint32_t r = 0; r < plan->record_count; ++r) {
    const leat_node_t* node = leat_plan_compiler_node(c, r);
    for (int k = 0; k < node->input_count + node->control_count; ++k) {
      int64_t source = c->record_of[node->inputs[k].node];
      if (source < 0) continue;
      LEAT_DCHECK(source < r || (plan->records[r].flags & LEAT_RECORD_MERGE));
      leat_record_t* from = &plan->records[source];
      if (pending) {
        uint32_t place = from->dataflow.first_successor + from->dataflow.successor_count;
        tables->successors[place] = r;
        if (c->framed) tables->successor_outputs[place] = node->inputs[k].index;
        ++pending[r];
      }
      ++from->dataflow.successor_count;
      ++count;
    }
  }
  return count;
}

// Lists the successors of each record in one array. The edges are listed twice: once to count them,
// and once to fill in the array at the places that the counts give.
static leat_status_t set_successors(leat_plan_compiler_t* c, leat_arena_t* arena,
                                    leat_dataflow_tables_t* tables, uint32_t* pending) {
  leat_plan_t* plan = c->plan;
  for (uint32_t r = 0; r < plan->record_count; ++r) {
    memset(&plan->records[r].dataflow, 0, sizeof plan->records[r].dataflow);
  }
  size_t edges = list_edges(c, tables, NULL);
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, edges + 1, &tables->successors));
  if (c->framed) {
    LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, edges + 1, &tables->successor_outputs));
  }
  uint32_t next = 0;
  for (uint32_t r = 0; r < plan->record_count; ++r) {
    leat_record_t* record = &plan->records[r];
    record->dataflow.first_successor = next;
    next += record->dataflow.successor_count;
    record->dataflow.successor_count = 0;
  }
  LEAT_DCHECK(next == edges);
  list_edges(c, tables, pending);
  return leat_ok_status();
}

// What a Merge waits for, among the control inputs those alone that have a record: a constant or an
// argument is there from the beginning and is never counted down. For the same reason a constant
// among the data inputs is a live value that need not be waited for.
static uint32_t merge_pending(const leat_plan_compiler_t* c, const leat_node_t* node) {
  uint32_t controls = 0;
  for (int k = node->input_count; k < node->input_count + node->control_count; ++k) {
    controls += c->record_of[node->inputs[k].node] >= 0;
  }
  for (int k = 0; k < node->input_count; ++k) {
    if (c->record_of[node->inputs[k].node] < 0) return 2 * controls;
  }
  return 2 * controls + 1;
}

static leat_status_t allocate_frames(leat_plan_compiler_t* c, leat_arena_t* arena,
                                     leat_dataflow_tables_t* tables) {
  size_t count = (size_t)c->frames.count;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, count + 1, &tables->frame_tables));
  for (uint32_t r = 0; r < c->plan->record_count; ++r) {
    leat_dataflow_frame_t* frame = &tables->frame_tables[leat_plan_compiler_frame(c, r)];
    c->plan->records[r].dataflow.place = frame->record_count++;
  }
  for (size_t f = 0; f < count; ++f) {
    leat_dataflow_frame_t* frame = &tables->frame_tables[f];
    frame->slot_count = c->frame_slots[f];
    LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, frame->slot_count + 1, &frame->readers));
    LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, frame->record_count + 1, &frame->pending));
    LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, frame->record_count + 1, &frame->records));
  }
  return leat_ok_status();
}

// Readers are counted by slot as the executor will count them down: once for each input, and once
// for each reference that is read, from whose slot the value goes into the input's.
static void count_readers(leat_plan_compiler_t* c, leat_dataflow_tables_t* tables,
                          const uint32_t* pending) {
  const leat_plan_t* plan = c->plan;
  for (uint32_t r = 0; r < plan->record_count; ++r) {
    const leat_node_t* node = leat_plan_compiler_node(c, r);
    leat_record_t* record = &plan->records[r];
    leat_dataflow_frame_t* frame = &tables->frame_tables[leat_plan_compiler_frame(c, r)];
    uint32_t place = record->dataflow.place, read_count;
    const leat_reference_read_t* reads = leat_plan_reads(plan, r, &read_count);
    LEAT_DCHECK(place < frame->record_count);
    record->dataflow.input_count = (uint32_t)node->input_count;
    record->dataflow.output_count = (uint32_t)node->output_count;
    frame->records[place] = r;
    frame->pending[place] =
        record->flags & LEAT_RECORD_MERGE ? merge_pending(c, node) : pending[r];
    for (int k = 0; k < node->input_count; ++k) {
      LEAT_DCHECK(record->input_slots[k] < frame->slot_count);
      ++frame->readers[record->input_slots[k]];
    }
    for (uint32_t i = 0; i < read_count; ++i) ++frame->readers[reads[i].source];
  }
  uint32_t* readers = tables->frame_tables[0].readers;
  for (int i = 0; i < plan->fetch_count; ++i) ++readers[plan->fetch_slots[i]];
  for (uint32_t i = 0; i < plan->constant_count; ++i) readers[i] = LEAT_READERS_CONSTANT;
}

leat_status_t leat_dataflow_compile(leat_plan_compiler_t* c, leat_arena_t* arena,
                                    leat_dataflow_tables_t* out_tables) {
  const leat_plan_t* plan = c->plan;
  uint32_t* pending;  // record -> edges that lead to it
  leat_dataflow_tables_t tables = {.framed = c->framed, .frames = c->frames};
  LEAT_RETURN_IF_ERROR(LEAT_NEW(&c->scratch, plan->record_count + 1, &pending));
  LEAT_RETURN_IF_ERROR(set_successors(c, arena, &tables, pending));
  LEAT_RETURN_IF_ERROR(allocate_frames(c, arena, &tables));
  count_readers(c, &tables, pending);
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, plan->record_count + 1, &tables.roots));
  for (uint32_t r = 0; r < plan->record_count; ++r) {
    uint32_t place = plan->records[r].dataflow.place;
    const leat_dataflow_frame_t* frame = &tables.frame_tables[leat_plan_compiler_frame(c, r)];
    if (frame->pending[place] == 0) tables.roots[tables.root_count++] = r;
  }
  *out_tables = tables;
  return leat_ok_status();
}
