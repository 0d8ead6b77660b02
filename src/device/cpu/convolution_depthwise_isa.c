// Depthwise convolution in float, compiled once per instruction set. Every channel is convolved by
// itself, so that there is no matrix product in it: for each place of the result, the row of
// channels is a sum of products of rows of channels, one product for each filter position.
//
//   output[y, x, c] = sum over (h, w) of input[y', x', c / multiplier] * filter[h, w, c]
//
// The inner loop runs over channels, which lie next to each other in memory, CHANNELS of them at a
// time in registers. With a multiplier above 1, output channel o reads input channel o /
// multiplier. Each of the three directions computes a range of places of its result (rows, or
// filter positions), which no other thread writes, in a fixed order of additions. convolution.c
// calls the tables.
#include "device/cpu/convolution_depthwise.h"

#include <string.h>

#include "base/checked.h"

#define CHANNELS 64

// The filter positions that meet the input, for one output position on one axis: input position
// first + i * dilation exists for i in [begin, end).
typedef struct reach_s {
  int64_t first, begin, end;
} reach_t;

static reach_t find_reach(int64_t out, int64_t stride, int64_t pad, int64_t filter,
                          int64_t dilation, int64_t in) {
  reach_t reach = {out * stride - pad, 0, filter};
  while (reach.begin < filter && reach.first + reach.begin * dilation < 0) ++reach.begin;
  while (reach.end > reach.begin && reach.first + (reach.end - 1) * dilation >= in) --reach.end;
  return reach;
}

// sums += a * b for |count| channels; the usual count is unrolled.
static inline void add_products(int64_t count, const float* restrict a, const float* restrict b,
                                float* restrict sums) {
  if (count == CHANNELS) {
    LEAT_UNROLL for (int c = 0; c < CHANNELS; ++c) sums[c] += a[c] * b[c];
  } else {
    for (int64_t c = 0; c < count; ++c) sums[c] += a[c] * b[c];
  }
}

// Computes output channels [o, o + count) of output position |x| in a row whose reach is |rows|.
static void forward_place(const leat_convolution_shape_t* s, const float* image,
                          const float* filter, reach_t rows, int64_t x, int64_t o, int64_t count,
                          float* output) {
  const int64_t multiplier = s->out_channels / s->groups;
  const reach_t columns = find_reach(x, s->stride_width, s->pad_left, s->filter_width,
                                     s->dilation_width, s->in_width);
  float sums[CHANNELS] = {0};
  for (int64_t h = rows.begin; h < rows.end; ++h) {
    const float* line =
        image + (rows.first + h * s->dilation_height) * s->in_width * s->in_channels;
    for (int64_t w = columns.begin; w < columns.end; ++w) {
      const float* place = line + (columns.first + w * s->dilation_width) * s->in_channels;
      const float* weights = filter + (h * s->filter_width + w) * s->out_channels + o;
      if (multiplier == 1) {
        add_products(count, place + o, weights, sums);
      } else {
        for (int64_t c = 0; c < count; ++c) sums[c] += place[(o + c) / multiplier] * weights[c];
      }
    }
  }
  memcpy(output + o, sums, (size_t)count * sizeof(float));
}

static void run_forward(const leat_convolution_shape_t* s, const float* input, const float* filter,
                        float* output, int64_t begin, int64_t end) {
  for (int64_t row = begin; row < end; ++row) {
    const float* image = input + row / s->out_height * s->in_height * s->in_width * s->in_channels;
    const reach_t rows = find_reach(row % s->out_height, s->stride_height, s->pad_top,
                                    s->filter_height, s->dilation_height, s->in_height);
    float* line = output + row * s->out_width * s->out_channels;
    for (int64_t x = 0; x < s->out_width; ++x, line += s->out_channels) {
      for (int64_t o = 0; o < s->out_channels; o += CHANNELS) {
        forward_place(s, image, filter, rows, x, o, LEAT_MIN(s->out_channels - o, CHANNELS), line);
      }
    }
  }
}

// The output position that filter position |i| connects with input position |in|; -1 when there is
// none.
static int64_t find_source(int64_t in, int64_t i, int64_t stride, int64_t dilation, int64_t pad,
                           int64_t out_size) {
  const int64_t scaled = in + pad - i * dilation;
  if (scaled < 0 || scaled % stride != 0) return -1;
  return scaled / stride < out_size ? scaled / stride : -1;
}

// Computes the gradient of input channels [i, i + count) of one input position.
static void backward_place(const leat_convolution_shape_t* s, const float* filter,
                           const float* gradients, int64_t y, int64_t x, int64_t i, int64_t count,
                           float* input) {
  const int64_t multiplier = s->out_channels / s->groups;
  float sums[CHANNELS] = {0};
  for (int64_t h = 0; h < s->filter_height; ++h) {
    const int64_t oy =
        find_source(y, h, s->stride_height, s->dilation_height, s->pad_top, s->out_height);
    if (oy < 0) continue;
    for (int64_t w = 0; w < s->filter_width; ++w) {
      const int64_t ox =
          find_source(x, w, s->stride_width, s->dilation_width, s->pad_left, s->out_width);
      if (ox < 0) continue;
      const float* place = gradients + (oy * s->out_width + ox) * s->out_channels + i * multiplier;
      const float* weights =
          filter + (h * s->filter_width + w) * s->out_channels + i * multiplier;
      if (multiplier == 1) {
        add_products(count, place, weights, sums);
      } else {
        for (int64_t c = 0; c < count * multiplier; ++c) {
          sums[c / multiplier] += place[c] * weights[c];
        }
      }
    }
  }
  memcpy(input + i, sums, (size_t)count * sizeof(float));
}

static void run_backward_input(const leat_convolution_shape_t* s, const float* filter,
                               const float* output_gradient, float* input_gradient, int64_t begin,
                               int64_t end) {
  const int64_t image = s->out_height * s->out_width * s->out_channels;
  for (int64_t row = begin; row < end; ++row) {
    const float* gradients = output_gradient + row / s->in_height * image;
    float* line = input_gradient + row * s->in_width * s->in_channels;
    for (int64_t x = 0; x < s->in_width; ++x, line += s->in_channels) {
      for (int64_t i = 0; i < s->in_channels; i += CHANNELS) {
        backward_place(s, filter, gradients, row % s->in_height, x, i,
                       LEAT_MIN(s->in_channels - i, CHANNELS), line);
      }
    }
  }
}

// Computes the gradient of channels [o, o + count) of filter position (h, w), summed over all
// places.
static void filter_place(const leat_convolution_shape_t* s, const float* input,
                         const float* gradients, int64_t h, int64_t w, int64_t o, int64_t count,
                         float* filter) {
  const int64_t multiplier = s->out_channels / s->groups;
  float sums[CHANNELS] = {0};
  for (int64_t row = 0; row < s->batch * s->out_height; ++row) {
    const int64_t y =
        row % s->out_height * s->stride_height + h * s->dilation_height - s->pad_top;
    if (y < 0 || y >= s->in_height) continue;
    const float* line =
        input + (row / s->out_height * s->in_height + y) * s->in_width * s->in_channels;
    const float* gradient = gradients + row * s->out_width * s->out_channels + o;
    int64_t x = w * s->dilation_width - s->pad_left;
    for (int64_t ox = 0; ox < s->out_width; ++ox, x += s->stride_width) {
      if (x < 0 || x >= s->in_width) continue;
      const float* place = line + x * s->in_channels;
      const float* from = gradient + ox * s->out_channels;
      if (multiplier == 1) {
        add_products(count, place + o, from, sums);
      } else {
        for (int64_t c = 0; c < count; ++c) sums[c] += place[(o + c) / multiplier] * from[c];
      }
    }
  }
  memcpy(filter + o, sums, (size_t)count * sizeof(float));
}

static void run_backward_filter(const leat_convolution_shape_t* s, const float* input,
                                const float* output_gradient, float* filter_gradient,
                                int64_t begin, int64_t end) {
  for (int64_t position = begin; position < end; ++position) {
    for (int64_t o = 0; o < s->out_channels; o += CHANNELS) {
      filter_place(s, input, output_gradient, position / s->filter_width,
                   position % s->filter_width, o, LEAT_MIN(s->out_channels - o, CHANNELS),
                   filter_gradient + position * s->out_channels);
    }
  }
}

const leat_depthwise_kernels_t LEAT_ISA_NAME(leat_depthwise_kernels) = {
    .forward = run_forward,
    .backward_input = run_backward_input,
    .backward_filter = run_backward_filter,
};
