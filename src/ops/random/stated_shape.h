// Shape functions of random ops, whose input 0 states the shape of the output; a seed [2], or key,
// counter and algorithm, may follow.
#ifndef LEAT_OPS_RANDOM_STATED_SHAPE_H_
#define LEAT_OPS_RANDOM_STATED_SHAPE_H_

#include "graph/inference/inference.h"

// Sets output 0 to the shape that input 0 states.
LEAT_MUST_USE leat_status_t leat_shape_stated(leat_inference_t* c);
// The same, followed by the dimensions of input 1: so many samples are drawn for each parameter.
LEAT_MUST_USE leat_status_t leat_shape_stated_samples(leat_inference_t* c);
// INVALID_ARGUMENT unless input |index| is a seed, of shape [2].
LEAT_MUST_USE leat_status_t leat_shape_check_seed(leat_inference_t* c, int index);
// leat_shape_stated, where input 1 is a seed.
LEAT_MUST_USE leat_status_t leat_shape_stated_seed(leat_inference_t* c);
// leat_shape_stated, where inputs 1, 2 and 3 are key [1], counter [n] and algorithm [].
LEAT_MUST_USE leat_status_t leat_shape_stated_key(leat_inference_t* c);

#endif  // LEAT_OPS_RANDOM_STATED_SHAPE_H_
