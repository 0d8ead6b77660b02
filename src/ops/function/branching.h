// Helpers of the ops that decide which function to call: If, Case, While.
#ifndef LEAT_OPS_FUNCTION_BRANCHING_H_
#define LEAT_OPS_FUNCTION_BRANCHING_H_

#include "graph/builder.h"
#include "graph/inference/inference.h"

// A shape function: the attribute output_shapes, where it is given, says what is known of the
// outputs.
LEAT_MUST_USE leat_status_t leat_shape_from_output_shapes(leat_inference_t* c);
// Builds a bool from a condition of any type; a bool is returned as it is.
leat_output_t leat_lower_to_bool(leat_builder_t* builder, leat_output_t condition);

#endif  // LEAT_OPS_FUNCTION_BRANCHING_H_
