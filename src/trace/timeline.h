// A recording as it is read back: rows of slices, indexed so that any window is drawn at once.
//
// A row is a thread, or one of the rows on which asynchronous kernels lie. The slices of a row that
// lie within equally many others are a lane: they are disjoint and in the order of time. A window
// of a lane is walked pixel by pixel; what is shorter than a pixel comes as one item that tells how
// many slices there are and how much of the time they cover, so that no pixel of a lane gets more
// than two slices and one such item, and thousands of short ones do not vanish:
//
//   leat_timeline_t* timeline;
//   LEAT_RETURN_IF_ERROR(leat_timeline_read(files, path, &timeline));
//   leat_lane_cursor_t at = leat_lane_seek(lane, window.begin_ns);
//   while (leat_lane_next(lane, &window, &at, &item)) draw(&item);
//   leat_timeline_free(timeline);
//
// A timeline does not change once it is read, so that any number of threads may look at it.
#ifndef LEAT_TRACE_TIMELINE_H_
#define LEAT_TRACE_TIMELINE_H_

#include "base/arena.h"
#include "base/file_system.h"
#include "base/span.h"

// The most slices within each other that are kept apart; what lies deeper is left out.
#define LEAT_TIMELINE_MAX_DEPTH 32

// What a slice is, and of which node.
typedef struct leat_slice_name_s {
  leat_string_view_t op;    // of a kernel; otherwise the kind's name
  leat_string_view_t node;  // may be empty
  uint32_t kind;            // a leat_span_kind_t; LEAT_SPAN_KINDS where another program wrote it
  // The graph that the node is of: the process in the upper half, its number in the lower; 0: none.
  uint64_t graph;
} leat_slice_name_t;

// A node of a graph that ran, and the others that it takes values from or waits for: |producers|
// [producer_count], counted within the graph, the nodes of which lie one behind the other.
typedef struct leat_timeline_node_s {
  uint64_t graph;
  leat_string_view_t name;
  uint32_t* producers;
  uint32_t producer_count;
  // As in leat_span_facts_t; |flops| is 1 more than there are, and 0 where they are not known.
  leat_string_view_t device, outputs, source;
  int64_t flops;
} leat_timeline_node_t;

// How the clock of a process was related to that of the file's times.
typedef struct leat_timeline_clock_s {
  int64_t process, offset_ns, drift_ppb, residual_ns;
} leat_timeline_clock_t;

// A process that the file names.
typedef struct leat_timeline_process_s {
  int64_t number;
  leat_string_view_t name;
} leat_timeline_process_t;

typedef struct leat_slice_s {
  int64_t begin_ns, end_ns;
  int64_t covered_ns;  // by the slices of the lane before this one
  uint32_t name;       // an index of the timeline's |names|
  uint32_t by;  // the thread that ended it, held the lock or took the core, perhaps of another
                // process; 0: not known
} leat_slice_t;

// What a recording says of a slice besides its name.
typedef struct leat_slice_facts_s {
  // What leat_span_kind_t says, times in nanoseconds; of those off a core the leat_off_core_t
  // alone.
  int64_t value;
  uint32_t by;    // as in leat_slice_t
  uint32_t step;  // leat_span_step of the step that it is a part of; 0: not known
} leat_slice_facts_t;

typedef struct leat_lane_run_s leat_lane_run_t;  // trace/lane_run.h

typedef struct leat_lane_s {
  leat_slice_t* slices;
  int64_t* values;  // of the slices, as in their facts
  uint32_t* steps;
  size_t count, capacity;
  // Sums of stretches of it, by which windows are walked; borrowed. NULL: there are none.
  const leat_lane_run_t* runs;
  uint32_t run_count;
} leat_lane_t;

typedef struct leat_timeline_row_s {
  uint64_t uuid;
  int64_t process, thread;  // |thread| is 0 for rows of asynchronous kernels
  leat_string_view_t name;
  // While the file is read: how many slices are open, and the time of the last event.
  uint32_t open;
  int64_t last_ns;
  uint32_t lane_count;
  leat_lane_t lanes[LEAT_TIMELINE_MAX_DEPTH];  // by depth; memory is taken only for what there is
} leat_timeline_row_t;

typedef struct leat_timeline_s {
  leat_timeline_row_t** rows;  // in the order of the file
  size_t row_count;
  leat_slice_name_t* names;
  size_t name_count;
  leat_timeline_node_t* nodes;
  size_t node_count;
  leat_timeline_process_t* processes;
  size_t process_count;
  leat_timeline_clock_t* clocks;
  size_t clock_count;
  size_t slice_count;
  int64_t begin_ns, end_ns;  // of all slices
  // What was not in order: slices that the file cuts off, ends without a beginning, beginnings that
  // go back in time (which are moved), slices that lie too deep.
  uint64_t damaged;
  leat_arena_t arena;  // of texts and rows
  // The image in which texts and lanes lie (trace/timeline_image.h), which is borrowed; empty: they
  // are the timeline's own.
  leat_string_view_t image;
} leat_timeline_t;

// The bytes of a slice in all arrays of its lane.
#define LEAT_LANE_ITEM_BYTES (sizeof(leat_slice_t) + sizeof(int64_t) + sizeof(uint32_t))

// Reads a file that leat_recording_write wrote, in either format, or Perfetto traces of several
// processes one after the other. One whose first byte is '{' or '[' is Chrome's JSON. A Perfetto
// file that ends within a packet is read up to there, and JSON up to the last whole event.
// INVALID_ARGUMENT says which byte is not what a trace has there; else the file system's errors and
// RESOURCE_EXHAUSTED.
LEAT_MUST_USE leat_status_t leat_timeline_read(leat_file_system_t* files, const char* path,
                                               leat_timeline_t** out_timeline);
void leat_timeline_free(leat_timeline_t* timeline);  // NULL is allowed

// ---- Windows ------------------------------------------------------------------------------------

typedef struct leat_time_window_s {
  int64_t begin_ns, end_ns;
  int64_t pixel_ns;  // at least 1
} leat_time_window_t;

// One slice, or several that are each shorter than a pixel and begin in the same one.
typedef struct leat_time_window_item_s {
  size_t first, count;  // slices of the lane
  int64_t begin_ns, end_ns;
  int64_t covered_ns;  // less than the time between them where there are gaps
  uint32_t name;       // of the first slice
} leat_time_window_item_t;

// Where a walk through a window is.
typedef struct leat_lane_cursor_s {
  size_t at;     // the next slice
  uint32_t run;  // the next run, which begins there or behind it; LEAT_NO_RUN
} leat_lane_cursor_t;

// Makes pixels up to an eighth larger, and lets the window begin up to a pixel earlier, so that the
// borders of pixels are those of runs: the answer is that of any window with these numbers, and
// where a lane has runs it is found by them alone. Borders stay where they are when the window is
// moved.
void leat_time_window_align(leat_time_window_t* window);
// The first slice of the lane that ends after |time_ns|, or has no length and lies there;
// lane->count where there is none.
size_t leat_lane_find(const leat_lane_t* lane, int64_t time_ns);
// The same, found by the lane's runs, for a walk from there on.
leat_lane_cursor_t leat_lane_seek(const leat_lane_t* lane, int64_t time_ns);
// Gives what comes at |inout_cursor| and moves on; false where the window ends.
bool leat_lane_next(const leat_lane_t* lane, const leat_time_window_t* window,
                    leat_lane_cursor_t* inout_cursor, leat_time_window_item_t* out_item);

// ---- Making -------------------------------------------------------------------------------------
// For readers of files. Events of a row come in the order of time; one that goes back is moved.

typedef struct leat_timeline_builder_s leat_timeline_builder_t;
typedef struct leat_lane_spill_s leat_lane_spill_t;  // trace/lane_spill.h

// The two formats.
LEAT_MUST_USE leat_status_t leat_timeline_read_perfetto(leat_file_t* file,
                                                        leat_timeline_builder_t* builder);
LEAT_MUST_USE leat_status_t leat_timeline_read_chrome(leat_file_t* file,
                                                      leat_timeline_builder_t* builder);
// The file at |path| in whichever of the two it is.
LEAT_MUST_USE leat_status_t leat_timeline_read_into(leat_file_system_t* files, const char* path,
                                                    leat_timeline_builder_t* builder);
// The leat_span_kind_t with that name; LEAT_SPAN_KINDS: none has it.
uint32_t leat_timeline_kind_of(leat_string_view_t name);
LEAT_MUST_USE leat_status_t leat_timeline_builder_create(leat_timeline_builder_t** out_builder);
// NULL is allowed.
void leat_timeline_builder_free(leat_timeline_builder_t* builder);
// Lets slices that take more memory than the spill's limit go to its file. They are missing in what
// leat_timeline_builder_finish gives, in front of those of each lane. |spill| is borrowed.
void leat_timeline_builder_set_spill(leat_timeline_builder_t* builder,
                                     leat_lane_spill_t* spill);
// The row with |uuid|, which is made where there is none.
LEAT_MUST_USE leat_status_t leat_timeline_builder_row(leat_timeline_builder_t* builder,
                                                      uint64_t uuid,
                                                      leat_timeline_row_t** out_row);
// Opens a slice within those that are open on the row. |name| is copied.
LEAT_MUST_USE leat_status_t leat_timeline_builder_begin(leat_timeline_builder_t* builder,
                                                        leat_timeline_row_t* row, int64_t time_ns,
                                                        const leat_slice_name_t* name,
                                                        const leat_slice_facts_t* facts);
// The number of a name, which is copied, the name of a number, until the next one is added, and the
// same with a name that has one: for readers that put events into order first.
LEAT_MUST_USE leat_status_t leat_timeline_builder_name(leat_timeline_builder_t* builder,
                                                       const leat_slice_name_t* name,
                                                       uint32_t* out_index);
const leat_slice_name_t* leat_timeline_builder_name_at(const leat_timeline_builder_t* builder,
                                                       uint32_t index);
LEAT_MUST_USE leat_status_t leat_timeline_builder_begin_named(leat_timeline_builder_t* builder,
                                                              leat_timeline_row_t* row,
                                                              int64_t time_ns, uint32_t name,
                                                              const leat_slice_facts_t* facts);
// Closes the slice of the row that was opened last. It may end before one within it: the system's
// times of a thread that left its core are not quite those of the spans around them.
void leat_timeline_builder_end(leat_timeline_builder_t* builder, leat_timeline_row_t* row,
                               int64_t time_ns);
// Adds a node behind the others of its graph. All of it is copied.
LEAT_MUST_USE leat_status_t leat_timeline_builder_node(leat_timeline_builder_t* builder,
                                                       const leat_timeline_node_t* node);
// Names a process. The name is copied.
LEAT_MUST_USE leat_status_t leat_timeline_builder_process(leat_timeline_builder_t* builder,
                                                          int64_t number,
                                                          leat_string_view_t name);
LEAT_MUST_USE leat_status_t leat_timeline_builder_clock(leat_timeline_builder_t* builder,
                                                        const leat_timeline_clock_t* clock);
void leat_timeline_builder_add_damage(leat_timeline_builder_t* builder);
// Copies |text| to where the timeline's texts are.
LEAT_MUST_USE leat_status_t leat_timeline_builder_copy(leat_timeline_builder_t* builder,
                                                       leat_string_view_t text,
                                                       leat_string_view_t* out_text);
// Closes what is open. The builder is empty afterwards, and is still to be freed.
leat_timeline_t* leat_timeline_builder_finish(leat_timeline_builder_t* builder);

#endif  // LEAT_TRACE_TIMELINE_H_
