// The delays of a recording's steps, which are found when its slices have been read, and their file
// in the cache directory. To find them takes longer than to read the recording.
#ifndef LEAT_BOARD_TRACE_DELAYS_H_
#define LEAT_BOARD_TRACE_DELAYS_H_

#include "board/trace_store.h"

// Fills |trace->delays| from the file in |cache|. False, and they are NULL, where there is none, or
// it is damaged, of another version, or of another state of the recording.
bool board_trace_delays_read(board_stored_trace_t* trace, const char* cache);
// Finds the delays of |trace|, whose slices are verified. Where these lie in an index, so do the
// delays then in a file in |cache|, or where that is NULL in one without a name; a file that cannot
// be written leaves them in memory. |is_cancelled| may be NULL. The results are not yet those of
// |trace|, at which others may look meanwhile. RESOURCE_EXHAUSTED, or CANCELLED.
LEAT_MUST_USE leat_status_t board_trace_delays_find(const board_stored_trace_t* trace,
                                                    const char* cache,
                                                    const _Atomic bool* is_cancelled,
                                                    leat_delays_t** out_delays,
                                                    board_trace_mapping_t* out_file);
// Undoes what was filled in.
void board_trace_delays_forget(board_stored_trace_t* trace);

#endif  // LEAT_BOARD_TRACE_DELAYS_H_
