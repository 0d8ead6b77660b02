// Writes a recording of spans (base/span.h) into a file that a viewer opens: Perfetto's packets
// (ui.perfetto.dev), or the JSON of chrome://tracing where the name ends in ".json". Both have a
// row for each core, with the threads that had it, a row for each thread, on which spans lie within
// the spans around them, and rows for what belongs to no thread (trace/recording_rows.h). Times are
// nanoseconds of the monotonic clock, so that recordings of several processes of a machine can be
// laid side by side. One that goes into a file with recordings of other machines is told in their
// clock, under a number of its own. Arrows lead from where a message or work for a stream begins to
// where it arrives, and the edges of the graphs that ran stand at the head, once for each graph.
#ifndef LEAT_TRACE_RECORDING_FILE_H_
#define LEAT_TRACE_RECORDING_FILE_H_

#include "base/file_system.h"
#include "base/span.h"
#include "base/string_builder.h"

// In Chrome's JSON rows that are no thread's are numbered from here on.
#define LEAT_RECORDING_NO_THREAD ((int64_t)1 << 30)

// Writes |path|, which is created or replaced. Errors are the file system's, or RESOURCE_EXHAUSTED.
LEAT_MUST_USE leat_status_t leat_recording_write(const leat_recording_t* recording,
                                                 leat_file_system_t* files, const char* path);

// How a clock is related to another one: at the time |at_ns| of this one it was ahead of the other
// by |offset_ns|, and it gains |drift| nanoseconds in each.
typedef struct leat_clock_relation_s {
  int64_t at_ns, offset_ns;
  double drift;
  int64_t residual_ns;  // by how much measured times were off this relation, at most
} leat_clock_relation_t;
// |time_ns| of this clock by the other one.
int64_t leat_clock_relation_apply(const leat_clock_relation_t* relation, int64_t time_ns);

typedef struct leat_recording_section_s {
  uint32_t number;          // of the process, among those of the file
  leat_string_view_t name;  // of the process
  leat_clock_relation_t clock;
} leat_recording_section_t;

// Appends the recording in Perfetto's format to |out|, as a section of a file that holds those of
// several processes one behind the other.
LEAT_MUST_USE leat_status_t leat_recording_encode(const leat_recording_t* recording,
                                                  const leat_recording_section_t* section,
                                                  leat_string_builder_t* out);

#endif  // LEAT_TRACE_RECORDING_FILE_H_
