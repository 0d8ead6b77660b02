// A part of a file in memory, for readers of recordings, which may be larger than the memory. The
// reader goes through the window's bytes, and where the last item in it is not whole it refills the
// window from that item on. Used by one thread.
#ifndef LEAT_TRACE_FILE_WINDOW_H_
#define LEAT_TRACE_FILE_WINDOW_H_

#include "base/file_system.h"

#define LEAT_FILE_WINDOW_BYTES ((size_t)1 << 20)

typedef struct leat_file_window_s {
  leat_file_t* file;  // borrowed
  char* bytes;        // [LEAT_FILE_WINDOW_BYTES]
  size_t size;        // of the bytes that are in it
  uint64_t offset;    // of the first of them in the file
} leat_file_window_t;

// An empty window at the begin of |file|. To be deinitialized, after a failure too.
LEAT_MUST_USE leat_status_t leat_file_window_initialize(leat_file_t* file,
                                                        leat_file_window_t* out_window);
void leat_file_window_deinitialize(leat_file_window_t* window);
// Keeps the bytes from |from| on, which become the first, and reads those that follow them.
// |*out_is_end|: none do. May block on the disk.
LEAT_MUST_USE leat_status_t leat_file_window_refill(leat_file_window_t* window, size_t from,
                                                    bool* out_is_end);

#endif  // LEAT_TRACE_FILE_WINDOW_H_
