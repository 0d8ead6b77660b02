// The cost model of section 3.2.1: how much work a node is and how large its values are, estimated
// from shapes or measured in earlier steps; what a device makes of that work; what it takes to move
// a value. An op's row says which rule its work follows (row->cost).
#ifndef LEAT_GRAPH_COST_H_
#define LEAT_GRAPH_COST_H_

#include "base/speed.h"
#include "graph/costs.h"
#include "graph/graph.h"

// Of a dimension that is not known (a batch, mostly).
#define LEAT_COST_UNKNOWN_DIM 32

typedef struct leat_work_s {
  double flops;
  double bytes;  // read and written
} leat_work_t;

leat_work_t leat_cost_work(const leat_graph_t* graph, const leat_node_t* node);
int64_t leat_cost_time_ns(leat_work_t work, const leat_speed_t* speed);
// 0 bytes for a control edge.
int64_t leat_cost_transfer_ns(int64_t bytes, const leat_speed_t* from,
                              const leat_speed_t* to);
// The same for many values on one way.
typedef struct leat_link_s {
  double bytes_per_ns;
  int64_t latency_ns;
} leat_link_t;
leat_link_t leat_cost_link(const leat_speed_t* from, const leat_speed_t* to);
int64_t leat_link_transfer_ns(const leat_link_t* link, int64_t bytes);

// Measured on that type of device where it was, else estimated; 0 for what does no work by its
// nature. |costs| may be NULL.
int64_t leat_cost_node_ns(leat_costs_t* costs, const leat_graph_t* graph,
                          const leat_node_t* node, leat_string_view_t device_type,
                          const leat_speed_t* speed);
int64_t leat_cost_output_bytes(leat_costs_t* costs, const leat_graph_t* graph,
                               leat_output_t output);

#endif  // LEAT_GRAPH_COST_H_
