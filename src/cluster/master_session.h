// The sessions that clients have with this task as their master. Each is a session
// (session/session.h) over the devices of all tasks that the client's device filters leave, with a
// graph of its own, to which the client adds. Steps run on the threads of the calls that ask for
// them. A session is found by its handle and retained while a call uses it, so that closing it
// cannot free it under a step. A client that dies never closes its session, so one that nobody uses
// for long is closed by the task (leat_task_patience_t).
#ifndef LEAT_CLUSTER_MASTER_SESSION_H_
#define LEAT_CLUSTER_MASTER_SESSION_H_

#include "cluster/task.h"
#include "formats/generated/master_service.h"
#include "kernel/cancellation.h"

typedef struct leat_master_session_s leat_master_session_t;

// Opens a session over the cluster for the client at |peer|: asks each task for its devices,
// waiting for those that are not up, and makes a session with each. |*out_handle| is the session's,
// in |arena|.
LEAT_MUST_USE leat_status_t leat_master_session_create(
    leat_task_t* task, const leat_pb_create_session_request_t* request, leat_string_view_t peer,
    int64_t deadline_ns, leat_arena_t* arena, leat_string_view_t* out_handle);
// Finds a session, which is retained. ABORTED where there is none (any more).
LEAT_MUST_USE leat_status_t leat_master_session_find(leat_task_t* task, leat_string_view_t handle,
                                                     leat_master_session_t** out_session);
void leat_master_session_release(leat_master_session_t* session);  // NULL is allowed
// Ends a session: its steps end with CANCELLED, and it is found no more.
LEAT_MUST_USE leat_status_t leat_master_session_close(leat_task_t* task,
                                                      leat_string_view_t handle);
const leat_session_t* leat_master_session_session(const leat_master_session_t* session);
// Whether the session has a cluster of its own (ConfigProto.cluster_def). |*out_own_devices| is how
// many of its devices, the first ones, are of this task.
bool leat_master_session_is_renamed(const leat_master_session_t* session, int* out_own_devices);
// Adds nodes to the graph. ABORTED where |version| is not the present one.
LEAT_MUST_USE leat_status_t leat_master_session_extend(leat_master_session_t* session,
                                                       leat_string_view_t graph_def,
                                                       int64_t version, int64_t* out_version);

// ---- Steps --------------------------------------------------------------------------------------

// What a step names, found in the graph. Names that occur twice are found twice.
typedef struct leat_named_step_s {
  leat_output_t* feeds;
  int feed_count;
  leat_output_t* fetches;
  int fetch_count;
  int32_t* targets;
  int target_count;
  int32_t* feed_types;             // [feed_count]
  leat_string_view_t* feed_names;  // [feed_count] of the nodes; the graph's
} leat_named_step_t;

// Finds what the names stand for; the arrays lie in |arena|. NOT_FOUND for a name that is not
// there, INVALID_ARGUMENT for an output that the node does not have, and where nothing is asked
// for.
LEAT_MUST_USE leat_status_t leat_master_session_resolve(
    leat_master_session_t* session, const leat_pb_string_list_t* feeds,
    const leat_pb_string_list_t* fetches, const leat_pb_string_list_t* targets,
    leat_arena_t* arena, leat_named_step_t* out_step);
// Reads the values of feeds, in the order of |step|; the caller releases them, also after a
// failure. INVALID_ARGUMENT for a value that is not valid, INTERNAL for one of another type than
// the feed's, as TensorFlow has it.
LEAT_MUST_USE leat_status_t leat_named_step_read_feeds(const leat_named_step_t* step,
                                                       const leat_pb_tensor_proto_t* const* protos,
                                                       leat_arena_t* arena,
                                                       leat_tensor_t* out_values);
// Runs a step. |out_values| [fetch_count] are the caller's to release. |options| may be NULL. Where
// it asks for a record of the step, the encoded RunMetadata is appended to |out_metadata|.
LEAT_MUST_USE leat_status_t leat_master_session_run(
    leat_master_session_t* session, const leat_named_step_t* step, const leat_tensor_t* values,
    const leat_pb_run_options_t* options, int64_t deadline_ns, leat_cancellation_t* cancellation,
    leat_tensor_t* out_values, leat_string_builder_t* out_metadata);

// ---- Callables ----------------------------------------------------------------------------------

// Keeps the step under a number. What |step| points to is copied.
LEAT_MUST_USE leat_status_t leat_master_session_keep_callable(leat_master_session_t* session,
                                                              const leat_named_step_t* step,
                                                              int64_t* out_number);
// A kept step, its arrays in |arena|. INVALID_ARGUMENT where it was released, or never kept.
LEAT_MUST_USE leat_status_t leat_master_session_find_callable(leat_master_session_t* session,
                                                              int64_t number, leat_arena_t* arena,
                                                              leat_named_step_t* out_step);
void leat_master_session_release_callable(leat_master_session_t* session, int64_t number);

// ---- Partial runs -------------------------------------------------------------------------------

// Begins a step whose feeds and fetches come one by one (master/partial_run.h).
LEAT_MUST_USE leat_status_t leat_master_session_begin_partial(leat_master_session_t* session,
                                                              const leat_named_step_t* step,
                                                              leat_arena_t* arena,
                                                              leat_string_view_t* out_handle);
// Feeds and fetches a part of it. INVALID_ARGUMENT for what the step does not name, was fed or
// fetched before, or cannot be fetched yet. The run ends where a fetch has to wait longer than
// until |deadline_ns|, or until |cancellation| is cancelled.
LEAT_MUST_USE leat_status_t leat_master_session_run_partial(
    leat_master_session_t* session, leat_string_view_t handle, const leat_named_step_t* step,
    const leat_tensor_t* values, int64_t deadline_ns, leat_cancellation_t* cancellation,
    leat_tensor_t* out_values);

// ---- All sessions -------------------------------------------------------------------------------

// Ends the steps of all sessions with CANCELLED; later calls do not find them. |reason| is told.
void leat_master_sessions_close(leat_task_t* task, const char* reason);
// How many there are.
size_t leat_master_sessions_count(leat_task_t* task);
// Closes the sessions, and ends the partial runs, that no client has used for as long as the task's
// patience lasts.
void leat_master_sessions_collect(leat_task_t* task, int64_t now_ns);
// Frees all sessions; no call may be using one.
void leat_master_sessions_free(leat_task_t* task);

#endif  // LEAT_CLUSTER_MASTER_SESSION_H_
