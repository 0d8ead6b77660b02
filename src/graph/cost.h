// The cost model of section 3.2.1: how much work a node is and how large its values are, estimated
// from shapes or measured in earlier steps; what a device makes of that work; what it takes to move
// a value. An op's row says which rule its work follows (row->cost).
#ifndef LEAT_GRAPH_COST_H_
#define LEAT_GRAPH_COST_H_

#include "base/arena.h"
#include "base/speed.h"
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

// ---- Measured -----------------------------------------------------------------------------------

struct leat_pb_step_stats_s;

// What earlier steps took, by node; reference counted. Reading while nobody adds is thread-safe.
typedef struct leat_costs_s leat_costs_t;
LEAT_MUST_USE leat_status_t leat_costs_create(leat_allocator_t* allocator,
                                              leat_costs_t** out_costs);
void leat_costs_retain(leat_costs_t* costs);   // NULL is allowed
void leat_costs_release(leat_costs_t* costs);
// One run of a node on a device of |device_type|. Each further run moves what is kept by a quarter
// of the difference.
LEAT_MUST_USE leat_status_t leat_costs_add(leat_costs_t* costs, leat_string_view_t node,
                                           leat_string_view_t device_type, int64_t time_ns);
LEAT_MUST_USE leat_status_t leat_costs_add_size(leat_costs_t* costs, leat_string_view_t node,
                                                int output, int64_t bytes);
// All nodes of a step (RunMetadata.step_stats).
LEAT_MUST_USE leat_status_t leat_costs_add_step(leat_costs_t* costs,
                                                const struct leat_pb_step_stats_s* stats);

// Measured on that type of device where it was, else estimated. |costs| may be NULL.
int64_t leat_cost_node_ns(const leat_costs_t* costs, const leat_graph_t* graph,
                          const leat_node_t* node, leat_string_view_t device_type,
                          const leat_speed_t* speed);
int64_t leat_cost_output_bytes(const leat_costs_t* costs, const leat_graph_t* graph,
                               leat_output_t output);

#endif  // LEAT_GRAPH_COST_H_
