// Shape functions that handles of both forms share.
#ifndef LEAT_OPS_QUEUE_QUEUE_SHAPE_H_
#define LEAT_OPS_QUEUE_QUEUE_SHAPE_H_

#include "graph/inference.h"

// Output 0 is a reference to the two strings of a handle.
LEAT_MUST_USE leat_status_t leat_shape_two_strings(leat_inference_t* c);
// Every input is such a handle, every output a scalar.
LEAT_MUST_USE leat_status_t leat_shape_of_two_strings(leat_inference_t* c);
// Input |index| is a vector of 2.
LEAT_MUST_USE leat_status_t leat_shape_check_two_strings(leat_inference_t* c, int index);
// Input |index| is a scalar.
LEAT_MUST_USE leat_status_t leat_shape_check_scalar(leat_inference_t* c, int index);

#endif  // LEAT_OPS_QUEUE_QUEUE_SHAPE_H_
