// Snapshots of a dispatcher (snapshot.h): what clients and workers ask of them, and which worker
// gets a stream of which. A worker writes at most three streams at a time, and gets one new one
// with a heartbeat, of the snapshot with the fewest streams under way, so that snapshots that were
// asked for together go on together. Only a fault-tolerant dispatcher takes snapshots, as with
// TensorFlow: one that forgot them would leave their workers with files that nobody completes.
#include "data_service/dispatcher_record.h"
#include "data_service/snapshot.h"
#include "data_service/split_providers.h"

#define MOST_STREAMS_OF_WORKER 3  // TensorFlow's default

static leat_file_system_t* files_of(const leat_dispatcher_t* dispatcher) {
  leat_file_system_t* fs = dispatcher->options.file_system;
  return fs ? fs : leat_file_system_default();
}

// NULL where there is none.
static leat_snapshot_t* find_snapshot(const leat_dispatcher_t* dispatcher,
                                      leat_string_view_t path) {
  uint64_t word = 0;
  leat_string_map_get(&dispatcher->state.snapshots, path, &word);
  return word ? ((leat_data_snapshot_t*)(uintptr_t)word)->snapshot : NULL;
}

static leat_data_snapshot_t* snapshot_at(const leat_dispatcher_t* dispatcher, size_t index) {
  return (leat_data_snapshot_t*)(uintptr_t)dispatcher->state.snapshots.entries[index].value;
}

// ---- What clients ask ---------------------------------------------------------------------------

// INVALID_ARGUMENT where the dispatcher takes no snapshots, ALREADY_EXISTS where it has this one.
static leat_status_t check_request(leat_dispatcher_t* dispatcher, leat_string_view_t path) {
  if (!dispatcher->options.is_fault_tolerant) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "Making the snapshot %.*s failed: the dispatcher is not "
                            "fault-tolerant, must be (fault_tolerant_mode, with a work_dir)",
                            LEAT_SV_ARG(path));
  }
  if (!find_snapshot(dispatcher, path)) return leat_ok_status();
  return leat_make_status(LEAT_ALREADY_EXISTS,
                          "Making the snapshot %.*s failed: it was begun already",
                          LEAT_SV_ARG(path));
}

// Makes the snapshot's files, and then the change that says that they are there. |providers| are
// taken. The mutex is held.
static leat_status_t add_snapshot(leat_dispatcher_t* dispatcher,
                                  const leat_pb_snapshot_request_t* request,
                                  leat_split_providers_t* providers) {
  leat_snapshot_t* snapshot;
  leat_pb_snapshot_update_t update = {.path = request->path};
  leat_status_t status = check_request(dispatcher, request->path);
  if (status) {
    leat_split_providers_free(providers);
    return status;
  }
  LEAT_RETURN_IF_ERROR(
      leat_snapshot_start(files_of(dispatcher), request, providers, &snapshot));
  status = leat_dispatcher_commit(
      dispatcher,
      &(leat_pb_dispatcher_update_t){.update_type_case = LEAT_CHANGE_SNAPSHOT, .snapshot = &update},
      1);
  if (status) {
    leat_snapshot_free(snapshot);
    return status;
  }
  snapshot_at(dispatcher, dispatcher->state.snapshots.count - 1)->snapshot = snapshot;
  return leat_ok_status();
}

leat_status_t leat_dispatcher_serve_snapshot(void* server, leat_data_call_t* call,
                                             const void* message, void* answer) {
  leat_dispatcher_t* dispatcher = server;
  const leat_pb_snapshot_request_t* request = message;
  leat_split_providers_t* providers;
  leat_mutex_lock(&dispatcher->mutex);
  leat_status_t status = check_request(dispatcher, request->path);
  leat_mutex_unlock(&dispatcher->mutex);
  LEAT_RETURN_IF_ERROR(status);
  // It takes a session, and so nobody waits for the mutex meanwhile.
  LEAT_RETURN_IF_ERROR(leat_split_providers_create(
      dispatcher->options.runtime, request->dataset ? request->dataset->graph : LEAT_SV(""),
      &providers));
  leat_mutex_lock(&dispatcher->mutex);
  status = add_snapshot(dispatcher, request, providers);
  leat_mutex_unlock(&dispatcher->mutex);
  return status;
}

static leat_status_t unknown(leat_string_view_t path) {
  return leat_make_status(LEAT_INVALID_ARGUMENT,
                          "Reading the snapshot %.*s failed: the dispatcher does not know it",
                          LEAT_SV_ARG(path));
}

leat_status_t leat_dispatcher_serve_snapshot_streams(void* server, leat_data_call_t* call,
                                                     const void* message, void* out_answer) {
  leat_dispatcher_t* dispatcher = server;
  const leat_pb_get_snapshot_streams_request_t* request = message;
  leat_pb_get_snapshot_streams_response_t* answer = out_answer;
  leat_mutex_lock(&dispatcher->mutex);
  const leat_snapshot_t* snapshot = find_snapshot(dispatcher, request->path);
  leat_status_t status = snapshot ? leat_snapshot_list_streams(snapshot, &call->arena,
                                                               &answer->streams)
                                  : unknown(request->path);
  leat_mutex_unlock(&dispatcher->mutex);
  return status;
}

// ---- What workers ask ---------------------------------------------------------------------------

leat_status_t leat_dispatcher_serve_snapshot_split(void* server, leat_data_call_t* call,
                                                   const void* message, void* out_answer) {
  enum { SPLIT = 1, END = 2 };
  leat_dispatcher_t* dispatcher = server;
  const leat_pb_get_snapshot_split_request_t* request = message;
  leat_pb_get_snapshot_split_response_t* answer = out_answer;
  int64_t split = 0;
  leat_mutex_lock(&dispatcher->mutex);
  leat_snapshot_t* snapshot = find_snapshot(dispatcher, request->base_path);
  leat_status_t status =
      snapshot ? leat_snapshot_next_split(snapshot, request, &split, &answer->local_split_index,
                                          &answer->end_of_splits)
               : unknown(request->base_path);
  leat_mutex_unlock(&dispatcher->mutex);
  answer->response_case = answer->end_of_splits ? END : SPLIT;
  if (status || answer->end_of_splits) return status;
  return leat_dispatcher_describe_split(split, &call->arena, &answer->split);
}

static leat_status_t take_progress(leat_dispatcher_t* dispatcher,
                                   const leat_pb_worker_heartbeat_request_t* request) {
  for (size_t i = 0; i < request->snapshot_task_progress.count; ++i) {
    const leat_pb_worker_heartbeat_request_snapshot_task_progress_entry_t* entry =
        &request->snapshot_task_progress.items[i];
    leat_snapshot_t* snapshot = find_snapshot(dispatcher, entry->key);
    if (!snapshot || !entry->value) continue;  // the worker lets go of the stream by the answer
    LEAT_RETURN_IF_ERROR(
        leat_snapshot_take_progress(snapshot, request->worker_address, entry->value));
  }
  return leat_ok_status();
}

// The snapshot of which the worker is to get a stream; NULL where there is none.
static leat_snapshot_t* choose_snapshot(const leat_dispatcher_t* dispatcher,
                                        leat_string_view_t worker) {
  leat_snapshot_t* chosen = NULL;
  for (size_t i = 0; i < dispatcher->state.snapshots.count; ++i) {
    leat_snapshot_t* snapshot = snapshot_at(dispatcher, i)->snapshot;
    if (!leat_snapshot_wants(snapshot, worker)) continue;
    if (!chosen || leat_snapshot_count_open_streams(snapshot) <
                       leat_snapshot_count_open_streams(chosen)) {
      chosen = snapshot;
    }
  }
  return chosen;
}

leat_status_t leat_dispatcher_give_streams(leat_dispatcher_t* dispatcher, leat_arena_t* arena,
                                           const leat_pb_worker_heartbeat_request_t* request,
                                           leat_pb_worker_heartbeat_response_t* answer) {
  const size_t count = dispatcher->state.snapshots.count;
  leat_pb_snapshot_task_def_list_t* tasks = &answer->snapshot_tasks;
  if (!count) return leat_ok_status();
  LEAT_RETURN_IF_ERROR(take_progress(dispatcher, request));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, count, &tasks->items));
  for (size_t i = 0; i < count; ++i) {
    tasks->count += leat_snapshot_find_task(snapshot_at(dispatcher, i)->snapshot,
                                            request->worker_address, &tasks->items[tasks->count]);
  }
  if (tasks->count >= MOST_STREAMS_OF_WORKER) return leat_ok_status();
  leat_snapshot_t* chosen = choose_snapshot(dispatcher, request->worker_address);
  if (!chosen) return leat_ok_status();
  LEAT_RETURN_IF_ERROR(leat_snapshot_add_stream(chosen, request->worker_address));
  tasks->count +=
      leat_snapshot_find_task(chosen, request->worker_address, &tasks->items[tasks->count]);
  return leat_ok_status();
}

// ---- Life ---------------------------------------------------------------------------------------

leat_status_t leat_dispatcher_restore_snapshots(leat_dispatcher_t* dispatcher) {
  for (size_t i = 0; i < dispatcher->state.snapshots.count; ++i) {
    leat_data_snapshot_t* record = snapshot_at(dispatcher, i);
    LEAT_RETURN_IF_ERROR(leat_snapshot_resume(dispatcher->options.runtime, files_of(dispatcher),
                                              record->path, &record->snapshot));
  }
  return leat_ok_status();
}

void leat_dispatcher_free_snapshots(leat_dispatcher_t* dispatcher) {
  for (size_t i = 0; i < dispatcher->state.snapshots.count; ++i) {
    leat_snapshot_free(snapshot_at(dispatcher, i)->snapshot);
  }
}
