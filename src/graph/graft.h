// The nodes of one graph in another, under a prefix: how the parts of a loop that are built in
// graphs of their own come together.
#ifndef LEAT_GRAPH_GRAFT_H_
#define LEAT_GRAPH_GRAFT_H_

#include "graph/graph.h"

typedef struct leat_graft_s {
  const leat_graph_t* from;
  leat_string_view_t prefix;          // before names: "loop/body/"
  const leat_output_t* inputs;        // of |from|, of nodes with one output: these stay behind,
  const leat_output_t* replacements;  // and these of the other graph stand for them
  int input_count;
  int32_t control;  // of the other graph: what waits for no grafted node waits for it; -1: nothing
} leat_graft_t;

// |out_nodes| [from->node_count]: where each node went, -1 for the inputs'. Everything is copied,
// functions too; shapes are inferred anew. On failure some nodes may have been added.
LEAT_MUST_USE leat_status_t leat_graft_add(leat_graph_t* graph, const leat_graft_t* graft,
                                           int32_t* out_nodes);
// What |output| of |graft->from| is in the other graph.
leat_output_t leat_graft_output(const leat_graft_t* graft, const int32_t* nodes,
                                leat_output_t output);

#endif  // LEAT_GRAPH_GRAFT_H_
