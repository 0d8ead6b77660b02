// A worker called by its interface alone, for the tests of workers: graphs are those of a scene.
#ifndef LEAT_TESTS_SESSION_WORKER_SCENE_H_
#define LEAT_TESTS_SESSION_WORKER_SCENE_H_

#include "base/sync.h"
#include "cluster/transport.h"
#include "session/scene.h"
#include "worker/worker.h"

#define WORKER_DEVICE "/job:localhost/replica:0/task:0/device:CPU:0"
#define WORKER_OTHER_DEVICE "/job:localhost/replica:0/task:0/device:CPU:1"

typedef struct worker_scene_s {
  scene_t scene;
  leat_thread_pool_t* pool;
  leat_device_t* devices[2];
  leat_worker_t* worker;
  uint32_t transfer_count;  // of the graphs that are registered from now on
} worker_scene_t;

// The local worker, behind |transport| with |rest| unless it is NULL.
void worker_scene_open(worker_scene_t* f, const leat_transport_t* transport, const char* rest);
void worker_scene_close(worker_scene_t* f);

// What |done| brings.
typedef struct outcome_s {
  leat_notification_t done;
  leat_status_t status;
  leat_tensor_t fetched;
} outcome_t;
void outcome_prepare(outcome_t* outcome);
void outcome_note(void* outcome, leat_status_t status);  // a leat_worker_done_fn_t
// Waits for it.
void outcome_expect(outcome_t* outcome, leat_status_code_t code, const char* text);

// Registers a copy of |graph|; one fetch or none.
LEAT_MUST_USE leat_status_t worker_scene_enroll_graph(worker_scene_t* f, const leat_graph_t* graph,
                                                      const char* device,
                                                      const leat_output_t* fetch,
                                                      leat_executor_kind_t executor,
                                                      uint64_t* out_handle);
LEAT_MUST_USE leat_status_t worker_scene_enroll(worker_scene_t* f, const char* device,
                                                const leat_output_t* fetch,
                                                leat_executor_kind_t executor,
                                                uint64_t* out_handle);
void worker_scene_run(worker_scene_t* f, uint64_t handle, int64_t step, outcome_t* outcome);
void worker_scene_abort(worker_scene_t* f, int64_t step, leat_status_code_t code, const char* text);

// An edge between the two devices; attributes of its _Send ("T") and _Recv ("tensor_type").
#define WORKER_EDGE_ATTRS(type)                                                              \
  LEAT_ATTRS(LEAT_TYPE(type, LEAT_DTYPE_FLOAT), LEAT_STR("tensor_name", "edge"),             \
             LEAT_STR("send_device", WORKER_DEVICE), LEAT_INT("send_device_incarnation", 5), \
             LEAT_STR("recv_device", WORKER_OTHER_DEVICE))
#define WORKER_EDGE_KEY LEAT_SV(WORKER_DEVICE ";0000000000000005;" WORKER_OTHER_DEVICE ";edge;0:0")

// Registers a graph with a Send of |value| on one device, and one with a Recv on the other; runs
// both in |step|. The ends have the given names and numbers, which may differ. |out_sent| and
// |out_received| tell how the runs ended.
typedef struct worker_end_s {
  const char* tensor_name;
  int64_t transfer;
} worker_end_t;
void worker_scene_run_ends(worker_scene_t* f, worker_end_t from, worker_end_t to, float value,
                           int64_t step, outcome_t* out_sent, outcome_t* out_received);

typedef struct reception_s {
  outcome_t outcome;
  leat_slot_t slot;
} reception_t;
void worker_scene_receive(worker_scene_t* f, int64_t step, reception_t* reception);

#endif  // LEAT_TESTS_SESSION_WORKER_SCENE_H_
