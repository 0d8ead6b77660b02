// The sessions that masters keep with this task, and the graphs that they have registered. A graph
// is the part of a step that lies on this task, with the nodes of all its devices; it is compiled
// like a signature without feeds and fetches, since its values come and go by Send and Recv.
#ifndef LEAT_CLUSTER_WORKER_SESSION_H_
#define LEAT_CLUSTER_WORKER_SESSION_H_

#include "cluster/task.h"
#include "formats/generated/worker_service.h"
#include "master/master.h"

typedef struct leat_worker_session_s leat_worker_session_t;
typedef struct leat_worker_graph_s leat_worker_graph_t;

// Makes the session that the request names, for the master that it names. A second call with the
// same handle has no effect.
LEAT_MUST_USE leat_status_t leat_worker_session_create(
    leat_task_t* task, const leat_pb_create_worker_session_request_t* request);
// Ends the steps and frees the graphs of a session, if there is one. |reason| is told.
void leat_worker_session_delete(leat_task_t* task, leat_string_view_t handle,
                                const char* reason);
// Finds a session, which is retained. ABORTED where there is none (any more): the task may have
// been restarted since the session was made.
LEAT_MUST_USE leat_status_t leat_worker_session_find(leat_task_t* task, leat_string_view_t handle,
                                                     leat_worker_session_t** out_session);
void leat_worker_session_release(leat_worker_session_t* session);  // NULL is allowed

// Compiles a graph and gives it a handle. INVALID_ARGUMENT where a node has no device of this task,
// ABORTED where the session was deleted meanwhile, and what importing and compiling say.
LEAT_MUST_USE leat_status_t leat_worker_session_register(
    leat_worker_session_t* session, const leat_pb_register_graph_request_t* request,
    leat_arena_t* arena, leat_string_view_t* out_handle);
// Forgets a graph; steps that run on go to their end. ABORTED where there is none.
LEAT_MUST_USE leat_status_t leat_worker_session_deregister(leat_worker_session_t* session,
                                                           leat_string_view_t handle);
// Finds a graph, which is retained. ABORTED where there is none.
LEAT_MUST_USE leat_status_t leat_worker_session_find_graph(leat_worker_session_t* session,
                                                           leat_string_view_t handle,
                                                           leat_worker_graph_t** out_graph);
void leat_worker_graph_release(leat_worker_graph_t* graph);  // NULL is allowed
leat_compiled_t* leat_worker_graph_compiled(const leat_worker_graph_t* graph);
// A run of the graph begins, or ends with |status| (borrowed) after it began at |begin_ns|. Its
// session is in use meanwhile.
void leat_worker_graph_begin_run(leat_worker_graph_t* graph);
void leat_worker_graph_end_run(leat_worker_graph_t* graph, int64_t begin_ns, leat_status_t status);

// A session of this process over the devices of |task| alone, and its graph, which is empty; the
// caller releases both.
LEAT_MUST_USE leat_status_t leat_task_open_session(leat_task_t* task,
                                                   const leat_session_options_t* options,
                                                   leat_shared_graph_t** out_graph,
                                                   leat_session_t** out_session);

// Forgets a step in all sessions: the values that nobody received, and its containers.
void leat_worker_sessions_cleanup(leat_task_t* task, int64_t step_id);
// Deletes the sessions whose master is gone. A master whose session has not been used for some
// heartbeats is asked whether it is still the process that made the session. If it is another one,
// the session is deleted, and if nobody answers, it is deleted when the task's patience is over.
void leat_worker_sessions_collect(leat_task_t* task, int64_t now_ns);
// How many sessions there are, and how many graphs in them.
size_t leat_worker_sessions_count(leat_task_t* task, size_t* out_graph_count);
// Ends the steps of all sessions with CANCELLED.
void leat_worker_sessions_abort(leat_task_t* task);
// Frees all sessions; no step may be running.
void leat_worker_sessions_free(leat_task_t* task);

#endif  // LEAT_CLUSTER_WORKER_SESSION_H_
