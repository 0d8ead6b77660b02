// Records what the threads of all tasks of a cluster do, into one file (EEG, section 9.2 of the
// white paper): `leat trace --cluster`. Each task of Leat's is asked to record its process
// (leat.Diagnosis). While they do, times are exchanged with each again and again, by which its
// clock is related to ours; when they are told to stop, each tells its recording in our times and
// under a number of its own, so that the file is their recordings one behind the other.
#ifndef LEAT_CLUSTER_RECORDER_H_
#define LEAT_CLUSTER_RECORDER_H_

#include "base/file_system.h"
#include "base/string_builder.h"

typedef struct leat_cluster_recorder_s leat_cluster_recorder_t;

typedef struct leat_cluster_recorder_options_s {
  leat_string_view_t cluster;  // a ClusterDef
  uint64_t limit_bytes;        // of spans, in each process; 0: 256 MiB
  int64_t timeout_ms;          // for each call
} leat_cluster_recorder_options_t;

// Begins to record. A task that does not answer, or is not Leat's, is left out, and is told of by
// the stop; UNAVAILABLE where none is left. INVALID_ARGUMENT for a cluster that is none.
LEAT_MUST_USE leat_status_t leat_cluster_recorder_start(
    const leat_cluster_recorder_options_t* options, leat_cluster_recorder_t** out_recorder);
// Ends the recordings, writes |path| and frees the recorder, on failure too. What became of each
// task is appended to |out| as JSON (leat_trace_cluster_stop in include/leat/trace.h).
LEAT_MUST_USE leat_status_t leat_cluster_recorder_stop(leat_cluster_recorder_t* recorder,
                                                       leat_file_system_t* files,
                                                       const char* path,
                                                       leat_string_builder_t* out);

#endif  // LEAT_CLUSTER_RECORDER_H_
