// The streams of snapshots that a worker writes, as its heartbeats tell of them.
#ifndef LEAT_DATA_SERVICE_WORKER_STREAMS_H_
#define LEAT_DATA_SERVICE_WORKER_STREAMS_H_

#include "base/sync.h"
#include "data_service/stream_writer.h"

typedef struct leat_worker_streams_s {
  leat_mutex_t mutex;  // guards what follows
  struct worker_stream_s* streams;
  bool is_stopped;
} leat_worker_streams_t;

void leat_worker_streams_initialize(leat_worker_streams_t* out_streams);
// They must be stopped.
void leat_worker_streams_deinitialize(leat_worker_streams_t* streams);
// Cancels all; those that are told of later are not begun.
void leat_worker_streams_cancel(leat_worker_streams_t* streams);
// Cancels all, and waits for their end.
void leat_worker_streams_stop(leat_worker_streams_t* streams);
// Lists how far each stream is, in |arena|.
LEAT_MUST_USE leat_status_t leat_worker_streams_list(
    leat_worker_streams_t* streams, leat_arena_t* arena,
    leat_pb_snapshot_task_progress_list_t* out_progresses);
// Takes the list of streams that the worker should write: begins those that are new, and lets go of
// those that are not in it.
LEAT_MUST_USE leat_status_t leat_worker_streams_take(leat_worker_streams_t* streams,
                                                     const leat_stream_writer_context_t* context,
                                                     const leat_pb_snapshot_task_def_list_t* defs);

#endif  // LEAT_DATA_SERVICE_WORKER_STREAMS_H_
