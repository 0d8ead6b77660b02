// What the definitions of ops that slide windows over an input share: convolutions and pools.
#ifndef LEAT_OPS_NN_WINDOW_OP_H_
#define LEAT_OPS_NN_WINDOW_OP_H_

#include "graph/gradient.h"
#include "graph/inference.h"
#include "ops/nn/window.h"

// Output 0 has one element for each window of |sizes| over |input|, and |channels| channels. |skip|
// batch dimensions come before the window's own.
LEAT_MUST_USE leat_status_t leat_window_set_output(leat_inference_t* c,
                                                   const leat_window_t* window, int skip,
                                                   leat_partial_shape_t input,
                                                   const int64_t* sizes, int64_t channels);
// Output 0 has the shape of input |index|, or the sizes that it holds; |rank| dimensions.
LEAT_MUST_USE leat_status_t leat_window_shape_as_input(leat_inference_t* c, int index, int rank);
LEAT_MUST_USE leat_status_t leat_window_shape_from_sizes(leat_inference_t* c, int index, int rank);

// A node |op| with the windows of the node whose gradient is made: the attributes that both have.
leat_output_t leat_window_build_like(leat_gradient_t* g, const char* op, leat_outputs_t inputs);

#endif  // LEAT_OPS_NN_WINDOW_OP_H_
