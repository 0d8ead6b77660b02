// Where the nodes and outputs of one graph went in a graph made from it.
#ifndef LEAT_GRAPH_NODE_MAP_H_
#define LEAT_GRAPH_NODE_MAP_H_

#include "graph/graph.h"

// |nodes|[old] is a node of the new graph, or -1; an entry of |outputs| (by old node, may be NULL)
// overrides it for one output index each.
typedef struct leat_node_map_s {
  int32_t* nodes;
  leat_output_t** outputs;
} leat_node_map_t;
leat_output_t leat_node_map_output(const leat_node_map_t* map, leat_output_t old_output);
// Copies |node| into |graph| with its inputs mapped; control inputs whose node went away are left
// out.
LEAT_MUST_USE leat_status_t leat_node_map_copy_node(leat_graph_t* graph, const leat_node_t* node,
                                                    const leat_node_map_t* map, int32_t* out_node);

#endif  // LEAT_GRAPH_NODE_MAP_H_
