// Measurements of earlier steps, by node: the half of section 3.2.1's cost model that is measured
// rather than estimated. A session adds the statistics of a step; later placements read them
// through graph/cost/cost.h. Thread-safe: one mutex guards a table, and nothing blocks for long.
// Nodes are known by name, so measurements outlive the graph that made them.
#ifndef LEAT_GRAPH_COST_COSTS_H_
#define LEAT_GRAPH_COST_COSTS_H_

#include "base/arena.h"
#include "tensor/shape.h"

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

#endif  // LEAT_GRAPH_COST_COSTS_H_
