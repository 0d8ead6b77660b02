// A run: the event files of one directory, read in the order of their names as one story, and the
// series that they tell.
//
// One thread at a time loads a run (board_run_load); any number read it meanwhile. Who reads takes
// |lock| by board_run_lock and holds it for as long as it looks at the series, so it copies or
// prints what it needs and lets go.
#ifndef LEAT_BOARD_RUN_H_
#define LEAT_BOARD_RUN_H_

#include <stdatomic.h>

#include "base/map.h"
#include "base/sync.h"
#include "board/event_file.h"
#include "board/event_value.h"
#include "board/series.h"

typedef struct board_run_s {
  leat_mutex_t lock;
  atomic_int waiting;  // who waits for the lock to read the run
  char* name;       // its path below the log directory; "." for that itself
  char* directory;
  // Series in the order of their first values, and their places by tag.
  board_series_t** series;
  size_t series_count, series_capacity;
  leat_string_map_t by_tag;
  size_t latest;  // index of the series of the last value, 0 where there was none
  // The files in the order in which they were found: places in series name them by index.
  board_event_file_t** files;
  size_t file_count, file_capacity;
  bool has_events;
  double first_wall_time;
  // What the purge after a restart needs (board/run.c).
  double file_version;
  bool seen_start;
  int64_t latest_step;
  uint64_t purged;   // points that a restart made void
  uint64_t skipped;  // events and values that could not be understood
  uint64_t version;  // grows with every change
  // Columns that lie in the index file of the run (board/run_index.h).
  void* mapping;
  size_t mapping_bytes;
  bool is_unchecked;  // their checksum has yet to be looked at
  bool has_tried_index;
  int64_t indexed_ns;  // when its index file was last written
} board_run_t;

LEAT_MUST_USE leat_status_t board_run_create(const char* name, const char* directory,
                                             board_run_t** out_run);
void board_run_free(board_run_t* run);
// Takes |lock| to read the run. A thread that loads takes the lock again as soon as it let go, and
// would win each time: it lets those pass whom it knows to wait.
static inline void board_run_lock(board_run_t* run) {
  atomic_fetch_add(&run->waiting, 1);
  leat_mutex_lock(&run->lock);
  atomic_fetch_sub(&run->waiting, 1);
}
// Forgets all that was read, so that it is read again. The caller holds the lock.
void board_run_forget(board_run_t* run);
// Whether |name| is that of an event file.
bool board_run_is_event_file(const char* name);
// Reads what the files have that was not read before. |*out_changed| says whether there was any.
LEAT_MUST_USE leat_status_t board_run_load(board_run_t* run, bool* out_changed);
// The same for a run of which nothing was read yet, but no more than its first records of about
// |bytes|, so that it is shown before other runs are read to their ends. Nothing where something
// was read.
LEAT_MUST_USE leat_status_t board_run_begin(board_run_t* run, uint64_t bytes, bool* out_changed);
// The series of |tag|, or NULL. The caller holds the lock.
board_series_t* board_run_find(const board_run_t* run, leat_string_view_t tag);
// The same, but only where |plugin| owns it and its class is |data_class|.
board_series_t* board_run_find_of(const board_run_t* run, leat_string_view_t tag,
                                  const char* plugin, board_data_class_t data_class);
// Records of its files that were damaged. The caller holds the lock.
uint64_t board_run_damaged(const board_run_t* run);
// Adds a series; used by whoever brings a run back from its index file. |*series| is moved.
LEAT_MUST_USE leat_status_t board_run_add_series(board_run_t* run, board_series_t* series_move,
                                                 board_series_t** out_series);
LEAT_MUST_USE leat_status_t board_run_add_file(board_run_t* run, const char* path,
                                               board_event_file_t** out_file);

#endif  // LEAT_BOARD_RUN_H_
