// What the definitions of ops that slide windows over an input share: convolutions and pools. Shape
// functions give INVALID_ARGUMENT where shapes do not fit.
#ifndef LEAT_OPS_NN_WINDOW_OP_H_
#define LEAT_OPS_NN_WINDOW_OP_H_

#include "graph/gradient.h"
#include "graph/inference/inference.h"
#include "ops/nn/window.h"

// Sets output 0 to one element for each window of |sizes| over |input|, with |channels| channels.
// |skip| further batch dimensions come before the window's own.
LEAT_MUST_USE leat_status_t leat_window_set_output(leat_inference_t* c,
                                                   const leat_window_t* window, int skip,
                                                   leat_partial_shape_t input,
                                                   const int64_t* sizes, int64_t channels);
// Sets output 0 to the shape of input |index|, or to the sizes that this input holds; |rank| is the
// number of dimensions.
LEAT_MUST_USE leat_status_t leat_window_shape_as_input(leat_inference_t* c, int index, int rank);
LEAT_MUST_USE leat_status_t leat_window_shape_from_sizes(leat_inference_t* c, int index, int rank);

// Builds a node |op| over |inputs| with the window of the node whose gradient is being made: it
// gets those window attributes that both ops have. LEAT_OUTPUT_NONE when the builder has failed.
leat_output_t leat_window_build_like(leat_gradient_t* g, const char* op, leat_outputs_t inputs);

#endif  // LEAT_OPS_NN_WINDOW_OP_H_
