// What the passes ask of a graph that they rewrite where it is placed, most of them node by node.
#ifndef LEAT_OPTIMIZE_PLACED_H_
#define LEAT_OPTIMIZE_PLACED_H_

#include "optimize/conditions.h"

typedef struct leat_placed_s {
  const leat_pass_options_t* options;
  leat_rewrite_t* rewrite;
  leat_graph_t* graph;
  size_t count;  // of nodes that were there at first: what follows is about those
  int32_t* order;  // those, inputs first
  bool* kept;      // fetched, or a target
  leat_readers_t readers;
  leat_condition_set_t* conditions;
  leat_arena_t* arena;  // ends with the pass
  bool any_changed;     // to be set where a node was replaced
} leat_placed_t;

// Calls |rewrite_graph|, and drops the nodes that nobody needs any more where something changed.
LEAT_MUST_USE leat_status_t leat_placed_rewrite_graph(
    leat_rewrite_t* rewrite, const leat_pass_options_t* options,
    leat_status_t (*rewrite_graph)(leat_placed_t* placed));
// The same, calling |try_node| for each node that is there at first. The first failure ends it.
LEAT_MUST_USE leat_status_t leat_placed_rewrite(leat_rewrite_t* rewrite,
                                                const leat_pass_options_t* options,
                                                leat_status_t (*try_node)(leat_placed_t* placed,
                                                                          int32_t node));

// ---- What nodes wait for ------------------------------------------------------------------------

// The nodes that one is to wait for. In the arena; zeroed: none.
typedef struct leat_waits_s {
  int32_t* nodes;
  int count, room;
} leat_waits_t;
LEAT_MUST_USE leat_status_t leat_waits_add(const leat_placed_t* placed, int32_t node,
                                           leat_waits_t* inout_waits);
// Those that |node| waits for.
LEAT_MUST_USE leat_status_t leat_waits_add_controls(const leat_placed_t* placed, int32_t node,
                                                    leat_waits_t* inout_waits);

// ---- Nodes that go ------------------------------------------------------------------------------

// Does the node give what it reads, and nothing else?
static inline bool leat_node_hands_on(const leat_node_t* node) {
  return node->op->flags & LEAT_OP_PASS_THROUGH && node->output_count == 1;
}

// Does one node read |node|, which was there at first, and nobody need it otherwise? Others may
// wait for what computes.
bool leat_placed_has_one_reader(const leat_placed_t* placed, int32_t node);
// Who waits for |node| waits for |sources| instead, which must not follow from it.
LEAT_MUST_USE leat_status_t leat_placed_move_waiters(leat_placed_t* placed, int32_t node,
                                                     const leat_waits_t* sources);
// The same for all that |node| reads and waits for. It reads no Switch, or nobody waits for it.
LEAT_MUST_USE leat_status_t leat_placed_pass_waiters(leat_placed_t* placed, int32_t node);

#endif  // LEAT_OPTIMIZE_PLACED_H_
