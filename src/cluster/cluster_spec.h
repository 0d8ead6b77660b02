// The tasks of a cluster: which jobs there are, and at which address each of their tasks serves
// (ClusterDef). A task is named "/job:ps/replica:0/task:1", and its devices
// "/job:ps/replica:0/task:1/device:CPU:0".
#ifndef LEAT_CLUSTER_CLUSTER_SPEC_H_
#define LEAT_CLUSTER_CLUSTER_SPEC_H_

#include "base/arena.h"
#include "formats/generated/cluster.h"

typedef struct leat_cluster_task_s {
  leat_string_view_t job;
  int index;
  leat_string_view_t name;     // "/job:ps/replica:0/task:1"
  leat_string_view_t address;  // "host:port"
} leat_cluster_task_t;

typedef struct leat_cluster_spec_s {
  leat_arena_t arena;          // of what follows
  leat_cluster_task_t* tasks;  // ordered by job and index
  int task_count;
} leat_cluster_spec_t;

// Reads a ClusterDef, which is copied. INVALID_ARGUMENT, naming the job and the task, where a job
// has no name or one that a device name cannot have, or a task has no port. To be deinitialized
// after a success.
LEAT_MUST_USE leat_status_t leat_cluster_spec_of(const leat_pb_cluster_def_t* cluster,
                                                 leat_allocator_t* allocator,
                                                 leat_cluster_spec_t* out_spec);
void leat_cluster_spec_deinitialize(leat_cluster_spec_t* spec);

// The number of a task; -1 where there is none.
int leat_cluster_spec_find(const leat_cluster_spec_t* spec, leat_string_view_t job, int index);
// The same by the name of the task, "/job:ps/replica:0/task:1".
int leat_cluster_spec_find_name(const leat_cluster_spec_t* spec, leat_string_view_t name);
// The number of the task that has the device with the full name |device|; -1 where there is none.
int leat_cluster_spec_find_device(const leat_cluster_spec_t* spec, leat_string_view_t device);

#endif  // LEAT_CLUSTER_CLUSTER_SPEC_H_
