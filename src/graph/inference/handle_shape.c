// Shape functions for the two forms of handles. The older one is a vector of two strings, so it is
// checked as such; the newer one is a scalar.
#include "graph/inference/handle_shape.h"

leat_status_t leat_shape_two_strings(leat_inference_t* c) {
  leat_partial_shape_t pair;
  LEAT_RETURN_IF_ERROR(leat_inference_make(c, 1, &(int64_t){2}, &pair));
  leat_inference_set_output(c, 0, pair);
  return leat_ok_status();
}

leat_status_t leat_shape_check_two_strings(leat_inference_t* c, int index) {
  leat_partial_shape_t pair;
  int64_t size;
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank(c, leat_inference_input(c, index), 1, &pair));
  return leat_inference_merge_dim(leat_partial_shape_dim(pair, 0), 2, &size);
}

leat_status_t leat_shape_check_scalar(leat_inference_t* c, int index) {
  leat_partial_shape_t scalar;
  return leat_inference_with_rank(c, leat_inference_input(c, index), 0, &scalar);
}

leat_status_t leat_shape_of_two_strings(leat_inference_t* c) {
  for (int i = 0; i < leat_inference_input_count(c); ++i) {
    LEAT_RETURN_IF_ERROR(leat_shape_check_two_strings(c, i));
  }
  return leat_shape_scalar_output(c);
}
