// Images as kernels compute with them.
#ifndef LEAT_OPS_IMAGE_PIXELS_CPU_H_
#define LEAT_OPS_IMAGE_PIXELS_CPU_H_

#include "kernel/kernel.h"

typedef struct leat_pixels_s {
  int64_t batch, height, width, channels;
  const float* values;
  leat_tensor_t copy;  // where the input is not of floats
} leat_pixels_t;

// Input |input|, [batch, height, width, channels]. INVALID_ARGUMENT, where |what| names it, for
// another rank.
LEAT_MUST_USE leat_status_t leat_pixels_size(const leat_kernel_context_t* c, int input,
                                             const char* what, leat_pixels_t* out_pixels);
// |pixels| with its values. End with leat_pixels_release.
LEAT_MUST_USE leat_status_t leat_pixels_read(leat_kernel_context_t* c, int input,
                                             leat_pixels_t* pixels);
void leat_pixels_release(leat_pixels_t* pixels);
// Input |input|'s numbers as doubles; the caller's.
LEAT_MUST_USE leat_status_t leat_pixels_copy_doubles(leat_kernel_context_t* c, int input,
                                                     leat_tensor_t* out_copy);
// The two positive numbers of input |input|, named |what|.
LEAT_MUST_USE leat_status_t leat_pixels_read_size(const leat_kernel_context_t* c, int input,
                                                  const char* what, int64_t* out_height,
                                                  int64_t* out_width);
// Output 0 of |height| and |width|, else as |like|.
LEAT_MUST_USE leat_status_t leat_pixels_allocate(leat_kernel_context_t* c,
                                                 const leat_pixels_t* like, int64_t height,
                                                 int64_t width, leat_tensor_t** out_output);
// Sums that are gathered in double and become |output| at the end.
LEAT_MUST_USE leat_status_t leat_sums_begin(leat_kernel_context_t* c, const leat_tensor_t* output,
                                            leat_tensor_t* out_sums);
void leat_sums_end(leat_tensor_t* sums, leat_tensor_t* output);

#endif  // LEAT_OPS_IMAGE_PIXELS_CPU_H_
