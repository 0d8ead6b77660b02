// Shape inference for loops. When a graph is read, the Merge of a loop is met before the edge that
// closes the loop, so nothing is known of the loop's variables then. The gradient builder needs
// their shapes and asks for them here, when the graph is complete.
#ifndef LEAT_GRAPH_INFERENCE_LOOP_SHAPES_H_
#define LEAT_GRAPH_INFERENCE_LOOP_SHAPES_H_

#include "graph/graph.h"

// Narrows the output shapes of those nodes in |order| (inputs first, edges that close loops aside)
// that lie in loops or behind them. Shapes that do not settle stay as they were, which is no error.
LEAT_MUST_USE leat_status_t leat_graph_infer_loop_shapes(leat_graph_t* graph, const int32_t* order,
                                                         size_t order_count);

#endif  // LEAT_GRAPH_INFERENCE_LOOP_SHAPES_H_
