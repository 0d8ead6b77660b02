// Shape functions for handles of resources, which queues, tables, readers and datasets use. In
// the older ops of TensorFlow a handle is a reference to a vector of two strings (container and
// name), in the newer ones a scalar of type resource.
#ifndef LEAT_GRAPH_INFERENCE_HANDLE_SHAPE_H_
#define LEAT_GRAPH_INFERENCE_HANDLE_SHAPE_H_

#include "graph/inference/inference.h"

// Output 0 is a reference to the two strings of a handle.
LEAT_MUST_USE leat_status_t leat_shape_two_strings(leat_inference_t* c);
// Every input is such a handle, every output a scalar.
LEAT_MUST_USE leat_status_t leat_shape_of_two_strings(leat_inference_t* c);
// Input |index| is a vector of 2.
LEAT_MUST_USE leat_status_t leat_shape_check_two_strings(leat_inference_t* c, int index);
// Input |index| is a scalar.
LEAT_MUST_USE leat_status_t leat_shape_check_scalar(leat_inference_t* c, int index);

#endif  // LEAT_GRAPH_INFERENCE_HANDLE_SHAPE_H_
