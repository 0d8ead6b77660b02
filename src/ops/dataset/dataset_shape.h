// Attributes and shape functions that the op definitions of the dataset family share.
#ifndef LEAT_OPS_DATASET_DATASET_SHAPE_H_
#define LEAT_OPS_DATASET_DATASET_SHAPE_H_

#include "graph/inference/inference.h"

#define LEAT_ELEMENT_ATTRS "output_types: list(type) >= 1; output_shapes: list(shape) >= 1"
#define LEAT_METADATA_ATTR "; metadata: string = ''"

// Checks that all inputs are scalars, apart from a dataset at input 0, and makes the output a
// scalar.
LEAT_MUST_USE leat_status_t leat_shape_of_scalars(leat_inference_t* c);
// Gives the outputs the shapes of the attribute output_shapes; input 0 must be a scalar.
LEAT_MUST_USE leat_status_t leat_shape_of_element(leat_inference_t* c);

#endif  // LEAT_OPS_DATASET_DATASET_SHAPE_H_
