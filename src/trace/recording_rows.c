// Every span is placed first: with its thread as its row, or with a number for its group that sorts
// behind all threads. Once all are sorted, the groups are gone through in their order, and their
// spans get rows, since only then is it known how many rows the groups before have.
#include "trace/recording_rows.h"

#include <stdlib.h>

#include "base/checked.h"

#define GROUP_ROWS ((uint32_t)1 << 28)  // from one group to the next, until rows are known
#define NONE SIZE_MAX

static leat_row_group_t group_of(uint32_t kind) {
  switch (kind) {
    case LEAT_SPAN_LOOP:
    case LEAT_SPAN_ITERATION: return LEAT_ROWS_LOOPS;
    case LEAT_SPAN_ASYNC_KERNEL: return LEAT_ROWS_ASYNC;
    case LEAT_SPAN_FETCH: return LEAT_ROWS_NETWORK;
    case LEAT_SPAN_HELD: return LEAT_ROWS_MEMORY;
    case LEAT_SPAN_ON_CORE: return LEAT_ROWS_CORES;
    default: return LEAT_ROWS_THREADS;
  }
}

static int compare(const void* a, const void* b) {
  const leat_placed_span_t *x = a, *y = b;
  if (x->row != y->row) return x->row < y->row ? -1 : 1;
  if (x->span->begin != y->span->begin) return x->span->begin < y->span->begin ? -1 : 1;
  if (x->span->end != y->span->end) return x->span->end > y->span->end ? -1 : 1;
  return 0;
}

static size_t count_spans(const leat_recording_t* recording) {
  size_t count = 0;
  for (const leat_span_chunk_t* chunk = recording->first; chunk; chunk = chunk->next) {
    count += atomic_load_explicit(&chunk->count, memory_order_relaxed);
  }
  return count;
}

// Places what is wanted: nothing of an earlier recording, and of what ended before |from| only the
// last that was told of memory, which still held then.
static void place(leat_recording_rows_t* rows) {
  const leat_recording_t* recording = rows->recording;
  leat_placed_span_t held = {NULL, LEAT_ROWS_MEMORY * GROUP_ROWS, 0};
  LEAT_DCHECK(recording->thread_count < GROUP_ROWS);
  for (const leat_span_chunk_t* chunk = recording->first; chunk; chunk = chunk->next) {
    const uint32_t count = atomic_load_explicit(&chunk->count, memory_order_relaxed);
    for (uint32_t i = 0; i < count; ++i) {
      const leat_span_t* span = &chunk->spans[i];
      if (span->begin < recording->begin) continue;
      if (span->end < recording->from) {
        if (span->kind == LEAT_SPAN_HELD && (!held.span || held.span->begin < span->begin)) {
          held.span = span;
          held.thread = chunk->thread;
        }
        continue;
      }
      const leat_row_group_t group = group_of(span->kind);
      uint32_t row = group == LEAT_ROWS_THREADS ? chunk->thread : group * GROUP_ROWS;
      if (group == LEAT_ROWS_CORES) row += (uint32_t)span->value;
      rows->items[rows->count++] = (leat_placed_span_t){span, row, chunk->thread};
    }
  }
  if (held.span) rows->items[rows->count++] = held;
  qsort(rows->items, rows->count, sizeof *rows->items, compare);
}

// Deals the spans from |first| to |end| out to rows from |first_row| on, each to the first row on
// which nothing overlaps it. With |nests| a span may also lie within the row's last. Returns the
// row behind the last.
static leat_status_t deal_out(leat_recording_rows_t* rows, size_t first, size_t end, bool nests,
                              leat_arena_t* arena, uint32_t* inout_row) {
  const uint32_t first_row = *inout_row;
  const leat_placed_span_t* items = rows->items + first;
  size_t *open, *around, count = 0;  // by row, the innermost that is open; by span, that around it
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, end - first + 1, &open));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, end - first + 1, &around));
  for (size_t i = 0; i < end - first; ++i) {
    size_t row = 0;
    for (; row < count; ++row) {
      while (open[row] != NONE && items[open[row]].span->end <= items[i].span->begin) {
        open[row] = around[open[row]];
      }
      if (open[row] == NONE || (nests && items[open[row]].span->end >= items[i].span->end)) break;
    }
    if (row == count) open[count++] = NONE;
    around[i] = open[row];
    open[row] = i;
    rows->items[first + i].row = first_row + (uint32_t)row;
  }
  *inout_row = first_row + (uint32_t)count;
  qsort(rows->items + first, end - first, sizeof *rows->items, compare);
  return leat_ok_status();
}

static leat_status_t copy_spans(leat_recording_rows_t* rows, size_t first, size_t end,
                                leat_arena_t* arena, leat_span_t** out_spans) {
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, end - first + 1, out_spans));
  for (size_t i = first; i < end; ++i) {
    (*out_spans)[i - first] = *rows->items[i].span;
    rows->items[i].span = &(*out_spans)[i - first];
  }
  return leat_ok_status();
}

// Moments at which the memory that is held changed become spans up to the next one.
static leat_status_t stretch_memory(leat_recording_rows_t* rows, size_t first, size_t end,
                                    leat_arena_t* arena, uint32_t* inout_row) {
  leat_span_t* spans;
  LEAT_RETURN_IF_ERROR(copy_spans(rows, first, end, arena, &spans));
  for (size_t i = first; i < end; ++i) {
    leat_span_t* span = &spans[i - first];
    span->begin = LEAT_MAX(span->begin, rows->recording->from);
    span->end = LEAT_MAX(span->begin, i + 1 < end ? span[1].begin : rows->recording->end);
    rows->items[i].row = *inout_row;
  }
  *inout_row += first < end;
  return leat_ok_status();
}

// Numbers the rows of the cores that threads were on. The system's times are related to the clock
// of spans for each thread by itself, so that one may seem to come some nanoseconds before the one
// that had the core has left: then it came when that left.
static leat_status_t number_cores(leat_recording_rows_t* rows, size_t first, size_t end,
                                  leat_arena_t* arena, uint32_t* inout_row) {
  leat_span_t* spans;
  LEAT_RETURN_IF_ERROR(copy_spans(rows, first, end, arena, &spans));
  for (size_t i = first; i < end; ++i) {
    leat_span_t* span = &spans[i - first];
    const bool is_next = i == first || span[-1].value != span->value;
    if (!is_next) span->begin = LEAT_MAX(span->begin, span[-1].end);
    span->end = LEAT_MAX(span->begin, span->end);
    *inout_row += is_next;
    rows->items[i].row = *inout_row - 1;
  }
  return leat_ok_status();
}

leat_status_t leat_recording_rows_make(const leat_recording_t* recording, leat_arena_t* arena,
                                       leat_recording_rows_t* out_rows) {
  leat_recording_rows_t* rows = out_rows;
  *rows = (leat_recording_rows_t){.recording = recording};
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, count_spans(recording) + 1, &rows->items));
  place(rows);
  size_t first = 0;
  uint32_t row = recording->thread_count;
  while (first < rows->count && rows->items[first].row < GROUP_ROWS) ++first;
  for (uint32_t group = LEAT_ROWS_LOOPS; group < LEAT_ROW_GROUPS; ++group) {
    size_t end = first;
    while (end < rows->count && rows->items[end].row / GROUP_ROWS == group) ++end;
    rows->groups[group] = (leat_row_range_t){row, first};
    if (group == LEAT_ROWS_CORES) {
      LEAT_RETURN_IF_ERROR(number_cores(rows, first, end, arena, &row));
    } else if (group == LEAT_ROWS_MEMORY) {
      LEAT_RETURN_IF_ERROR(stretch_memory(rows, first, end, arena, &row));
    } else {
      LEAT_RETURN_IF_ERROR(deal_out(rows, first, end, group == LEAT_ROWS_LOOPS, arena, &row));
    }
    first = end;
  }
  rows->groups[LEAT_ROW_GROUPS] = (leat_row_range_t){row, rows->count};
  return leat_ok_status();
}

leat_row_group_t leat_recording_row_group(const leat_recording_rows_t* rows, uint32_t row) {
  uint32_t group = LEAT_ROW_GROUPS - 1;
  LEAT_DCHECK(row < rows->groups[LEAT_ROW_GROUPS].first_row);
  while (rows->groups[group].first_row > row) --group;
  return (leat_row_group_t)group;
}
