// The gradient of the gradient of batch normalisation, for the definitions in batch_norm.c.
#ifndef LEAT_OPS_NN_BATCH_NORM_SECOND_H_
#define LEAT_OPS_NN_BATCH_NORM_SECOND_H_

#include "graph/gradient.h"

// The gradient function of FusedBatchNormGrad in all versions: its node has inputs (dy, x, scale,
// mean, variance ...) and outputs (dx, dscale, doffset ...). Gradients are set for dy, x and scale.
LEAT_MUST_USE leat_status_t leat_batch_norm_second_gradient(leat_gradient_t* g);

#endif  // LEAT_OPS_NN_BATCH_NORM_SECOND_H_
