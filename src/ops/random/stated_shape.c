// Shape functions of random ops whose input 0 states the shape of the output.
#include "ops/random/stated_shape.h"

leat_status_t leat_shape_stated(leat_inference_t* c) {
  leat_partial_shape_t shape;
  LEAT_RETURN_IF_ERROR(leat_inference_input_as_shape(c, 0, &shape));
  leat_inference_set_output(c, 0, shape);
  return leat_ok_status();
}

leat_status_t leat_shape_stated_samples(leat_inference_t* c) {
  leat_partial_shape_t samples, shape;
  LEAT_RETURN_IF_ERROR(leat_inference_input_as_shape(c, 0, &samples));
  LEAT_RETURN_IF_ERROR(
      leat_inference_concatenate(c, samples, leat_inference_input(c, 1), &shape));
  leat_inference_set_output(c, 0, shape);
  return leat_ok_status();
}

leat_status_t leat_shape_check_seed(leat_inference_t* c, int index) {
  leat_partial_shape_t seed;
  int64_t unused;
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank(c, leat_inference_input(c, index), 1, &seed));
  return leat_inference_merge_dim(leat_partial_shape_dim(seed, 0), 2, &unused);
}

leat_status_t leat_shape_stated_seed(leat_inference_t* c) {
  LEAT_RETURN_IF_ERROR(leat_shape_check_seed(c, 1));
  return leat_shape_stated(c);
}

leat_status_t leat_shape_stated_key(leat_inference_t* c) {
  leat_partial_shape_t key, unused;
  int64_t unused_dim;
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank(c, leat_inference_input(c, 1), 1, &key));
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank(c, leat_inference_input(c, 2), 1, &unused));
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank(c, leat_inference_input(c, 3), 0, &unused));
  LEAT_RETURN_IF_ERROR(
      leat_inference_merge_dim(leat_partial_shape_dim(key, 0), 1, &unused_dim));
  return leat_shape_stated(c);
}
