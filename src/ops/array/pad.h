// What is known of the shape of a padded tensor, for the definitions of ops that pad.
#ifndef LEAT_OPS_ARRAY_PAD_H_
#define LEAT_OPS_ARRAY_PAD_H_

#include "graph/inference/inference.h"

// Infers the shape of a tensor of shape |input| that is padded by input |paddings_index| [rank, 2].
// |sign| is 1 where the paddings are added to the sizes, and -1 where they are taken away.
// INVALID_ARGUMENT for paddings of another shape, and for negative ones that are constant.
LEAT_MUST_USE leat_status_t leat_pad_infer(leat_inference_t* c, leat_partial_shape_t input,
                                           int paddings_index, int sign,
                                           leat_partial_shape_t* out_shape);

#endif  // LEAT_OPS_ARRAY_PAD_H_
