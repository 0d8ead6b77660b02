// Writes a recording of spans (base/span.h) into a file that a viewer opens: Perfetto's packets
// (ui.perfetto.dev), or the JSON of chrome://tracing where the name ends in ".json". Both have a
// row for each thread, on which spans lie within the spans around them, and rows for asynchronous
// kernels, which belong to no thread: as many as ran at once. Times are nanoseconds of the
// monotonic clock, so that recordings of several processes of a machine can be laid side by side.
#ifndef LEAT_TRACE_RECORDING_FILE_H_
#define LEAT_TRACE_RECORDING_FILE_H_

#include "base/file_system.h"
#include "base/span.h"

// Writes |path|, which is created or replaced. Errors are the file system's, or RESOURCE_EXHAUSTED.
LEAT_MUST_USE leat_status_t leat_recording_write(const leat_recording_t* recording,
                                                 leat_file_system_t* files, const char* path);

#endif  // LEAT_TRACE_RECORDING_FILE_H_
