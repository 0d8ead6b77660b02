// Grafting copies the nodes of one graph into another one, under a prefix. The C API builds the
// condition and the body of a while loop in graphs of their own (capi/graph/while.c), and they are
// grafted into the loop when it is finished.
#ifndef LEAT_GRAPH_FUNCTION_GRAFT_H_
#define LEAT_GRAPH_FUNCTION_GRAFT_H_

#include "graph/graph.h"

// What to copy and how it joins the other graph. Everything is borrowed.
typedef struct leat_graft_s {
  const leat_graph_t* from;
  leat_string_view_t prefix;  // put before the names of the copies: "loop/body/"
  // Output i of |inputs|, whose node has one output, is not copied: what reads it in |from| reads
  // replacements[i] of the other graph instead.
  const leat_output_t* inputs;
  const leat_output_t* replacements;
  int input_count;
  // A node of the other graph for which every copy waits that waits for no other copy; -1: none.
  int32_t control;
} leat_graft_t;

// Copies all nodes of |graft->from| and its functions into |graph| and infers shapes anew.
// |out_nodes| [from->node_count] tells the copy of each node, -1 for the nodes of |inputs|.
// INVALID_ARGUMENT for a name that is taken or a node that does not fit its replaced input. On
// failure some nodes may have been added.
LEAT_MUST_USE leat_status_t leat_graft_add(leat_graph_t* graph, const leat_graft_t* graft,
                                           int32_t* out_nodes);
// Returns the output of the other graph that stands for |output| of |graft->from|; |nodes| is what
// leat_graft_add gave.
leat_output_t leat_graft_output(const leat_graft_t* graft, const int32_t* nodes,
                                leat_output_t output);

#endif  // LEAT_GRAPH_FUNCTION_GRAFT_H_
