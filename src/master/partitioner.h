// Cuts a placed graph into one graph for each device (section 3.2.2). An edge that crosses devices
// becomes a Send and a Recv, one pair for each tensor and destination device, however many nodes
// read it there; a control edge sends an empty tensor. After that the workers synchronize by these
// transfers alone, and the master takes no part in a step:
//
//   before   A: x ─┬─▶ y     (y, z on B)       after   A: x ─▶ _Send     B: _Recv ─┬─▶ y
//                  └─▶ z                                                           └─▶ z
#ifndef LEAT_MASTER_PARTITIONER_H_
#define LEAT_MASTER_PARTITIONER_H_

#include "graph/graph.h"
#include "master/placer.h"

// The graph of one device. The caller owns it until it moves |graph| out (and leaves NULL).
typedef struct leat_partition_s {
  int device;               // index in the placement's device list
  leat_graph_t* graph;
  leat_output_t* fetches;   // the fetches that are taken here, as outputs of |graph|
  int* fetch_indices;       // [fetch_count]: their places in the list of the whole graph
  int fetch_count;
  int* feed_indices;        // places in the whole's feeds of the ARGUMENT nodes here; the nodes'
  int feed_count;           // "index" attributes are renumbered 0, 1, ...
} leat_partition_t;

typedef struct leat_partitions_s {
  leat_partition_t* items;
  int count;
  uint32_t transfer_count;  // Sends that the partitioner added; they are numbered 0, 1, ...
} leat_partitions_t;

// |incarnations| [device_count] go into the rendezvous keys. Where all nodes lie on one device that
// the host can read, the graph itself becomes the only partition (|*inout_graph| becomes NULL),
// without any Send. Otherwise the graph stays the caller's, with the control loops of
// loop_control.h added.
LEAT_MUST_USE leat_status_t leat_partition(leat_graph_t** inout_graph, const leat_output_t* fetches,
                                           int fetch_count,
                                           const leat_placer_options_t* placement,
                                           const uint64_t* incarnations,
                                           leat_partitions_t* out_partitions);
// Frees the graphs that were not moved out, and the lists.
void leat_partitions_free(leat_partitions_t* partitions);

#endif  // LEAT_MASTER_PARTITIONER_H_
