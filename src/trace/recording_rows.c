// Every span is placed first, with a row that sorts as it shall, and all are sorted at once. Then
// the asynchronous kernels are dealt out, and cores get numbers of rows, since only then is it
// known how many rows there are.
#include "trace/recording_rows.h"

#include <stdlib.h>

#include "base/checked.h"

#define CORE_ROWS ((uint32_t)1 << 31)  // the row of core 0, until all rows are known

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

static uint32_t row_of(const leat_recording_t* recording, const leat_span_t* span,
                       uint32_t thread) {
  if (span->kind == LEAT_SPAN_ON_CORE) return CORE_ROWS + (uint32_t)span->value;
  return leat_span_kind_has_thread(span->kind) ? thread : recording->thread_count;
}

// Gives each span the row of its thread, asynchronous kernels a row behind those, and the times on
// cores rows behind that.
static void place(leat_recording_rows_t* rows) {
  const leat_recording_t* recording = rows->recording;
  for (const leat_span_chunk_t* chunk = recording->first; chunk; chunk = chunk->next) {
    const uint32_t count = atomic_load_explicit(&chunk->count, memory_order_relaxed);
    for (uint32_t i = 0; i < count; ++i) {
      const leat_span_t* span = &chunk->spans[i];
      // Some are of an earlier recording, and some are not wanted.
      if (span->begin < recording->begin || span->end < recording->from) continue;
      rows->items[rows->count++] =
          (leat_placed_span_t){span, row_of(recording, span, chunk->thread), chunk->thread};
    }
  }
  qsort(rows->items, rows->count, sizeof *rows->items, compare);
}

// Deals the asynchronous kernels out to rows on which none begins before the last one has ended.
static leat_status_t deal_out(leat_recording_rows_t* rows, leat_arena_t* arena) {
  const uint32_t first_row = rows->recording->thread_count;
  size_t end = rows->count;
  while (end > 0 && rows->items[end - 1].row >= CORE_ROWS) --end;
  size_t first = rows->first_core_item = end;
  while (first > 0 && rows->items[first - 1].row == first_row) --first;
  int64_t* ends;  // by row
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, end - first + 1, &ends));
  rows->row_count = first_row;
  for (size_t i = first; i < end; ++i) {
    uint32_t row = first_row;
    while (row < rows->row_count && ends[row - first_row] > rows->items[i].span->begin) ++row;
    if (row == rows->row_count) ++rows->row_count;
    ends[row - first_row] = rows->items[i].span->end;
    rows->items[i].row = row;
  }
  qsort(rows->items + first, end - first, sizeof *rows->items, compare);
  return leat_ok_status();
}

// Numbers the rows of the cores that threads were on. The system's times are related to the clock
// of spans for each thread by itself, so that one may seem to come some nanoseconds before the one
// that had the core has left: then it came when that left.
static leat_status_t number_cores(leat_recording_rows_t* rows, leat_arena_t* arena) {
  const size_t first = rows->first_core_item;
  leat_span_t* spans;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, rows->count - first + 1, &spans));
  rows->first_core = rows->row_count;
  for (size_t i = first; i < rows->count; ++i) {
    leat_span_t* span = &spans[i - first];
    *span = *rows->items[i].span;
    const bool is_next = i == first || span[-1].value != span->value;
    if (!is_next) span->begin = LEAT_MAX(span->begin, span[-1].end);
    span->end = LEAT_MAX(span->begin, span->end);
    rows->row_count += is_next;
    rows->items[i].span = span;
    rows->items[i].row = rows->row_count - 1;
  }
  return leat_ok_status();
}

leat_status_t leat_recording_rows_make(const leat_recording_t* recording, leat_arena_t* arena,
                                       leat_recording_rows_t* out_rows) {
  *out_rows = (leat_recording_rows_t){.recording = recording};
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, count_spans(recording) + 1, &out_rows->items));
  place(out_rows);
  LEAT_RETURN_IF_ERROR(deal_out(out_rows, arena));
  return number_cores(out_rows, arena);
}
