// The windows of a two-dimensional convolution over 8-bit images, as rows of a product
// (quantized_product_cpu.h): row [batch, out row, out column] holds the rows and columns of a
// window and the channels of each of its pixels, so that the filter [height, width, channels, out]
// is the second factor as it lies. What lies outside the image is 0.
#ifndef LEAT_OPS_QUANTIZE_QUANTIZED_WINDOWS_CPU_H_
#define LEAT_OPS_QUANTIZE_QUANTIZED_WINDOWS_CPU_H_

#include "ops/quantize/quantized_product_cpu.h"

// Sizes are rows, then columns.
typedef struct leat_quantized_windows_s {
  leat_quantized_product_t product;  // first: its callback gets it
  bool channels_first;               // the images are [batch, channels, rows, columns]
  int64_t in[2], out[2], size[2], before[2], stride[2], dilation[2];
  int64_t channels;                       // of the images
  int64_t first_channel, group_channels;  // those that the windows show
} leat_quantized_windows_t;

// Writes the window of output position |index|. |p| must be the first member of a
// leat_quantized_windows_t whose images are factor a.
void leat_quantized_windows_row(const leat_quantized_product_t* p, int64_t index, void* to);

#endif  // LEAT_OPS_QUANTIZE_QUANTIZED_WINDOWS_CPU_H_
