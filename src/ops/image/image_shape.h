// A shape function that the definitions of several image ops share.
#ifndef LEAT_OPS_IMAGE_IMAGE_SHAPE_H_
#define LEAT_OPS_IMAGE_IMAGE_SHAPE_H_

#include "graph/inference/inference.h"

// Sets output 0 to [batch, height, width, channels], where height and width are the two numbers of
// input |size|, unknown unless it is a constant.
LEAT_MUST_USE leat_status_t leat_image_set_resized(leat_inference_t* c, int size, int64_t batch,
                                                   int64_t channels);

#endif  // LEAT_OPS_IMAGE_IMAGE_SHAPE_H_
