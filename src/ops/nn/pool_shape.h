// What the definitions of the max and the average pools share.
#ifndef LEAT_OPS_NN_POOL_SHAPE_H_
#define LEAT_OPS_NN_POOL_SHAPE_H_

#include "graph/inference.h"

// The output of pools over input 0, of two or three spatial dimensions.
LEAT_MUST_USE leat_status_t leat_pool_shape(leat_inference_t* c, int spatial, bool over_channels);

#endif  // LEAT_OPS_NN_POOL_SHAPE_H_
