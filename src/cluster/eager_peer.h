// Another task of an eager client's cluster, on which the client has a context (eager_remote.h):
// the calls to it, and the tensors that live there.
#ifndef LEAT_CLUSTER_EAGER_PEER_H_
#define LEAT_CLUSTER_EAGER_PEER_H_

#include "base/thread.h"
#include "cluster/client_call.h"
#include "cluster/eager_remote.h"
#include "cluster/server.h"
#include "cluster/task.h"
#include "formats/generated/eager_service.h"

typedef struct leat_eager_device_s {
  char* name;  // "/job:worker/replica:0/task:1/device:CPU:0"
  leat_placement_device_t description;  // its texts are in the peer's arena
} leat_eager_device_t;

// An output that is to be let go of.
typedef struct leat_eager_drop_s {
  int64_t op_id;
  int32_t output;
} leat_eager_drop_t;

// A task; it lives as long as the cluster, also when it was taken out of it.
typedef struct leat_eager_peer_s {
  struct leat_eager_peer_s* next;  // in the cluster's list of all that there ever were
  leat_eager_cluster_t* cluster;
  leat_arena_t arena;              // of what follows
  leat_cluster_task_t task;
  leat_eager_device_t* devices;
  int device_count;
  leat_rpc_channel_t* channel;     // of the cluster's task
  leat_mutex_t mutex;              // guards what follows
  leat_eager_drop_t* drops;        // not yet sent
  size_t drop_count, drop_capacity;
  bool is_dropping;                // a call with such is under way
  bool is_gone;                    // its context is closed: there is nothing to let go of
} leat_eager_peer_t;

struct leat_eager_cluster_s {
  leat_reference_count_t references;
  leat_allocator_t* allocator;
  leat_eager_home_t home;
  leat_server_t* server;
  leat_task_t* root;       // the server's task
  int own_device_count;
  leat_eager_device_t* own_devices;
  leat_arena_t arena;      // of |own_devices|
  uint64_t context_id;
  _Atomic(int64_t) last_op_id;
  leat_client_calls_t calls;  // of ops
  leat_thread_t thread;       // says that the client is there
  bool has_thread;
  leat_mutex_t change;        // held while tasks or functions change; taken before |mutex|
  leat_mutex_t mutex;         // guards what follows
  leat_condition_t changed;   // for |thread|: another time, or the end
  leat_condition_t unused;    // it is closed, and |users| is 0
  leat_eager_peer_t* all;     // a list
  leat_eager_peer_t** peers;  // those that there are now, in the order of the cluster
  int peer_count;
  leat_task_t* task;          // |root| by its name in the present cluster
  leat_eager_spans_t* spans;  // over |task| and others; NULL: the cluster is closed
  uint64_t view_id;
  int keep_alive_secs;
  bool is_async;
  int users;                  // threads in a call of the cluster
  bool is_closed;
};

// Begins a use of the cluster, which then is not closed before the end of it. FAILED_PRECONDITION
// where it is closed.
LEAT_MUST_USE leat_status_t leat_eager_cluster_enter(leat_eager_cluster_t* cluster);
void leat_eager_cluster_leave(leat_eager_cluster_t* cluster);

// Calls on many tasks at once, for which their maker waits.
typedef struct leat_eager_round_s {
  leat_eager_cluster_t* cluster;
  const char* method;  // "/tensorflow.eager.EagerService/CreateContext"
  const leat_message_descriptor_t* descriptor;
  int64_t deadline_ns;
  bool waits;  // for tasks that are not up
} leat_eager_round_t;
// Calls each of |peers| [count] with the struct of the descriptor that |make| gives for it, in
// |arena|, and gives what the first says that fails, when all have answered.
LEAT_MUST_USE leat_status_t leat_eager_round_run(
    const leat_eager_round_t* round, leat_eager_peer_t* const* peers, int count,
    leat_status_t (*make)(void* data, const leat_eager_peer_t* peer, leat_arena_t* arena,
                          const void** out_message),
    void* data);

// Has |peer| let go of what has no reference here any more. Never blocks.
void leat_eager_peer_drop(leat_eager_peer_t* peer, int64_t op_id, int32_t output);
void leat_eager_peer_free(leat_eager_peer_t* peer);

#endif  // LEAT_CLUSTER_EAGER_PEER_H_
