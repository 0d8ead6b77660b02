// Shapes of the outputs of a call: those of the function's returns, when its arguments have the
// shapes of the call's inputs. TensorFlow's shape refiner infers so for calls by name and through
// PartitionedCall; If and While state the shapes of their outputs in an attribute instead.
#ifndef LEAT_FUNCTION_CALL_SHAPES_H_
#define LEAT_FUNCTION_CALL_SHAPES_H_

#include "graph/graph.h"

// The function for leat_graph_t.infer_call. |out_shapes| [node->output_count] keep their values
// where nothing is known, for instance when the function is not defined yet. Fails when the body
// cannot be made: NOT_FOUND for an op that is not registered.
LEAT_MUST_USE leat_status_t leat_call_infer_shapes(leat_graph_t* graph, const leat_node_t* node,
                                                   leat_partial_shape_t* out_shapes);

#endif  // LEAT_FUNCTION_CALL_SHAPES_H_
