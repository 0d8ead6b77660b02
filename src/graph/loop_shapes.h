// Shapes in loops. When a graph is read, a loop's Merge is met before the edge that closes the
// loop, so that nothing is known of the loop's variables. Here that is made good.
#ifndef LEAT_GRAPH_LOOP_SHAPES_H_
#define LEAT_GRAPH_LOOP_SHAPES_H_

#include "graph/graph.h"

// Narrows the shapes of the nodes in |order| (inputs first, edges that close loops set aside) that
// lie in loops or behind them.
LEAT_MUST_USE leat_status_t leat_graph_infer_loop_shapes(leat_graph_t* graph, const int32_t* order,
                                                         size_t order_count);

#endif  // LEAT_GRAPH_LOOP_SHAPES_H_
