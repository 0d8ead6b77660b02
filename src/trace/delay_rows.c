// Looks at a row at a moment: of the slices around it the outermost that blocks, or else the
// innermost kernel, says what the thread did. Where a thread waited, the other rows are looked
// through for what ended last before it went on, which costs a search in each lane. What was done
// for another step counts only where there is nothing else, since steps seldom wait for each other:
// kernels and tasks have the number of their step, and where they do not, a thread that is in a
// step of its own tells. Rows of other processes count only for the thread that runs the whole
// step.
#include "trace/delay_rows.h"

#include "base/checked.h"

uint32_t leat_rows_kind(const leat_delay_rows_t* rows, const leat_slice_t* slice) {
  return rows->timeline->names[slice->name].kind;
}

// The slice of the lane that began last before |time_ns|; NULL: none did.
static const leat_slice_t* last_before(const leat_lane_t* lane, int64_t time_ns) {
  size_t at = leat_lane_find(lane, time_ns - 1);
  if (at < lane->count && lane->slices[at].begin_ns < time_ns) return &lane->slices[at];
  return at > 0 ? &lane->slices[at - 1] : NULL;
}

static bool is_blocking(uint32_t kind) {
  return kind == LEAT_SPAN_PARK || kind == LEAT_SPAN_WAIT || kind == LEAT_SPAN_LOCK ||
         kind == LEAT_SPAN_MEMORY || kind == LEAT_SPAN_FILE || kind == LEAT_SPAN_OFF_CORE ||
         kind == LEAT_SPAN_STREAM_WAIT;
}

bool leat_rows_is_stream_work(uint32_t kind) {
  return kind == LEAT_SPAN_STREAM || kind == LEAT_SPAN_COPY;
}

// Whether both are known, and differ.
static bool are_other_steps(uint32_t a, uint32_t b) { return a && b && a != b; }

leat_row_state_t leat_rows_look(const leat_delay_rows_t* rows, uint32_t row, int64_t time_ns) {
  const leat_timeline_row_t* r = rows->timeline->rows[row];
  leat_row_state_t state = {0};
  for (uint32_t i = 0; i < r->lane_count && !state.blocked; ++i) {
    const leat_lane_t* lane = &r->lanes[i];
    const leat_slice_t* slice = last_before(lane, time_ns);
    if (!slice) continue;
    const bool is_over = slice->end_ns < time_ns;
    state.begin_ns = LEAT_MAX(state.begin_ns, is_over ? slice->end_ns : slice->begin_ns);
    if (is_over) continue;
    const uint32_t kind = leat_rows_kind(rows, slice);
    const int64_t value = lane->values[slice - lane->slices];
    const uint32_t step = lane->steps[slice - lane->slices];
    if (step) state.step = step;
    if (is_blocking(kind)) {
      state.blocked = slice;
      state.blocked_kind = kind;
      state.blocked_value = value;
    } else if (kind == LEAT_SPAN_STEP) {
      state.is_in_step = true;
    } else if (kind == LEAT_SPAN_TASK) {
      state.task = slice;
      state.queued_ns = value;
    } else if (kind == LEAT_SPAN_KERNEL || leat_rows_is_stream_work(kind)) {
      state.kernel = slice;
    } else if (kind == LEAT_SPAN_SHARD && !state.kernel) {
      state.kernel = state.shard = slice;
    }
  }
  return state;
}

bool leat_rows_is_working(const leat_row_state_t* state) {
  const bool is_off = state->blocked && state->blocked_kind != LEAT_SPAN_MEMORY &&
                      state->blocked_kind != LEAT_SPAN_FILE &&
                      state->blocked_kind != LEAT_SPAN_OFF_CORE;
  return !is_off && (state->is_in_step || state->task || state->kernel);
}

// ---- What is waited for -------------------------------------------------------------------------

// Whether the end of a slice of |kind| can have been what |wait| was for; streams wait for streams.
static bool is_awaited(const leat_delay_rows_t* rows, const leat_slice_t* wait, uint32_t kind) {
  if (wait && leat_rows_kind(rows, wait) == LEAT_SPAN_STREAM_WAIT) {
    return leat_rows_is_stream_work(kind);
  }
  return kind == LEAT_SPAN_TASK || kind == LEAT_SPAN_SHARD || kind == LEAT_SPAN_KERNEL ||
         leat_rows_is_stream_work(kind);
}

static bool is_of_process(const leat_delay_rows_t* rows, uint32_t row, uint32_t other) {
  return rows->timeline->rows[row]->process == rows->timeline->rows[other]->process;
}

// The row other than |row| on which somebody was at work at |time_ns| for |home|: that itself, or a
// thread of a pool. UINT32_MAX: none was.
static uint32_t find_worker(const leat_delay_rows_t* rows, uint32_t home, uint32_t row,
                            int64_t time_ns) {
  const leat_row_state_t caller = leat_rows_look(rows, home, time_ns);
  if (leat_rows_is_working(&caller)) return home;
  for (uint32_t i = 0; i < rows->timeline->row_count; ++i) {
    const leat_row_state_t state = leat_rows_look(rows, i, time_ns);
    if (i == row || !is_of_process(rows, row, i) || state.is_in_step ||
        are_other_steps(state.step, caller.step)) {
      continue;
    }
    if (leat_rows_is_working(&state)) return i;
  }
  return UINT32_MAX;
}

// The last that ended on a row after |from_ns| and not after |to_ns|. Of asynchronous kernels only
// those count that somebody began for |home|. Of the thread that is named as the waker a task that
// goes on counts as well, as far as its beginning: in it the thread woke the other one.
static leat_arrival_t last_on_row(const leat_delay_rows_t* rows, uint32_t home, uint32_t row,
                                  int64_t from_ns, int64_t to_ns, const leat_slice_t* wait) {
  const leat_timeline_row_t* r = rows->timeline->rows[row];
  const bool is_waker = wait && wait->by && r->thread == wait->by;
  leat_arrival_t arrival = {.row = row};
  for (uint32_t i = 0; i < r->lane_count; ++i) {
    const leat_lane_t* lane = &r->lanes[i];
    const leat_slice_t* slice = last_before(lane, to_ns);
    if (is_waker && slice && slice->end_ns > to_ns && slice->begin_ns > from_ns &&
        slice->begin_ns >= arrival.end_ns && leat_rows_kind(rows, slice) == LEAT_SPAN_TASK) {
      arrival.end_ns = slice->begin_ns + 1;
      continue;
    }
    if (slice && slice->end_ns > to_ns) slice = slice > lane->slices ? slice - 1 : NULL;
    if (!slice || slice->end_ns <= from_ns || slice->end_ns <= arrival.end_ns) continue;
    const uint32_t kind = leat_rows_kind(rows, slice);
    const bool is_ours = kind == LEAT_SPAN_ASYNC_KERNEL &&
                         slice->begin_ns >= rows->step->begin_ns &&
                         find_worker(rows, home, row, slice->begin_ns) != UINT32_MAX;
    if (!is_ours && !is_awaited(rows, wait, kind)) continue;
    arrival.end_ns = slice->end_ns;
    arrival.asynchronous = is_ours ? slice : NULL;
    arrival.step = lane->steps[slice - lane->slices];
  }
  return arrival;
}

// Whether what ended was for another step than |step|, or else the row another caller's, which was
// in a step of its own.
static bool is_of_other_step(const leat_delay_rows_t* rows, const leat_arrival_t* arrival,
                             uint32_t step) {
  if (arrival->step && step) return arrival->step != step;
  return !arrival->asynchronous && arrival->row != rows->step->row &&
         leat_rows_look(rows, arrival->row, arrival->end_ns).is_in_step;
}

// Whether |thread| of the process of |row| did it: all threads can have where 0 says that it is not
// known.
static bool is_by(const leat_delay_rows_t* rows, const leat_arrival_t* arrival, uint32_t row,
                  uint32_t thread) {
  if (thread == 0) return true;
  return is_of_process(rows, row, arrival->row) &&
         (rows->timeline->rows[arrival->row]->thread == thread ||
          (arrival->asynchronous && arrival->asynchronous->by == thread));
}

leat_arrival_t leat_rows_arrival(const leat_delay_rows_t* rows, uint32_t home, uint32_t row,
                                 const leat_slice_t* wait, int64_t from_ns, int64_t to_ns,
                                 int64_t* out_lead_ns) {
  leat_arrival_t last = {0}, other = {0}, unnamed = {0};
  const uint32_t step = leat_rows_look(rows, row, to_ns).step;
  int64_t second_ns = from_ns;
  for (uint32_t i = 0; i < rows->timeline->row_count; ++i) {
    if (i == row || (row != rows->step->row && !is_of_process(rows, row, i))) continue;
    const leat_arrival_t arrival = last_on_row(rows, home, i, from_ns, to_ns, wait);
    if (!arrival.end_ns) continue;
    if (is_of_other_step(rows, &arrival, step)) {
      if (arrival.end_ns > other.end_ns) other = arrival;
      continue;
    }
    if (arrival.end_ns > last.end_ns && is_by(rows, &arrival, row, wait->by)) {
      second_ns = LEAT_MAX(second_ns, last.end_ns);
      last = arrival;
    } else {
      if (arrival.end_ns > unnamed.end_ns) unnamed = arrival;
      second_ns = LEAT_MAX(second_ns, arrival.end_ns);
    }
  }
  if (!last.end_ns && unnamed.end_ns) {
    last = unnamed;
    second_ns = from_ns;
  }
  if (!last.end_ns) last = other;
  *out_lead_ns = last.end_ns - second_ns;
  return last;
}

uint32_t leat_rows_of_thread(const leat_delay_rows_t* rows, uint32_t row, uint32_t thread) {
  for (uint32_t i = 0; i < rows->timeline->row_count; ++i) {
    if (is_of_process(rows, row, i) && rows->timeline->rows[i]->thread == thread) return i;
  }
  return UINT32_MAX;
}

uint32_t leat_rows_waker(const leat_delay_rows_t* rows, uint32_t row, int64_t from_ns,
                         int64_t to_ns) {
  const leat_timeline_row_t* r = rows->timeline->rows[row];
  int64_t last_ns = from_ns;
  uint32_t waker = 0;
  for (uint32_t i = 0; i < r->lane_count; ++i) {
    // Behind the sleep there may be a time in which the thread was ready.
    const leat_slice_t* slice = last_before(&r->lanes[i], to_ns);
    for (int back = 0; back < 2 && slice; ++back) {
      if (leat_rows_kind(rows, slice) == LEAT_SPAN_OFF_CORE && slice->by &&
          slice->end_ns > last_ns && slice->end_ns <= to_ns &&
          r->lanes[i].values[slice - r->lanes[i].slices] == LEAT_OFF_CORE_ASLEEP) {
        last_ns = slice->end_ns;
        waker = slice->by;
      }
      slice = slice > r->lanes[i].slices ? slice - 1 : NULL;
    }
  }
  return waker && leat_rows_of_thread(rows, row, waker) != UINT32_MAX ? waker : 0;
}

// The row of a stream that ended its work, or a wait, last before |time_ns|; UINT32_MAX: none did.
static uint32_t find_stream(const leat_delay_rows_t* rows, uint32_t row, int64_t time_ns) {
  uint32_t found = UINT32_MAX;
  int64_t last_ns = rows->step->begin_ns;
  for (uint32_t i = 0; i < rows->timeline->row_count; ++i) {
    const leat_timeline_row_t* r = rows->timeline->rows[i];
    if (i == row || !is_of_process(rows, row, i)) continue;
    for (uint32_t l = 0; l < r->lane_count; ++l) {
      const leat_slice_t* slice = last_before(&r->lanes[l], time_ns + 1);
      const uint32_t kind = slice ? leat_rows_kind(rows, slice) : LEAT_SPAN_KINDS;
      const bool is_of_stream = leat_rows_is_stream_work(kind) || kind == LEAT_SPAN_STREAM_WAIT;
      if (!is_of_stream || slice->end_ns > time_ns || slice->end_ns <= last_ns) continue;
      last_ns = slice->end_ns;
      found = i;
    }
  }
  return found;
}

uint32_t leat_rows_starter(const leat_delay_rows_t* rows, uint32_t home, uint32_t row,
                           int64_t time_ns) {
  uint32_t worker = find_worker(rows, home, row, time_ns);
  if (worker == UINT32_MAX) worker = find_stream(rows, row, time_ns);
  return worker == UINT32_MAX ? home : worker;
}

uint32_t leat_rows_ender(const leat_delay_rows_t* rows, const leat_slice_t* kernel, uint32_t row) {
  uint32_t found = UINT32_MAX;
  int64_t last_ns = kernel->begin_ns;
  for (uint32_t i = 0; i < rows->timeline->row_count; ++i) {
    const leat_timeline_row_t* r = rows->timeline->rows[i];
    if (!is_of_process(rows, row, i)) continue;
    if (kernel->by && r->thread == kernel->by) return i;
    const leat_arrival_t arrival = last_on_row(rows, i, i, last_ns, kernel->end_ns, NULL);
    if (kernel->by || i == row || !r->thread || !arrival.end_ns) continue;
    last_ns = arrival.end_ns;
    found = i;
  }
  return found;
}

uint32_t leat_rows_loop_caller(const leat_delay_rows_t* rows, uint32_t home,
                               const leat_slice_t* shard, uint32_t row) {
  for (uint32_t i = 0; i < rows->timeline->row_count; ++i) {
    const leat_row_state_t state = leat_rows_look(rows, i, shard->begin_ns);
    if (i != row && state.kernel && !state.shard &&
        rows->names[state.kernel->name] == rows->names[shard->name]) {
      return i;
    }
  }
  return home;
}
