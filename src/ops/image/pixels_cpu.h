// Images [batch, height, width, channels] as the kernels of this family compute with them: sizes,
// and values in float. Images of another type are converted to temporary memory. The functions run
// on the calling thread and block until they are done; INVALID_ARGUMENT where inputs have the wrong
// shape.
#ifndef LEAT_OPS_IMAGE_PIXELS_CPU_H_
#define LEAT_OPS_IMAGE_PIXELS_CPU_H_

#include "kernel/kernel.h"

// A batch of images. |values| is dense; where the input is float it is the input's own memory.
typedef struct leat_pixels_s {
  int64_t batch, height, width, channels;
  const float* values;
  leat_tensor_t copy;  // owns |values| where the input is not float
} leat_pixels_t;

// Reads the sizes of input |input|, which must have rank 4; |what| names it in the error.
LEAT_MUST_USE leat_status_t leat_pixels_size(const leat_kernel_context_t* c, int input,
                                             const char* what, leat_pixels_t* out_pixels);
// Sets the values of |pixels| to those of input |input|. The caller ends it by leat_pixels_release.
LEAT_MUST_USE leat_status_t leat_pixels_read(leat_kernel_context_t* c, int input,
                                             leat_pixels_t* pixels);
// Releases the copy, if there is one; all zero is allowed.
void leat_pixels_release(leat_pixels_t* pixels);
// Converts |count| elements of type |dtype|, one of the twelve.
void leat_pixels_to_floats(int dtype, const void* from, int64_t count, float* to);
// Gives the numbers of input |input| in double; the caller releases the tensor.
LEAT_MUST_USE leat_status_t leat_pixels_copy_doubles(leat_kernel_context_t* c, int input,
                                                     leat_tensor_t* out_copy);
// Reads height and width, two positive numbers, from input |input|; |what| names it in the error.
LEAT_MUST_USE leat_status_t leat_pixels_read_size(const leat_kernel_context_t* c, int input,
                                                  const char* what, int64_t* out_height,
                                                  int64_t* out_width);
// Allocates output 0 with |height| and |width|, and with batch and channels of |like|.
LEAT_MUST_USE leat_status_t leat_pixels_allocate(leat_kernel_context_t* c,
                                                 const leat_pixels_t* like, int64_t height,
                                                 int64_t width, leat_tensor_t** out_output);
// Gives zeroed sums in double of the shape of |output|, so that many small terms lose nothing.
// leat_sums_end converts them to the output's type (integers are cut toward 0) and releases them.
LEAT_MUST_USE leat_status_t leat_sums_begin(leat_kernel_context_t* c, const leat_tensor_t* output,
                                            leat_tensor_t* out_sums);
void leat_sums_end(leat_tensor_t* sums, leat_tensor_t* output);

#endif  // LEAT_OPS_IMAGE_PIXELS_CPU_H_
