// Records of a frame, and the frames that begin in it as one unit each, sorted so that every input
// comes first; edges that close loops are set aside. Exits come as early as they can: what they do
// not take the body may overwrite. What goes on to the next iteration comes last, when the body is
// done with what came from the one before.
#include "worker/ordered_plan.h"

#define NOBODY UINT32_MAX

typedef struct sorter_s {
  const leat_plan_t* plan;
  leat_arena_t* scratch;
  leat_step_order_t* order;
} sorter_t;

// The units of one frame.
typedef struct level_s {
  int32_t frame;
  uint32_t* unit_of;  // record -> itself, or record_count + a frame that begins here, or NOBODY
  uint32_t* pending;  // unit -> inputs to come
  uint32_t* ready;
  uint32_t ready_count;
  uint32_t* late;     // NextIterations
  uint32_t late_count;
  uint32_t unit_count, done_count;
} level_t;

static leat_status_t allocate(const sorter_t* s, size_t count, void* out) {
  return leat_arena_allocate_array(s->scratch, count + 1, sizeof(uint32_t), (void**)out);
}

static uint32_t find_unit(const sorter_t* s, uint32_t record, int32_t frame) {
  const leat_frames_t* frames = &s->plan->frames;
  int32_t own = frames->runs_in[s->plan->record_nodes[record]];
  if (own == frame) return record;
  while (own > 0 && frames->items[own].parent != frame) own = frames->items[own].parent;
  return own > 0 ? s->plan->record_count + (uint32_t)own : NOBODY;
}

// The unit that successor |index| of |record| belongs to; NOBODY for an edge that orders nothing
// here.
static uint32_t successor_unit(const sorter_t* s, const level_t* level, uint32_t record,
                               uint32_t index) {
  const leat_record_t* from = &s->plan->records[record];
  uint32_t to = s->plan->successors[from->first_successor + index];
  bool closes_loop = (from->flags & LEAT_RECORD_NEXT_ITERATION) &&
                     (s->plan->records[to].flags & LEAT_RECORD_MERGE);
  uint32_t unit = level->unit_of[to];
  return closes_loop || unit == level->unit_of[record] ? NOBODY : unit;
}

static leat_status_t begin_level(const sorter_t* s, int32_t frame, level_t* level) {
  uint32_t records = s->plan->record_count, frames = (uint32_t)s->plan->frames.count;
  *level = (level_t){.frame = frame};
  LEAT_RETURN_IF_ERROR(allocate(s, records, &level->unit_of));
  LEAT_RETURN_IF_ERROR(allocate(s, records + frames, &level->pending));
  LEAT_RETURN_IF_ERROR(allocate(s, records + frames, &level->ready));
  LEAT_RETURN_IF_ERROR(allocate(s, records, &level->late));
  for (uint32_t r = 0; r < records; ++r) level->unit_of[r] = find_unit(s, r, frame);
  for (uint32_t r = 0; r < records; ++r) {
    if (level->unit_of[r] == NOBODY) continue;
    for (uint32_t i = 0; i < s->plan->records[r].successor_count; ++i) {
      uint32_t unit = successor_unit(s, level, r, i);
      if (unit != NOBODY) ++level->pending[unit];
    }
  }
  for (uint32_t u = records + frames; u-- > 0;) {
    bool is_here = u < records ? level->unit_of[u] == u
                               : u > records && s->plan->frames.items[u - records].parent == frame;
    level->unit_count += is_here;
    if (is_here && level->pending[u] == 0) level->ready[level->ready_count++] = u;
  }
  return leat_ok_status();
}

// Counts |record| at its successors: those that are ready go on the stack, Exits on top.
static void count_at_successors(const sorter_t* s, level_t* level, uint32_t record) {
  uint32_t exits = 0, count = s->plan->records[record].successor_count;
  for (uint32_t i = 0; i < count; ++i) {
    uint32_t unit = successor_unit(s, level, record, i);
    if (unit == NOBODY || --level->pending[unit]) continue;
    bool is_exit = unit < s->plan->record_count &&
                   (s->plan->records[unit].flags & LEAT_RECORD_EXIT);
    uint32_t place = level->ready_count++;
    level->ready[place] = unit;
    if (is_exit) {
      ++exits;
    } else if (exits) {  // below the Exits
      level->ready[place] = level->ready[place - exits];
      level->ready[place - exits] = unit;
    }
  }
}

static void emit(const sorter_t* s, uint32_t item) {
  s->order->items[s->order->count++] = item;
}

static leat_status_t order_frame(const sorter_t* s, int32_t frame);

static leat_status_t emit_unit(const sorter_t* s, level_t* level, uint32_t unit) {
  uint32_t records = s->plan->record_count;
  ++level->done_count;
  if (unit < records) {
    if (s->plan->records[unit].flags & LEAT_RECORD_NEXT_ITERATION) {
      level->late[level->late_count++] = unit;
    } else {
      emit(s, unit);
      count_at_successors(s, level, unit);
    }
    return leat_ok_status();
  }
  uint32_t loop = unit - records - 1;
  emit(s, LEAT_ORDER_LOOP + loop);
  LEAT_RETURN_IF_ERROR(order_frame(s, (int32_t)loop + 1));
  emit(s, LEAT_ORDER_REPEAT + loop);
  for (uint32_t r = 0; r < records; ++r) {
    if (level->unit_of[r] == unit) count_at_successors(s, level, r);
  }
  return leat_ok_status();
}

// Frames are at most some hundreds deep in each other (leat_ordered_plan_make sees to it).
static leat_status_t order_frame(const sorter_t* s, int32_t frame) {
  level_t level;
  LEAT_RETURN_IF_ERROR(begin_level(s, frame, &level));
  while (level.ready_count) {
    LEAT_RETURN_IF_ERROR(emit_unit(s, &level, level.ready[--level.ready_count]));
  }
  for (uint32_t i = 0; i < level.late_count; ++i) emit(s, level.late[i]);
  if (level.done_count != level.unit_count) s->order->is_whole = false;
  return leat_ok_status();
}

leat_status_t leat_step_order_find(const leat_plan_t* plan, leat_arena_t* scratch,
                                   leat_step_order_t* out_order) {
  sorter_t s = {plan, scratch, out_order};
  out_order->count = 0;
  out_order->is_whole = true;
  return order_frame(&s, 0);
}
