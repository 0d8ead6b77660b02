// Two servers in this process for the tests of clusters: "worker", which is the master of all
// sessions, and "ps". They are started through the C API (TF_NewServer) and called by raw messages
// of tensorflow.MasterService and tensorflow.WorkerService, as other programs call them. A test
// that has to stop a server by a signal makes the ps a process of its own (|ps_is_a_process|).
// Graphs are built in an ordinary scene (session/scene.h) that never runs, and are sent to the
// master when a session opens.
#ifndef LEAT_TESTS_CLUSTER_CLUSTER_SCENE_H_
#define LEAT_TESTS_CLUSTER_CLUSTER_SCENE_H_

#include <sys/types.h>

#include "cluster/rpc_scene.h"
#include "formats/generated/master_service.h"
#include "formats/generated/worker_service.h"
#include "leat/cluster.h"
#include "session/scene.h"
#include "tensorflow/c/c_api_server.h"

enum { CLUSTER_WORKER, CLUSTER_PS, CLUSTER_TASKS };

#define CLUSTER_WORKER_CPU "/job:worker/replica:0/task:0/device:CPU:0"
#define CLUSTER_PS_CPU "/job:ps/replica:0/task:0/device:CPU:0"

// How the servers are made; all zero: as by default.
typedef struct cluster_options_s {
  int heartbeat_timeout_ms;  // two heartbeats
  int session_timeout_ms, partial_run_timeout_ms;
  int cpus;                  // devices of each task in this process; 0: one
  bool ps_is_a_process;      // the ps is a `leat server`, which can be stopped by signals
  bool has_leader;           // of collectives: the worker
  const char* protocols[CLUSTER_TASKS];  // NULL: "grpc"
  void (*observe)(void* task, const leat_server_event_t* event);  // |task| points to its number
} cluster_options_t;

typedef struct cluster_scene_s {
  cluster_options_t options;
  pid_t process;  // the ps, where it is one
  TF_Status* status;
  TF_Server* servers[CLUSTER_TASKS];
  leat_rpc_channel_t* channels[CLUSTER_TASKS];
  char addresses[CLUSTER_TASKS][32];
  scene_t scene;  // where graphs are built; nothing runs in it
} cluster_scene_t;

int cluster_scene_set_up(void** state);
int cluster_scene_set_up_with(void** state, const cluster_options_t* options);
int cluster_scene_tear_down(void** state);
// The target of sessions whose master is a task in this process; by the network, as from another
// process, where |by_network|: the name is not the server's own then.
void cluster_scene_target(const cluster_scene_t* cluster, int task, bool by_network,
                          char out_target[64]);
// The bytes of a ServerDef of the cluster, in |out_bytes|, which the caller initializes.
void cluster_scene_describe(const cluster_scene_t* cluster, const char* job, int index,
                            const char* protocol, leat_string_builder_t* out_bytes);

// A node on the first device of a task, in the scene's graph.
leat_output_t cluster_op(cluster_scene_t* cluster, int task, const char* op, const char* name,
                         leat_outputs_t inputs, leat_attrs_t attrs);
// Adds an empty queue on the ps, of which "taken" waits for an element and "put" brings it: "fed".
// "away", on the worker, is the element with the other sign. A second queue tells that a step has
// begun: "begin" puts "fed" into it, "is_begun" waits for that.
void cluster_build_queue(cluster_scene_t* cluster);
// Stops the server of a task.
void cluster_stop(cluster_scene_t* cluster, int task);
// Deletes it, and starts a new one in its place.
void cluster_restart(cluster_scene_t* cluster, int task);
// Kills the ps, where it is a process; one that was killed is started again.
void cluster_kill_ps(cluster_scene_t* cluster);
void cluster_start_ps(cluster_scene_t* cluster);
// Gives a step a moment to reach the place where it waits; nothing depends on it but which path is
// tested.
void cluster_let_wait(void);
// Fails the test where a minute has passed since |begin_ns|, which only what hangs takes.
void cluster_expect_no_hang(int64_t begin_ns);
// Waits until the figure is |at_least|.
void cluster_wait_for_count(_Atomic(uint64_t)* figure, uint64_t at_least);
// The task of a server in this process.
struct leat_task_s* cluster_task(cluster_scene_t* cluster, int task);

// A call and what came of it.
typedef struct cluster_call_s {
  rpc_end_t end;
  leat_rpc_call_t* call;
  leat_arena_t arena;  // of the decoded answer
} cluster_call_t;

// Begins a call of |method| ("/tensorflow.…") at a task; |message| is the struct of |descriptor|.
void cluster_call_start(cluster_scene_t* cluster, int task, const char* method,
                        const leat_message_descriptor_t* descriptor, const void* message,
                        cluster_call_t* out_call);
// Waits for the end and expects |code| and a message that contains |text|. With OK, and a
// |descriptor|, the answer is decoded into |out_answer|, which lives as long as the call.
void cluster_call_expect(cluster_call_t* call, leat_status_code_t code, const char* text,
                         const leat_message_descriptor_t* descriptor, void* out_answer);
void cluster_call_free(cluster_call_t* call);
// All three; for an answer that is not looked at.
void cluster_call(cluster_scene_t* cluster, int task, const char* method,
                  const leat_message_descriptor_t* descriptor, const void* message,
                  leat_status_code_t code, const char* text);

// Opens a session over the scene's graph at the worker task. |out_handle| is NUL-terminated. A ps
// that takes its time on a busy machine may be taken for silent where heartbeats are short; the
// session is opened once more then.
void cluster_session_open(cluster_scene_t* cluster, char out_handle[32]);
void cluster_session_close(cluster_scene_t* cluster, const char* handle);

// A step of a session. Failures are asked for in the answer's body.
typedef struct cluster_step_s {
  cluster_call_t call;
  leat_pb_run_step_response_t response;  // after cluster_step_end
} cluster_step_t;

// Begins to run |target| (NULL: none), or to fetch |fetch|, with |feed| = |value| unless it is
// NULL.
void cluster_step_start(cluster_scene_t* cluster, const char* handle, const char* fetch,
                        const char* target, const char* feed, float value,
                        cluster_step_t* out_step);
// Waits for the end, wherever the failure travels.
leat_status_code_t cluster_step_end(cluster_step_t* step);
// What the failure said.
bool cluster_step_says(const cluster_step_t* step, const char* text);
void cluster_step_free(cluster_step_t* step);
// A step that must end with |code| and, unless it is OK, say |text|. Returns the fetched float.
float cluster_step(cluster_scene_t* cluster, const char* handle, const char* fetch,
                   const char* target, const char* feed, float value, leat_status_code_t code,
                   const char* text);
// Begins a step that fetches "away", for which it waits, and returns when the part of the ps runs.
// The graph is that of cluster_build_queue.
void cluster_start_waiting_step(cluster_scene_t* cluster, const char* handle,
                                cluster_step_t* out_step);

// Adds y = -x on the ps and z = -y on the worker to the scene's graph; x is a placeholder.
void cluster_build_negation(cluster_scene_t* cluster);

// The incarnation of the task's first device, as GetStatus tells it.
uint64_t cluster_incarnation(cluster_scene_t* cluster, int task);

#endif  // LEAT_TESTS_CLUSTER_CLUSTER_SCENE_H_
