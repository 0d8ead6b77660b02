// The index file of a recording: its image (trace/timeline_image.h), the runs of its lanes, and how
// often each name occurs, in the cache directory. A board that starts again maps it and is ready at
// once, and while it is looked at the system may take its pages back.
#ifndef LEAT_BOARD_TRACE_INDEX_H_
#define LEAT_BOARD_TRACE_INDEX_H_

#include "board/trace_store.h"

// How large a recording's slices may be that are verified when its index is opened. Those of others
// are when their delays are first walked (board_trace_store_take).
#define BOARD_TRACE_VERIFY_BYTES ((size_t)64 << 20)

// Fills |trace|, whose path and stat are set, from the index in |cache|, and with the delays where
// these have been found. False, and it is as it was, where there is none, or it is of another
// version, damaged, or of a file that has changed. Slices of more than |verify_bytes| are not
// verified, and |trace| says so; where the delays have yet to be found, all are.
bool board_trace_index_read(board_stored_trace_t* trace, const char* cache, size_t verify_bytes);
// Reads the recording of |trace|, whose path and stat are set, and fills |trace|, but for the
// delays. The slices go to the new index, or where |cache| is NULL to a file without a name in the
// directory for temporary files. About |limit_bytes| of them are in memory at a time. A part of the
// work is done by threads that end before it returns. The codes are those of
// leat_timeline_read_spilled and leat_timeline_write_image; after an error |trace| is as it was.
LEAT_MUST_USE leat_status_t board_trace_index_make(board_stored_trace_t* trace, const char* cache,
                                                   size_t limit_bytes);
// Whether the slices and runs of an index are what was written (leat_timeline_verify).
bool board_trace_index_verify(const board_stored_trace_t* trace);

#endif  // LEAT_BOARD_TRACE_INDEX_H_
