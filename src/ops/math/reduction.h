// What ops over axes outside of reduction.c share with the reductions: the shape of the output and
// the shape with 1 for the reduced axes.
#ifndef LEAT_OPS_MATH_REDUCTION_H_
#define LEAT_OPS_MATH_REDUCTION_H_

#include "graph/gradient.h"
#include "graph/inference/inference.h"

// Infers the shape of an op with inputs (x, axes) and attribute keep_dims.
LEAT_MUST_USE leat_status_t leat_reduction_infer(leat_inference_t* c);

// For a node with inputs (x, axes): builds |input_shape| (an int32 vector) with 1 at the axes.
leat_output_t leat_reduction_kept_shape(leat_gradient_t* g, leat_output_t input_shape);

#endif  // LEAT_OPS_MATH_REDUCTION_H_
