// The shapes and gradients that dense and sparse segment ops share.
#ifndef LEAT_OPS_MATH_SEGMENT_H_
#define LEAT_OPS_MATH_SEGMENT_H_

#include "graph/gradient.h"
#include "graph/inference/inference.h"

// Sets the shape of output 0 to [dim0] followed by the dims of |data| from dimension |skipped| on.
LEAT_MUST_USE leat_status_t leat_segment_set_output(leat_inference_t* c, int64_t dim0,
                                                    leat_partial_shape_t data, int skipped);
// Reads the known value of scalar input |index|, the number of segments; LEAT_DIM_UNKNOWN when it
// is not known, INVALID_ARGUMENT when it is negative.
LEAT_MUST_USE leat_status_t leat_segment_count(leat_inference_t* c, int index, int64_t* out_count);

// Builds the gather of rows of |x| by |indices|.
static inline leat_output_t leat_segment_gather(leat_builder_t* b, leat_output_t x,
                                                leat_output_t indices) {
  leat_output_t zero = leat_build_scalar(b, LEAT_DTYPE_INT32, 0);
  return leat_build(b, "GatherV2", LEAT_INPUTS(x, indices, zero), LEAT_NO_ATTRS);
}

#endif  // LEAT_OPS_MATH_SEGMENT_H_
