// The log directory: its runs, and the threads that keep them up to date.
//
// A run is a directory below it in which event files lie. Runs are found and loaded in rounds: at
// once when the system tells that something was written (inotify), and every few seconds in any
// case, since a network file system tells nothing.
#ifndef LEAT_BOARD_LOGDIR_H_
#define LEAT_BOARD_LOGDIR_H_

#include "base/thread.h"
#include "board/run.h"

typedef struct board_logdir_s board_logdir_t;

// Called after each round, and some times a second while the first one goes on, on a thread that
// loads. |version| has grown where something changed.
typedef void (*board_logdir_round_fn_t)(void* data, uint64_t version, bool changed);

typedef struct board_logdir_options_s {
  const char* path;
  const char* cache;  // directory of the index files; NULL: none are written or read
  uint32_t poll_ms;   // between rounds that nothing asked for
  board_logdir_round_fn_t after_round;  // may be NULL
  void* data;
} board_logdir_options_t;

// Starts the threads. |options| and its texts must live until the end.
LEAT_MUST_USE leat_status_t board_logdir_create(const board_logdir_options_t* options,
                                                board_logdir_t** out_logdir);
// Ends the threads, after which nothing changes and |after_round| is called no more. NULL is
// allowed.
void board_logdir_stop(board_logdir_t* logdir);
// Stops, and frees the runs. NULL is allowed.
void board_logdir_free(board_logdir_t* logdir);
// The runs that are there, in the order of their first events, then of their names; runs without an
// event come last. The array is the caller's to free with the system's allocator, the runs live as
// long as the log directory.
LEAT_MUST_USE leat_status_t board_logdir_runs(board_logdir_t* logdir, board_run_t*** out_runs,
                                              size_t* out_count);
// NULL where there is no such run.
board_run_t* board_logdir_find(board_logdir_t* logdir, leat_string_view_t name);
const char* board_logdir_path(const board_logdir_t* logdir);
uint64_t board_logdir_version(board_logdir_t* logdir);
// Whether a whole round has ended. Until then answers may lack what is there.
bool board_logdir_is_loaded(board_logdir_t* logdir);
// Looks for what is new now, and returns when it is loaded.
LEAT_MUST_USE leat_status_t board_logdir_round(board_logdir_t* logdir);
// Removes the event files of a run from the disk, its index file, and its directory where nothing
// else is in it; then looks what is there. Runs in directories below it stay, and so does all that
// is no event file. NOT_FOUND where there is no such run. Where a file cannot be removed the error
// is the file system's, and what was removed before stays removed.
LEAT_MUST_USE leat_status_t board_logdir_delete_run(board_logdir_t* logdir,
                                                    leat_string_view_t name);

#endif  // LEAT_BOARD_LOGDIR_H_
