// What the ops share that decide which function to call.
#ifndef LEAT_OPS_FUNCTION_BRANCHING_H_
#define LEAT_OPS_FUNCTION_BRANCHING_H_

#include "graph/builder.h"
#include "graph/inference.h"

// Shape function: attribute output_shapes says what is known.
LEAT_MUST_USE leat_status_t leat_shape_from_output_shapes(leat_inference_t* c);
// A condition of any type as a bool.
leat_output_t leat_lower_to_bool(leat_builder_t* builder, leat_output_t condition);

#endif  // LEAT_OPS_FUNCTION_BRANCHING_H_
