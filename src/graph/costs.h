// What earlier steps took, by node (section 3.2.1: a cost model "measured based on previous
// executions"). Thread-safe: steps add while placements read.
#ifndef LEAT_GRAPH_COSTS_H_
#define LEAT_GRAPH_COSTS_H_

#include "base/arena.h"
#include "tensor/shape.h"

struct leat_pb_step_stats_s;

typedef struct leat_costs_s leat_costs_t;  // reference counted
// What |base| (may be NULL; retained) knows counts until it is measured here.
LEAT_MUST_USE leat_status_t leat_costs_create(leat_allocator_t* allocator, leat_costs_t* base,
                                              leat_costs_t** out_costs);
void leat_costs_retain(leat_costs_t* costs);   // NULL is allowed
void leat_costs_release(leat_costs_t* costs);
// All nodes of a step (RunMetadata.step_stats). A node's time is that of all its runs (of a loop's
// body, each iteration), its outputs' size the largest. Each further step moves what is kept by a
// quarter of the difference.
LEAT_MUST_USE leat_status_t leat_costs_add_step(leat_costs_t* costs,
                                                const struct leat_pb_step_stats_s* stats);

// False: not measured on that type of device. |costs| may be NULL.
bool leat_costs_time(leat_costs_t* costs, leat_string_view_t node,
                     leat_string_view_t device_type, int64_t* out_ns);
bool leat_costs_size(leat_costs_t* costs, leat_string_view_t node, int output,
                     int64_t* out_bytes);

// The most of all steps, as TensorFlow's cost model tells it; 0 where nothing was measured.
typedef struct leat_costs_value_s {
  int64_t bytes;
  int dtype;
  leat_partial_shape_t shape;  // in the arena given
} leat_costs_value_t;
int64_t leat_costs_most_ns(leat_costs_t* costs, leat_string_view_t node,
                           leat_string_view_t device_type);
LEAT_MUST_USE leat_status_t leat_costs_largest(leat_costs_t* costs, leat_string_view_t node,
                                               int output, leat_arena_t* arena,
                                               leat_costs_value_t* out_value);

#endif  // LEAT_GRAPH_COSTS_H_
