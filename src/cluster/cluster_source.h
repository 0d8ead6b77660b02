// Where a process finds which cluster it belongs to, and which task of it it is. Whatever starts
// processes has a way of its own to tell them: TensorFlow's programs and the operators for
// Kubernetes set TF_CONFIG, Slurm and MPI number the processes, a StatefulSet names its pods. Here
// each of these becomes the same ClusterDef. include/leat/cluster.h (leat_cluster_resolve) has the
// grammar of sources; the program leat and the Python package come through it.
#ifndef LEAT_CLUSTER_CLUSTER_SOURCE_H_
#define LEAT_CLUSTER_CLUSTER_SOURCE_H_

#include "base/arena.h"
#include "base/string_builder.h"
#include "formats/generated/cluster.h"

// More tasks than that are taken for a mistake in a source.
#define LEAT_CLUSTER_MOST_TASKS 65536

typedef struct leat_cluster_place_s {
  leat_arena_t arena;  // of what follows
  leat_pb_cluster_def_t cluster;
  leat_string_view_t job;  // "" where the source does not say which task this process is
  int index;
} leat_cluster_place_t;

// Reads the source. INVALID_ARGUMENT, naming the source, the variable or the file, the value and
// the rule, where it says something else than it must; NOT_FOUND where this process was told
// nothing by it; DEADLINE_EXCEEDED where other processes did not come to an exchange of addresses,
// for which it blocks; codes of the file system. Addresses are taken as they are. To be
// deinitialized after a success.
LEAT_MUST_USE leat_status_t leat_cluster_place_initialize(leat_string_view_t source,
                                                          leat_cluster_place_t* out_place);
void leat_cluster_place_deinitialize(leat_cluster_place_t* place);
// Appends the cluster, and the task unless |job| is empty, as TF_CONFIG has them.
void leat_cluster_print_config(const leat_pb_cluster_def_t* cluster, leat_string_view_t job,
                               int index, leat_string_builder_t* out);

#endif  // LEAT_CLUSTER_CLUSTER_SOURCE_H_
