// The gradient of the gradient of batch normalisation.
#ifndef LEAT_OPS_NN_BATCH_NORM_SECOND_H_
#define LEAT_OPS_NN_BATCH_NORM_SECOND_H_

#include "graph/gradient.h"

// Of FusedBatchNormGrad and its versions: inputs (dy, x, scale, mean, variance ...), outputs
// (dx, dscale, doffset ...).
LEAT_MUST_USE leat_status_t leat_batch_norm_second_gradient(leat_gradient_t* g);

#endif  // LEAT_OPS_NN_BATCH_NORM_SECOND_H_
