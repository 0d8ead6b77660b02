// A graph without calls: what a signature runs (section 10). The nodes of every function that it
// calls stand in the graph itself, so that the passes see across calls and the placer places each.
#ifndef LEAT_FUNCTION_INLINE_H_
#define LEAT_FUNCTION_INLINE_H_

#include "graph/node_map.h"

typedef struct leat_inlined_s {
  leat_graph_t* graph;    // NULL: there was no call, nothing was made
  leat_node_map_t map;    // from the old graph; lies in the new one's arena
  const int32_t* effects;  // nodes that must run, as the calls they come from did
  int effect_count;
} leat_inlined_t;

// Calls that stay (recursion; branches that do not ask to be lowered) run through the function
// runtime. The caller owns |out_inlined->graph|.
LEAT_MUST_USE leat_status_t leat_function_inline(const leat_graph_t* graph,
                                                 leat_inlined_t* out_inlined);

#endif  // LEAT_FUNCTION_INLINE_H_
