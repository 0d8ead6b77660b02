// On what it depends whether and when a node's value comes, besides the time that computing takes:
// the branches of control flow that it lies behind, and nodes that wait for something which no edge
// shows (a dequeue, a call). Nodes with equal conditions come together or not at all (section 4.4).
#ifndef LEAT_OPTIMIZE_CONDITIONS_H_
#define LEAT_OPTIMIZE_CONDITIONS_H_

#include "optimize/pass.h"

// Sorted. Where a set grows too large the node stands for it alone: two sets that are equal as
// written are equal, but not the other way round.
typedef struct leat_condition_set_s {
  int32_t count;
  const uint64_t* items;
} leat_condition_set_t;
bool leat_condition_set_equal(leat_condition_set_t a, leat_condition_set_t b);

typedef struct leat_conditions_s {
  const leat_graph_t* graph;
  const leat_pass_options_t* options;
  leat_arena_t* arena;
  leat_condition_set_t* sets;  // by node
  size_t capacity;
} leat_conditions_t;

// The conditions of all nodes, in |arena|. |order| as by leat_graph_sort; nodes have devices, and
// |options| have find_kernel.
LEAT_MUST_USE leat_status_t leat_conditions_find(const leat_graph_t* graph,
                                                 const leat_pass_options_t* options,
                                                 const int32_t* order, leat_arena_t* arena,
                                                 leat_conditions_t* out_conditions);
// Adds those of |node|, which was added to the graph behind all that have theirs.
LEAT_MUST_USE leat_status_t leat_conditions_extend(leat_conditions_t* conditions, int32_t node);

#endif  // LEAT_OPTIMIZE_CONDITIONS_H_
