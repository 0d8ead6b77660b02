// Makes a graph without calls from a graph with calls (section 10): the nodes of every function
// that it calls stand in the graph itself, so that the optimizer sees across calls and the placer
// places each node. The master inlines a signature's graph before it optimizes it; what a call "f"
// stands for is named "_f/...".
//
//   x ─▶ f ─▶ y     becomes     x ─▶ nodes of f's body ─▶ y
#ifndef LEAT_FUNCTION_INLINE_H_
#define LEAT_FUNCTION_INLINE_H_

#include "graph/node_map.h"

// The result. By |map| the caller finds feeds and fetches of the old graph in the new one.
typedef struct leat_inlined_s {
  leat_graph_t* graph;     // owned by the caller; NULL: there was no call
  leat_node_map_t map;     // from the old graph; lies in the arena of the new one
  const int32_t* effects;  // nodes that must run if their calls had to
  int effect_count;
} leat_inlined_t;

// Inlines the calls of |graph|, which is not changed and may be freed afterwards. Calls that stay
// (recursion; branches that do not ask to be lowered) run through the function runtime. Fails as
// leat_expander_add_body does, with the function's name; then there is no graph.
LEAT_MUST_USE leat_status_t leat_function_inline(const leat_graph_t* graph,
                                                 leat_inlined_t* out_inlined);

#endif  // LEAT_FUNCTION_INLINE_H_
