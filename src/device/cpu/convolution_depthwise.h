// Depthwise convolution in float (groups == in_channels), compiled once per instruction set and
// called by convolution.c, which shares the ranges among threads.
#ifndef LEAT_DEVICE_CPU_CONVOLUTION_DEPTHWISE_H_
#define LEAT_DEVICE_CPU_CONVOLUTION_DEPTHWISE_H_

#include "base/cpu.h"
#include "device/cpu/convolution.h"

typedef struct leat_depthwise_kernels_s {
  // Computes rows [begin, end) of batch * out_height.
  void (*forward)(const leat_convolution_shape_t* shape, const float* input, const float* filter,
                  float* output, int64_t begin, int64_t end);
  // Computes rows [begin, end) of batch * in_height.
  void (*backward_input)(const leat_convolution_shape_t* shape, const float* filter,
                         const float* output_gradient, float* input_gradient, int64_t begin,
                         int64_t end);
  // Computes filter positions [begin, end).
  void (*backward_filter)(const leat_convolution_shape_t* shape, const float* input,
                          const float* output_gradient, float* filter_gradient, int64_t begin,
                          int64_t end);
} leat_depthwise_kernels_t;

LEAT_ISA_DECLARE(leat_depthwise_kernels_t, leat_depthwise_kernels);

#endif  // LEAT_DEVICE_CPU_CONVOLUTION_DEPTHWISE_H_
