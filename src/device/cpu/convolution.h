// Two-dimensional convolution, NHWC, with filters [height, width, in_channels / groups,
// out_channels] (TensorFlow's layouts), and its two gradients:
//
//   FORWARD          (input, filter)           -> output
//   BACKWARD_INPUT   (filter, output gradient) -> input gradient
//   BACKWARD_FILTER  (input, output gradient)  -> filter gradient
//
//   output [b, y, x, o] = sum over (h, w, i) of filter [h, w, i, o] *
//       input [b, y * stride_height + h * dilation_height - pad_top, x * ... - pad_left, i]
//   where the input is zero outside. Padding at the bottom and right is what the sizes imply.
//   A depthwise convolution has groups == in_channels; its filter [h, w, in, multiplier] is already
//   laid out as this wants it.
//
// This header declares the portable way (patches times filter, a tile at a time); for float,
// kernels of ops call convolution_plan.h instead. The caller has checked the shape
// (leat_convolution_is_valid). All functions are thread-safe and none fails.
#ifndef LEAT_DEVICE_CPU_CONVOLUTION_H_
#define LEAT_DEVICE_CPU_CONVOLUTION_H_

#include <stdbool.h>
#include <stdint.h>

#include "base/thread_pool.h"
#include "device/cpu/row_step.h"

typedef enum leat_convolution_direction_e {
  LEAT_CONVOLUTION_FORWARD = 0,
  LEAT_CONVOLUTION_BACKWARD_INPUT = 1,
  LEAT_CONVOLUTION_BACKWARD_FILTER = 2,
} leat_convolution_direction_t;

// All sizes in elements. Padding below and to the right is not stated: the output sizes imply it.
typedef struct leat_convolution_shape_s {
  int64_t batch, in_height, in_width, in_channels;
  int64_t filter_height, filter_width;
  int64_t out_height, out_width, out_channels;
  int64_t stride_height, stride_width, dilation_height, dilation_width;
  int64_t pad_top, pad_left;
  int64_t groups;
} leat_convolution_shape_t;

// true when sizes are >= 0; filter, strides, dilations, channels of a group and groups are >= 1;
// padding is >= 0; groups divide both channels; and element counts, and products of positions with
// strides, fit int64.
bool leat_convolution_is_valid(const leat_convolution_shape_t* shape);

// The numbers of elements of the three arrays, which fit int64 for a valid shape.
int64_t leat_convolution_input_count(const leat_convolution_shape_t* shape);
int64_t leat_convolution_filter_count(const leat_convolution_shape_t* shape);
int64_t leat_convolution_output_count(const leat_convolution_shape_t* shape);
// The number of multiplications and additions of any direction.
double leat_convolution_flops(const leat_convolution_shape_t* shape);

// Compute one direction. Each call under way has its own |workspace|, never NULL: 64-byte aligned,
// of the size that the function beside it returns for |width|, at least the number of threads of
// the pool (1 without one). |step| follows a FORWARD convolution; NULL: nothing does. The bits of
// the result do not depend on the number of threads. half and bfloat16 (uint16_t) compute in float
// and round once, after the step, which sees floats; int32 wraps.
#define LEAT_CONVOLUTION_TYPES(X) \
  X(f32, float)                   \
  X(f64, double)                  \
  X(i32, int32_t)                 \
  X(f16, uint16_t)                \
  X(bf16, uint16_t)
#define LEAT_CONVOLUTION_DECLARE(name, type)                                                    \
  size_t leat_convolution_##name##_workspace_bytes(                                             \
      leat_convolution_direction_t direction, const leat_convolution_shape_t* shape, int width); \
  void leat_convolution_##name(leat_convolution_direction_t direction,                          \
                               const leat_convolution_shape_t* shape, const type* first,        \
                               const type* second, const leat_row_step_t* step, type* result,   \
                               void* workspace, leat_thread_pool_t* pool);
LEAT_CONVOLUTION_TYPES(LEAT_CONVOLUTION_DECLARE)
#undef LEAT_CONVOLUTION_DECLARE

#endif  // LEAT_DEVICE_CPU_CONVOLUTION_H_
