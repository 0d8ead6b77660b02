// leat doctor --cluster: what can be found out about the tasks of a cluster from here.
#ifndef LEAT_TOOLS_DOCTOR_CLUSTER_H_
#define LEAT_TOOLS_DOCTOR_CLUSTER_H_

#include <stdbool.h>

typedef struct doctor_cluster_s {
  const char* cluster;  // "ps=a:1;worker=b:1", or "" for the one in TF_CONFIG
  long load_mb;         // how large the messages are that measure the bandwidth; 0: not measured
  long timeout_s;       // for each way
  bool probes_pairs, as_json;
} doctor_cluster_t;

// Prints the findings. The exit code is that of a failure where a task cannot be reached.
int doctor_cluster(const doctor_cluster_t* options);

#endif  // LEAT_TOOLS_DOCTOR_CLUSTER_H_
