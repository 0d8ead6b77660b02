// Shape functions that several ops on images share.
#include "ops/image/image_shape.h"

leat_status_t leat_image_set_resized(leat_inference_t* c, int size, int64_t batch,
                                     int64_t channels) {
  leat_partial_shape_t shape;
  leat_partial_value_t value;
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank(c, leat_inference_input(c, size), 1, &shape));
  int64_t two;
  LEAT_RETURN_IF_ERROR(
      leat_inference_dim_with_value(shape.rank == 1 ? shape.dims[0] : LEAT_DIM_UNKNOWN, 2, &two));
  LEAT_RETURN_IF_ERROR(leat_inference_input_value(c, size, &value));
  int64_t dims[4] = {batch, LEAT_DIM_UNKNOWN, LEAT_DIM_UNKNOWN, channels};
  for (int i = 0; i < 2 && value.rank == 1 && value.count == 2; ++i) {
    if (value.items[i] >= 0) dims[i + 1] = value.items[i];
  }
  LEAT_RETURN_IF_ERROR(leat_inference_make(c, 4, dims, &shape));
  leat_inference_set_output(c, 0, shape);
  return leat_ok_status();
}

leat_status_t leat_image_resize_shape(leat_inference_t* c) {
  leat_partial_shape_t images;
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank(c, leat_inference_input(c, 0), 4, &images));
  bool known = images.rank == 4;
  return leat_image_set_resized(c, 1, known ? images.dims[0] : LEAT_DIM_UNKNOWN,
                                known ? images.dims[3] : LEAT_DIM_UNKNOWN);
}
