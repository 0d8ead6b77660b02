// Puts a graph with loops (section 4.4) in a sequence: records such that every input comes first,
// and each loop in one piece, between the Enters that lead into it and whatever reads its Exits.
//
//   Enter a | Enter b | LOOP | cond | Switch a | Switch b | Exit | body | Next a | Next b | REPEAT
//
// It is an ordinary topological sort over units. In the frame that it lies in, a loop is one unit:
// what its Enters give comes in, what its Exits give comes out. When that unit's turn comes its own
// frame is sorted, before anything else. The units that are ready lie on one stack, the innermost
// frame's on top, so that loops may be nested to any depth without recursion; time and memory are
// linear in records and edges, however many loops there are.
//
// Two choices among the orders that are right make values short-lived. Exits run as early as they
// can: what they do not take, the body may overwrite. NextIterations run last, when the body is
// done with the values that came from the iteration before.
#include "worker/compiler.h"

typedef struct sorter_s {
  const leat_plan_compiler_t* c;
  const leat_dataflow_tables_t* edges;
  leat_sequence_order_t* order;
  uint32_t* pending;      // unit -> inputs to come
  uint32_t* ready;        // stack of units; below those of a loop, LEAT_ORDER_REPEAT + loop
  uint32_t ready_count;
  uint32_t* late;         // stack of the NextIterations of the loops under way
  uint32_t late_count;
  uint32_t* late_begin;   // by frame, in |late|
  uint32_t done_count;
} sorter_t;

static uint32_t loop_unit(const sorter_t* s, int32_t frame) {
  LEAT_DCHECK(frame > 0 && frame < s->c->frames.count);
  return s->c->plan->record_count + (uint32_t)frame - 1;
}

// The unit that waits for the edge |index| out of |record|; false for an edge that closes a loop,
// which orders nothing.
static bool waiting_unit(const sorter_t* s, uint32_t record, uint32_t index, uint32_t* out_unit) {
  const leat_record_t* from = &s->c->plan->records[record];
  LEAT_DCHECK(index < from->dataflow.successor_count);
  uint32_t to = s->edges->successors[from->dataflow.first_successor + index];
  int32_t frame = leat_plan_compiler_frame(s->c, to);
  if ((from->flags & LEAT_RECORD_NEXT_ITERATION) &&
      (s->c->plan->records[to].flags & LEAT_RECORD_MERGE)) {
    return false;
  }
  bool goes_in = from->flags & LEAT_RECORD_ENTER;
  *out_unit = goes_in ? loop_unit(s, frame) : to;
  return true;
}

static void count_inputs(sorter_t* s) {
  for (uint32_t r = 0; r < s->c->plan->record_count; ++r) {
    for (uint32_t i = 0; i < s->c->plan->records[r].dataflow.successor_count; ++i) {
      uint32_t unit;
      if (waiting_unit(s, r, i, &unit)) ++s->pending[unit];
    }
  }
}

// Counts |record| at those that wait for it: who is ready goes on the stack, Exits on top.
static void count_at_successors(sorter_t* s, uint32_t record) {
  uint32_t exits = 0, count = s->c->plan->records[record].dataflow.successor_count;
  for (uint32_t i = 0; i < count; ++i) {
    uint32_t unit;
    if (!waiting_unit(s, record, i, &unit)) continue;
    LEAT_DCHECK(s->pending[unit] > 0);
    if (--s->pending[unit]) continue;
    bool is_exit = unit < s->c->plan->record_count &&
                   (s->c->plan->records[unit].flags & LEAT_RECORD_EXIT);
    uint32_t place = s->ready_count++;
    s->ready[place] = unit;
    if (is_exit) {
      ++exits;
    } else if (exits) {  // below the Exits
      s->ready[place] = s->ready[place - exits];
      s->ready[place - exits] = unit;
    }
  }
}

static void emit(sorter_t* s, uint32_t item) {
  LEAT_DCHECK(s->order->count < s->c->plan->record_count + 2 * (uint32_t)s->c->frames.count);
  s->order->items[s->order->count++] = item;
}

static void begin_frame(sorter_t* s, int32_t frame) {
  const leat_dataflow_frame_t* table = &s->edges->frame_tables[frame];
  s->late_begin[frame] = s->late_count;
  for (uint32_t i = table->record_count; i-- > 0;) {
    if (s->pending[table->records[i]] == 0) s->ready[s->ready_count++] = table->records[i];
  }
}

static void end_frame(sorter_t* s, int32_t frame) {
  LEAT_DCHECK(s->late_begin[frame] <= s->late_count);
  for (uint32_t i = s->late_begin[frame]; i < s->late_count; ++i) emit(s, s->late[i]);
  s->late_count = s->late_begin[frame];
}

static void begin_loop(sorter_t* s, uint32_t loop) {
  emit(s, LEAT_ORDER_LOOP + loop);
  s->ready[s->ready_count++] = LEAT_ORDER_REPEAT + loop;
  begin_frame(s, (int32_t)loop + 1);
}

// Nothing of the loop is ready any more: what reads its Exits may be now.
static void end_loop(sorter_t* s, uint32_t loop) {
  const leat_dataflow_frame_t* table = &s->edges->frame_tables[loop + 1];
  end_frame(s, (int32_t)loop + 1);
  emit(s, LEAT_ORDER_REPEAT + loop);
  for (uint32_t i = 0; i < table->record_count; ++i) {
    uint32_t record = table->records[i];
    if (s->c->plan->records[record].flags & LEAT_RECORD_EXIT) count_at_successors(s, record);
  }
}

static void emit_record(sorter_t* s, uint32_t record) {
  uint32_t flags = s->c->plan->records[record].flags;
  ++s->done_count;
  if (flags & LEAT_RECORD_NEXT_ITERATION) {
    LEAT_DCHECK(s->late_count < s->c->plan->record_count);
    s->late[s->late_count++] = record;
    return;
  }
  emit(s, record);
  if (!(flags & LEAT_RECORD_EXIT)) count_at_successors(s, record);
}

leat_status_t leat_sequence_order_find(leat_plan_compiler_t* c,
                                       const leat_dataflow_tables_t* edges,
                                       leat_sequence_order_t* out_order) {
  size_t records = c->plan->record_count, frames = (size_t)c->frames.count;
  sorter_t s = {.c = c, .edges = edges, .order = out_order};
  *out_order = (leat_sequence_order_t){0};
  struct { uint32_t** array; size_t count; } arrays[] = {
      {&out_order->items, records + 2 * frames}, {&s.pending, records + frames},
      {&s.ready, records + 2 * frames}, {&s.late, records}, {&s.late_begin, frames}};
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(arrays); ++i) {
    LEAT_RETURN_IF_ERROR(LEAT_NEW(&c->scratch, arrays[i].count + 1, arrays[i].array));
  }
  count_inputs(&s);
  begin_frame(&s, 0);
  while (s.ready_count) {
    uint32_t unit = s.ready[--s.ready_count];
    if (unit & LEAT_ORDER_REPEAT) {
      end_loop(&s, unit - LEAT_ORDER_REPEAT);
    } else if (unit >= records) {
      begin_loop(&s, unit - (uint32_t)records);
    } else {
      emit_record(&s, unit);
    }
  }
  end_frame(&s, 0);
  LEAT_DCHECK(s.done_count <= records && s.late_count == 0);
  out_order->is_whole = s.done_count == records;
  return leat_ok_status();
}
