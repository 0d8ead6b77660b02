// The shape function that the definitions of the max and the average pools share, and the size of
// a fractional pool's output, which its definition and its kernel must agree on.
#ifndef LEAT_OPS_NN_POOL_SHAPE_H_
#define LEAT_OPS_NN_POOL_SHAPE_H_

#include "graph/inference.h"

// Sets output 0 to the shape of a pool over input 0, with |spatial| (2 or 3) spatial dimensions.
// |over_channels| says that the op's window may extend over channels, so that these become fewer.
LEAT_MUST_USE leat_status_t leat_pool_shape(leat_inference_t* c, int spatial, bool over_channels);

// The number of windows of a fractional pool over |size| positions; |ratio| must be at least 1. The
// result is never above |size|, so that every window has a position. A ratio of 1 keeps the size
// (TensorFlow rounds it to a float even then). Any other ratio divides in float, as TensorFlow does.
int64_t leat_fractional_pool_size(int64_t size, float ratio);

#endif  // LEAT_OPS_NN_POOL_SHAPE_H_
