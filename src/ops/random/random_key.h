// What ops that draw from a generator with a stated key have in common: three inputs that say where
// the generator stands, as StatelessRandomGetKeyCounterAlg makes them of a seed.
#ifndef LEAT_OPS_RANDOM_RANDOM_KEY_H_
#define LEAT_OPS_RANDOM_RANDOM_KEY_H_

#include "graph/inference/inference.h"

// Checks that inputs 1, 2 and 3 can be key [1], counter [n] and algorithm [].
LEAT_MUST_USE static inline leat_status_t leat_random_check_key(leat_inference_t* c) {
  leat_partial_shape_t key, unused;
  int64_t unused_dim;
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank(c, leat_inference_input(c, 1), 1, &key));
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank(c, leat_inference_input(c, 2), 1, &unused));
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank(c, leat_inference_input(c, 3), 0, &unused));
  return leat_inference_dim_with_value(leat_partial_shape_dim(key, 0), 1, &unused_dim);
}

#endif  // LEAT_OPS_RANDOM_RANDOM_KEY_H_
