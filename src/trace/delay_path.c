// Walks a step backwards from its end. The walk is always at a moment of a row, and asks what the
// thread did just before it:
//
//   it computed, took memory, waited for a lock,     a piece with that cause; the walk goes on at
//   or was off its core                              the piece's beginning, on the same row
//   it waited for another thread                     the walk goes to the row where a task, a piece
//                                                    of a loop or an asynchronous kernel ended last
//   it began a task                                  the walk goes to when the task was queued, and
//                                                    to the thread that queued it
//
// An asynchronous kernel (a dequeue) was ended by a thread, often one of another step, which put
// something into the queue. What that thread did while the kernel waited is walked in the same way,
// down to the beginning of the kernel; there the walk goes back to the thread that began it.
//
// Where a wait was for several, the last to end leads on, and the one before it says how much the
// step can gain at most on this way: with more, the other becomes the one that is waited for.
#include "trace/delay_path.h"

#include "base/checked.h"

#define MAX_NESTING 16       // of asynchronous kernels that were waited for
#define MAX_VAIN_SWITCHES 4  // of rows, in which the walk gets no further

typedef struct path_s {
  const leat_timeline_t* timeline;
  const uint32_t* names;
  const leat_step_t* step;
  leat_path_piece_t* pieces;
  size_t count, capacity;
} path_t;

// What a row did just before a moment.
typedef struct state_s {
  int64_t begin_ns;             // since when nothing changed
  const leat_slice_t* blocked;  // a wait, a lock, a sleep, memory; the outermost
  uint32_t blocked_kind;
  int64_t blocked_value;
  const leat_slice_t* kernel;   // the innermost kernel, or else the piece of a loop
  const leat_slice_t* shard;    // a piece of a loop that is in no kernel
  const leat_slice_t* task;
  int64_t queued_ns;            // of the task
  bool is_in_step;              // of whichever
} state_t;

// What the walk is in: between |floor_ns| and the moment it is at.
typedef struct scope_s {
  int64_t floor_ns;
  uint32_t home;  // the row of the caller
  const leat_slice_t* input;  // the asynchronous kernel that waits meanwhile; NULL: none
  int64_t most_ns;
  int nesting;
} scope_t;

static uint32_t kind_of(const path_t* path, const leat_slice_t* slice) {
  return path->timeline->names[slice->name].kind;
}

// The slice of the lane that began last before |time_ns|; NULL: none did.
static const leat_slice_t* last_before(const leat_lane_t* lane, int64_t time_ns) {
  size_t at = leat_lane_find(lane, time_ns - 1);
  if (at < lane->count && lane->slices[at].begin_ns < time_ns) return &lane->slices[at];
  return at > 0 ? &lane->slices[at - 1] : NULL;
}

static bool is_blocking(uint32_t kind) {
  return kind == LEAT_SPAN_PARK || kind == LEAT_SPAN_WAIT || kind == LEAT_SPAN_LOCK ||
         kind == LEAT_SPAN_MEMORY || kind == LEAT_SPAN_FILE || kind == LEAT_SPAN_OFF_CORE;
}

static state_t look(const path_t* path, uint32_t row, int64_t time_ns) {
  const leat_timeline_row_t* r = path->timeline->rows[row];
  state_t state = {0};
  for (uint32_t i = 0; i < r->lane_count && !state.blocked; ++i) {
    const leat_lane_t* lane = &r->lanes[i];
    const leat_slice_t* slice = last_before(lane, time_ns);
    if (!slice) continue;
    const bool is_over = slice->end_ns < time_ns;
    state.begin_ns = LEAT_MAX(state.begin_ns, is_over ? slice->end_ns : slice->begin_ns);
    if (is_over) continue;
    const uint32_t kind = kind_of(path, slice);
    const int64_t value = lane->values[slice - lane->slices];
    if (is_blocking(kind)) {
      state.blocked = slice;
      state.blocked_kind = kind;
      state.blocked_value = value;
    } else if (kind == LEAT_SPAN_STEP) {
      state.is_in_step = true;
    } else if (kind == LEAT_SPAN_TASK) {
      state.task = slice;
      state.queued_ns = value;
    } else if (kind == LEAT_SPAN_KERNEL) {
      state.kernel = slice;
    } else if (kind == LEAT_SPAN_SHARD && !state.kernel) {
      state.kernel = state.shard = slice;
    }
  }
  return state;
}

// Whether the row works on something, as opposed to waiting for it.
static bool is_working(const state_t* state) {
  const bool is_off = state->blocked && state->blocked_kind != LEAT_SPAN_MEMORY &&
                      state->blocked_kind != LEAT_SPAN_FILE &&
                      state->blocked_kind != LEAT_SPAN_OFF_CORE;
  return !is_off && (state->is_in_step || state->task || state->kernel);
}

static uint32_t name_of(const path_t* path, const leat_slice_t* slice) {
  return slice ? path->names[slice->name] : LEAT_NO_NAME;
}

static leat_status_t add_piece(path_t* path, const leat_path_piece_t* piece) {
  if (piece->begin_ns >= piece->end_ns) return leat_ok_status();
  LEAT_RETURN_IF_ERROR(LEAT_GROW(leat_allocator_system(), path->count + 1, &path->pieces,
                                 &path->capacity));
  path->pieces[path->count++] = *piece;
  return leat_ok_status();
}

// ---- What is waited for -------------------------------------------------------------------------

// Something that ended: the time, and the slice of an asynchronous kernel, or NULL for a thread's.
typedef struct arrival_s {
  uint32_t row;
  int64_t end_ns;  // 0: there is none
  const leat_slice_t* asynchronous;
} arrival_t;

static bool is_work(uint32_t kind) {
  return kind == LEAT_SPAN_TASK || kind == LEAT_SPAN_SHARD || kind == LEAT_SPAN_KERNEL;
}

// The row other than |row| on which somebody was at work at |time_ns| for |home|: that itself, or a
// thread of a pool. UINT32_MAX: none was.
static uint32_t find_worker(const path_t* path, uint32_t home, uint32_t row, int64_t time_ns) {
  const state_t caller = look(path, home, time_ns);
  if (is_working(&caller)) return home;
  for (uint32_t i = 0; i < path->timeline->row_count; ++i) {
    const state_t state = look(path, i, time_ns);
    if (i != row && is_working(&state) && !state.is_in_step) return i;
  }
  return UINT32_MAX;
}

// The last that ended on a row after |from_ns| and not after |to_ns|. Of asynchronous kernels only
// those count that somebody began for |home|.
static arrival_t last_on_row(const path_t* path, uint32_t home, uint32_t row, int64_t from_ns,
                             int64_t to_ns) {
  const leat_timeline_row_t* r = path->timeline->rows[row];
  arrival_t arrival = {.row = row};
  for (uint32_t i = 0; i < r->lane_count; ++i) {
    const leat_lane_t* lane = &r->lanes[i];
    const leat_slice_t* slice = last_before(lane, to_ns);
    if (slice && slice->end_ns > to_ns) slice = slice > lane->slices ? slice - 1 : NULL;
    if (!slice || slice->end_ns <= from_ns || slice->end_ns <= arrival.end_ns) continue;
    const uint32_t kind = kind_of(path, slice);
    const bool is_ours = kind == LEAT_SPAN_ASYNC_KERNEL &&
                         slice->begin_ns >= path->step->begin_ns &&
                         find_worker(path, home, row, slice->begin_ns) != UINT32_MAX;
    if (!is_ours && !is_work(kind)) continue;
    arrival.end_ns = slice->end_ns;
    arrival.asynchronous = is_ours ? slice : NULL;
  }
  return arrival;
}

// Whether the row is another caller's, which was in a step of its own when it ended something.
static bool is_of_other_step(const path_t* path, const arrival_t* arrival) {
  return !arrival->asynchronous && arrival->row != path->step->row &&
         look(path, arrival->row, arrival->end_ns).is_in_step;
}

// Whether |thread| did it: all threads can have where 0 says that it is not known.
static bool is_by(const path_t* path, const arrival_t* arrival, uint32_t thread) {
  return thread == 0 || path->timeline->rows[arrival->row]->thread == thread ||
         (arrival->asynchronous && arrival->asynchronous->by == thread);
}

// What ended last before |wait|, of |row|, did at |to_ns|, and how long before that the second did.
// Threads in steps of their own count only where there is nothing else.
static arrival_t find_arrival(const path_t* path, uint32_t home, uint32_t row,
                              const leat_slice_t* wait, int64_t from_ns, int64_t to_ns,
                              int64_t* out_lead_ns) {
  arrival_t last = {0}, other = {0};
  int64_t second_ns = from_ns;
  for (uint32_t i = 0; i < path->timeline->row_count; ++i) {
    if (i == row) continue;
    const arrival_t arrival = last_on_row(path, home, i, from_ns, to_ns);
    if (!arrival.end_ns) continue;
    if (is_of_other_step(path, &arrival)) {
      if (arrival.end_ns > other.end_ns) other = arrival;
      continue;
    }
    if (arrival.end_ns > last.end_ns && is_by(path, &arrival, wait->by)) {
      second_ns = LEAT_MAX(second_ns, last.end_ns);
      last = arrival;
    } else {
      second_ns = LEAT_MAX(second_ns, arrival.end_ns);
    }
  }
  if (!last.end_ns) last = other;
  *out_lead_ns = last.end_ns - second_ns;
  return last;
}

// The row of who began or queued something at |time_ns|; |home| where that is not known.
static uint32_t find_starter(const path_t* path, uint32_t home, uint32_t row, int64_t time_ns) {
  const uint32_t worker = find_worker(path, home, row, time_ns);
  return worker == UINT32_MAX ? home : worker;
}

// The row of the thread that ended an asynchronous kernel: the one that the recording names, or
// else the one that ended something last before. UINT32_MAX: none did.
static uint32_t find_ender(const path_t* path, const leat_slice_t* kernel, uint32_t row) {
  uint32_t found = UINT32_MAX;
  int64_t last_ns = kernel->begin_ns;
  for (uint32_t i = 0; i < path->timeline->row_count; ++i) {
    const leat_timeline_row_t* r = path->timeline->rows[i];
    if (kernel->by && r->thread == kernel->by) return i;
    const arrival_t arrival = last_on_row(path, i, i, last_ns, kernel->end_ns);
    if (kernel->by || i == row || !r->thread || !arrival.end_ns) continue;
    last_ns = arrival.end_ns;
    found = i;
  }
  return found;
}

// The row where a kernel runs, part of whose loop is |shard|; |home| where none does.
static uint32_t find_loop_caller(const path_t* path, uint32_t home, const leat_slice_t* shard,
                                 uint32_t row) {
  for (uint32_t i = 0; i < path->timeline->row_count; ++i) {
    const state_t state = look(path, i, shard->begin_ns);
    if (i != row && state.kernel && !state.shard &&
        name_of(path, state.kernel) == name_of(path, shard)) {
      return i;
    }
  }
  return home;
}

// ---- The walk -----------------------------------------------------------------------------------

static uint32_t cause_of(const state_t* state, const scope_t* scope) {
  if (state->blocked) {
    switch (state->blocked_kind) {
      case LEAT_SPAN_LOCK: return LEAT_DELAY_LOCK;
      case LEAT_SPAN_MEMORY: return LEAT_DELAY_MEMORY;
      case LEAT_SPAN_FILE: return LEAT_DELAY_SYSTEM;
      case LEAT_SPAN_OFF_CORE:
        if (state->blocked_value) return LEAT_DELAY_PREEMPTED;
        if (state->kernel) return LEAT_DELAY_SYSTEM;
        break;
      default: break;
    }
    return scope->input ? LEAT_DELAY_INPUT : LEAT_DELAY_WAIT;
  }
  if (!is_working(state)) return scope->input ? LEAT_DELAY_INPUT : LEAT_DELAY_WAIT;
  if (scope->input) return LEAT_DELAY_INPUT_WORK;
  return state->kernel ? LEAT_DELAY_COMPUTE : LEAT_DELAY_RUNTIME;
}

// Adds the piece from |begin_ns| to |end_ns| of a row that was in |state|.
static leat_status_t add_state(path_t* path, const scope_t* scope, uint32_t row,
                               const state_t* state, int64_t begin_ns, int64_t end_ns) {
  leat_path_piece_t piece = {.begin_ns = begin_ns, .end_ns = end_ns, .most_ns = scope->most_ns,
                             .row = row, .cause = cause_of(state, scope),
                             .name = name_of(path, state->kernel), .other = LEAT_NO_NAME};
  if (state->blocked) piece.by = state->blocked->by;
  if (piece.cause == LEAT_DELAY_INPUT || piece.cause == LEAT_DELAY_INPUT_WORK) {
    piece.other = piece.name;
    piece.name = name_of(path, scope->input);
    piece.by = (uint32_t)path->timeline->rows[row]->thread;
  }
  return add_piece(path, &piece);
}

static leat_status_t walk(path_t* path, const scope_t* scope, uint32_t row, int64_t end_ns);

// An asynchronous kernel of |row| ended at |*inout_ns|: what went on until then is walked, and
// |*inout_ns| becomes the kernel's beginning.
static leat_status_t walk_input(path_t* path, const scope_t* scope, const leat_slice_t* kernel,
                                uint32_t row, int64_t* inout_ns) {
  const int64_t floor_ns = LEAT_MAX(kernel->begin_ns, scope->floor_ns);
  const uint32_t ender = find_ender(path, kernel, row);
  const scope_t inner = {.floor_ns = floor_ns, .home = ender, .input = kernel,
                         .most_ns = scope->most_ns, .nesting = scope->nesting + 1};
  const int64_t end_ns = *inout_ns;
  *inout_ns = floor_ns;
  if (ender != UINT32_MAX && scope->nesting < MAX_NESTING) {
    return walk(path, &inner, ender, end_ns);
  }
  const leat_path_piece_t piece = {.begin_ns = floor_ns, .end_ns = end_ns,
                                   .most_ns = scope->most_ns, .row = row,
                                   .cause = LEAT_DELAY_INPUT, .name = name_of(path, kernel),
                                   .other = LEAT_NO_NAME};
  return add_piece(path, &piece);
}

// The row waited up to |*inout_ns|, in |state|. Moves to what it waited for; false where nothing
// is found.
static leat_status_t walk_wait(path_t* path, scope_t* scope, const state_t* state,
                               uint32_t* inout_row, int64_t* inout_ns, bool* out_found) {
  const int64_t from_ns = LEAT_MAX(state->blocked->begin_ns, scope->floor_ns);
  int64_t lead_ns;
  const arrival_t arrival = find_arrival(path, scope->home, *inout_row, state->blocked,
                                         from_ns, *inout_ns, &lead_ns);
  *out_found = arrival.end_ns > 0;
  if (!*out_found) return leat_ok_status();
  const leat_path_piece_t wake = {.begin_ns = arrival.end_ns, .end_ns = *inout_ns,
                                  .most_ns = scope->most_ns, .row = *inout_row,
                                  .cause = LEAT_DELAY_WAKE, .name = name_of(path, state->kernel),
                                  .other = LEAT_NO_NAME};
  LEAT_RETURN_IF_ERROR(add_piece(path, &wake));
  *inout_ns = arrival.end_ns;
  scope->most_ns = LEAT_MIN(scope->most_ns, lead_ns);
  if (!arrival.asynchronous) {
    *inout_row = arrival.row;
    return leat_ok_status();
  }
  LEAT_RETURN_IF_ERROR(walk_input(path, scope, arrival.asynchronous, arrival.row, inout_ns));
  *inout_row = find_starter(path, scope->home, arrival.row, *inout_ns);
  return leat_ok_status();
}

// The walk came to the beginning of a task: it was queued before.
static leat_status_t walk_queue(path_t* path, const scope_t* scope, const state_t* state,
                                uint32_t* inout_row, int64_t* inout_ns) {
  const int64_t begin_ns = state->task->begin_ns;
  const int64_t queued_ns = LEAT_MIN(LEAT_MAX(state->queued_ns, 0), begin_ns);
  const int64_t from_ns = LEAT_MAX(begin_ns - queued_ns, scope->floor_ns);
  // A thread that had nothing to do came late; one that worked could not come. A pool without a
  // free thread holds up all who queue alike, hence the gain is not limited by another of them.
  const state_t before = look(path, *inout_row, from_ns + (begin_ns - from_ns) / 2);
  const bool was_busy = is_working(&before);
  const leat_path_piece_t piece = {
      .begin_ns = from_ns, .end_ns = begin_ns, .row = *inout_row,
      .most_ns = was_busy ? INT64_MAX : scope->most_ns,
      .cause = was_busy ? LEAT_DELAY_QUEUED : LEAT_DELAY_WAKE, .name = LEAT_NO_NAME,
      .other = was_busy ? name_of(path, before.kernel) : LEAT_NO_NAME};
  LEAT_RETURN_IF_ERROR(add_piece(path, &piece));
  *inout_ns = from_ns;
  *inout_row = find_starter(path, scope->home, *inout_row, from_ns);
  return leat_ok_status();
}

// Adds the pieces from |scope->floor_ns| to |end_ns|, the last first.
static leat_status_t walk(path_t* path, const scope_t* outer, uint32_t row, int64_t end_ns) {
  scope_t scope = *outer;
  int64_t now_ns = end_ns;
  int vain = 0;
  while (now_ns > scope.floor_ns) {
    const int64_t before_ns = now_ns;
    const uint32_t before_row = row;
    const state_t state = look(path, row, now_ns);
    if (row == scope.home) scope.most_ns = outer->most_ns;
    bool is_done = false;
    if (state.blocked && state.blocked_kind == LEAT_SPAN_WAIT && vain < MAX_VAIN_SWITCHES) {
      LEAT_RETURN_IF_ERROR(walk_wait(path, &scope, &state, &row, &now_ns, &is_done));
    }
    if (!is_done) {
      const int64_t begin_ns = LEAT_MAX(state.begin_ns, scope.floor_ns);
      LEAT_RETURN_IF_ERROR(add_state(path, &scope, row, &state, begin_ns, now_ns));
      now_ns = begin_ns;
      if (now_ns > scope.floor_ns && !scope.input) {
        if (state.task && now_ns == state.task->begin_ns) {
          LEAT_RETURN_IF_ERROR(walk_queue(path, &scope, &state, &row, &now_ns));
        } else if (state.shard && now_ns == state.shard->begin_ns) {
          row = find_loop_caller(path, scope.home, state.shard, row);
        } else if (!is_working(&state) && !state.blocked) {
          row = scope.home;
        }
      }
    }
    vain = now_ns < before_ns ? 0 : row != before_row ? vain + 1 : MAX_VAIN_SWITCHES;
  }
  return leat_ok_status();
}

leat_status_t leat_delay_path_find(const leat_timeline_t* timeline, const uint32_t* names,
                                   const leat_step_t* step, leat_path_piece_t** inout_pieces,
                                   size_t* inout_count, size_t* inout_capacity) {
  path_t path = {.timeline = timeline, .names = names, .step = step, .pieces = *inout_pieces,
                 .count = *inout_count, .capacity = *inout_capacity};
  const scope_t scope = {.floor_ns = step->begin_ns, .home = step->row, .most_ns = INT64_MAX};
  leat_status_t status = walk(&path, &scope, step->row, step->end_ns);
  *inout_pieces = path.pieces;
  *inout_count = path.count;
  *inout_capacity = path.capacity;
  return status;
}
