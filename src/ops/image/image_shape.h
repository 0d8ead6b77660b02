// Shape functions that several ops on images [batch, height, width, channels] share.
#ifndef LEAT_OPS_IMAGE_IMAGE_SHAPE_H_
#define LEAT_OPS_IMAGE_IMAGE_SHAPE_H_

#include "graph/inference/inference.h"

// Sets output 0 to [batch, height, width, channels], where height and width are the two numbers of
// input |size|, unknown unless it is a constant.
LEAT_MUST_USE leat_status_t leat_image_set_resized(leat_inference_t* c, int size, int64_t batch,
                                                   int64_t channels);
// Output 0 is the images at input 0, brought to the size at input 1.
LEAT_MUST_USE leat_status_t leat_image_resize_shape(leat_inference_t* c);

#endif  // LEAT_OPS_IMAGE_IMAGE_SHAPE_H_
