// The delay finder: what the steps of a recording waited for, and what they would gain without it
// (EEG, section 9.2 of the white paper).
//
//   leat_delays_t* delays;
//   LEAT_RETURN_IF_ERROR(leat_delays_find(timeline, &delays));
//   LEAT_RETURN_IF_ERROR(leat_delays_of_step(delays, step, &arena, &list, &count));
//   leat_delay_print(delays, &list[0], out);  // Conv2D 'conv1' waited 3.1 ms for a lock ...
//   leat_delays_free(delays);
//
// Of each step the critical path is found: backwards from its end, always along what came last, be
// it work on the same thread, the task or kernel on another thread that a wait was for, the kernel
// that a value came from, the Send of a message in whatever process, or the thread that put into a
// queue what the step took out of it. The pieces of the path fill the step without a gap, and each
// has one cause. Where the recording names the thread that woke another
// one, the way leads to that thread. Else the last that ended before somebody woke is taken for its
// reason, which is wrong where steps that have nothing to do with each other run at the same time.
//
// Steps are compared with those that are alike: with the same first and last kernels, and where the
// recording does not have the graphs, of one thread. A cause counts in a step by how much longer it
// took than in the median of these.
#ifndef LEAT_TRACE_DELAY_H_
#define LEAT_TRACE_DELAY_H_

#include "base/string_builder.h"
#include "trace/timeline.h"

typedef enum leat_delay_cause_e {
  LEAT_DELAY_COMPUTE,     // a kernel of the step computed
  LEAT_DELAY_RUNTIME,     // the thread was in the step, and in no kernel
  LEAT_DELAY_INPUT,       // an asynchronous kernel waited, and no thread was at work for it
  LEAT_DELAY_INPUT_WORK,  // an asynchronous kernel waited, and a thread was at work for it
  LEAT_DELAY_QUEUED,      // a task was ready, and the threads of the pool were busy
  LEAT_DELAY_WAKE,        // a thread was woken, and came late
  LEAT_DELAY_PREEMPTED,   // another thread took the core
  LEAT_DELAY_LOCK,        // another thread held a mutex
  LEAT_DELAY_SYSTEM,      // a kernel slept in the system: for the disk, a page, a socket
  LEAT_DELAY_MEMORY,      // memory came from the system
  LEAT_DELAY_WAIT,        // a thread waited for something that is not recorded
  LEAT_DELAY_TURN,        // a kernel computed on a thread that one on the path was ready for
  LEAT_DELAY_SENDER,      // a value was waited for whose sender had nothing to do with it yet
  LEAT_DELAY_POSTED,      // a message was ready to be sent, or had come
  LEAT_DELAY_CODING,      // a message was made of a value, or a value of a message
  LEAT_DELAY_FLIGHT,      // a message was under way
  LEAT_DELAY_COPY,        // a stream copied between host and device
  LEAT_DELAY_STREAM,      // work was launched, and its stream had not begun with it
  LEAT_DELAY_CAUSES,
} leat_delay_cause_t;
// A word or two: "lock", "waiting for input".
const char* leat_delay_cause_name(leat_delay_cause_t cause);

#define LEAT_NO_NAME UINT32_MAX

// A piece of a critical path.
typedef struct leat_path_piece_s {
  int64_t begin_ns, end_ns;
  int64_t most_ns;  // the step would gain at most so much without the piece
  uint32_t row;     // of the timeline
  uint32_t cause;   // a leat_delay_cause_t
  uint32_t name;    // of the kernel, an index of the timeline's names, or LEAT_NO_NAME
  // The name that is to blame: what other threads computed, or the time off a core whose name says
  // who took the core or woke the thread; or LEAT_NO_NAME.
  uint32_t other;
  uint32_t by;  // the id of the thread that is to blame, perhaps of another process; 0: not known
} leat_path_piece_t;

typedef struct leat_step_s {
  int64_t number;  // as the session counts
  uint32_t mark;   // what its slices have as their step (leat_slice_facts_t); 0: not known
  int64_t begin_ns, end_ns;
  uint32_t row;
  uint32_t group;  // steps that are alike
} leat_step_t;

typedef struct leat_step_group_s {
  size_t count, slowest;  // |slowest| is an index of the steps
  int64_t median_ns, total_ns;
} leat_step_group_t;

// What one cause did to one kernel in a step, or in all steps of a group.
typedef struct leat_delay_s {
  uint32_t cause, name, other, by, row;  // as in a piece
  int64_t begin_ns, end_ns;              // the longest piece
  int64_t total_ns;                      // of the pieces; of a group: a step's mean
  int64_t median_ns;                     // in the steps of the group
  int64_t gain_ns;                       // what the step would gain
  uint32_t has_others;                   // 1: other threads than |by| are to blame for a part
} leat_delay_t;

typedef struct leat_delay_entry_s leat_delay_entry_t;
typedef struct leat_delay_graph_s leat_delay_graph_t;

typedef struct leat_delays_s {
  const leat_timeline_t* timeline;
  const uint32_t* names;  // of each name of the timeline the one that pieces and delays have
  const leat_delay_graph_t* graph;
  leat_step_t* steps;  // in the order of their beginnings
  size_t step_count;
  leat_step_group_t* groups;
  size_t group_count;
  size_t main_group;  // the one that took the most time, but for waiting until a queue has room
  leat_delay_entry_t* entries;
  size_t entry_count;
  // Steps, groups and entries lie in an image (trace/delay_image.h), which outlives the delays.
  bool is_borrowed;
  leat_arena_t arena;
} leat_delays_t;

// |timeline| must outlive the result, which does not change.
LEAT_MUST_USE leat_status_t leat_delays_find(const leat_timeline_t* timeline,
                                             leat_delays_t** out_delays);
// The same; CANCELLED once |*is_cancelled| is set, which may be NULL.
LEAT_MUST_USE leat_status_t leat_delays_find_cancellable(const leat_timeline_t* timeline,
                                                         const _Atomic bool* is_cancelled,
                                                         leat_delays_t** out_delays);
void leat_delays_free(leat_delays_t* delays);  // NULL is allowed
// The critical path of a step, in the order of time.
LEAT_MUST_USE leat_status_t leat_delays_path(const leat_delays_t* delays, size_t step,
                                             leat_arena_t* arena, leat_path_piece_t** out_pieces,
                                             size_t* out_count);
// What made the step longer than the median of its group, the most first.
LEAT_MUST_USE leat_status_t leat_delays_of_step(const leat_delays_t* delays, size_t step,
                                                leat_arena_t* arena, leat_delay_t** out_list,
                                                size_t* out_count);
// What all steps of a group would gain, as a step's mean, the most first. Computing is no delay.
LEAT_MUST_USE leat_status_t leat_delays_of_group(const leat_delays_t* delays, size_t group,
                                                 leat_arena_t* arena, leat_delay_t** out_list,
                                                 size_t* out_count);
// A delay of one step as an arrow: what the row |to| waited for until |delay.end_ns| was on the row
// |from|. UINT32_MAX: it was on no other row, or nobody knows.
typedef struct leat_delay_arrow_s {
  leat_delay_t delay;
  size_t step;
  uint32_t from, to;
} leat_delay_arrow_t;
// The |most| delays from which steps would gain the most, of those whose longest piece lies at
// least in part between |begin_ns| and |end_ns|, the greatest first. Computing is no delay.
LEAT_MUST_USE leat_status_t leat_delays_arrows(const leat_delays_t* delays, int64_t begin_ns,
                                               int64_t end_ns, size_t most, leat_arena_t* arena,
                                               leat_delay_arrow_t** out_arrows,
                                               size_t* out_count);
// A sentence without its full stop.
void leat_delay_print(const leat_delays_t* delays, const leat_delay_t* delay,
                      leat_string_builder_t* out);
// The whole report, for people: the main group, its delays, and its slowest step.
LEAT_MUST_USE leat_status_t leat_delays_report(const leat_delays_t* delays,
                                               leat_string_builder_t* out);

#endif  // LEAT_TRACE_DELAY_H_
