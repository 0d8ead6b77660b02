// Sliding windows: what convolutions and pools read from their attributes, and how large their
// outputs are. Tensors have two or three spatial dimensions, and the channels last (NHWC, NDHWC) or
// second (NCHW, NCDHW).
//
//   SAME      output = ceil(input / stride); padding as that needs, the odd one at the end
//   VALID     output = the windows that lie inside
//   EXPLICIT  VALID over the input with |before| and |after| added
//
// The functions keep nothing and may be called from any thread. Both the definitions (graph) and
// the kernels use them.
#ifndef LEAT_OPS_NN_WINDOW_H_
#define LEAT_OPS_NN_WINDOW_H_

#include "graph/op/attr.h"

#define LEAT_WINDOW_MAX_SPATIAL 3

typedef enum leat_padding_e {
  LEAT_PADDING_SAME,
  LEAT_PADDING_VALID,
  LEAT_PADDING_EXPLICIT,
} leat_padding_t;

// The window along one dimension of the tensor.
typedef struct leat_window_axis_s {
  int64_t size;  // of the window; 1 where the attributes do not say ("ksize")
  int64_t stride, dilation;
  int64_t before, after;  // padding, when EXPLICIT
} leat_window_axis_t;

// A window over a tensor, in the order of the tensor's dimensions: batch, axes, channels, or with
// the channels second. Plain data.
typedef struct leat_window_s {
  int spatial;  // 2 or 3 dimensions
  bool channels_first;
  bool has_size;  // the node has "ksize"
  leat_padding_t padding;
  leat_window_axis_t axes[LEAT_WINDOW_MAX_SPATIAL];
  leat_window_axis_t batch, channels;
} leat_window_t;

// Reads "padding", "explicit_paddings", "padding_list", "data_format", "strides", "dilations" (or
// "rates") and "ksize", where the node has them. A "padding_list" that is not empty stands for
// explicit paddings, whatever "padding" is. INVALID_ARGUMENT for lists of the wrong length, values
// outside int32, paddings where none can be.
LEAT_MUST_USE leat_status_t leat_window_read(const leat_attr_t* attrs, int attr_count, int spatial,
                                             leat_window_t* out_window);
// Sets sizes or strides from a vector as long as the tensor's rank, in the order of its dimensions.
LEAT_MUST_USE leat_status_t leat_window_set_sizes(leat_window_t* window, const int64_t* values,
                                                  int count);
LEAT_MUST_USE leat_status_t leat_window_set_strides(leat_window_t* window, const int64_t* values,
                                                    int count);

// The rank of the tensor; the dimension of spatial axis |axis|; the dimension of the channels.
static inline int leat_window_rank(const leat_window_t* window) { return window->spatial + 2; }
static inline int leat_window_dim(const leat_window_t* window, int axis) {
  return axis + (window->channels_first ? 2 : 1);
}
static inline int leat_window_channel_dim(const leat_window_t* window) {
  return window->channels_first ? 1 : window->spatial + 1;
}

// Gives the number of windows of |size| over |input| positions, and the padding before the first.
// INVALID_ARGUMENT when stride or dilation is not positive. An input that falls short of the window
// by less than two strides has no windows; a smaller one is INVALID_ARGUMENT (TensorFlow's rule at
// run time).
LEAT_MUST_USE leat_status_t leat_window_count(const leat_window_axis_t* axis,
                                              leat_padding_t padding, int64_t input, int64_t size,
                                              int64_t* out_count, int64_t* out_before);
// Counts windows for shape functions: an unknown |input| or |size| gives LEAT_DIM_UNKNOWN, and any
// input that is smaller than the window is INVALID_ARGUMENT.
LEAT_MUST_USE leat_status_t leat_window_infer(const leat_window_axis_t* axis,
                                              leat_padding_t padding, int64_t input, int64_t size,
                                              int64_t* out_count);

// The number of windows of a fractional pool over |size| positions; |ratio| must be at least 1. The
// result is never above |size|, so that every window has a position. A ratio of 1 keeps the size,
// though TensorFlow rounds it to a float even then. Any other ratio divides in float, as there.
int64_t leat_window_count_fractional(int64_t size, float ratio);

#endif  // LEAT_OPS_NN_WINDOW_H_
