// Three-dimensional convolution over tensors [batch, planes, rows, columns, channels] and filters
// [planes, rows, columns, in / groups, out], with its two gradients.
#ifndef LEAT_OPS_NN_CONV3D_CPU_H_
#define LEAT_OPS_NN_CONV3D_CPU_H_

#include "device/cpu/convolution.h"
#include "kernel/kernel.h"
#include "ops/nn/window.h"

typedef struct leat_conv3d_shape_s {
  int64_t batch, in_channels, out_channels, groups;
  int64_t in[3], filter[3], out[3], stride[3], dilation[3], before[3];
} leat_conv3d_shape_t;

// UNIMPLEMENTED or INVALID_ARGUMENT (|misplaced|) for strides and dilations over batch or channels.
LEAT_MUST_USE leat_status_t leat_conv3d_check_window(const leat_window_t* window,
                                                     leat_status_code_t misplaced);
// |input| in the window's format; |out_output| too.
LEAT_MUST_USE leat_status_t leat_conv3d_measure(const leat_kernel_context_t* c,
                                                const leat_window_t* window, const int64_t* input,
                                                const int64_t* filter,
                                                leat_conv3d_shape_t* out_shape,
                                                int64_t* out_output);
// Tensors in the window's format, of float, double, half or bfloat16.
LEAT_MUST_USE leat_status_t leat_conv3d_run(leat_kernel_context_t* c, const leat_window_t* window,
                                            leat_convolution_direction_t direction,
                                            const leat_conv3d_shape_t* shape,
                                            const leat_tensor_t* first,
                                            const leat_tensor_t* second, leat_tensor_t* result);

#endif  // LEAT_OPS_NN_CONV3D_CPU_H_
