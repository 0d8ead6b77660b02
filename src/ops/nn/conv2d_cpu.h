// Two-dimensional convolution of any kind, for the kernels whose op is one.
#ifndef LEAT_OPS_NN_CONV2D_CPU_H_
#define LEAT_OPS_NN_CONV2D_CPU_H_

#include "ops/nn/convolution_cache_cpu.h"
#include "ops/nn/window.h"

typedef struct leat_conv2d_s {
  leat_window_t window;
  leat_convolution_direction_t direction;
  int dtype;
  bool is_depthwise;
  leat_convolution_cache_t cache;
} leat_conv2d_t;

LEAT_MUST_USE leat_status_t leat_conv2d_create(leat_kernel_creation_t* c, leat_conv2d_t* conv);

// The convolution of tensors of these sizes (in the order of the tensor's format; the filter as it
// is), and the sizes of its output. INVALID_ARGUMENT when they do not fit.
LEAT_MUST_USE leat_status_t leat_conv2d_measure(const leat_kernel_context_t* c,
                                                const leat_conv2d_t* conv, const int64_t* input,
                                                const int64_t* filter,
                                                leat_convolution_shape_t* out_shape,
                                                int64_t* out_output);

// Runs over whole tensors: |first|, |second| and |result| as leat_convolution_direction_t says, in
// the window's format. |flags| and |bias| as leat_convolution_plan_run has them.
LEAT_MUST_USE leat_status_t leat_conv2d_run(leat_conv2d_t* conv, leat_kernel_context_t* c,
                                            const leat_convolution_shape_t* shape, int flags,
                                            const leat_tensor_t* first,
                                            const leat_tensor_t* second,
                                            const leat_tensor_t* bias, leat_tensor_t* result);

#endif  // LEAT_OPS_NN_CONV2D_CPU_H_
