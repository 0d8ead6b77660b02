// Where nodes and outputs of one graph went in a graph that was made from it; passes that copy a
// graph keep one.
#ifndef LEAT_GRAPH_NODE_MAP_H_
#define LEAT_GRAPH_NODE_MAP_H_

#include "graph/graph.h"

// |nodes|[old] is the node of the new graph, or -1 if the old one was not copied. |outputs|, which
// may be NULL, has for some old nodes an array by output index: an entry that exists stands for
// that output instead.
typedef struct leat_node_map_s {
  int32_t* nodes;
  leat_output_t** outputs;
} leat_node_map_t;
// The output or control edge of the new graph that stands for |old_output|.
leat_output_t leat_node_map_output(const leat_node_map_t* map, leat_output_t old_output);
// Copies |node| into |graph| with its inputs mapped. Control inputs from nodes that were not copied
// are left out; data inputs must have been copied.
LEAT_MUST_USE leat_status_t leat_node_map_copy_node(leat_graph_t* graph, const leat_node_t* node,
                                                    const leat_node_map_t* map, int32_t* out_node);

#endif  // LEAT_GRAPH_NODE_MAP_H_
