// The cost model of section 3.2.1, by which the placer simulates a step: how much work a node is,
// how large its outputs are, how long a device takes for that work and a link for those bytes. Work
// and sizes are measured in earlier steps where there are measurements (graph/cost/costs.h) and
// otherwise estimated from shapes, by the rule in the op's row (row->cost). Only comparisons
// between placements matter, so the estimates are rough. The functions are pure but for the lock of
// |costs|, and any thread may call them while the graph does not change.
#ifndef LEAT_GRAPH_COST_COST_H_
#define LEAT_GRAPH_COST_COST_H_

#include "base/speed.h"
#include "graph/cost/costs.h"
#include "graph/graph.h"

// The size that is assumed for a dimension that is not known, which mostly is the batch.
#define LEAT_COST_UNKNOWN_DIM 32

// What a node does: floating-point operations, and bytes of its inputs and outputs.
typedef struct leat_work_s {
  double flops;
  double bytes;
} leat_work_t;

// The estimate from shapes; |node| stands in |graph|.
leat_work_t leat_cost_work(const leat_graph_t* graph, const leat_node_t* node);
// The time of |work| on a device of |speed|: the start of a kernel, plus the larger of the time to
// compute and the time to move the bytes.
int64_t leat_cost_time_ns(leat_work_t work, const leat_speed_t* speed);
// How long |bytes| take from one device to the other.
int64_t leat_cost_transfer_ns(int64_t bytes, const leat_speed_t* from,
                              const leat_speed_t* to);
// The way between two devices, for callers that ask about many values.
typedef struct leat_link_s {
  double bytes_per_ns;
  int64_t latency_ns;
} leat_link_t;
// The link between two devices of these speeds, and the time that |bytes| take over it.
leat_link_t leat_cost_link(const leat_speed_t* from, const leat_speed_t* to);
int64_t leat_link_transfer_ns(const leat_link_t* link, int64_t bytes);

// The time of |node| on a device: measured on a device of |device_type| where it was, else
// estimated for |speed|; 0 for nodes that only name, choose or pass on values. |costs| may be NULL.
int64_t leat_cost_node_ns(leat_costs_t* costs, const leat_graph_t* graph,
                          const leat_node_t* node, leat_string_view_t device_type,
                          const leat_speed_t* speed);
// The size of an output, measured or estimated; 0 for a control edge. |costs| may be NULL.
int64_t leat_cost_output_bytes(leat_costs_t* costs, const leat_graph_t* graph,
                               leat_output_t output);

#endif  // LEAT_GRAPH_COST_COST_H_
