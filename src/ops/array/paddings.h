// The shape function that padding ops share.
#ifndef LEAT_OPS_ARRAY_PADDINGS_H_
#define LEAT_OPS_ARRAY_PADDINGS_H_

#include "graph/inference.h"

// Shape function of ops (input, paddings) -> output: |sign| 1 adds the paddings to the sizes, -1
// takes them away.
LEAT_MUST_USE leat_status_t leat_shape_padded(leat_inference_t* c, int sign);

#endif  // LEAT_OPS_ARRAY_PADDINGS_H_
