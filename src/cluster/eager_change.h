// Puts a ServerDef in force for an eager client: which tasks its cluster has from now on, and what
// each of them is told (eager_change.c).
#ifndef LEAT_CLUSTER_EAGER_CHANGE_H_
#define LEAT_CLUSTER_EAGER_CHANGE_H_

#include "cluster/eager_peer.h"
#include "formats/generated/server.h"

// A ServerDef that is being put in force.
typedef struct leat_eager_change_s {
  leat_eager_cluster_t* cluster;
  const leat_eager_cluster_options_t* options;
  leat_arena_t arena;
  leat_pb_server_def_t server_def;
  leat_task_t* task;        // this process's, by its name in the new cluster
  int64_t deadline_ns;
  uint64_t view_id;         // of the contexts afterwards
  // Set by leat_eager_change_run.
  leat_eager_peer_t** peers;  // of the new cluster, in its order
  bool* is_new;               // which of them get a context
  int peer_count;
  leat_pb_device_attributes_list_t devices;  // of all tasks
} leat_eager_change_t;

// Makes the contexts on new tasks, tells the others, and closes those on former tasks. Where a new
// task fails, the cluster stays as it was.
LEAT_MUST_USE leat_status_t leat_eager_change_run(leat_eager_change_t* change);

// Copies descriptions of devices of the task |task_name| into |arena|. Their names become those of
// the client's cluster: the task may have been started in another one.
LEAT_MUST_USE leat_status_t leat_eager_devices_copy(const leat_pb_device_attributes_list_t* list,
                                                    leat_string_view_t task_name,
                                                    leat_arena_t* arena,
                                                    leat_eager_device_t** out_devices);
// Sends the same queue to all |peers| [count].
LEAT_MUST_USE leat_status_t leat_eager_enqueue_all(leat_eager_cluster_t* cluster,
                                                   leat_eager_peer_t* const* peers, int count,
                                                   leat_pb_queue_item_list_t items,
                                                   int64_t deadline_ns);
// Closes the contexts on |peers| [count]; a task that is gone has none to close.
void leat_eager_contexts_close_all(leat_eager_cluster_t* cluster, leat_eager_peer_t* const* peers,
                                   int count, uint64_t view_id);

#endif  // LEAT_CLUSTER_EAGER_CHANGE_H_
