// What is known of the shapes of a call's outputs: those of the returns, when the body's arguments
// have the shapes that the call gives. TensorFlow's shape refiner does so for calls by name and
// through PartitionedCall; If and While say theirs by an attribute.
#ifndef LEAT_FUNCTION_CALL_SHAPES_H_
#define LEAT_FUNCTION_CALL_SHAPES_H_

#include "graph/graph.h"

// For leat_graph_t.infer_call. |out_shapes| [node->output_count] stay as they are where nothing is
// known. Fails where the body cannot be made: NOT_FOUND when it has ops that are not registered.
LEAT_MUST_USE leat_status_t leat_call_infer_shapes(leat_graph_t* graph, const leat_node_t* node,
                                                   leat_partial_shape_t* out_shapes);

#endif  // LEAT_FUNCTION_CALL_SHAPES_H_
