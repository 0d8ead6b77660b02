// The rows of a recording, as files have them (trace/recording_file.h): one for each thread, then
// groups of rows for what belongs to no thread (loops, asynchronous kernels, messages that were
// asked for, memory), and one for each core that a thread had. The spans of a row are sorted by
// begin, the longer before the shorter, so that a span comes after those around it.
#ifndef LEAT_TRACE_RECORDING_ROWS_H_
#define LEAT_TRACE_RECORDING_ROWS_H_

#include "base/arena.h"
#include "base/span.h"

typedef enum leat_row_group_e {
  LEAT_ROWS_THREADS,  // row i is thread i of the recording
  LEAT_ROWS_LOOPS,    // as many rows as loops or iterations overlapped, else they are nested
  LEAT_ROWS_ASYNC,    // as many as asynchronous kernels ran at once
  LEAT_ROWS_NETWORK,  // as many as messages were waited for at once
  LEAT_ROWS_MEMORY,   // one: from each change of what is held to the next
  LEAT_ROWS_CORES,
  LEAT_ROW_GROUPS,
} leat_row_group_t;

// A span and its row.
typedef struct leat_placed_span_s {
  const leat_span_t* span;
  uint32_t row;
  uint32_t thread;  // that ended it, or was on the core
} leat_placed_span_t;

// The rows of one group, and where their spans begin.
typedef struct leat_row_range_s {
  uint32_t first_row;
  size_t first_item;
} leat_row_range_t;

typedef struct leat_recording_rows_s {
  const leat_recording_t* recording;
  leat_placed_span_t* items;  // [count] row by row
  size_t count;
  leat_row_range_t groups[LEAT_ROW_GROUPS + 1];  // the last one stands behind all
} leat_recording_rows_t;

// Everything lies in |arena| and in |recording|, which must outlive the rows.
LEAT_MUST_USE leat_status_t leat_recording_rows_make(const leat_recording_t* recording,
                                                     leat_arena_t* arena,
                                                     leat_recording_rows_t* out_rows);
leat_row_group_t leat_recording_row_group(const leat_recording_rows_t* rows, uint32_t row);
// The end of the spans of a row, which begin at |first|.
static inline size_t leat_recording_row_end(const leat_recording_rows_t* rows, uint32_t row,
                                            size_t first) {
  while (first < rows->count && rows->items[first].row == row) ++first;
  return first;
}

#endif  // LEAT_TRACE_RECORDING_ROWS_H_
