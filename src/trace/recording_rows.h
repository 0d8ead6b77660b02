// The rows of a recording, as files have them (trace/recording_file.h): one for each thread, some
// for asynchronous kernels, which belong to no thread, as many as ran at once, and one for each
// core that a thread had. The spans of a row are sorted by begin, the longer before the shorter, so
// that a span comes after those around it.
#ifndef LEAT_TRACE_RECORDING_ROWS_H_
#define LEAT_TRACE_RECORDING_ROWS_H_

#include "base/arena.h"
#include "base/span.h"

// A span and its row: a thread's, or, from |thread_count| of the recording on, one of asynchronous
// kernels, or, from |first_core| on, one of a core.
typedef struct leat_placed_span_s {
  const leat_span_t* span;
  uint32_t row;
  uint32_t thread;  // that ended it, or was on the core
} leat_placed_span_t;

typedef struct leat_recording_rows_s {
  const leat_recording_t* recording;
  leat_placed_span_t* items;  // [count] row by row
  size_t count;
  uint32_t row_count, first_core;  // rows
  size_t first_core_item;          // the first span of a core's row
} leat_recording_rows_t;

// Everything lies in |arena| and in |recording|, which must outlive the rows.
LEAT_MUST_USE leat_status_t leat_recording_rows_make(const leat_recording_t* recording,
                                                     leat_arena_t* arena,
                                                     leat_recording_rows_t* out_rows);
// The end of the spans of a row, which begin at |first|.
static inline size_t leat_recording_row_end(const leat_recording_rows_t* rows, uint32_t row,
                                            size_t first) {
  while (first < rows->count && rows->items[first].row == row) ++first;
  return first;
}

#endif  // LEAT_TRACE_RECORDING_ROWS_H_
