// Shapes that image ops share.
#ifndef LEAT_OPS_IMAGE_IMAGE_SHAPE_H_
#define LEAT_OPS_IMAGE_IMAGE_SHAPE_H_

#include "graph/inference.h"

// Output 0 = [|batch|, height, width, |channels|]; height and width are the two numbers of input
// |size|.
LEAT_MUST_USE leat_status_t leat_image_set_resized(leat_inference_t* c, int size, int64_t batch,
                                                   int64_t channels);

#endif  // LEAT_OPS_IMAGE_IMAGE_SHAPE_H_
