// Three-dimensional convolution over tensors [batch, planes, rows, columns, channels] (or the
// channels second) and filters [planes, rows, columns, in / groups, out], with its two gradients. A
// kernel checks its window when it is made, measures in each step, allocates its output and runs.
// The functions keep nothing, so steps may run at once.
#ifndef LEAT_OPS_NN_CONV3D_CPU_H_
#define LEAT_OPS_NN_CONV3D_CPU_H_

#include "device/cpu/convolution.h"
#include "kernel/kernel.h"
#include "ops/nn/window.h"

// The sizes of one convolution; the arrays are for planes, rows, columns. |before| is the padding
// in front.
typedef struct leat_conv3d_shape_s {
  int64_t batch, in_channels, out_channels, groups;
  int64_t in[3], filter[3], out[3], stride[3], dilation[3], before[3];
} leat_conv3d_shape_t;

// Refuses strides and dilations over batch or channels with the code |misplaced|, and others that
// are not positive with INVALID_ARGUMENT.
LEAT_MUST_USE leat_status_t leat_conv3d_check_window(const leat_window_t* window,
                                                     leat_status_code_t misplaced);
// Fills |out_shape| and the five sizes of the forward output. |input| and |out_output| are in the
// order of the window's data format. INVALID_ARGUMENT when the sizes do not fit.
LEAT_MUST_USE leat_status_t leat_conv3d_measure(const leat_kernel_context_t* c,
                                                const leat_window_t* window, const int64_t* input,
                                                const int64_t* filter,
                                                leat_conv3d_shape_t* out_shape,
                                                int64_t* out_output);
// Runs the convolution |shape| in |direction|, which says what the three tensors are. They are of
// float, double, half or bfloat16, all of one type, in the window's data format. Blocks until the
// result is there.
LEAT_MUST_USE leat_status_t leat_conv3d_run(leat_kernel_context_t* c, const leat_window_t* window,
                                            leat_convolution_direction_t direction,
                                            const leat_conv3d_shape_t* shape,
                                            const leat_tensor_t* first,
                                            const leat_tensor_t* second, leat_tensor_t* result);

#endif  // LEAT_OPS_NN_CONV3D_CPU_H_
