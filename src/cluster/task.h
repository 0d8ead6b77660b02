// A task of a cluster: its devices, the state that its sessions share, the steps that run here, and
// the ways to the other tasks. This header has what the two services of the task need of it; they
// are worker_methods.c, by which masters and other workers use this task's devices, and
// master_methods.c, by which clients use the whole cluster. leat_server_t (server.h) listens on the
// task's address and owns the task. For a client that names the tasks of the cluster otherwise
// there is a second leat_task_t, whose |root| is the task that listens.
//
//   client ──▶ MasterService ──▶ session over all tasks ──▶ WorkerService of each task
//                                                     └──▶ this task's worker, by direct calls
#ifndef LEAT_CLUSTER_TASK_H_
#define LEAT_CLUSTER_TASK_H_

#include "base/map.h"
#include "base/sync.h"
#include "cluster/cluster_spec.h"
#include "cluster/collective_wire.h"
#include "cluster/event.h"
#include "cluster/heartbeat.h"
#include "cluster/metrics.h"
#include "cluster/rendezvous_table.h"
#include "cluster/rpc.h"
#include "formats/generated/device_attributes.h"
#include "session/session.h"

// When a task gives up on others. A time of 0 or less: never.
typedef struct leat_task_patience_s {
  int64_t heartbeat_ms;    // between two heartbeats (heartbeat.h)
  int64_t session_ms;      // how long nobody uses a session before it is closed
  int64_t partial_run_ms;  // how long nobody goes on with a partial run before it is ended
} leat_task_patience_t;
#define LEAT_HEARTBEAT_DEFAULT_MS 5000
#define LEAT_SESSION_PATIENCE_DEFAULT_MS (INT64_C(24) * 3600 * 1000)
#define LEAT_PARTIAL_RUN_PATIENCE_DEFAULT_MS (INT64_C(3600) * 1000)

// Numbers of requests that were served, so that one which comes twice is refused: TensorFlow's
// transport may send a request again although it was served.
typedef struct leat_recent_requests_s {
  leat_mutex_t mutex;
  leat_word_map_t ids;
  uint64_t* ring;  // the last ones, oldest at |next|
  size_t next;
} leat_recent_requests_t;

// A recording of the process that another machine asked for (diagnosis_methods.c).
typedef struct leat_task_recording_s {
  leat_mutex_t mutex;
  bool is_under_way;  // and began here
  char* bytes;        // a section of a file, which is being read
  size_t size;
  int64_t asked_ns;   // when the task was last asked for its time, or for anything of this
} leat_task_recording_t;

// A client may name the tasks of a cluster otherwise for its session (ConfigProto.cluster_def, in
// TensorFlow "ClusterSpec propagation"). The task then is a second leat_task_t with the names and
// addresses of that other cluster, which has devices of its own names and ways of its own to the
// other tasks. All else belongs to the task that listens, its |root|: calls, sessions, the
// rendezvous, whose steps know which of the two they are of, figures and events. It lives as long
// as the root.
typedef struct leat_task_s {
  struct leat_task_s* root;     // itself, where it is the task that listens
  struct leat_task_s* renamed;  // of the root: a list, guarded by its mutex
  struct leat_task_s* next_renamed;
  leat_string_view_t cluster;   // of a renamed one: the ClusterDef, encoded; in |spec|'s arena
  leat_rendezvous_view_t view;  // of a renamed one
  leat_allocator_t* allocator;
  const leat_runtime_t* runtime;
  leat_cluster_spec_t spec;
  int number;                         // in |spec|
  leat_session_options_t options;     // of the server: how many devices and threads
  leat_rpc_security_t security;       // the texts are the server's
  leat_thread_pool_t* pool;
  leat_device_t** devices;
  int device_count;
  leat_resource_manager_t** resources;  // one a device: of all sessions that are not isolated
  leat_rendezvous_table_t* rendezvous;
  leat_task_collectives_t* collectives;  // the root's
  leat_fetcher_t fetcher;             // asks the other tasks for values
  leat_plane_t* plane;                // of the root; NULL: values go by gRPC alone
  leat_recent_requests_t requests;
  leat_task_patience_t patience;
  leat_heartbeat_t* heartbeat;        // watches calls to the other tasks
  leat_task_metrics_t metrics;
  leat_task_recording_t recording;    // of the root
  leat_task_observer_t observer;      // set before the task is started; NULL: there is none
  void* observer_data;
  _Atomic(int64_t) refusals_told_ns;  // when a refused call was told of last
  _Atomic(int64_t) refusals_untold;
  leat_mutex_t mutex;                 // guards what follows
  leat_rpc_channel_t** channels;      // by task; NULL until they are first used
  struct leat_worker_session_s* worker_sessions;  // a list
  uint64_t last_serial;               // of a worker's session
  struct leat_master_session_s* master_sessions;  // a list
  struct leat_worker_run_s* partial_runs;         // a list (worker_run.c)
  struct leat_eager_context_s* eager_contexts;    // a list
  int running;                        // graphs that RunGraph started, and aborts of them
  leat_condition_t changed;           // |running| is 0
} leat_task_t;

typedef struct leat_task_options_s {
  const leat_runtime_t* runtime;
  const leat_pb_cluster_def_t* cluster;
  leat_string_view_t job;
  int index;
  leat_session_options_t session;     // cpu_device_count and the numbers of threads count
  leat_string_view_t collective_leader;  // the task that forms groups, "": each for itself
  leat_rpc_security_t security;       // borrowed for the life of the task
  leat_task_patience_t patience;
  leat_task_t* root;                  // of a task that is renamed; else NULL
} leat_task_options_t;

// The task |root| as task |index| of |job| in another cluster. Made where there is none yet.
// INVALID_ARGUMENT where the cluster has no such task.
LEAT_MUST_USE leat_status_t leat_task_rename(leat_task_t* root,
                                             const leat_pb_cluster_def_t* cluster,
                                             leat_string_view_t job, int index,
                                             leat_task_t** out_task);
// Whether the task, or one of its other names, has the device with this name and incarnation.
// |*out_is_named| says whether it has one with the name.
bool leat_task_has_device(leat_task_t* task, leat_string_view_t name, uint64_t incarnation,
                          bool* out_is_named);

// Makes the task's devices and opens no connection. INVALID_ARGUMENT where the cluster has no such
// task.
LEAT_MUST_USE leat_status_t leat_task_create(const leat_task_options_t* options,
                                             leat_task_t** out_task);
// Ends all sessions and steps. No call may be served any more. NULL is allowed.
void leat_task_free(leat_task_t* task);
// Ends the steps and the sessions' runs with CANCELLED, so that the calls that wait for them end.
void leat_task_abort(leat_task_t* task);

// Begins to watch the other tasks, and to give up what nobody uses. A second call has no effect.
LEAT_MUST_USE leat_status_t leat_task_start(leat_task_t* task);

// Tells the operator of an event. Not with a mutex held.
void leat_task_tell(const leat_task_t* task, const leat_task_event_t* event);
// Counts a call that could not be served at all, and tells of it: once a second at most, since
// anybody can make such calls. |status| is borrowed.
void leat_task_note_refusal(leat_task_t* task, leat_string_view_t peer, leat_status_t status);

// |status| (taken) as what the task |name| said; OK stays OK.
LEAT_MUST_USE leat_status_t leat_task_told_by(leat_string_view_t name, leat_status_t status);
// The channel to task |number| of the cluster; borrowed.
LEAT_MUST_USE leat_status_t leat_task_channel(leat_task_t* task, int number,
                                              leat_rpc_channel_t** out_channel);
// This task's own worker for a session, as its target. The session's state lies in the resources
// that |options| name; where they name none it is the task's or, with |isolate_state|, its own, and
// ends with it.
LEAT_MUST_USE leat_status_t leat_task_open_target(leat_task_t* task,
                                                  const leat_session_options_t* options,
                                                  leat_target_t* out_target);
// How a task says, in the description of its devices, that it ends steps where it may
// (RunGraphRequest.may_end_step). A master sends that field to no other task, since one that is not
// Leat's may refuse a field that it does not know.
#define LEAT_TASK_DESCRIPTION "leat: ends steps"
// Describes the task's devices, for GetStatus and ListDevices. The message lies in |arena|.
LEAT_MUST_USE leat_status_t leat_task_describe_devices(
    const leat_task_t* task, leat_arena_t* arena, leat_pb_device_attributes_list_t* out_list);
// Ends a recording that began at this task and drops it, and what is left of the last one. With its
// mutex held.
void leat_task_drop_recording(leat_task_t* task);
// Drops it where nobody has asked the task for anything for twelve heartbeats: who records relates
// the clocks all the time, and so has died.
void leat_task_collect_recording(leat_task_t* task, int64_t now_ns);
// Empties a container of the state that sessions share; "" is the default one.
void leat_task_clear_container(leat_task_t* task, leat_string_view_t container);
// Notes the number of a request. ABORTED where it came before; 0 is not noted. |what| names the
// method in the message.
LEAT_MUST_USE leat_status_t leat_task_note_request(leat_task_t* task, int64_t request_id,
                                                   const char* what);
// A random number that is not 0 and has |bits| bits at most, for handles, steps and requests.
int64_t leat_task_draw(int bits);

#endif  // LEAT_CLUSTER_TASK_H_
