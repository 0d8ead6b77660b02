// Shapes of random tensors: input 0 states it; a seed or a key with its counter may follow.
#ifndef LEAT_OPS_RANDOM_STATED_SHAPE_H_
#define LEAT_OPS_RANDOM_STATED_SHAPE_H_

#include "graph/inference.h"

// Output 0 has the shape that input 0 states.
LEAT_MUST_USE leat_status_t leat_shape_stated(leat_inference_t* c);
// The same, followed by the dimensions of input 1: so many samples for each parameter.
LEAT_MUST_USE leat_status_t leat_shape_stated_samples(leat_inference_t* c);
// Input |index| is a seed: [2].
LEAT_MUST_USE leat_status_t leat_shape_check_seed(leat_inference_t* c, int index);
// As stated; input 1 is a seed.
LEAT_MUST_USE leat_status_t leat_shape_stated_seed(leat_inference_t* c);
// As stated; inputs 1, 2 and 3 are key [1], counter [n] and algorithm [].
LEAT_MUST_USE leat_status_t leat_shape_stated_key(leat_inference_t* c);

#endif  // LEAT_OPS_RANDOM_STATED_SHAPE_H_
