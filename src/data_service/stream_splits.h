// Where the writer of a snapshot's stream gets the splits of a source: from the dispatcher, by
// GetSnapshotSplit, and from the stream's own files, which have those that it was given before.
#ifndef LEAT_DATA_SERVICE_STREAM_SPLITS_H_
#define LEAT_DATA_SERVICE_STREAM_SPLITS_H_

#include "cluster/rpc.h"
#include "formats/generated/data_service.h"
#include "kernel/split_source.h"

typedef struct leat_stream_splits_s leat_stream_splits_t;

typedef struct leat_stream_splits_options_s {
  leat_rpc_channel_t* dispatcher;          // borrowed, as long as the source lives
  leat_string_view_t worker;               // the worker's address; likewise
  const leat_pb_snapshot_task_def_t* def;  // of the stream; likewise
  int64_t index;                           // of the source
  int64_t timeout_ms;  // how long a dispatcher that does not answer is asked again
} leat_stream_splits_options_t;

// Makes the split source, with one reference. It gives all splits that the stream was ever given,
// in the same order, and then new ones, so that a stream that begins anew has the same elements.
LEAT_MUST_USE leat_status_t leat_stream_splits_create(const leat_stream_splits_options_t* options,
                                                      leat_stream_splits_t** out_splits);
// As what sessions know it.
leat_split_source_t* leat_stream_splits_source(leat_stream_splits_t* splits);
// Who asks from now on gets CANCELLED, and so does who waits while the dispatcher is away.
void leat_stream_splits_close(leat_stream_splits_t* splits);
void leat_stream_splits_release(leat_stream_splits_t* splits);  // NULL is allowed

#endif  // LEAT_DATA_SERVICE_STREAM_SPLITS_H_
