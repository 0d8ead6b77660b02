// Cuts a placed graph into one graph for each device (section 3.2.2), or for each task of a
// cluster, whose worker then cuts its graph once more, by device. An edge that crosses devices
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

// The graph of one device or task. The caller owns it until it moves |graph| out (and leaves NULL).
typedef struct leat_partition_s {
  int device;               // index in the placement's device list; of a task: its first device
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

// One graph for each device. The incarnations of the devices go into the rendezvous keys. Where all
// nodes lie on one device that the host can read, the graph itself becomes the only partition
// (|*inout_graph| becomes NULL), without any Send. Otherwise the graph stays the caller's, with the
// control loops of loop_control.h added.
LEAT_MUST_USE leat_status_t leat_partition(leat_graph_t** inout_graph, const leat_output_t* fetches,
                                           int fetch_count,
                                           const leat_placer_options_t* placement,
                                           leat_partitions_t* out_partitions);
// One graph for each task, of a graph that lies on several. Feeds and fetches are exchanged in the
// graph of task 0, the master's own: what is fed to another task, or fetched from it, goes there by
// a Send like any other value, as TensorFlow's workers expect. So the graph of task 0, if there is
// one, has all ARGUMENT nodes, with their indices unchanged, and all fetches. Each node of the
// graphs has its assigned device, and its name too (leat_node_t.device). Transfers have no numbers.
LEAT_MUST_USE leat_status_t leat_partition_by_task(leat_graph_t* graph,
                                                   const leat_output_t* fetches, int fetch_count,
                                                   const leat_placer_options_t* placement,
                                                   leat_partitions_t* out_partitions);
// Whether a placed graph lies on another task than the master's own.
bool leat_spans_tasks(const leat_graph_t* graph, const leat_placer_options_t* placement);
// Drops the first of the partitions, whose graph has been moved out.
void leat_partitions_remove_first(leat_partitions_t* partitions);
// Frees the graphs that were not moved out, and the lists.
void leat_partitions_free(leat_partitions_t* partitions);

// Which memory a value lies in on a device whose own memory the host cannot read. With the host lie
// the arguments that a kernel's row lists under host_memory, handles and strings; everything else
// lies in the device. The partitioner copies values between the two.

// Whether input or output |index| (flattened) of a placed node lies in host memory. True for every
// value on a device without memory of its own.
bool leat_memory_input_is_host(const leat_placer_options_t* placement, const leat_graph_t* graph,
                               const leat_node_t* node, int index);
bool leat_memory_output_is_host(const leat_placer_options_t* placement, const leat_node_t* node,
                                int index);
// Returns a device whose values the host can read; feeds and fetches are exchanged there.
int leat_memory_host_device(const leat_placer_options_t* placement);

#endif  // LEAT_MASTER_PARTITIONER_H_
