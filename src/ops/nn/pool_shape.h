// The shape function that the definitions of the max and the average pools share.
#ifndef LEAT_OPS_NN_POOL_SHAPE_H_
#define LEAT_OPS_NN_POOL_SHAPE_H_

#include "graph/inference/inference.h"

// Sets output 0 to the shape of a pool over input 0, with |spatial| (2 or 3) spatial dimensions.
// |over_channels| says that the op's window may extend over channels, so that these become fewer.
LEAT_MUST_USE leat_status_t leat_pool_shape(leat_inference_t* c, int spatial, bool over_channels);

#endif  // LEAT_OPS_NN_POOL_SHAPE_H_
