// What the rows of this family share: attributes and shape functions.
#ifndef LEAT_OPS_DATASET_DATASET_SHAPE_H_
#define LEAT_OPS_DATASET_DATASET_SHAPE_H_

#include "graph/inference.h"

#define LEAT_ELEMENT_ATTRS "output_types: list(type) >= 1; output_shapes: list(shape) >= 1"
#define LEAT_METADATA_ATTR "; metadata: string = ''"
// Datasets keep what they are made of.
#define LEAT_EVERY_INPUT UINT64_MAX

// A scalar, of inputs that are scalars all but a dataset before them.
LEAT_MUST_USE leat_status_t leat_shape_of_scalars(leat_inference_t* c);
// The components of an element, as output_shapes says; input 0 is a scalar.
LEAT_MUST_USE leat_status_t leat_shape_of_element(leat_inference_t* c);

#endif  // LEAT_OPS_DATASET_DATASET_SHAPE_H_
