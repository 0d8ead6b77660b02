// The shape function that padding ops share.
#ifndef LEAT_OPS_ARRAY_PADDINGS_H_
#define LEAT_OPS_ARRAY_PADDINGS_H_

#include "graph/inference.h"

// The shape of input |input| padded by input |paddings|: |sign| 1 adds these to the sizes, -1 takes
// them away.
LEAT_MUST_USE leat_status_t leat_paddings_infer(leat_inference_t* c, int input, int paddings,
                                              int sign, leat_partial_shape_t* out_shape);
// Shape function of ops (input, paddings) -> output.
LEAT_MUST_USE leat_status_t leat_shape_padded(leat_inference_t* c, int sign);

#endif  // LEAT_OPS_ARRAY_PADDINGS_H_
