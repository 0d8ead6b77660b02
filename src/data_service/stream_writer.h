// Writes one stream of a snapshot: a worker's share of the elements of a dataset, in files. It has
// a thread of its own, and nobody waits for it; the worker tells the dispatcher with each heartbeat
// how far it is.
//
// Elements become files in two steps. At first they are written where nobody reads them, and when
// the stream has come to its end, all files get the names by which readers find them:
//
//   STREAM/uncommitted_chunks/chunk_C_CHUNK_SHARDS_writing   is being written
//                             chunk_C_CHUNK_SHARDS_E         is whole: E elements
//   STREAM/checkpoints/checkpoint_C_E                        the stream is whole: C chunks
//   SNAPSHOT/chunks/chunk_N_C_E                              may be read
//   STREAM/DONE                                              that was all
//
// So a worker that dies can be started again at any point. Without the checkpoint whatever was
// written is thrown away, and the stream begins anew with the splits that it was given, which the
// dispatcher keeps (stream_splits.h); that is right also for datasets whose elements come in
// another order each time. With the checkpoint the rest of the files get their names.
//
// TensorFlow's workers write the state of their iterators from time to time, after five minutes at
// the soonest, and then make public what they have written. Elements of theirs can be read earlier,
// and a stream that is interrupted goes on from there. Such a state means nothing here: a stream
// that has one is refused. A worker of TensorFlow's may go on with a stream of Leat's, unless that
// was interrupted just while the files got their names.
#ifndef LEAT_DATA_SERVICE_STREAM_WRITER_H_
#define LEAT_DATA_SERVICE_STREAM_WRITER_H_

#include "cluster/rpc.h"
#include "formats/generated/data_service.h"
#include "session/session.h"

typedef struct leat_stream_writer_s leat_stream_writer_t;

// What a writer needs of its worker; borrowed, as long as the writer lives.
typedef struct leat_stream_writer_context_s {
  const leat_runtime_t* runtime;
  leat_string_view_t address;  // of the worker
  leat_rpc_channel_t* dispatcher;
  int64_t dispatcher_timeout_ms;
  int64_t chunk_bytes;  // a file that has so many is followed by another one
} leat_stream_writer_context_t;

// Starts to write the stream |def|, which is copied.
LEAT_MUST_USE leat_status_t leat_stream_writer_start(const leat_stream_writer_context_t* context,
                                                     const leat_pb_snapshot_task_def_t* def,
                                                     leat_stream_writer_t** out_writer);
// Ends a writer before its stream ends; what it has written stays as it is. Does not wait.
void leat_stream_writer_cancel(leat_stream_writer_t* writer);
// Cancels the writer first, and waits for its thread. NULL is allowed.
void leat_stream_writer_free(leat_stream_writer_t* writer);
bool leat_stream_writer_is_for(const leat_stream_writer_t* writer,
                               const leat_pb_snapshot_task_def_t* def);
// Tells how far the stream is. What |out_progress| points to lies in |arena|.
LEAT_MUST_USE leat_status_t leat_stream_writer_describe(
    leat_stream_writer_t* writer, leat_arena_t* arena,
    leat_pb_snapshot_task_progress_t* out_progress);

#endif  // LEAT_DATA_SERVICE_STREAM_WRITER_H_
