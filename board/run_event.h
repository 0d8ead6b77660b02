// What one event does to a run.
#ifndef LEAT_BOARD_RUN_EVENT_H_
#define LEAT_BOARD_RUN_EVENT_H_

#include "board/run.h"

// Takes in the event in |record|, which lies in the run's file |file|. The caller holds the lock.
// An event that is malformed is skipped and counted; an error is a lack of memory.
LEAT_MUST_USE leat_status_t board_run_take(board_run_t* run, uint32_t file, board_record_t record);

#endif  // LEAT_BOARD_RUN_EVENT_H_
