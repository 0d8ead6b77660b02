// What the definitions of the max and the average pools share.
#ifndef LEAT_OPS_NN_POOL_SHAPE_H_
#define LEAT_OPS_NN_POOL_SHAPE_H_

#include "graph/gradient.h"
#include "graph/inference.h"

// The output of pools over input 0, of two or three spatial dimensions.
LEAT_MUST_USE leat_status_t leat_pool_shape(leat_inference_t* c, int spatial, bool over_channels);
// The output has the shape of input 0, of |rank| dimensions.
LEAT_MUST_USE leat_status_t leat_pool_shape_as_input(leat_inference_t* c, int rank);

// A node |op| with the node's windows: the attributes that both have.
leat_output_t leat_pool_build_like(leat_gradient_t* g, const char* op, leat_outputs_t inputs);

#endif  // LEAT_OPS_NN_POOL_SHAPE_H_
