// What the rows of a recording did, and what those that waited waited for, for trace/delay_path.c.
#ifndef LEAT_TRACE_DELAY_ROWS_H_
#define LEAT_TRACE_DELAY_ROWS_H_

#include "trace/delay.h"

// Where it is looked: all borrowed.
typedef struct leat_delay_rows_s {
  const leat_timeline_t* timeline;
  const uint32_t* names;  // of each name of the timeline the one of its node
  const leat_step_t* step;
} leat_delay_rows_t;

// What a row did just before a moment.
typedef struct leat_row_state_s {
  int64_t begin_ns;             // since when nothing changed
  const leat_slice_t* blocked;  // a wait, a lock, a sleep, memory; the outermost
  uint32_t blocked_kind;
  int64_t blocked_value;
  const leat_slice_t* kernel;   // the innermost kernel, or else the piece of a loop
  const leat_slice_t* shard;    // a piece of a loop that is in no kernel
  const leat_slice_t* task;
  int64_t queued_ns;            // of the task
  bool is_in_step;              // of whichever
  uint32_t step;                // the leat_span_step that it worked for; 0: not known
} leat_row_state_t;

// Something that ended: the time, and the slice of an asynchronous kernel, or NULL for a thread's.
typedef struct leat_arrival_s {
  uint32_t row;
  int64_t end_ns;  // 0: there is none
  const leat_slice_t* asynchronous;
  uint32_t step;   // as in a state
} leat_arrival_t;

uint32_t leat_rows_kind(const leat_delay_rows_t* rows, const leat_slice_t* slice);
bool leat_rows_is_stream_work(uint32_t kind);
leat_row_state_t leat_rows_look(const leat_delay_rows_t* rows, uint32_t row, int64_t time_ns);
// Whether the row works on something, as opposed to waiting for it.
bool leat_rows_is_working(const leat_row_state_t* state);
// What ended last before |wait|, of |row|, did at |to_ns|, and how long before that the second did.
// |home| is the row of the caller. What was for another step than |wait| counts only where there is
// nothing else, and so do other threads than the one that the recording names, which may have done
// nothing that it shows. Only the step's caller waits for other processes.
leat_arrival_t leat_rows_arrival(const leat_delay_rows_t* rows, uint32_t home, uint32_t row,
                                 const leat_slice_t* wait, int64_t from_ns, int64_t to_ns,
                                 int64_t* out_lead_ns);
// The row of |thread| in the process of |row|; UINT32_MAX: the recording has none.
uint32_t leat_rows_of_thread(const leat_delay_rows_t* rows, uint32_t row, uint32_t thread);
// The thread of the process that woke the row last, after it had slept, between |from_ns| and
// |to_ns|; 0: it is not known, or is of another process.
uint32_t leat_rows_waker(const leat_delay_rows_t* rows, uint32_t row, int64_t from_ns,
                         int64_t to_ns);
// The row of who began or queued something at |time_ns|; |home| where that is not known.
uint32_t leat_rows_starter(const leat_delay_rows_t* rows, uint32_t home, uint32_t row,
                           int64_t time_ns);
// The row of the thread that ended an asynchronous kernel: the one that the recording names, or
// else the one that ended something last before. UINT32_MAX: none did.
uint32_t leat_rows_ender(const leat_delay_rows_t* rows, const leat_slice_t* kernel, uint32_t row);
// The row where a kernel runs, part of whose loop is |shard|; |home| where none does.
uint32_t leat_rows_loop_caller(const leat_delay_rows_t* rows, uint32_t home,
                               const leat_slice_t* shard, uint32_t row);

#endif  // LEAT_TRACE_DELAY_ROWS_H_
