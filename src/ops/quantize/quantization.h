// A shape check that the definitions of this family share.
#ifndef LEAT_OPS_QUANTIZE_QUANTIZATION_H_
#define LEAT_OPS_QUANTIZE_QUANTIZATION_H_

#include "graph/inference/inference.h"

// Checks the range at inputs |first| and |first| + 1: scalars, or with the attribute "axis" vectors
// as long as that dimension of input 0. Gives their merged shape. INVALID_ARGUMENT for a wrong axis
// too.
LEAT_MUST_USE leat_status_t leat_quantization_check_range(leat_inference_t* c, int first,
                                                          leat_partial_shape_t* out_range);

#endif  // LEAT_OPS_QUANTIZE_QUANTIZATION_H_
