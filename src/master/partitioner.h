// Cuts a placed graph into one graph a device (section 3.2.2). An edge that crosses becomes a Send
// and a Recv, one pair for each (tensor, destination device); a control edge sends a dummy.
#ifndef LEAT_MASTER_PARTITIONER_H_
#define LEAT_MASTER_PARTITIONER_H_

#include "graph/graph.h"
#include "master/placer.h"

typedef struct leat_partition_s {
  int device;               // index in the placement's device list
  leat_graph_t* graph;
  leat_output_t* fetches;   // those of the whole that lie here, in |graph|
  int* fetch_indices;       // their places in the whole's list
  int fetch_count;
  int* feed_indices;        // places in the whole's feeds of the ARGUMENT nodes here; the nodes'
  int feed_count;           // "index" attributes are renumbered 0, 1, ...
} leat_partition_t;

typedef struct leat_partitions_s {
  leat_partition_t* items;
  int count;
} leat_partitions_t;

// |incarnations| [device_count] go into the rendezvous keys. One device: the graph itself is handed
// through (|*inout_graph| becomes NULL), with no Send.
LEAT_MUST_USE leat_status_t leat_partition(leat_graph_t** inout_graph, const leat_output_t* fetches,
                                           int fetch_count,
                                           const leat_placer_options_t* placement,
                                           const uint64_t* incarnations,
                                           leat_partitions_t* out_partitions);
void leat_partitions_free(leat_partitions_t* partitions);

#endif  // LEAT_MASTER_PARTITIONER_H_
