// Resized images as a step on the way to something else.
#ifndef LEAT_OPS_IMAGE_RESIZE_CPU_H_
#define LEAT_OPS_IMAGE_RESIZE_CPU_H_

#include "ops/image/pixels_cpu.h"

// Gives the images at input 0 in the size at input 1, as ResizeBilinear does, in a temporary tensor
// of float that the caller releases. Uses the step's pool and blocks until it is done.
LEAT_MUST_USE leat_status_t leat_resize_bilinear(leat_kernel_context_t* c, bool align_corners,
                                                 leat_tensor_t* out_images);

#endif  // LEAT_OPS_IMAGE_RESIZE_CPU_H_
