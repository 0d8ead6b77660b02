// The dispatcher itself, for the files that implement it.
#ifndef LEAT_DATA_SERVICE_DISPATCHER_RECORD_H_
#define LEAT_DATA_SERVICE_DISPATCHER_RECORD_H_

#include "base/sync.h"
#include "base/thread.h"
#include "data_service/dispatcher.h"
#include "data_service/dispatcher_update.h"

struct leat_dispatcher_s {
  leat_dispatcher_options_t options;
  leat_thread_t thread;  // that collects
  bool has_thread;
  leat_mutex_t mutex;    // guards what follows
  leat_condition_t changed;
  bool is_stopped;
  leat_dispatcher_state_t state;
  struct leat_journal_s* journal;  // NULL: it is not fault-tolerant
};

// Changes the state: writes |updates| to the journal, where there is one, waits until the disk has
// them, and makes the changes. The mutex is held. On an error nothing was changed; only without
// memory may some of the changes be made, and the journal then takes no more of them, so that a
// dispatcher that is started again has all or, where there is no journal, whoever asked cleans up.
// Each change must be one that leat_dispatcher_apply makes.
LEAT_MUST_USE leat_status_t leat_dispatcher_commit(leat_dispatcher_t* dispatcher,
                                                   const leat_pb_dispatcher_update_t* updates,
                                                   size_t count);

// Opens the journal, makes its changes, and gets ready what it does not have: graphs, split
// providers, times, and tasks that were about to be made (dispatcher_restore.c). Nobody is served
// yet.
LEAT_MUST_USE leat_status_t leat_dispatcher_restore(leat_dispatcher_t* dispatcher);

// INVALID_ARGUMENT where the id of a dataset cannot be the name of a file in the work directory.
LEAT_MUST_USE leat_status_t leat_dispatcher_check_dataset_id(const leat_dispatcher_t* dispatcher,
                                                             leat_string_view_t id);

// Fills what a worker is told of its task. The mutex is held; texts are the state's, and messages
// lie in |arena|. NOT_FOUND where the job shards statically and the worker is none of those that
// were announced.
LEAT_MUST_USE leat_status_t leat_dispatcher_describe_task(const leat_dispatcher_t* dispatcher,
                                                          const leat_data_task_t* task,
                                                          leat_arena_t* arena,
                                                          leat_pb_task_def_t* out_def);

// The path of the file of a dataset in the work directory.
LEAT_MUST_USE leat_status_t leat_dispatcher_name_file(const leat_dispatcher_t* dispatcher,
                                                      leat_string_view_t id, leat_arena_t* arena,
                                                      leat_string_view_t* out_path);

// Methods that workers call (leat_data_method_t); dispatcher_workers.c.
LEAT_MUST_USE leat_status_t leat_dispatcher_serve_worker_heartbeat(
    void* server, leat_data_call_t* call, const void* message, void* out_answer);
LEAT_MUST_USE leat_status_t leat_dispatcher_serve_worker_update(
    void* server, leat_data_call_t* call, const void* message, void* out_answer);
LEAT_MUST_USE leat_status_t leat_dispatcher_serve_get_dataset_def(
    void* server, leat_data_call_t* call, const void* message, void* out_answer);
LEAT_MUST_USE leat_status_t leat_dispatcher_serve_get_split(
    void* server, leat_data_call_t* call, const void* message, void* out_answer);

// A split as TensorFlow sends it: a scalar of int64, its bytes as tensor_content.
LEAT_MUST_USE leat_status_t leat_dispatcher_describe_split(int64_t split, leat_arena_t* arena,
                                                           leat_pb_tensor_proto_t** out_proto);

// Snapshots (dispatcher_snapshots.c). Methods that clients and workers call (leat_data_method_t).
LEAT_MUST_USE leat_status_t leat_dispatcher_serve_snapshot(void* server, leat_data_call_t* call,
                                                           const void* message, void* answer);
LEAT_MUST_USE leat_status_t leat_dispatcher_serve_snapshot_streams(
    void* server, leat_data_call_t* call, const void* message, void* out_answer);
LEAT_MUST_USE leat_status_t leat_dispatcher_serve_snapshot_split(
    void* server, leat_data_call_t* call, const void* message, void* out_answer);
// Notes what a worker's heartbeat tells of its streams, and lists in the answer those that it
// should write, a new one among them where there is one. The mutex is held.
LEAT_MUST_USE leat_status_t leat_dispatcher_give_streams(
    leat_dispatcher_t* dispatcher, leat_arena_t* arena,
    const leat_pb_worker_heartbeat_request_t* request,
    leat_pb_worker_heartbeat_response_t* answer);
// Goes on with the snapshots of the journal.
LEAT_MUST_USE leat_status_t leat_dispatcher_restore_snapshots(leat_dispatcher_t* dispatcher);
void leat_dispatcher_free_snapshots(leat_dispatcher_t* dispatcher);

// A consumer of a coordinated iteration cannot reach the worker of a task, and asks to go on
// without it (task_removal.c). Waits until all consumers ask for it in the same round: the task is
// removed then; or for some seconds. The mutex is held, and let go of meanwhile.
// FAILED_PRECONDITION where the iteration is not coordinated.
LEAT_MUST_USE leat_status_t leat_dispatcher_vote_removal(
    leat_dispatcher_t* dispatcher, const leat_pb_maybe_remove_task_request_t* request,
    bool* out_removed);

#endif  // LEAT_DATA_SERVICE_DISPATCHER_RECORD_H_
