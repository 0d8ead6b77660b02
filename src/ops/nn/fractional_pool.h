// The size of a fractional pool's output, which its definition and its kernel must agree on.
#ifndef LEAT_OPS_NN_FRACTIONAL_POOL_H_
#define LEAT_OPS_NN_FRACTIONAL_POOL_H_

#include <stdint.h>

// The number of windows of a fractional pool over |size| positions; |ratio| must be at least 1. The
// result is never above |size|, so that every window has a position. A ratio of 1 keeps the size
// (TensorFlow rounds it to a float even then). Any other ratio divides in float, as TensorFlow
// does.
int64_t leat_fractional_pool_size(int64_t size, float ratio);

#endif  // LEAT_OPS_NN_FRACTIONAL_POOL_H_
