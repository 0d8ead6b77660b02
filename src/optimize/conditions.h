// The conditions of a node: what decides whether its value is alive, and when it appears, apart
// from the time that computing takes. These are the branches of control flow behind which the node
// lies (section 4.4 of the white paper), and the nodes before it that wait for something which no
// edge shows (a dequeue, a call). Two nodes with equal conditions appear together or not at all, so
// a pass may merge them without making a dead value alive or a prompt value late.
#ifndef LEAT_OPTIMIZE_CONDITIONS_H_
#define LEAT_OPTIMIZE_CONDITIONS_H_

#include "optimize/pass.h"

// A sorted set of conditions. Where a set grows too large it holds only the node itself; so two
// sets with equal items are equal conditions, but nodes with equal conditions may have different
// sets.
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

// Finds the conditions of all nodes; the sets lie in |arena|. |order| is a topological order, as
// leat_graph_sort makes it. All nodes must have devices, and |options| must have find_kernel.
LEAT_MUST_USE leat_status_t leat_conditions_find(const leat_graph_t* graph,
                                                 const leat_pass_options_t* options,
                                                 const int32_t* order, leat_arena_t* arena,
                                                 leat_conditions_t* out_conditions);
// Finds the conditions of |node|, which was added to the graph after leat_conditions_find.
LEAT_MUST_USE leat_status_t leat_conditions_extend(leat_conditions_t* conditions, int32_t node);

#endif  // LEAT_OPTIMIZE_CONDITIONS_H_
