// The cost model of section 3.2.1, by which the placer simulates a step: how much work a node is,
// how large its outputs are, how long a device takes for that work and a link for those bytes. Work
// and sizes are measured in earlier steps where there are measurements (leat_costs_t) and otherwise
// estimated from shapes, by the rule in the op's row (row->cost). Only comparisons between
// placements matter, so the estimates are rough. The functions are pure but for the lock of
// |costs|, and any thread may call them while the graph does not change.
#ifndef LEAT_GRAPH_COST_COST_H_
#define LEAT_GRAPH_COST_COST_H_

#include "base/arena.h"
#include "base/speed.h"
#include "graph/graph.h"
#include "tensor/shape.h"

// ---- Measured costs -----------------------------------------------------------------------------

// Measurements of earlier steps, by node (costs.c). A session adds the statistics of a step; later
// placements read them. Thread-safe: one mutex guards a table, and nothing blocks for long. Nodes
// are known by name, so measurements outlive the graph that made them.
struct leat_pb_step_stats_s;
typedef struct leat_costs_s leat_costs_t;  // reference counted
// An empty table with one reference. What it has not measured itself it takes from |base|, which is
// retained and may be NULL (leat_costs_time and leat_costs_size only).
LEAT_MUST_USE leat_status_t leat_costs_create(leat_allocator_t* allocator, leat_costs_t* base,
                                              leat_costs_t** out_costs);
// References may be taken and given up on any thread. The last release frees the table and gives up
// the base.
void leat_costs_retain(leat_costs_t* costs);   // NULL is allowed
void leat_costs_release(leat_costs_t* costs);
// Adds all nodes of a step (RunMetadata.step_stats). The time of a node is the sum over its runs in
// the step (a loop's body runs once an iteration), the size of an output the largest of them. The
// first step sets what is kept; each later one moves it by a quarter of the difference, so that one
// slow step does not decide.
LEAT_MUST_USE leat_status_t leat_costs_add_step(leat_costs_t* costs,
                                                const struct leat_pb_step_stats_s* stats);

// The time of |node| on devices of |device_type|, and the size of its output |output|; false when
// nobody measured it. |costs| may be NULL.
bool leat_costs_time(leat_costs_t* costs, leat_string_view_t node,
                     leat_string_view_t device_type, int64_t* out_ns);
bool leat_costs_size(leat_costs_t* costs, leat_string_view_t node, int output,
                     int64_t* out_bytes);

// The largest value of an output and the longest time in any step, as TensorFlow's CostGraphDef
// reports them; 0 and an unknown shape where nothing was measured. The base table is not asked.
typedef struct leat_costs_value_s {
  int64_t bytes;
  int dtype;
  leat_partial_shape_t shape;  // lies in the arena that the caller gave
} leat_costs_value_t;
int64_t leat_costs_most_ns(leat_costs_t* costs, leat_string_view_t node,
                           leat_string_view_t device_type);
LEAT_MUST_USE leat_status_t leat_costs_largest(leat_costs_t* costs, leat_string_view_t node,
                                               int output, leat_arena_t* arena,
                                               leat_costs_value_t* out_value);

// ---- The model: measured where it was, estimated elsewhere --------------------------------------

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
