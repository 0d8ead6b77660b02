// The shape functions that padding ops share. |sign| is 1 where the paddings are added to the
// sizes, and -1 where they are taken away.
#ifndef LEAT_OPS_ARRAY_PADDINGS_H_
#define LEAT_OPS_ARRAY_PADDINGS_H_

#include "graph/inference/inference.h"

// Infers the shape of input |input| padded by input |paddings| [rank, 2]. INVALID_ARGUMENT for
// paddings of another shape, and for negative ones that are constant.
LEAT_MUST_USE leat_status_t leat_paddings_infer(leat_inference_t* c, int input, int paddings,
                                              int sign, leat_partial_shape_t* out_shape);
// The shape function of ops (input, paddings) -> output.
LEAT_MUST_USE leat_status_t leat_shape_padded(leat_inference_t* c, int sign);

#endif  // LEAT_OPS_ARRAY_PADDINGS_H_
