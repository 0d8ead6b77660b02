// What ops between numbers and integers of few bits share.
#ifndef LEAT_OPS_QUANTIZE_QUANTIZATION_H_
#define LEAT_OPS_QUANTIZE_QUANTIZATION_H_

#include "graph/inference.h"

// Inputs |first| and |first| + 1 are scalars, or vectors along attribute "axis" of input 0.
LEAT_MUST_USE leat_status_t leat_quantization_check_range(leat_inference_t* c, int first,
                                                          leat_partial_shape_t* out_range);

#endif  // LEAT_OPS_QUANTIZE_QUANTIZATION_H_
