// The index file of a run: its series as they were when it was last loaded, in the cache directory,
// so that a board that starts again reads only what was written since.
#ifndef LEAT_BOARD_RUN_INDEX_H_
#define LEAT_BOARD_RUN_INDEX_H_

#include "board/run.h"

// Fills |run|, which is new, from its index file in |cache|. Leaves it as it is where there is
// none, or where it is of another version, its head is damaged, or it is of files that have changed
// otherwise than by growing. The columns are not checked yet.
void board_run_index_read(board_run_t* run, const char* cache);
// Checks the columns of a run that was read from its index file, before it is loaded on. Where they
// are damaged the run is empty afterwards, the file is gone, and the answer is false.
bool board_run_index_check(board_run_t* run, const char* cache);
// Writes the index file, and lets the run's columns lie in it. What cannot be written is not missed
// but for the time that it would save.
void board_run_index_write(board_run_t* run, const char* cache);
// Removes the index file, if there is one.
void board_run_index_remove(const board_run_t* run, const char* cache);

#endif  // LEAT_BOARD_RUN_INDEX_H_
