// A snapshot that the workers of a data service write together, as its dispatcher keeps it. A
// client asks for it with a dataset and a path (DistributedSave) and goes away. From then on
// workers are given *streams* of it with their heartbeats, at most one each. Whoever has a stream
// asks for the splits of the dataset's sources one by one, and writes the elements that these make
// into files of its own (stream_writer.h), so that each element is written once, by one worker.
//
//   client ── Snapshot ─────────▶ dispatcher    a new directory: metadata, dataset
//   worker ── WorkerHeartbeat ──▶               a stream, unless the worker has had one
//   worker ── GetSnapshotSplit ─▶               the next split of a source, or its end
//   worker ── WorkerHeartbeat ──▶               its stream has ended, or has failed
//
// A snapshot is *active* until the first stream has ended. It winds down then, for what is left of
// the splits has been given out: no worker gets a new stream. It is done when all streams are, and
// has failed when one has; the file DONE or ERROR says so to whoever reads it.
//
// All that must outlive the dispatcher lies in the snapshot's directory (snapshot_files.h), not in
// the dispatcher's journal, which has its path alone. Each change is on the disk before anybody is
// told: a split's file is there before a worker gets the split. A dispatcher that dies in between
// has given the split to the stream, and the worker finds it in the file. So it can be started
// again at any point, and no split is lost or comes twice.
//
// A stream stays with its worker, also while that is away: a worker that comes back at the same
// address goes on with it. One that never comes back leaves the snapshot unfinished, as TensorFlow
// has it.
//
// Not thread-safe: the dispatcher's mutex is held, also while small files are written.
#ifndef LEAT_DATA_SERVICE_SNAPSHOT_H_
#define LEAT_DATA_SERVICE_SNAPSHOT_H_

#include "base/file_system.h"
#include "data_service/split_providers.h"
#include "formats/generated/data_service.h"

typedef struct leat_snapshot_s leat_snapshot_t;

// Begins the snapshot that |request| asks for, in a new directory. |providers|, those of its
// dataset, are taken over, also on failure. ALREADY_EXISTS where the path does, INVALID_ARGUMENT
// where it is empty; what the file system says. |fs| must live as long as the snapshot.
LEAT_MUST_USE leat_status_t leat_snapshot_start(leat_file_system_t* fs,
                                                const leat_pb_snapshot_request_t* request,
                                                leat_split_providers_t* providers,
                                                leat_snapshot_t** out_snapshot);
// Goes on with the snapshot at |path|, which a dispatcher of TensorFlow's or Leat's began. One that
// is done or has failed is only known as such. It may take a minute, to compute the splits.
// NOT_FOUND where a file is missing, DATA_LOSS for files that do not go together.
LEAT_MUST_USE leat_status_t leat_snapshot_resume(const leat_runtime_t* runtime,
                                                 leat_file_system_t* fs, leat_string_view_t path,
                                                 leat_snapshot_t** out_snapshot);
void leat_snapshot_free(leat_snapshot_t* snapshot);  // NULL is allowed

// Notes what |worker| tells of its stream. INTERNAL where it tells of another worker's stream, as
// TensorFlow says it.
LEAT_MUST_USE leat_status_t leat_snapshot_take_progress(
    leat_snapshot_t* snapshot, leat_string_view_t worker,
    const leat_pb_snapshot_task_progress_t* progress);
// The number of streams that have not ended; 0 where the snapshot has.
size_t leat_snapshot_count_open_streams(const leat_snapshot_t* snapshot);
// Whether |worker| has a stream that it should write. |out_task| describes it; what it points to
// lives as long as the snapshot.
bool leat_snapshot_find_task(const leat_snapshot_t* snapshot, leat_string_view_t worker,
                             leat_pb_snapshot_task_def_t* out_task);
// Whether |worker| may get a stream: the snapshot is active, and the worker has had none.
bool leat_snapshot_wants(const leat_snapshot_t* snapshot, leat_string_view_t worker);
// Gives |worker|, which the snapshot wants, a new stream.
LEAT_MUST_USE leat_status_t leat_snapshot_add_stream(leat_snapshot_t* snapshot,
                                                     leat_string_view_t worker);
// Takes the next split of a source for a stream; |*out_local_index| is its number in the stream, or
// at the end how many the stream has. A pass (repetition) that is over gives its end, and one that
// is yet to come ends those before it. INTERNAL where the stream is not the worker's,
// INVALID_ARGUMENT for a source or a repetition that there is not.
LEAT_MUST_USE leat_status_t leat_snapshot_next_split(
    leat_snapshot_t* snapshot, const leat_pb_get_snapshot_split_request_t* request,
    int64_t* out_split, int64_t* out_local_index, bool* out_at_end);
// Lists the streams in |arena|.
LEAT_MUST_USE leat_status_t leat_snapshot_list_streams(
    const leat_snapshot_t* snapshot, leat_arena_t* arena,
    leat_pb_snapshot_stream_info_list_t* out_streams);

#endif  // LEAT_DATA_SERVICE_SNAPSHOT_H_
